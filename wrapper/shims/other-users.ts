// Finds the files that keep a shim in a shared directory from working for a user who did not install it.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Installed, isExecutable } from '../store/installs.ts';
import { readText } from '../system/files.ts';
import { recordIn } from './shim.ts';

/** Path of a file that a shim of another user starts and this user can’t run or read: its original, or culvert-wrap’s program. */
export function unusableIn(shim: string): string | undefined {
  const record = recordIn(shim);
  const originals = record ? originalsOf(record) : [];
  if (record && !originals.some(isExecutable)) return originals.at(-1);
  // as `shimText` writes it
  const bundle = /^ {2}__cw_b='([^']+)'$/m.exec(readText(shim) ?? '')?.[1];
  return bundle !== undefined && !isReadable(bundle) ? bundle : undefined;
}

/** Paths of the original, of which a shim starts the first that it can: as it is kept, then the target of its link. */
function originalsOf({ bin, original, link }: Installed): string[] {
  return link === undefined ? [original] : [original, path.resolve(path.dirname(bin), link)];
}

/** The original that other users can't run, although they can run the shim. */
export function closedToOthers(entry: Installed): string | undefined {
  const originals = originalsOf(entry);
  return isForEverybody(entry.bin) && !originals.some(isForEverybody) ? originals.at(-1) : undefined;
}

function isReadable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Reports whether any user can read and run a file, by the rights of the file and of each directory above it. */
function isForEverybody(file: string): boolean {
  try {
    let place = fs.realpathSync(file);
    if ((fs.statSync(place).mode & 0o005) !== 0o005) return false;
    while (place !== '/') {
      place = path.dirname(place);
      if ((fs.statSync(place).mode & 0o001) === 0) return false;
    }
    return true;
  } catch {
    return false;
  }
}
