// Counts reads of the status that failed, and asks again: one failure is no state, and a living listener may stay silent.

/** Failures in a row after which the last status no longer counts. */
const ENOUGH = 3;
const PAUSE_MS = { first: 1000, longest: 30_000 };

export interface Doubt {
  /** A command failed in a way that leaves the status in doubt. */
  suspect(): void;
  /** A read of the status failed; it is asked for again. @returns whether the last status still counts */
  failed(): boolean;
  /** The status says that nothing can be read; it is asked for again. */
  blocked(): void;
  /** The status is known. */
  answered(): void;
  /** Milliseconds since the status was known last, while it is in doubt; null otherwise. */
  ageMs(): number | null;
  stop(): void;
}

/** @param ask reads the status, and reports the result here */
export function createDoubt(ask: () => void): Doubt {
  let failures = 0;
  let pauseMs = PAUSE_MS.first;
  let knownAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  function askLater(): void {
    clearTimeout(timer);
    if (stopped) return;
    timer = setTimeout(ask, pauseMs).unref();
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS.longest);
  }

  return {
    suspect() {
      failures = Math.max(failures, 1);
    },
    failed() {
      failures += 1;
      askLater();
      return failures < ENOUGH;
    },
    blocked: askLater,
    answered() {
      clearTimeout(timer);
      failures = 0;
      pauseMs = PAUSE_MS.first;
      knownAt = performance.now();
    },
    ageMs: () => (failures > 0 ? performance.now() - knownAt : null),
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
