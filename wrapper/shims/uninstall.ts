// Removes shims and restores the originals, by renames as in `install.ts`.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { reason } from '../../daemon/core/errors.ts';
import { removeIfEmpty } from '../../daemon/core/files.ts';
import { type Installed, type Installs, isForeignShim, readInstalls, shimOf } from '../store/installs.ts';
import type { Paths } from '../store/paths.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { withLock, writeAtomic } from '../system/files.ts';
import { isSameFile, moveBack, place, readLink } from './move-file.ts';
import { recoverRecord } from './shim.ts';

export interface UninstallResult {
  /** `gone`: the shim had already been removed, and there is nothing to restore. */
  change: 'restored' | 'removed' | 'gone' | 'kept-foreign' | 'not-installed';
  bin?: string;
  /** Path of the saved original, if a foreign file is in its place. */
  kept?: string;
}

/**
 * Removes a shim and restores the original, with its inode, times and mode if the file systems allow it. If another program
 * has put a file in the shim's place, that file is left alone.
 * @param bin the command's name, for finding its shim if the records are lost
 * @throws WrapError `original-missing`, `not-writable`
 */
export function uninstall(cli: string, bin: string, paths: Paths, search: string): UninstallResult {
  const result = withLock(paths.installs, (): UninstallResult => {
    const installs = readInstalls(paths);
    const install = installs[cli];
    const entry =
      install && isForeignShim(install.bin, paths) ? undefined : (install ?? recoverRecord(cli, bin, paths, search));
    if (!entry) return { change: 'not-installed' };
    const done = takeAway(cli, entry, paths);
    if (entry.kind === 'link') fs.rmSync(entry.original, { force: true });
    if (entry.kind === 'file') removeIfEmpty(path.dirname(entry.original));
    removePlans(paths, cli);
    delete installs[cli];
    if (Object.keys(installs).length > 0) record(paths, installs);
    else fs.rmSync(paths.installs, { force: true });
    return done;
  });
  for (const dir of [paths.originals, paths.plans, paths.state]) removeIfEmpty(dir);
  return result;
}

/** Removes a shim if it is ours, and restores its original. */
function takeAway(cli: string, entry: Installed, paths: Paths): UninstallResult {
  const { bin } = entry;
  const present = fs.lstatSync(bin, { throwIfNoEntry: false }) !== undefined;
  const ours = shimOf(bin) === cli;
  if (entry.kind === 'beside') {
    if (ours) fs.rmSync(bin, { force: true });
    return { change: present ? 'removed' : 'gone', bin };
  }
  // The CLI has been removed, and a dangling link can't be restored.
  if (!present && entry.kind === 'link' && !fs.existsSync(entry.original)) return { change: 'gone', bin };
  if (ours || !present) {
    restore(entry, paths);
    return { change: 'restored', bin };
  }
  const saved = entry.kind === 'file' && fs.existsSync(entry.original);
  // A kill after saving the original and before placing the shim leaves two names for one file.
  if (saved && isSameFile(entry.original, bin)) {
    fs.rmSync(entry.original, { force: true });
    return { change: 'restored', bin };
  }
  if (entry.kind === 'link' && readLink(bin) === entry.link) return { change: 'restored', bin };
  return { change: 'kept-foreign', bin, ...(saved && { kept: entry.original }) };
}

function restore(entry: Installed, paths: Paths): void {
  if (entry.kind === 'link') {
    place(paths, entry.bin, stage => {
      fs.symlinkSync(entry.link!, stage);
      fs.lutimesSync(stage, entry.mtime!, entry.mtime!);
    });
  } else if (fs.lstatSync(entry.original, { throwIfNoEntry: false })) moveBack(paths, entry.original, entry.bin);
  else {
    throw new WrapError(
      'original-missing',
      EXIT.unavailable,
      `the original of ${entry.bin} is missing (${entry.original})`,
      { hint: 'install the CLI again over the shim, then uninstall' },
    );
  }
}

/** Removes the plans, shortcuts and stamps of a CLI. */
function removePlans(paths: Paths, cli: string): void {
  const names = fs.existsSync(paths.plans) ? fs.readdirSync(paths.plans) : [];
  const own = [
    cli,
    `${cli}.sh`,
    ...['config', 'user', 'shipped', 'signed'].flatMap(name => [`.${cli}.${name}`, `.${cli}.${name}.time`]),
  ];
  for (const name of names) if (own.includes(name)) fs.rmSync(path.join(paths.plans, name), { force: true });
}

/** Updates the records. A full disk must not prevent uninstalling; a stale record is only reported as replaced. */
function record(paths: Paths, installs: Installs): void {
  try {
    writeAtomic(paths.installs, `${JSON.stringify(installs)}\n`);
  } catch (error) {
    say(`${paths.installs} could not be updated: ${reason(error)}`);
  }
}
