// Chooses the samples of long tests: a part in every run, all of them in a full one. Tests that kill a program at each of its
// operations, flood it or flip its bits do so; in a full run Firefox opens the page as well, and `warp-cli` answers it late.

/** A full run, which tries every sample: `./culvert-tool test --full`, or CULVERT_FULL=1. */
export const FULL = process.env.CULVERT_FULL === '1';

/** Distance between the samples of a long sequence that are tried. */
export const STRIDE = FULL ? 1 : 3;

/** A number of items, the first among them, evenly spread over all. */
export function spread<T>(all: readonly T[], count: number): T[] {
  if (all.length <= count) return [...all];
  return Array.from({ length: count }, (_, i) => all[Math.floor((i * all.length) / count)]!);
}

/** All items in a full run, otherwise a number of them. */
export function sample<T>(all: readonly T[], count: number): T[] {
  return FULL ? [...all] : spread(all, count);
}

/**
 * All items in a full run, otherwise every third one.
 * @param turn index of the first item: three turns in a row cover all
 */
export function inTurn<T>(all: readonly T[], turn: number): T[] {
  return all.filter((_, i) => FULL || i % 3 === turn % 3);
}

/** All items in a full run, otherwise a third of each class and at least its first. */
export function third<T>(all: readonly T[], classOf: (item: T) => string): T[] {
  const chosen = new Set(
    [...new Set(all.map(classOf))].flatMap(name => {
      const members = all.filter(item => classOf(item) === name);
      return sample(members, Math.ceil(members.length / 3));
    }),
  );
  return all.filter(item => chosen.has(item));
}
