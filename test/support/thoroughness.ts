// Tests that kill a program at each of its operations, or repeat in one browser what another's do, do a part of it in every run,
// and all of it in a full one, where the page's `warp-cli` also answers late.

/** Whether everything is done: `./culvert-tool test --full`, or CULVERT_FULL=1. */
export const FULL = process.env.CULVERT_FULL === '1';

/** As many as wanted, the first among them, evenly spread over all. */
export function spread<T>(all: readonly T[], wanted: number): T[] {
  if (all.length <= wanted) return [...all];
  return Array.from({ length: wanted }, (_, i) => all[Math.floor((i * all.length) / wanted)]!);
}

/** All in a full run, otherwise as many as wanted of them. */
export function sample<T>(all: readonly T[], wanted: number): T[] {
  return FULL ? [...all] : spread(all, wanted);
}
