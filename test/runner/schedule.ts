// Runs files side by side, except that only one at a time of those that would disturb each other.

/**
 * Runs every item.
 * @param lanes items of one lane run one after another, in a worker that helps with the rest when its lane is done
 * @param jobs how many items run at once; at least 1
 */
export async function schedule<T>(
  lanes: readonly (readonly T[])[],
  rest: readonly T[],
  jobs: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const free = [...rest];
  const worker = async (own: T[]) => {
    for (;;) {
      const item = own.shift() ?? free.shift();
      if (item === undefined) return;
      await run(item);
    }
  };
  const owned = (index: number) => lanes.filter((_, lane) => lane % jobs === index).flat();
  await Promise.all(Array.from({ length: jobs }, (_, index) => worker(owned(index))));
}
