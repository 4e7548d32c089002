// Keeps the latest commands of the tunnel CLI and their output in a ring, without secrets.
import type { LogEntry } from '../api/schema.ts';

/** Limit of one stream of one entry, in characters; the snapshot has all output of the newest read of each kind. */
const TEXT_LIMIT = 16 * 1024;

export interface CommandLog {
  /** Stores an entry under the next id, drops the oldest one beyond the capacity, and calls `onEntry`. */
  append(entry: Omit<LogEntry, 'id'>): LogEntry;
  /** Entries with a greater id than `id`, oldest first, at most `limit`. */
  since(id: number, limit: number): LogEntry[];
  /** Id of the newest entry; 0 before the first. */
  readonly lastId: number;
  /** Id of the oldest entry that is kept; null before the first. */
  readonly oldestId: number | null;
  readonly capacity: number;
}

/** An empty log. `capacity` counts entries; each keeps at most 16 KiB per stream. */
export function createLog(options: { capacity: number; onEntry?: (entry: LogEntry) => void }): CommandLog {
  const { capacity, onEntry } = options;
  const entries: LogEntry[] = [];
  let lastId = 0;
  return {
    capacity,
    get lastId() {
      return lastId;
    },
    get oldestId() {
      return entries[0]?.id ?? null;
    },
    append(entry) {
      lastId += 1;
      const stored = { id: lastId, ...entry, stdout: shorten(entry.stdout), stderr: shorten(entry.stderr) };
      entries.push(stored);
      if (entries.length > capacity) entries.shift();
      onEntry?.(stored);
      return stored;
    },
    since(id, limit) {
      const first = entries.findIndex(entry => entry.id > id);
      return first < 0 ? [] : entries.slice(first, first + Math.max(0, limit));
    },
  };
}

function shorten(text: string): string {
  return text.length <= TEXT_LIMIT ? text : `${text.slice(0, TEXT_LIMIT)}\n[cut in the log]`;
}
