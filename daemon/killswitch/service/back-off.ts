// Delays restarts of a child that keeps dying.

/**
 * Delay before a child that keeps dying is restarted. It doubles each time, and resets after a child that ran for long.
 */
const BACK_OFF_MS = { first: 20, last: 10_000, lived: 30_000 };

/**
 * Restarts immediately after the first death, since the table may have lost its owner, and later after each further one.
 */
export function createBackOff(): (act: () => void) => void {
  let ms = 0;
  let last = 0;
  return (act: () => void) => {
    const now = Date.now();
    ms = now - last > BACK_OFF_MS.lived ? 0 : Math.min(Math.max(ms * 2, BACK_OFF_MS.first), BACK_OFF_MS.last);
    last = now;
    setTimeout(act, ms);
  };
}
