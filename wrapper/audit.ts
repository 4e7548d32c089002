// Which account ran what, why it was left and what it cost: one JSON line per attempt, without arguments or output.
import { closeSync, constants, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { errno } from './errors.ts';
import type { Paths } from './paths.ts';
import { readText } from './store.ts';

export interface AuditEntry {
  /** Milliseconds since the epoch; a `Date` would cost a run 1.5 ms for the time zone. */
  at: number;
  cli: string;
  /** The subcommand; arguments may be private and are left out. */
  command: string;
  account: string | null;
  /** `ok`, `failed` (the upstream's own failure), `left` (another account took over), `skipped`, `queued`, `refused`. */
  outcome: 'ok' | 'failed' | 'left' | 'skipped' | 'queued' | 'refused';
  class?: string;
  exit?: number | null;
  signal?: string;
  ms?: number;
  cost?: number;
}

const MAX_BYTES = 1024 * 1024;

/** Appends entries. A log that can't be written must not stop a command, so failures are ignored. */
export function writeAudit(paths: Paths, entries: readonly AuditEntry[]): void {
  if (entries.length === 0) return;
  try {
    const fd = openForAppending(paths.audit);
    try {
      // One write(2) with O_APPEND: lines of concurrent runs don't mix.
      writeSync(fd, entries.map(entry => `${JSON.stringify(entry)}\n`).join(''));
      if (fstatSync(fd).size > MAX_BYTES) renameSync(paths.audit, `${paths.audit}.1`);
    } finally {
      closeSync(fd);
    }
  } catch {
    // See above.
  }
}

function openForAppending(file: string): number {
  const open = () => openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND, 0o600);
  try {
    return open();
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw error;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    return open();
  }
}

/** The newest `limit` entries, oldest first; a line cut off by a kill is left out. */
export function readAudit(paths: Paths, limit: number): AuditEntry[] {
  const text = [`${paths.audit}.1`, paths.audit].map(file => readText(file) ?? '').join('');
  return text
    .split('\n')
    .slice(-limit - 1)
    .flatMap(line => {
      try {
        return [JSON.parse(line) as AuditEntry];
      } catch {
        return [];
      }
    });
}
