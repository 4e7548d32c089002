// Replaces files as a whole: a reader, or a process killed at any point, sees the old file or the new one.
import {
  type BigIntStats,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { errno, FileError } from './errors.ts';

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_DIRECTORY } = constants;

export interface ReplaceOptions {
  /** Permission bits of the new file. Default 0600. */
  mode?: number;
  /** Owner of the new file, where that is not this user. Only root can set it. */
  owner?: { uid: number; gid: number } | null;
  /**
   * True to call fsync on file and directory, so that the write survives a crash of the machine. Default true. Files in
   * the runtime directory don't need it: after a crash they describe no daemon.
   */
  durable?: boolean;
}

/**
 * Writes a file under a temporary name and renames it into place. The temporary name is always the same, so that the
 * next write replaces what a killed one left; two writers of one file have to hold a lock.
 * @throws FileError with the system's code (ENOSPC, EACCES …); the old file is then unchanged.
 */
export function replaceFile(
  path: string,
  text: string | Buffer,
  { mode = 0o600, owner, durable = true }: ReplaceOptions = {},
): void {
  const temporary = temporaryName(path);
  try {
    const fd = createExclusive(temporary, mode);
    try {
      if (owner) fchownSync(fd, owner.uid, owner.gid);
      writeFileSync(fd, text);
      if (durable) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    removeQuietly(temporary);
    throw new FileError(path, error);
  }
  if (durable) syncDirectory(path.slice(0, path.lastIndexOf('/')) || '/');
}

/**
 * Makes a directory and those above it that are missing. Not by Node's own option: Node 20 tries without end where the system refuses
 * with ENOENT, as it does in /proc.
 * @throws FileError that names the directory
 */
export function makeDirectory(path: string, mode = 0o700): void {
  const missing: string[] = [];
  for (let at = path; at && !existsSync(at); at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) missing.unshift(at);
  try {
    for (const directory of missing.length > 0 ? missing : [path])
      try {
        mkdirSync(directory, { mode });
      } catch (error) {
        if (errno(error) !== 'EEXIST' || !statSync(directory).isDirectory()) throw error;
      }
  } catch (error) {
    throw new FileError(path, error);
  }
}

/**
 * The name under which a file is written before it is renamed to `path`: hidden, in the same directory. Put together by hand, because
 * `path.join` on the daemon's way to its start costs 4 MB: it goes over every character, which wakes V8's optimizing
 * compiler.
 */
export function temporaryName(path: string): string {
  const start = path.lastIndexOf('/') + 1;
  return `${path.slice(0, start)}.${path.slice(start)}.culvert-new`;
}

/**
 * Opens a new file for writing. What is there is removed first, and a link that appears in between is not followed.
 * @returns the file descriptor. @throws NodeJS.ErrnoException
 */
export function createExclusive(path: string, mode: number): number {
  rmSync(path, { force: true });
  return openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
}

/**
 * Makes renames in a directory durable, as far as the file system does that. The rename has already happened, so a
 * failure here does not undo it and is ignored.
 */
export function syncDirectory(directory: string): void {
  try {
    const fd = openSync(directory, O_RDONLY | O_DIRECTORY);
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch {
    // the next successful sync writes this rename as well
  }
}

/** Ignores failures: if the directory itself is in the way, there is no file to remove. */
function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // the error of the write says more
  }
}

/** The times of files advance with the kernel's tick, of up to 10 ms. */
const TICKS_MS = 20;
let unsettled = 0;

/**
 * Identifies the content of a file, or the names in a directory, for caches. It differs from any other while a further change within
 * the same tick could leave size and times as they are.
 */
export function versionOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  const ageMs = Date.now() - Number(ctimeNs / 1_000_000n);
  const version = [dev, ino, size, mtimeNs, ctimeNs].join(':');
  return Math.abs(ageMs) > TICKS_MS ? version : `${version}:${++unsettled}`;
}

/** The same by path, following links; null for a missing file. */
export function versionAt(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? versionOf(stats) : null;
}

/** The text of a file, or null when it can't be read for any reason. */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** The names in a directory; none when it can't be read. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

export function removeIfEmpty(directory: string): void {
  try {
    if (readdirSync(directory).length === 0) rmdirSync(directory);
  } catch {
    // it is missing already
  }
}
