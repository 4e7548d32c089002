// Counts the entries of the audit log, each once, although the log is rotated and the counting may be interrupted; keeps the
// counts, and the key of hashed names, between two runs.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { errno } from '../../../daemon/core/errors.ts';
import { readOptional } from '../../../daemon/core/files.ts';
import { randomHex } from '../../../daemon/core/hash.ts';
import { type Checked, isAmount, isText, nullable, recordOf, shape } from '../../../daemon/core/shape.ts';
import { withLock, writeAtomic } from '../../system/files.ts';
import { type AuditEntry, parseEntry } from '../audit.ts';
import type { Paths } from '../paths.ts';
import { cleanLabel } from './families.ts';

const isCount = (value: unknown): value is number => isAmount(value) && Number.isSafeInteger(value);
/** A file of the log; a new file may have the inode of a deleted one. */
const isIdentity = shape({
  inode: isCount,
  /** Its first characters. */
  head: isText,
});
type Identity = Checked<typeof isIdentity>;

const isTable = recordOf(recordOf(isCount));
const isTally = shape({
  /** The log that was read last, and the rotated one; null without a log. */
  log: nullable(isIdentity),
  older: nullable(isIdentity),
  /** Bytes of `log` that were read, up to the end of a line. */
  position: isCount,
  /** By CLI and outcome, and by CLI and class: how many. */
  runs: isTable,
  switches: isTable,
});
/** Counts, and the position in the log that they reach; stored as JSON. */
export type Tally = Checked<typeof isTally>;

/** Names beyond so many are counted as `other`: a damaged log must not make a metric for each line. */
const NAMES = 200;
const CHUNK = 65_536;
const HEAD = 64;

/** Nothing was counted; the count begins with the oldest kept entry. */
export const emptyTally = (): Tally => ({ log: null, older: null, position: 0, runs: empty(), switches: empty() });

/** Nothing was counted; the count begins with the next entry. */
export function tallyFromNow(paths: Paths): Tally {
  return withLogs(paths, (log, older) => {
    const last = log ?? older;
    return { ...emptyTally(), log: identityOf(last), older: identityOf(older), position: last?.size ?? 0 };
  });
}

/**
 * Counts new entries of the log. The count misses entries only if the log was rotated twice, at 1 MB each, since the last reading, or
 * if a run wrote without noticing a rotation.
 */
export function advance(paths: Paths, tally: Tally): Tally {
  const { log: last, older: before, position } = tally;
  const next: Tally = { ...tally, runs: copy(tally.runs), switches: copy(tally.switches) };
  const read = (log: Log, from: number) => {
    next.position = eachLine(log.fd, from, line => count(next, line));
    next.log = identityOf(log);
  };
  return withLogs(paths, (log, older) => {
    if (older && isSame(older, last)) read(older, position);
    else if (older && !isSame(older, before)) read(older, 0); // rotated twice: the entries in between are lost
    if (log) read(log, isSame(log, last) ? position : 0);
    next.older = identityOf(older);
    return next;
  });
}

/**
 * Counts on from where the last call ended, and stores that.
 * @returns also where it could not be stored: the next call then counts from the same place again
 */
export function keepTally(paths: Paths, failed: (error: unknown) => void): Tally {
  try {
    return withLock(paths.tally, () => {
      const next = advance(paths, storedTally(paths));
      try {
        writeAtomic(paths.tally, `${JSON.stringify(next)}\n`);
      } catch (error) {
        failed(error);
      }
      return next;
    });
  } catch (error) {
    failed(error);
    return advance(paths, storedTally(paths));
  }
}

/**
 * The key of hashed names, made when it is first needed.
 * @throws WrapError `not-stored`, `locked`
 */
export function metricsKey(paths: Paths): string {
  const stored = () => /^[0-9a-f]{32}$/.exec(readOptional(paths.metricsKey)?.trim() ?? '')?.[0];
  return (
    stored() ??
    withLock(paths.metricsKey, () => {
      const made = stored() ?? randomHex(16);
      writeAtomic(paths.metricsKey, `${made}\n`);
      return made;
    })
  );
}

/** A damaged file makes counting start again. */
function storedTally(paths: Paths): Tally {
  try {
    const stored: unknown = JSON.parse(readOptional(paths.tally) ?? '{}');
    if (isTally(stored)) return stored;
  } catch {
    // below
  }
  return emptyTally();
}

/** Opens the log and the rotated one, so that neither is rotated away during the reading. */
function withLogs<T>(paths: Paths, look: (log: Log | null, older: Log | null) => T): T {
  const log = open(paths.audit);
  let older: Log | null = null;
  try {
    older = open(`${paths.audit}.1`);
    // rotated between the two: it is one file
    return look(older && log?.inode === older.inode ? null : log, older);
  } finally {
    for (const each of [log, older]) if (each) closeSync(each.fd);
  }
}

const identityOf = (log: Log | null): Identity | null => log && { inode: log.inode, head: log.head };

/** Reports whether it is the file of the last reading, perhaps with new entries. */
function isSame(log: Log, identity: Identity | null): boolean {
  return identity !== null && log.inode === identity.inode && log.head.startsWith(identity.head);
}

function count(tally: Tally, line: string): void {
  const entry = parseEntry(line);
  // requests that a gateway turned away have another counter
  if (!entry || entry.count !== undefined) return;
  add(tally.runs, entry.cli, entry.outcome);
  if (isSwitch(entry)) add(tally.switches, entry.cli, entry.class ?? 'other');
}

const isSwitch = ({ outcome }: AuditEntry) => outcome === 'left';

function add(table: Tally['runs'], cli: string, name: string): void {
  const row = rowOf(table, cleanLabel(cli));
  const key = keyIn(row, cleanLabel(name));
  row[key] = (row[key] ?? 0) + 1;
}

function rowOf(table: Tally['runs'], cli: string): Record<string, number> {
  const key = keyIn(table, cli);
  table[key] ??= empty();
  return table[key];
}

function keyIn(table: Record<string, unknown>, name: string): string {
  return Object.hasOwn(table, name) || Object.keys(table).length < NAMES ? name : 'other';
}

/** Tables without a prototype: the names of CLIs come from a file. */
function empty<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}

function copy(table: Tally['runs']): Tally['runs'] {
  return Object.assign(
    empty<Record<string, number>>(),
    Object.fromEntries(Object.entries(table).map(([name, row]) => [name, Object.assign(empty<number>(), row)])),
  );
}

interface Log extends Identity {
  fd: number;
  size: number;
}

function open(file: string): Log | null {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return null;
    throw error;
  }
  const { ino: inode, size } = fstatSync(fd);
  const first = Buffer.alloc(HEAD);
  return { fd, inode, size, head: first.toString('latin1', 0, readSync(fd, first, 0, HEAD, 0)) };
}

/** Reads whole lines from a position. @returns the position after the last one */
function eachLine(fd: number, from: number, take: (line: string) => void): number {
  const buffer = Buffer.allocUnsafe(CHUNK);
  let remainder = Buffer.alloc(0);
  let position = from;
  for (;;) {
    const length = readSync(fd, buffer, 0, CHUNK, position + remainder.length);
    if (length === 0) return position;
    const bytes = Buffer.concat([remainder, buffer.subarray(0, length)]);
    const end = bytes.lastIndexOf(0x0a) + 1;
    for (const line of bytes.toString('utf8', 0, end).split('\n')) if (line) take(line);
    position += end;
    remainder = bytes.subarray(end);
  }
}
