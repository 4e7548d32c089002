// Runs files side by side in a good mixture: those of one lane run one after another, as long as other lanes are longer.

/**
 * Runs every item.
 * @param lanes one worker begins with each; a worker that has finished its lane helps with the longest that is left
 * @param rest taken when all lanes are empty
 * @param jobs how many items run at once; at least 1
 */
export async function schedule<T>(
  lanes: readonly (readonly T[])[],
  rest: readonly T[],
  jobs: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const left = lanes.map(lane => [...lane]);
  const last = [...rest];
  const longest = () => left.reduce((a, b) => (b.length > a.length ? b : a), []);
  const worker = async (own: T[]) => {
    for (;;) {
      const item = own.shift() ?? longest().shift() ?? last.shift();
      if (item === undefined) return;
      await run(item);
    }
  };
  await Promise.all(Array.from({ length: jobs }, (_, index) => worker(left[index] ?? [])));
}
