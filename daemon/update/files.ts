// Files and links that are replaced as a whole: whoever is killed in between leaves the old one or the new one.
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_DIRECTORY } = constants;

/**
 * The name under which a file is made before it takes its place. Always the same, so that what a killed run left is
 * replaced by the next; writers of one file take turns by the lock of what they belong to.
 */
export function temporaryOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.culvert-new`);
}

/** Opens a new file for writing that nobody else could have put there. */
export function create(path: string, mode: number): number {
  rmSync(path, { force: true });
  return openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
}

/** @throws NodeJS.ErrnoException */
export function replaceFile(path: string, text: string, mode: number): void {
  const temporary = temporaryOf(path);
  try {
    const fd = create(temporary, mode);
    try {
      writeFileSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

/** @throws NodeJS.ErrnoException */
export function replaceLink(path: string, target: string): void {
  const temporary = temporaryOf(path);
  try {
    rmSync(temporary, { force: true });
    symlinkSync(target, temporary);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

/**
 * Makes renames in a directory durable, as far as the file system does that. What was renamed is in place already, so a
 * failure here is none of the replacement.
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
    // the next one that succeeds writes this out as well
  }
}

/** Removes what a process left that was killed while it took the lock of a directory (`acquire` in daemon/instance.ts). */
export function sweepLocks(directory: string): void {
  for (const name of readdirSync(directory)) {
    const pid = /^lock\.(\d+)$/.exec(name)?.[1];
    if (pid && !existsSync(`/proc/${pid}`)) rmSync(join(directory, name), { force: true });
  }
}

/** Where a symbolic link leads, as it is written; null for anything else. */
export function linkAt(path: string): string | null {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : null;
}

/** Bytes that this user can still write where a directory lies. */
export function freeSpace(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
