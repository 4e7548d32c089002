// Reads files and replaces them as a whole: a reader, or a process killed at any point, sees the old file or the new one.
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  linkSync,
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
import { dirname } from 'node:path';
import { errno, FileError } from './errors.ts';

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_DIRECTORY } = constants;

/** The text of a file, or null when it can't be read for any reason. */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** The text of a file, or undefined without a file. @throws NodeJS.ErrnoException when it can't be read for another reason */
export function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined;
    throw error;
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

interface ReplaceOptions {
  /** Permission bits of the new file. Default 0600. */
  mode?: number;
  /** True to set all bits of `mode`, whatever the umask. */
  exact?: boolean;
  /** Owner of the new file, where that is not this user; `directory` for the owner of the directory. Only root can set it. */
  owner?: { uid: number; gid: number } | 'directory' | null;
  /**
   * True to call fsync on file and directory, so that the write survives a crash of the machine. Default true. Files in
   * the runtime directory don't need it: after a crash they describe no daemon. `strict`: it also fails where the directory can't be
   * synced, although the new file is in place then.
   */
  durable?: boolean | 'strict';
  /** False to fail with EEXIST where there is a file. */
  overwrite?: boolean;
  /** Name of the new file until it is whole. Default `temporaryName`, for which the writers of one file have to hold a lock. */
  temporary?: string;
}

/**
 * Writes a file under a temporary name and renames it into place.
 * @throws FileError with the system's code (ENOSPC, EACCES …), the old file is then unchanged; NodeJS.ErrnoException when `strict` and
 *   the directory can't be synced, the new file is then in place
 */
export function replaceFile(path: string, text: string | Uint8Array, options: ReplaceOptions = {}): void {
  const { mode = 0o600, exact, owner, durable = true, overwrite = true, temporary = temporaryName(path) } = options;
  try {
    const fd = createExclusive(temporary, mode);
    try {
      if (owner === 'directory') giveIfPossible(fd, dirname(path));
      else if (owner) fchownSync(fd, owner.uid, owner.gid);
      if (exact) fchmodSync(fd, mode);
      writeFileSync(fd, text);
      if (durable) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    if (overwrite) renameSync(temporary, path);
    else linkSync(temporary, path);
  } catch (error) {
    removeQuietly(temporary);
    throw new FileError(path, error);
  }
  if (!overwrite) removeQuietly(temporary);
  if (durable === 'strict') syncStrictly(dirname(path));
  else if (durable) syncDirectory(dirname(path));
}

/**
 * The usual temporary name of a file: hidden, in the same directory, and always the same, so that the next write replaces what a killed
 * one left.
 */
export function temporaryName(path: string): string {
  return hidden(path, 'culvert-new');
}

/** A temporary name for a file whose writers hold no lock: `.NAME.PID.RANDOM.tmp`. */
export function uniqueName(path: string): string {
  const random = Math.random().toString(16).slice(2, 14).padEnd(12, '0');
  return hidden(path, `${process.pid}.${random}.tmp`);
}

function hidden(path: string, end: string): string {
  const start = path.lastIndexOf('/') + 1;
  return `${path.slice(0, start)}.${path.slice(start)}.${end}`;
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
 * Makes a directory and those above it that are missing. Not by Node's own option: Node 20 tries without end where the system refuses
 * with ENOENT, as it does in /proc.
 * @returns the new directories, the upper ones first
 * @throws FileError that names the directory
 */
export function makeDirectory(path: string, mode = 0o700): string[] {
  const missing: string[] = [];
  for (let at = path; at && !existsSync(at); at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) missing.unshift(at);
  try {
    return (missing.length > 0 ? missing : [path]).filter(directory => {
      try {
        mkdirSync(directory, { mode });
        return true;
      } catch (error) {
        if (errno(error) !== 'EEXIST' || !statSync(directory).isDirectory()) throw error;
        return false;
      }
    });
  } catch (error) {
    throw new FileError(path, error);
  }
}

/**
 * Makes renames in a directory durable, as far as the file system does that. The rename has already happened, so a
 * failure here does not undo it and is ignored.
 */
export function syncDirectory(directory: string): void {
  try {
    syncStrictly(directory);
  } catch {
    // the next successful sync writes this rename as well
  }
}

/** Makes renames in a directory durable. @throws NodeJS.ErrnoException */
export function syncStrictly(directory: string): void {
  const fd = openSync(directory, O_RDONLY | O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Removes a directory, unless something is in it. */
export function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // it is not empty, or missing already
  }
}

/** Removes a file if it can be removed: for cleaning up, where a failure must not hide the outcome of the work before. */
export function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // the outcome of the work says more
  }
}

/** The user who owns a directory, or the nearest one above it that exists, where this is root and that user is not; else null. */
export function foreignOwner(directory: string): { directory: string; uid: number; gid: number } | null {
  if (process.geteuid?.() !== 0) return null;
  if (!existsSync(directory) && directory !== '/') return foreignOwner(dirname(directory));
  const { uid, gid } = statSync(directory);
  return uid === 0 ? null : { directory, uid, gid };
}

/**
 * Gives a new file or directory that root makes in another user's directory to that user, who could not use it otherwise.
 * @throws NodeJS.ErrnoException
 */
export function giveToOwner(fd: number, directory: string): void {
  const owner = foreignOwner(directory);
  if (owner) fchownSync(fd, owner.uid, owner.gid);
}

/** As `giveToOwner`; leaves to root what can't be given away. */
export function giveIfPossible(fd: number, directory: string): void {
  try {
    giveToOwner(fd, directory);
  } catch {
    // a file system, or a container, may know no other owner
  }
}

/** @throws Error for root, where a directory that is to be written to is another user's */
export function assertOwn(...directories: readonly string[]): void {
  for (const { directory, uid } of directories.map(foreignOwner).filter(owner => owner !== null))
    throw new Error(
      `${directory} belongs to the user ${uid}, who could not use what root writes there. ` +
        'Run this as that user, or with root’s own home, as after "sudo -i".',
    );
}

/** True where others than its owner may use a file in any way. A missing one gives nothing away. */
export function isReadableByOthers(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat !== undefined && (stat.mode & 0o077) !== 0;
}

/** True where another user may change a file: by its mode, but for the user's own group, or as its owner, but for root. */
export function isWritableByOthers(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return false;
  const isOthers = stat.uid !== 0 && stat.uid !== process.getuid?.();
  return isOthers || (stat.mode & (stat.gid === process.getgid?.() ? 0o002 : 0o022)) !== 0;
}
