// Keeps root from leaving files in the home of another user, who could not use them.
import { existsSync, fchownSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The user who owns a directory, or the nearest one above it that exists, where this is root and that user is not; else null. */
export function foreignOwner(directory: string): { directory: string; uid: number; gid: number } | null {
  if (process.geteuid?.() !== 0) return null;
  if (!existsSync(directory) && directory !== '/') return foreignOwner(dirname(directory));
  const { uid, gid } = statSync(directory);
  return uid === 0 ? null : { directory, uid, gid };
}

/** Gives a new file that root was asked to write to the owner of its directory. */
export function giveToOwner(fd: number, directory: string): void {
  const owner = foreignOwner(directory);
  if (owner) fchownSync(fd, owner.uid, owner.gid);
}

/** @throws Error for root, where a directory that is to be written to is another user's */
export function assertOwn(...directories: readonly string[]): void {
  for (const { directory, uid } of directories.map(foreignOwner).filter(owner => owner !== null))
    throw new Error(
      `${directory} belongs to the user ${uid}, who could not use what root writes there. ` +
        'Run this as that user, or with root’s own home, as after "sudo -i".',
    );
}
