// Provides a lock file that names its holder by pid and start time, so that a killed process does not keep it.
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errno, FileError, reason } from './errors.ts';
import { readText, removeQuietly } from './files.ts';
import { isAlive, pause, thisProcess } from './process.ts';

export type Lock = { release(): void } | { heldBy: number };

/** Time after which another process takes the turn that a killed breaker left behind. */
const STALE_TURN_MS = 2_000;
const POLL_MS = 5;

/**
 * Takes a lock, or returns the process that holds it. Breaks the lock of a process that is gone or not yet reaped.
 * @param path path of the lock file, in a directory that only this user can write.
 * @param waitMs time to wait for a living holder; blocks the thread.
 * @param put puts the lock into place: as a file, or as a link (`putLink`); readers accept both kinds.
 * @throws Error when something other than a lock has this path; FileError when the directory can't be written;
 *   NodeJS.ErrnoException when no process can be inspected, as without free file descriptors
 */
export function acquireLock(path: string, waitMs = 0, put: (path: string, holder: string) => boolean = putFile): Lock {
  const own = thisProcess();
  const deadline = Date.now() + waitMs;
  for (;;) {
    const holder = readLock(path);
    if (holder === null) {
      if (put(path, own)) return { release: () => release(path, own) };
    } else if (!isAlive(holder)) breakLock(path, holder);
    else if (Date.now() >= deadline) return { heldBy: Number.parseInt(holder, 10) };
    else pause(POLL_MS);
  }
}

/** Returns the living process that holds a lock, or null. */
export function lockHolder(path: string): { pid: number; started: string } | null {
  const holder = readText(path) ?? '';
  const [pid = '', started = ''] = holder.split(' ');
  return /^\d+$/.test(pid) && isAlive(holder) ? { pid: Number(pid), started } : null;
}

/** Links a private file into place, so that the lock appears complete or not at all. */
function putFile(path: string, holder: string): boolean {
  const own = `${path}.${process.pid}`;
  try {
    writeFileSync(own, holder, { mode: 0o600 });
  } catch (error) {
    rmSync(own, { force: true });
    throw new FileError(own, error);
  }
  try {
    return succeeds(() => linkSync(own, path));
  } finally {
    removeQuietly(own);
  }
}

/** Puts a lock into place as a symbolic link to the holder's name, which works on a full disk. */
export function putLink(path: string, holder: string): boolean {
  try {
    return succeeds(() => symlinkSync(holder, path));
  } catch (error) {
    throw new FileError(path, error);
  }
}

/** Returns false if a lock is already in place. */
function succeeds(put: () => void): boolean {
  try {
    put();
    return true;
  } catch (error) {
    if (errno(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes a lock, unless it was removed from outside and another process has taken it since. Never throws: the work under
 * the lock is done, and must not be reported as failed. Another process breaks a lock that could not be removed.
 */
function release(path: string, holder: string): void {
  try {
    if (readLock(path) !== holder) return;
  } catch (error) {
    // without file descriptors or memory the lock may be another's; otherwise, as on a full disk, it is ours
    if (['EMFILE', 'ENFILE', 'ENOMEM'].includes(errno(error) ?? '')) return;
  }
  removeQuietly(path);
}

/** Removes the private files of processes that were killed while they took the lock at `path`. */
export function sweepLock(path: string): void {
  const prefix = `${basename(path)}.`;
  for (const name of readdirSync(dirname(path))) {
    const pid = name.startsWith(prefix) ? name.slice(prefix.length) : '';
    if (/^\d+$/.test(pid) && !existsSync(`/proc/${pid}`)) rmSync(join(dirname(path), name), { force: true });
  }
}

/** Returns the holder, or null without a lock. */
function readLock(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (errno(error) !== 'EINVAL') return null;
  }
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errno(error) === 'ENOENT') return null;
    if (errno(error) === 'EISDIR') throw new Error(`${path} is a directory, not a lock. Remove it.`, { cause: error });
    throw new Error(`${path} can't be read: ${reason(error)}`, { cause: error });
  }
}

/**
 * Removes a dead holder's lock. Breakers take turns and check again: while one breaker has the turn, no other removes
 * the lock, and while the lock exists, no process can put another lock there.
 * @throws FileError when the directory can't be written
 */
function breakLock(path: string, holder: string): void {
  const turn = `${path}.turn`;
  try {
    mkdirSync(turn, { mode: 0o700 });
  } catch (error) {
    if (errno(error) !== 'EEXIST') throw new FileError(path, error);
    const since = statSync(turn, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > STALE_TURN_MS) rmSync(turn, { recursive: true, force: true });
    pause(POLL_MS);
    return;
  }
  try {
    if (readLock(path) === holder) unlinkSync(path);
  } finally {
    rmSync(turn, { recursive: true, force: true });
  }
}
