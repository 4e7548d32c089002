// Finds shims that other users run as well, and the files that keep one from working for them.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type Installed, isExecutable } from '../store/installs.ts';
import { readText } from '../system/files.ts';
import { recordIn } from './shim.ts';

/** Path of a file that a shim of another user starts and this user can't run or read: its original, or culvert-wrap's program. */
export function unusableIn(shim: string): string | undefined {
  const record = recordIn(shim);
  const originals = record ? originalsOf(record) : [];
  if (record && !originals.some(isExecutable)) return originals.at(-1);
  // as `shimText` writes it
  const bundle = /^ {2}__cw_b='([^']+)'$/m.exec(readText(shim) ?? '')?.[1];
  return bundle !== undefined && !isReadable(bundle) ? bundle : undefined;
}

/** Paths of the original, of which a shim starts the first that it can: as it is kept, then the target of its link. */
export function originalsOf({ bin, original, link }: Installed): string[] {
  return link === undefined ? [original] : [original, path.resolve(path.dirname(bin), link)];
}

/**
 * File that keeps a shim from working for other users, who can run it: its original, without which the command ends, or
 * culvert-wrap's program, without which it uses no account.
 */
export function closedToOthers(
  entry: Installed,
  program: string,
): { what: 'original' | 'program'; file: string } | undefined {
  const originals = originalsOf(entry);
  if (!isShared(entry.bin) || !isForEverybody(entry.bin)) return undefined;
  if (!originals.some(file => isForEverybody(file))) return { what: 'original', file: originals.at(-1)! };
  return isForEverybody(program, 0o004) ? undefined : { what: 'program', file: program };
}

/** A sentence for the user who installed the shim. */
export function describeClosed(bin: string, { what, file }: NonNullable<ReturnType<typeof closedToOthers>>): string {
  return what === 'original'
    ? `other users can run ${bin}, but not its original ${file}`
    : `other users run ${bin} without accounts, because they can't read ${file}`;
}

export const OPEN_TO_OTHERS = 'give them the rights to read and run it, and to enter the directories above it';

/**
 * Reports whether other users run the command in this place, so that its original must stay where they can read it: a directory
 * that is another user's, or one outside of the home that all users, or a group, can search.
 */
export function isShared(file: string): boolean {
  const stat = fs.statSync(path.dirname(file));
  if (stat.uid !== process.getuid?.()) return true;
  if (path.resolve(file).startsWith(`${ownHome()}/`)) return false;
  for (let dir = fs.realpathSync(path.dirname(file)); ; dir = path.dirname(dir)) {
    if ((fs.statSync(dir).mode & 0o011) === 0) return false;
    if (dir === path.dirname(dir)) return true;
  }
}

/** `HOME` may be another user's for root, and a container may not know its user. */
function ownHome(): string {
  try {
    return os.userInfo().homedir;
  } catch {
    return os.homedir();
  }
}

function isReadable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Reports whether any user has these rights to a file, by its mode and that of each directory above it. */
function isForEverybody(file: string, rights = 0o005): boolean {
  try {
    let place = fs.realpathSync(file);
    if ((fs.statSync(place).mode & rights) !== rights) return false;
    while (place !== '/') {
      place = path.dirname(place);
      if ((fs.statSync(place).mode & 0o001) === 0) return false;
    }
    return true;
  } catch {
    return false;
  }
}
