// Verifies files before root changes them: only root may be able to redirect the change to another file.
import { lstatSync, readFileSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { FixError } from '../fix-journal.ts';

/** No configuration that is repaired here needs more. */
const MOST_BYTES = 64 * 1024;
const OTHERS_MAY_WRITE = 0o022;

/**
 * Requires that each directory on the way to a path is a real one that only root can write: another user could replace
 * it between this check and the change.
 * @param root the directory that stands for `/`
 * @throws FixError
 */
export function requireOwnDirectories(root: string, path: string): void {
  const directories: string[] = [];
  for (let each = dirname(path); ; each = dirname(each)) {
    directories.push(each);
    if (each === root || each === dirname(each)) break;
  }
  for (const directory of directories) {
    const info = lstatSync(directory, { throwIfNoEntry: false });
    if (!info) throw refused(`There is no directory ${directory}.`);
    if (!info.isDirectory()) throw refused(`${directory} is not a directory, or it is a link.`);
    requireOwn(directory, info);
  }
}

/** The text of a regular file owned by root, or null if it does not exist. @throws FixError */
export function readOwnFile(root: string, path: string): string | null {
  requireOwnDirectories(root, path);
  const info = lstatSync(path, { throwIfNoEntry: false });
  if (!info) return null;
  if (!info.isFile() || info.nlink !== 1) throw refused(`${path} is a link, or not a regular file.`);
  requireOwn(path, info);
  if (info.size > MOST_BYTES) throw refused(`${path} has more than ${MOST_BYTES} bytes.`);
  return readFileSync(path, 'utf8');
}

function requireOwn(path: string, { uid, mode }: Stats): void {
  if (uid !== process.geteuid?.() || (mode & OTHERS_MAY_WRITE) !== 0)
    throw refused(`Others than root may change ${path}.`);
}

export function refused(why: string): FixError {
  return new FixError('failed', `${why} Nothing was changed.`);
}
