// Provides a lock file that a killed holder does not keep: it names its holder by pid and start time.
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errno, FileError, reason } from './errors.ts';
import { readText } from './files.ts';
import { isRunning, startTime } from './process.ts';

export type Lock = { release(): void } | { heldBy: number };

/** A breaker that was killed leaves its turn behind; after this time another process takes it. */
const STALE_TURN_MS = 2_000;
const POLL_MS = 5;

/**
 * Takes a lock, or says which process holds it. The lock of a process that is gone, or not yet reaped, is broken.
 * The file appears complete or not at all: a private file is linked into its place.
 * @param path of the lock file, in a directory that only this user can write.
 * @param waitMs how long to wait for a living holder, blocking the thread.
 * @throws Error when something that is not a lock is in its place; FileError when the directory can't be written.
 */
export function acquireLock(path: string, waitMs = 0): Lock {
  const own = `${path}.${process.pid}`;
  const deadline = Date.now() + waitMs;
  writeOwn(own);
  try {
    for (;;) {
      try {
        linkSync(own, path);
        return { release: () => release(path) };
      } catch (error) {
        if (errno(error) !== 'EEXIST') throw error;
      }
      const content = readLock(path);
      if (content === null) continue; // released just now
      const [pid = '', started = ''] = content.split(' ');
      if (!isRunning(Number(pid), started)) breakLock(path, content);
      else if (Date.now() >= deadline) return { heldBy: Number(pid) };
      else pause(POLL_MS);
    }
  } finally {
    unlinkSync(own);
  }
}

/** Removes a lock, unless it was removed from outside and another process has taken it since. */
function release(path: string): void {
  if (lockHolder(path)?.pid === process.pid) rmSync(path, { force: true });
}

/** The living process that holds a lock, or null. */
export function lockHolder(path: string): { pid: number; started: string } | null {
  const [pid = '', started = ''] = readText(path)?.split(' ') ?? [];
  return /^\d+$/.test(pid) && isRunning(Number(pid), started) ? { pid: Number(pid), started } : null;
}

function writeOwn(path: string): void {
  try {
    writeFileSync(path, `${process.pid} ${startTime(process.pid)}`, { mode: 0o600 });
  } catch (error) {
    rmSync(path, { force: true });
    throw new FileError(path, error);
  }
}

/** Removes the private files that processes left which were killed while they took the lock at `path`. */
export function sweepLock(path: string): void {
  const prefix = `${basename(path)}.`;
  for (const name of readdirSync(dirname(path))) {
    const pid = name.startsWith(prefix) ? name.slice(prefix.length) : '';
    if (/^\d+$/.test(pid) && !existsSync(`/proc/${pid}`)) rmSync(join(dirname(path), name), { force: true });
  }
}

function readLock(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errno(error) === 'ENOENT') return null;
    throw new Error(`${path} can't be read: ${reason(error)}. Remove it.`, { cause: error });
  }
}

/**
 * Removes a dead holder's lock. Breakers take turns and look again: while one of them has the turn, no other removes
 * the file, and while the file exists no process can link a new lock there.
 */
function breakLock(path: string, content: string): void {
  const turn = `${path}.turn`;
  try {
    mkdirSync(turn, { mode: 0o700 });
  } catch {
    const since = statSync(turn, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > STALE_TURN_MS) rmSync(turn, { recursive: true, force: true });
    pause(POLL_MS);
    return;
  }
  try {
    if (readText(path) === content) unlinkSync(path);
  } finally {
    rmSync(turn, { recursive: true, force: true });
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
