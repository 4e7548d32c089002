// Follows the command log for the page that shows it.
import { type ReadonlySignal, signal } from '@preact/signals';
import type { LogEntry } from '../../api/schema.ts';
import type { Model } from '../../view/client/model.ts';
import { createRing } from '../../view/log.ts';

/** Maximum number of log lines that the page keeps. */
const LOG_LINES = 10_000;

/** Followed logs; each outlives its page. */
const logs = new WeakMap<Model, ReadonlySignal<readonly LogEntry[]>>();

/** Returns the command log: reads the kept entries when the log is first opened, then adds each new entry. */
export function logOf(model: Model): ReadonlySignal<readonly LogEntry[]> {
  const followed = logs.get(model);
  if (followed) return followed;
  const ring = createRing(LOG_LINES);
  const log = signal<readonly LogEntry[]>([]);
  const add = (entries: LogEntry[]) => {
    ring.add(entries);
    log.value = ring.entries();
  };
  /** Entries that arrived as events since the newest read began; null while no read is running. */
  let arrived: LogEntry[] | null = null;
  const read = async () => {
    const last = log.value.at(-1)?.id ?? 0;
    const newEntries: LogEntry[] = [];
    arrived = newEntries;
    try {
      const { entries } = await model.call('GET /api/logs', { query: {} });
      // a restarted daemon counts from the beginning
      if ((entries.at(-1)?.id ?? 0) < last) ring.reset(LOG_LINES, newEntries);
      add(entries);
    } catch {
      // the stream reports that the daemon is gone
    } finally {
      if (arrived === newEntries) arrived = null;
    }
  };
  /** ID of the oldest read without its output, which the page's stream leaves out. */
  let missing: number | null = null;
  let reading = false;
  const readMissing = async () => {
    if (reading) return;
    reading = true;
    try {
      while (missing !== null) {
        const since = String(missing - 1);
        missing = null;
        add((await model.call('GET /api/logs', { query: { since } })).entries);
      }
    } catch {
      // the stream reports that the daemon is gone
    } finally {
      reading = false;
    }
  };
  model.onEvent(({ event, data }) => {
    if (event === 'log' && data.source === 'read') {
      missing ??= data.id;
      void readMissing();
    } else if (event === 'log') {
      arrived?.push(data);
      add([data]);
    }
    if (event === 'snapshot') void read();
  });
  logs.set(model, log);
  void read();
  return log;
}
