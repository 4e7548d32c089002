// Counts each entry of the audit log once, across log rotations and interruptions, and stores the counts and the key for
// hashing names.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { errno } from '../../../daemon/core/errors.ts';
import { readOptional, readText } from '../../../daemon/core/files.ts';
import { randomHex } from '../../../daemon/core/hash.ts';
import { type Checked, isAmount, isText, nullable, parseJson, recordOf, shape } from '../../../daemon/core/shape.ts';
import { withLock, writeAtomic } from '../../system/files.ts';
import { type AuditEntry, parseEntry } from '../audit.ts';
import type { Paths } from '../paths.ts';
import { cleanLabel } from './families.ts';

const isCount = (value: unknown): value is number => isAmount(value) && Number.isSafeInteger(value);
/** Identity of a log file. A new file may reuse a deleted file's inode. */
const isIdentity = shape({
  inode: isCount,
  /** First characters of the file. */
  head: isText,
});
type Identity = Checked<typeof isIdentity>;

const isTable = recordOf(recordOf(isCount));
const isTally = shape({
  /** The log read last, and (`older`) the rotated log; null if there is no such file. */
  log: nullable(isIdentity),
  older: nullable(isIdentity),
  /** Number of bytes read from `log`, up to the end of a line. */
  position: isCount,
  /** Counts by CLI and outcome, and (`switches`) by CLI and class. */
  runs: isTable,
  switches: isTable,
});
/** Counts, and the position in the log up to which they go; stored as JSON. */
export type Tally = Checked<typeof isTally>;

/** Limit of names in a table; further names count as `other`, because a damaged log could add a metric per line. */
const NAMES = 200;
const CHUNK = 65_536;
const HEAD = 64;

/** Returns an empty tally that starts with the oldest kept entry. */
export const emptyTally = (): Tally => ({ log: null, older: null, position: 0, runs: empty(), switches: empty() });

/** Returns an empty tally that starts with the next entry. */
export function tallyFromNow(paths: Paths): Tally {
  return withLogs(paths, (log, older) => {
    const last = log ?? older;
    return { ...emptyTally(), log: identityOf(last), older: identityOf(older), position: last?.size ?? 0 };
  });
}

/**
 * Adds the log's new entries to a tally. Misses entries only if the log was rotated twice, at 1 MB each, since the last reading,
 * or if a run wrote without noticing a rotation.
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
 * Counts the entries since the last call and stores the tally.
 * @returns the tally even if storing it failed; the next call then counts the same entries again
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
 * Returns the key for hashing names and creates it on first use.
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

/** Reads the stored tally; a damaged file restarts the count. */
function storedTally(paths: Paths): Tally {
  const stored = parseJson(readText(paths.tally));
  return isTally(stored) ? stored : emptyTally();
}

/** Opens the log and the rotated log; open files stay readable during a rotation. */
function withLogs<T>(paths: Paths, look: (log: Log | null, older: Log | null) => T): T {
  const log = open(paths.audit);
  let older: Log | null = null;
  try {
    older = open(`${paths.audit}.1`);
    // rotated between the two calls: both are the same file
    return look(older && log?.inode === older.inode ? null : log, older);
  } finally {
    for (const each of [log, older]) if (each) closeSync(each.fd);
  }
}

const identityOf = (log: Log | null): Identity | null => log && { inode: log.inode, head: log.head };

/** Reports whether a log is the identified file, perhaps with new entries. */
function isSame(log: Log, identity: Identity | null): boolean {
  return identity !== null && log.inode === identity.inode && log.head.startsWith(identity.head);
}

function count(tally: Tally, line: string): void {
  const entry = parseEntry(line);
  // a gateway's turned-away requests have a separate counter
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

/** Returns a table without a prototype, because the names of CLIs come from a file. */
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

/** Reads whole lines from a position. @returns the position after the last line */
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
