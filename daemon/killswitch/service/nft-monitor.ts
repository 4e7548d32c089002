// Follows `nft monitor` and reports when the table may have changed. A heartbeat proves that it still hears.
import { createHeartbeat } from '../heartbeat.ts';
import { TABLE } from '../rules/rules.ts';
import { type Child, createBackOff, startChild } from './child.ts';

/**
 * Each has a process of its own. Elements of sets are left out: nft prints them one by one, which takes seconds where
 * another program loads a long list, and our constant sets can't be changed.
 */
const SUBJECTS = ['tables', 'chains', 'rules'] as const;
const BEAT_TABLE = `${TABLE}_heartbeat`;
/** A transaction that changes nothing, and that the monitor of each subject reports. */
export const BEAT = [
  `add table inet ${BEAT_TABLE}`,
  `add chain inet ${BEAT_TABLE} beat`,
  `add rule inet ${BEAT_TABLE} beat continue`,
  `delete table inet ${BEAT_TABLE}`,
].join('; ');
const HEARTBEAT = { everyMs: 3_000, withinMs: 2_000 };
/** nft's message when its netlink buffer overflowed. */
const LOST = 'We lost some netlink events';
/** Time that a new nft has to begin to listen. */
const START_MS = 500;

interface MonitorOptions {
  /** Path of the program. */
  nft: string;
  /** Name of the table. */
  table: string;
  /** Commits `BEAT`. */
  beat(): Promise<unknown>;
  /** Called when the table may have changed, by this service or by another program. */
  changed(): void;
}

export interface Monitor {
  /** Starts the processes where none run. */
  start(): void;
  stop(): void;
  running(): boolean;
}

export function createMonitor({ nft, table, beat, changed }: MonitorOptions): Monitor {
  const ours = new RegExp(`inet ${table}(?!\\w)`);
  let children: Child[] = [];
  /** Subjects whose process has heard the present beat. */
  const heard = new Set<string>();
  /** True once every monitor has listened since the last check of the table. */
  let listening = false;
  const restart = createBackOff();

  const heartbeat = createHeartbeat({
    ...HEARTBEAT,
    beat() {
      heard.clear();
      beat().catch(() => {});
    },
    deaf() {
      printerr('culvert-killswitch: the monitor of the packet filter went deaf; it is started again');
      stop();
      changed(); // the table may have changed unheard; the check starts other processes
    },
  });

  function start(): void {
    if (children.length) return;
    const started: Child[] = SUBJECTS.map(subject =>
      startChild(
        [nft, 'monitor', subject],
        line => children === started && receive(subject, line),
        () => {
          if (children !== started) return;
          stop();
          restart(changed);
        },
      ),
    );
    children = started;
    listening = false;
    heartbeat.start();
    setTimeout(changed, START_MS);
  }

  function stop(): void {
    heartbeat.stop();
    const ending = children;
    children = [];
    for (const child of ending) child.kill();
  }

  function receive(subject: string, line: string): void {
    if (line.includes(`inet ${BEAT_TABLE}`)) {
      heard.add(subject);
      if (heard.size < SUBJECTS.length) return;
      heartbeat.heard();
      if (!listening) changed(); // for changes before this point, on a machine slower than START_MS
      listening = true;
    } else if (ours.test(line) || line.includes(LOST)) changed();
  }

  return { start, stop, running: () => children.length > 0 };
}
