// Logs which account ran a command, its outcome and its cost: one JSON line per attempt, without arguments or output.
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
  shape,
} from '../../daemon/core/shape.ts';
import { createDirectory } from '../system/files.ts';
import type { Paths } from './paths.ts';

export const OUTCOMES = ['ok', 'failed', 'left', 'skipped', 'queued', 'refused', 'unobserved', 'original'] as const;

const isEntry = shape({
  /** Milliseconds since the epoch. */
  at: isTime,
  cli: isText,
  /** The subcommand; arguments may be private and are left out. */
  command: isText,
  /** The program that asked through a gateway. */
  consumer: optional(isText),
  account: nullable(isText),
  /**
   * `failed`: the upstream's own failure; `left`: the account was left for another; `unobserved`: the only account, whose
   * run was not watched; `original`: the original ran without an account.
   */
  outcome: oneOf(...OUTCOMES),
  /**
   * Why no account was used: for `original` one of `Why`, for `refused` one of these, of `TurnedAway`, or the code of an error. For
   * `left` `too-large`, where the account has something left and is not paused.
   */
  why: optional(isText),
  /** Variables and options by which the user chose, whether they counted (`own-choice`, `other-host`) or not. */
  choice: optional(isText),
  class: optional(isText),
  exit: optional(nullable(isNumber)),
  signal: optional(isText),
  ms: optional(isNumber),
  cost: optional(isNumber),
  /** Requests that a gateway turned away for one reason; a line with this count is no run. */
  count: optional(isNumber),
  /** The pool's store could not be reached: the machine's own share was used, or nothing. */
  degraded: optional(isBoolean),
});
export type AuditEntry = Checked<typeof isEntry>;

/** The part of an entry that differs between entries of one command. A run without an account has a reason. */
export type AuditNote = Omit<AuditEntry, 'at' | 'cli' | 'command' | 'consumer' | 'outcome'> &
  (
    | { outcome: Exclude<AuditEntry['outcome'], 'refused' | 'original'> }
    | { outcome: 'refused' | 'original'; why: string }
  );

/**
 * Why a run used no account: the catalog says that the command needs none, a credential was given on the command line, the user
 * chose an account of another kind or another host, no account is enabled, the configuration can't be read, it is in another home, or
 * `CULVERT_WRAP_BYPASS` is set.
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
      // One write(2) with O_APPEND: lines of concurrent runs don't mix.
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

/** The newest `limit` entries, oldest first; a line cut off by a kill is left out. */
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

/** One line of the log; null for anything else. */
export function parseEntry(line: string): AuditEntry | null {
  try {
    const value: unknown = JSON.parse(line);
    return isEntry(value) ? value : null;
  } catch {
    return null;
  }
}
