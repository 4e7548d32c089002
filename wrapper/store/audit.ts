// Logs the account, outcome and cost of each attempt as one JSON line, without arguments or output.
import { closeSync, constants, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { errno } from '../../daemon/core/errors.ts';
import { giveIfPossible, readOptional } from '../../daemon/core/files.ts';
import {
  type Checked,
  isBoolean,
  isNumber,
  isText,
  isTime,
  nullable,
  oneOf,
  optional,
  parseJson,
  shape,
} from '../../daemon/core/shape.ts';
import { createDirectory } from '../system/files.ts';
import type { Paths } from './paths.ts';

export const OUTCOMES = ['ok', 'failed', 'left', 'skipped', 'queued', 'refused', 'unobserved', 'original'] as const;

const isEntry = shape({
  /** Milliseconds since the epoch. */
  at: isTime,
  cli: isText,
  /** The subcommand, without arguments, which may be private. */
  command: isText,
  /** The program that made the request through a gateway. */
  consumer: optional(isText),
  account: nullable(isText),
  /**
   * `failed`: the upstream's own failure; `left`: the account was left for another; `unobserved`: the only account, whose
   * run was not watched; `original`: the original ran without an account.
   */
  outcome: oneOf(...OUTCOMES),
  /**
   * The reason why no account was used: for `original` a `Why`; for `refused` a `Why`, a `TurnedAway` or an error code. For
   * `left`, `too-large` if the account has units left and is not paused.
   */
  why: optional(isText),
  /** Variables and options of the user's choice, whether they took effect (`own-choice`, `other-host`) or not. */
  choice: optional(isText),
  class: optional(isText),
  exit: optional(nullable(isNumber)),
  signal: optional(isText),
  ms: optional(isNumber),
  cost: optional(isNumber),
  /** Number of requests that a gateway turned away for one reason; a line with this count is not a run. */
  count: optional(isNumber),
  /** True if the pool's store could not be reached; the machine's own share was used, or nothing. */
  degraded: optional(isBoolean),
});
export type AuditEntry = Checked<typeof isEntry>;

/** The fields that differ between entries of one command. A run without an account has a reason. */
export type AuditNote = Omit<AuditEntry, 'at' | 'cli' | 'command' | 'consumer' | 'outcome'> &
  (
    | { outcome: Exclude<AuditEntry['outcome'], 'refused' | 'original'> }
    | { outcome: 'refused' | 'original'; why: string }
  );

/**
 * The reason why a run used no account: the catalog says that the command needs none, the command line contained a credential,
 * the user chose another kind of account or another host, no account is enabled, the configuration can't be read or is in
 * another home, or `CULVERT_WRAP_BYPASS` is set.
 */
export type Why =
  | 'passthrough'
  | 'own-credential'
  | 'own-choice'
  | 'other-host'
  | 'no-account'
  | 'configuration'
  | 'hidden'
  | 'bypass';

const MAX_BYTES = 1024 * 1024;

/** Appends entries. A log that can't be written must not stop a command, so failures are ignored. */
export function writeAudit(paths: Paths, entries: readonly AuditEntry[]): void {
  if (entries.length === 0) return;
  try {
    const fd = openForAppending(paths.audit);
    try {
      const { size, nlink } = fstatSync(fd);
      if (size === 0 && nlink === 1) giveIfPossible(fd, dirname(paths.audit));
      // A single write(2) with O_APPEND keeps lines of concurrent runs from mixing.
      writeSync(fd, entries.map(entry => `${JSON.stringify(entry)}\n`).join(''));
      if (fstatSync(fd).size > MAX_BYTES) renameSync(paths.audit, `${paths.audit}.1`);
    } finally {
      closeSync(fd);
    }
  } catch {
    // a log that can't be written must not stop a command
  }
}

function openForAppending(file: string): number {
  const open = () =>
    openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW, 0o600);
  try {
    return open();
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw error;
    createDirectory(dirname(file));
    return open();
  }
}

/** Returns the newest `limit` entries, oldest first, without lines that a kill cut off. */
export function readAudit(paths: Paths, limit: number): AuditEntry[] {
  const text = [`${paths.audit}.1`, paths.audit].map(file => readOptional(file) ?? '').join('');
  return text
    .split('\n')
    .slice(-limit - 1)
    .flatMap(line => {
      const entry = parseEntry(line);
      return entry ? [entry] : [];
    });
}

/** Parses a line of the log; returns `null` for any other text. */
export function parseEntry(line: string): AuditEntry | null {
  const value = parseJson(line);
  return isEntry(value) ? value : null;
}
