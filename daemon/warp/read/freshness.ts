// Tracks the age of the last read of each part, to avoid needless reads and to mark old values.

export interface Freshness<Part extends string> {
  /** True if the value is outdated and no pause after a failure is running. */
  isDue(part: Part): boolean;
  /** True if the value was never read, its time is over, or the part has expired since. */
  isOutdated(part: Part): boolean;
  /** True if the last read of the part failed. */
  isFailing(part: Part): boolean;
  /** Returns the milliseconds since the part was last read; null before the first read. */
  age(part: Part): number | null;
  /** Call when a read of the part begins; pass the result to the methods below. */
  begin(part: Part): object;
  /** True if the part expired since the read `began`, so its answer may be from before a change. */
  expiredSince(part: Part, began: object): boolean;
  /**
   * Marks the part as read, and as current for `forMs` (Infinity: until `expire`). If it expired since the read `began`,
   * it stays outdated, because the answer may be from before the change.
   */
  read(part: Part, forMs: number, began?: object): void;
  /**
   * Marks a failed read: the part is not due during a pause, which doubles with every failure in a row. If the part
   * expired since the read `began`, it stays due.
   */
  failed(part: Part, began?: object): void;
  /** Makes the parts due. */
  expire(...parts: Part[]): void;
}

const FIRST = {};

/** @param now returns the milliseconds of a monotonic clock */
export function createFreshness<Part extends string>(
  pauses = { firstMs: 2000, longestMs: 60_000 },
  now: () => number = () => performance.now(),
): Freshness<Part> {
  const readAt = new Map<Part, number>();
  const currentUntil = new Map<Part, number>();
  const pausedUntil = new Map<Part, number>();
  const failures = new Map<Part, number>();
  /** An object for each part, replaced whenever the part expires. */
  const eras = new Map<Part, object>();
  const eraOf = (part: Part) => eras.get(part) ?? FIRST;
  const isOver = (time: number | undefined) => now() >= (time ?? Number.NEGATIVE_INFINITY);
  return {
    isDue: part => isOver(currentUntil.get(part)) && isOver(pausedUntil.get(part)),
    isOutdated: part => isOver(currentUntil.get(part)),
    isFailing: part => failures.has(part),
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
