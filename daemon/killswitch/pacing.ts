// Schedules operations: one at a time, after a delay, or within a limit.

/** Runs one operation at a time, so that two never meet in the kernel or on disk. */
export function createQueue() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(operation: () => Promise<T>): Promise<T> => {
    const result = last.then(operation);
    last = result.catch(() => {});
    return result;
  };
}

/** Runs an operation in its turn. Callers that ask before the turn comes share the result. */
export function createShared<T>(inTurn: ReturnType<typeof createQueue>, operation: () => Promise<T>): () => Promise<T> {
  let waiting: Promise<T> | null = null;
  return () => {
    waiting ??= inTurn(() => {
      waiting = null;
      return operation();
    });
    return waiting;
  };
}

/** @returns a function that calls `ring` after some seconds, in place of an earlier alarm; null sets no alarm */
export function createAlarm(): (seconds: number | null, ring: () => void) => void {
  let timer: ReturnType<typeof setTimeout> | null = null;
  return (seconds, ring) => {
    if (timer) clearTimeout(timer);
    timer = seconds === null ? null : setTimeout(ring, Math.ceil(seconds * 1000));
  };
}

interface HeartbeatOptions {
  everyMs: number;
  /** Time limit for the reader to hear a beat. */
  withinMs: number;
  /** Makes an event that the reader must hear; the reader then calls `heard`. */
  beat(): void;
  /** Called when the reader did not hear the beat. */
  deaf(): void;
  /** Calls back once. The default is `setTimeout`. */
  timer?: (ms: number, ring: () => void) => { cancel(): void };
}

interface Heartbeat {
  start(): void;
  stop(): void;
  /** Notes that the reader heard a beat. */
  heard(): void;
}

export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { everyMs, withinMs, beat, deaf, timer = byTimeout } = options;
  let pending: { cancel(): void } | null = null;
  let waiting = false;

  const wait = () => {
    waiting = false;
    pending = timer(everyMs, () => {
      waiting = true;
      pending = timer(withinMs, () => {
        wait();
        deaf();
      });
      beat();
    });
  };
  return {
    start() {
      if (!pending) wait();
    },
    stop() {
      pending?.cancel();
      pending = null;
      waiting = false;
    },
    heard() {
      if (!waiting) return;
      pending?.cancel();
      wait();
    },
  };
}

function byTimeout(ms: number, ring: () => void): { cancel(): void } {
  const timeout = setTimeout(ring, ms);
  return { cancel: () => clearTimeout(timeout) };
}

/** Limits calls with a bucket for each user: `burst` calls in a row, refilled with `perSecond`. */
export function createLimit({ burst, perSecond }: { burst: number; perSecond: number }) {
  const buckets = new Map<number, { left: number; at: number }>();
  return {
    /** @param seconds monotonic time. @returns true if this call is within the limit */
    take(uid: number, seconds: number): boolean {
      const bucket = buckets.get(uid) ?? { left: burst, at: seconds };
      const left = Math.min(burst, bucket.left + (seconds - bucket.at) * perSecond);
      if (buckets.size > 1000) buckets.clear(); // more than a thousand users: start counting again
      buckets.set(uid, { left: left >= 1 ? left - 1 : left, at: seconds });
      return left >= 1;
    },
  };
}

/** Calls in a row and per second for one user other than root. */
export const CALLS = { burst: 40, perSecond: 5 };
/** Refusals in a row and per second for which one user gets a reply. */
export const REFUSALS = { burst: 200, perSecond: 20 };
/** Time for which a client repeats a refused call. */
export const PATIENCE_MS = 240_000;
const RETRY_MS = { first: 500, longest: 8_000 };

/**
 * Time until a refused call is repeated. It grows because refusals count: 64 clients asking twice a second would soon get no reply.
 * @param attempt from 1
 * @param random from 0 to 1
 */
export function retryMs(attempt: number, random: number): number {
  return Math.min(RETRY_MS.first * 2 ** (attempt - 1), RETRY_MS.longest) * (0.5 + random);
}
