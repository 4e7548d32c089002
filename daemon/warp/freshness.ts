// How long each answer of the tunnel CLI counts as current, so that nothing is read twice without need.

export interface Freshness<Part extends string> {
  isStale(part: Part): boolean;
  /** A read of the part begins; give the result to `read`. */
  begin(part: Part): number;
  /**
   * The part was read: it is current for so many ms (Infinity: until `expire`). If it expired since the read
   * `began`, it stays stale, because the answer may be from before the change.
   */
  read(part: Part, forMs: number, began?: number): void;
  /** The read failed: the part counts as current for a pause that doubles with every failure in a row. */
  failed(part: Part): void;
  /** The parts are to be read again at the next occasion. */
  expire(...parts: Part[]): void;
}

/** @param now milliseconds of a clock that never goes back */
export function createFreshness<Part extends string>(
  pauses = { firstMs: 2000, longestMs: 60_000 },
  now: () => number = () => performance.now(),
): Freshness<Part> {
  const until = new Map<Part, number>();
  const failures = new Map<Part, number>();
  const expiries = new Map<Part, number>();
  return {
    isStale: part => now() >= (until.get(part) ?? Number.NEGATIVE_INFINITY),
    begin: part => expiries.get(part) ?? 0,
    read(part, forMs, began = expiries.get(part) ?? 0) {
      failures.delete(part);
      if (began === (expiries.get(part) ?? 0)) until.set(part, now() + forMs);
    },
    failed(part) {
      const before = failures.get(part) ?? 0;
      failures.set(part, before + 1);
      until.set(part, now() + Math.min(pauses.firstMs * 2 ** before, pauses.longestMs));
    },
    expire(...parts) {
      for (const part of parts) {
        until.delete(part);
        expiries.set(part, (expiries.get(part) ?? 0) + 1);
      }
    },
  };
}
