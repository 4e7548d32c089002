// Reads files and replaces them as a whole: readers see the old file or the new one, even if the writer is killed.
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { errno, Failure, FileError } from './errors.ts';

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_DIRECTORY, O_NONBLOCK } = constants;

/** Returns the text of a file, or null if it can't be read for any reason. */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Returns the text of a file, or undefined without a file. @throws NodeJS.ErrnoException if it can't be read otherwise */
export function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Returns true if a path is a file that this user may run. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false; // missing, or in a directory that this user may not enter
  }
}

/** Returns the path behind links, or the path itself if it leads to no file. */
export function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/**
 * Returns the bytes of a regular file, or undefined without a file. Never waits for a pipe, and reads no device.
 * @throws NodeJS.ErrnoException if it can't be read. Failure `not-regular`
 */
export function readRegular(path: string): Buffer | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, O_RDONLY | O_NONBLOCK);
    const stat = fstatSync(fd);
    // a directory has its own words when it is read
    if (!stat.isFile() && !stat.isDirectory()) throw new Failure('it is not a regular file', { code: 'not-regular' });
    return readFileSync(fd);
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined;
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Returns the names in a directory; none if it can't be read. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Reads an open file to its end, whatever size it reports. @throws `tooLarge` if it has more bytes than the limit */
export function readUpTo(fd: number, limit: number, tooLarge: () => Error): Buffer {
  const buffer = Buffer.alloc(limit + 1);
  let length = 0;
  while (length < buffer.length) {
    const read = readSync(fd, buffer, length, buffer.length - length, null);
    if (read === 0) return buffer.subarray(0, length);
    length += read;
  }
  throw tooLarge();
}

interface ReplaceOptions {
  /** Permission bits of the new file. Default 0600. */
  mode?: number;
  /** True to set all bits of `mode`, regardless of the umask. */
  exact?: boolean;
  /** Owner of the new file, if not this user; `directory` for the owner of the directory. Only root can set it. */
  owner?: { uid: number; gid: number } | 'directory' | null;
  /**
   * True to call fsync on file and directory, so that the write survives a crash of the machine. Default true. Files in
   * the runtime directory don't need it: after a crash they describe no daemon. `strict`: also fail if the directory can't be
   * synced, although the new file is then in place.
   */
  durable?: boolean | 'strict';
  /** False to fail with EEXIST if the file exists. */
  overwrite?: boolean;
  /** Name of the new file until it is complete. Default `temporaryName`: the writers of the file must then hold a lock. */
  temporary?: string;
}

/**
 * Writes a file under a temporary name and renames it into place.
 * @throws FileError with the system's code (ENOSPC, EACCES …): the old file is unchanged. NodeJS.ErrnoException with `strict`
 *   if the directory can't be synced: the new file is in place
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
 * Returns the usual temporary name of a file: hidden, in the same directory, and always the same, so that the next write
 * replaces the leftover of a killed process.
 */
export function temporaryName(path: string): string {
  return hidden(path, 'culvert-new');
}

/** Returns a temporary name for writers without a lock: `.NAME.PID.RANDOM.tmp`. */
export function uniqueName(path: string): string {
  const random = Math.random().toString(16).slice(2, 14).padEnd(12, '0');
  return hidden(path, `${process.pid}.${random}.tmp`);
}

function hidden(path: string, end: string): string {
  const start = path.lastIndexOf('/') + 1;
  return `${path.slice(0, start)}.${path.slice(start)}.${end}`;
}

/**
 * Opens a new file for writing. Removes an existing file first, and does not follow a link that appears in between.
 * @returns the file descriptor. @throws NodeJS.ErrnoException
 */
export function createExclusive(path: string, mode: number): number {
  rmSync(path, { force: true });
  return openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
}

/**
 * Makes a directory and its missing parents. Does not use Node's own option: Node 20 retries forever if the system
 * refuses with ENOENT, as in /proc.
 * @returns the new directories, parents first
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
 * Makes renames in a directory durable, if the file system can do that. The rename has already happened, so a
 * failure does not undo it and is ignored.
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

/** Removes a directory if it is empty. */
export function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // the directory is not empty, or does not exist
  }
}

/** Removes a file if possible. A failed cleanup must not hide the outcome of the work. */
export function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // the outcome of the work matters more
  }
}

/** As root, returns the owner of a directory (or of its nearest existing parent) unless that is root; otherwise null. */
export function foreignOwner(directory: string): { directory: string; uid: number; gid: number } | null {
  if (process.geteuid?.() !== 0) return null;
  if (!existsSync(directory) && directory !== '/') return foreignOwner(dirname(directory));
  const { uid, gid } = statSync(directory);
  return uid === 0 ? null : { directory, uid, gid };
}

/**
 * Gives a new file or directory to the owner of `directory`, if root made it for a user who could not use it otherwise.
 * @throws NodeJS.ErrnoException
 */
export function giveToOwner(fd: number, directory: string): void {
  const owner = foreignOwner(directory);
  if (owner) fchownSync(fd, owner.uid, owner.gid);
}

/** Does the same as `giveToOwner`, but ignores a failure. */
export function giveIfPossible(fd: number, directory: string): void {
  try {
    giveToOwner(fd, directory);
  } catch {
    // a file system or a container may support no other owner
  }
}

/** @throws Error if this is root and a directory to write to belongs to another user */
export function assertOwn(...directories: readonly string[]): void {
  for (const { directory, uid } of directories.map(foreignOwner).filter(owner => owner !== null))
    throw new Error(
      `${directory} belongs to the user ${uid}, who could not use what root writes there. ` +
        'Run this as that user, or with root’s own home, as after "sudo -i".',
    );
}

/** Returns true if users other than the owner have any permission for a file. A missing file returns false. */
export function isReadableByOthers(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat !== undefined && (stat.mode & 0o077) !== 0;
}

/** Returns true if another user may change a file: as its owner (except root), or by its mode (except for our group). */
export function isWritableByOthers(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return false;
  const isOthers = stat.uid !== 0 && stat.uid !== process.getuid?.();
  return isOthers || (stat.mode & (stat.gid === process.getgid?.() ? 0o002 : 0o022)) !== 0;
}
