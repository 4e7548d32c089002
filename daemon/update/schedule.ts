// Schedules automatic checks: some time after the start of the daemon, then once a day.

/** Interval of checks, give or take an eighth, so that installations do not ask at the same time. */
const INTERVAL_MS = 24 * 3_600_000;
/** Interval of reading the clock: timers do not advance while a machine sleeps. */
const TICK_MS = 15 * 60_000;

export interface Schedule {
  stop(): void;
}

export interface ScheduleOptions {
  /** From the start to the first check, in milliseconds. */
  startupMs: number;
  /** Milliseconds since 1970. */
  now(): number;
  /** Interval of reading the clock. Default: 15 minutes, in milliseconds. */
  tickMs?: number;
  /** From 0 to 1, chooses the time of the next check. Default: Math.random. */
  random?(): number;
}

/** @param check never rejects */
export function startSchedule(
  { startupMs, now, tickMs = TICK_MS, random = Math.random }: ScheduleOptions,
  check: () => Promise<void>,
): Schedule {
  let due = 0;
  let interval: NodeJS.Timeout | undefined;
  const checkNow = () => {
    due = now() + INTERVAL_MS * (0.875 + random() / 4);
    void check();
  };
  const startup = setTimeout(() => {
    checkNow();
    // a clock that was set back by more than a day would delay the check; then it is made now
    interval = setInterval(() => (now() >= due || due - now() > 2 * INTERVAL_MS) && checkNow(), tickMs);
    interval.unref();
  }, startupMs);
  startup.unref();
  return {
    stop() {
      clearTimeout(startup);
      clearInterval(interval);
    },
  };
}
