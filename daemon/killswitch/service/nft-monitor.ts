// Follows `nft monitor` and reports changes of the table that another program made. A heartbeat proves that it still
// hears.
import { createHeartbeat } from '../heartbeat.ts';
import { TABLE } from '../rules/rules.ts';
import { createBackOff } from './back-off.ts';
import { type Child, startChild } from './child.ts';

/** nft's last line for a transaction: `# new generation 5 by process 1234 (nft)`. */
const GENERATION = /^# new generation \d+(?: by process (\d+))?/;
/** How long to wait for the monitor to attribute a change before checking it. */
const UNCLAIMED_MS = 100;
const HEARTBEAT = { everyMs: 3_000, withinMs: 2_000 };
/** How long an nft that was just started may take to listen. */
const START_MS = 500;

interface MonitorOptions {
  /** Path of the program. */
  nft: string;
  /** The process whose changes are our own. */
  own(): string | null;
  /** Commits a transaction without effect that the monitor has to report. @returns false if there is no table */
  beat(): Promise<boolean>;
  /** Called when the table may have changed; `foreign` where another program changed it. */
  changed(foreign: boolean): void;
}

export interface Monitor {
  /** Starts the process where none runs. */
  start(): void;
  stop(): void;
  running(): boolean;
}

export function createMonitor({ nft, own, beat, changed }: MonitorOptions): Monitor {
  let monitor: Child | null = null;
  /** Runs while a change of the table is not attributed yet. */
  let unclaimed: ReturnType<typeof setTimeout> | null = null;
  const restart = createBackOff();

  const heartbeat = createHeartbeat({
    ...HEARTBEAT,
    beat: () =>
      void beat().then(
        possible => {
          if (possible) return;
          heartbeat.heard(); // there is no table, so nothing to hear
          changed(false);
        },
        () => {},
      ),
    deaf() {
      printerr('culvert-killswitch: the monitor of the packet filter went deaf; it is started again');
      stop();
      changed(true); // the table may have changed unheard; the check starts another monitor
    },
  });

  function start(): void {
    if (monitor) return;
    const child = startChild([nft, 'monitor'], receive, () => {
      if (monitor !== child) return;
      stop();
      restart(() => changed(false));
    });
    monitor = child;
    heartbeat.start();
    setTimeout(changed, START_MS, false); // what happened before it listened
  }

  function stop(): void {
    heartbeat.stop();
    const child = monitor;
    monitor = null;
    child?.kill();
  }

  function receive(line: string): void {
    if (line.includes(`inet ${TABLE}`)) unclaimed ??= setTimeout(settle, UNCLAIMED_MS, true);
    const [generation, author] = GENERATION.exec(line) ?? [];
    if (generation && author === own()) heartbeat.heard();
    if (generation && unclaimed) settle(author !== own());
  }

  function settle(foreign: boolean): void {
    if (unclaimed) clearTimeout(unclaimed);
    unclaimed = null;
    if (foreign) changed(true);
  }

  return { start, stop, running: () => monitor !== null };
}
