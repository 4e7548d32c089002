// Pure: detects a reader that no longer hears, by causing a message that it must hear.

export interface HeartbeatOptions {
  everyMs: number;
  /** Time that the reader has to hear a beat. */
  withinMs: number;
  /** Makes what the reader must hear, which then calls `heard`. */
  beat(): void;
  /** The reader did not hear the beat. */
  deaf(): void;
  /** Calls back once. The default is `setTimeout`. */
  timer?: (ms: number, ring: () => void) => { cancel(): void };
}

export interface Heartbeat {
  start(): void;
  stop(): void;
  /** The reader heard a beat. */
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
