// Tracks how current the last read of each part is, so that nothing is read without need and old values are marked.

export interface Freshness<Part extends string> {
  /** The part is to be read: its value is outdated, and no pause after a failure is running. */
  isDue(part: Part): boolean;
  /** The value was never read, its time is over, or the part expired since. */
  isOutdated(part: Part): boolean;
  /** Milliseconds since the part was last read; null before the first read. */
  age(part: Part): number | null;
  /** A read of the part begins; pass the result to the methods below. */
  begin(part: Part): object;
  /** The part expired since the read `began`: its answer may be from before a change. */
  expiredSince(part: Part, began: object): boolean;
  /**
   * The part was read: it is current for so many ms (Infinity: until `expire`). If it expired since the read
   * `began`, it stays outdated, because the answer may be from before the change.
   */
  read(part: Part, forMs: number, began?: object): void;
  /**
   * The read failed: the part is not due for a pause that doubles with every failure in a row. If it expired since the
   * read `began`, it stays due.
   */
  failed(part: Part, began?: object): void;
  /** The parts are to be read again at the next occasion. */
  expire(...parts: Part[]): void;
}

const FIRST = {};

/** @param now milliseconds of a clock that never goes back */
export function createFreshness<Part extends string>(
  pauses = { firstMs: 2000, longestMs: 60_000 },
  now: () => number = () => performance.now(),
): Freshness<Part> {
  const readAt = new Map<Part, number>();
  const currentUntil = new Map<Part, number>();
  const pausedUntil = new Map<Part, number>();
  const failures = new Map<Part, number>();
  /** Replaced whenever the part expires. */
  const eras = new Map<Part, object>();
  const eraOf = (part: Part) => eras.get(part) ?? FIRST;
  const isOver = (time: number | undefined) => now() >= (time ?? Number.NEGATIVE_INFINITY);
  return {
    isDue: part => isOver(currentUntil.get(part)) && isOver(pausedUntil.get(part)),
    isOutdated: part => isOver(currentUntil.get(part)),
    age(part) {
      const at = readAt.get(part);
      return at === undefined ? null : now() - at;
    },
    begin: eraOf,
    expiredSince: (part, began) => began !== eraOf(part),
    read(part, forMs, began = eraOf(part)) {
      failures.delete(part);
      pausedUntil.delete(part);
      readAt.set(part, now());
      if (began === eraOf(part)) currentUntil.set(part, now() + forMs);
    },
    failed(part, began = eraOf(part)) {
      if (began !== eraOf(part)) return;
      const before = failures.get(part) ?? 0;
      failures.set(part, before + 1);
      pausedUntil.set(part, now() + Math.min(pauses.firstMs * 2 ** before, pauses.longestMs));
    },
    expire(...parts) {
      for (const part of parts) {
        currentUntil.delete(part);
        pausedUntil.delete(part);
        eras.set(part, {});
      }
    },
  };
}
