// Follows the command log for the page: reads what the daemon kept when the log is first opened, then adds each new entry.
import { signal } from '@preact/signals';
import type { LogEntry } from '../../api/schema.ts';
import type { Model } from '../../view/client/model.ts';
import { createRing } from '../../view/log.ts';
import type { App } from './app.ts';

/** Lines of the log that the page keeps. */
const LOG_LINES = 10_000;

export function followLog(model: Model): Pick<App, 'log' | 'loadLog'> {
  const ring = createRing(LOG_LINES);
  const log = signal<readonly LogEntry[]>([]);
  const add = (entries: LogEntry[]) => {
    ring.add(entries);
    log.value = ring.entries();
  };
  /** Entries that came by event since the newest read began; null while no read runs. */
  let arrived: LogEntry[] | null = null;
  const read = async () => {
    const last = log.value.at(-1)?.id ?? 0;
    const newEntries: LogEntry[] = [];
    arrived = newEntries;
    try {
      const { entries } = await model.call('GET /api/logs', { query: {} });
      // a daemon that was restarted counts from the beginning
      if ((entries.at(-1)?.id ?? 0) < last) ring.reset(LOG_LINES, newEntries);
      add(entries);
    } catch {
      // the stream reports that the daemon is gone
    } finally {
      if (arrived === newEntries) arrived = null;
    }
  };
  /** ID of the oldest read whose output is missing: the page's stream sends reads without it. */
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
      // the stream reports it
    } finally {
      reading = false;
    }
  };
  let followed = false;
  model.onEvent(({ event, data }) => {
    if (!followed) return;
    if (event === 'log' && data.source === 'read') {
      missing ??= data.id;
      void readMissing();
    } else if (event === 'log') {
      arrived?.push(data);
      add([data]);
    }
    if (event === 'snapshot') void read();
  });
  return {
    log,
    loadLog() {
      if (!followed) void read();
      followed = true;
    },
  };
}
