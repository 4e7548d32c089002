// Runs work at intervals, while it is wanted.

/** A timer that is started and stopped as often as needed. */
export function createTimer(everyMs: number, work: () => void): { run(wanted: boolean): void } {
  let timer: ReturnType<typeof setInterval> | null = null;
  return {
    run(wanted) {
      if (wanted) timer ??= setInterval(work, everyMs);
      else if (timer) {
        clearInterval(timer);
        timer = null;
      }
    },
  };
}
