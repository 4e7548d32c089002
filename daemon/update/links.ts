// Reads and replaces symbolic links.
import { lstatSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory, temporaryName } from '../system/files.ts';

/** Replaces a link as a whole: a process killed in between leaves the old one or the new one. @throws NodeJS.ErrnoException */
export function replaceLink(path: string, target: string): void {
  const temporary = temporaryName(path);
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

/** The target of a symbolic link, unresolved; null for anything else. */
export function linkAt(path: string): string | null {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : null;
}
