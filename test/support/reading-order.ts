// Compares the way of the Tab key with the order in which people read a picture.

export type Box = [left: number, top: number, right: number, bottom: number];

/** Controls that the Tab key reaches, each with its place. */
export interface Stop {
  name: string;
  box: Box;
  before: Box | null;
  rightToLeft: boolean;
}

/** Returns the stops that go against the order of reading: up, or back on a line. A second column begins above. */
export function backwardStops(stops: readonly Stop[]): string[] {
  return stops
    .filter(isBackwards)
    .map(({ name, box, before }) => `Tab goes back to “${name}”, from ${before} to ${box}`);
}

function isBackwards({ box, before, rightToLeft }: Stop): boolean {
  if (!before) return false;
  const [left, top, right, bottom] = box;
  const [left0, top0, right0, bottom0] = before;
  const shared = Math.min(bottom, bottom0) - Math.max(top, top0);
  const further = rightToLeft ? right <= left0 : left >= right0;
  if (shared > Math.min(bottom - top, bottom0 - top0) / 2) return rightToLeft ? left >= right0 : right <= left0;
  return bottom <= top0 && !further;
}
