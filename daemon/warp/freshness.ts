// How long each answer of the tunnel CLI counts as current, so that nothing is read twice without need.

export interface Freshness<Part extends string> {
  isStale(part: Part): boolean;
  /** The part was read: it is current for so many ms (Infinity: until `expire`). */
  read(part: Part, forMs: number): void;
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
  return {
    isStale: part => now() >= (until.get(part) ?? Number.NEGATIVE_INFINITY),
    read(part, forMs) {
      failures.delete(part);
      until.set(part, now() + forMs);
    },
    failed(part) {
      const before = failures.get(part) ?? 0;
      failures.set(part, before + 1);
      until.set(part, now() + Math.min(pauses.firstMs * 2 ** before, pauses.longestMs));
    },
    expire(...parts) {
      for (const part of parts) until.delete(part);
    },
  };
}
