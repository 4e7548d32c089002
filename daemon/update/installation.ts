// Installs, switches and removes versions of a user installation, and leaves a complete version even if its process is killed.
import { chmodSync, cpSync, existsSync, renameSync, rmdirSync, rmSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure, reason } from '../core/errors.ts';
import { makeDirectory, replaceFile, syncDirectory, temporaryName } from '../core/files.ts';
import { acquireLock, sweepLock } from '../core/lock.ts';
import { replaceLink } from '../core/undo.ts';
import {
  EMPTY_RECORD,
  type Entry,
  type InstallRecord,
  isForeign,
  missingDirectories,
  plan,
  readRecord,
  stateOf,
  toRecorded,
  withPrevious,
  writeRecord,
} from './record.ts';
import { currentOf, freeName, makeStaging, previousOf, type UserLayout, versionOf } from './user-layout.ts';

/**
 * Installs a copy of a tree. Call it under the lock.
 * @returns skipped paths, which belong to other programs or can't be written
 * @throws Failure `foreign-files` before any change of a first installation
 */
export function install(layout: UserLayout, tree: string, version: string): string[] {
  if (currentOf(layout) === null) refuseForeign(layout, tree);
  const staging = makeStaging(layout);
  const staged = join(staging, version);
  cpSync(tree, staged, { recursive: true, verbatimSymlinks: true });
  return adopt(layout, staged, version);
}

/**
 * Switches to a complete tree from the staging directory. Call it under the lock.
 * @returns skipped paths, like `install`
 */
export function adopt(layout: UserLayout, staged: string, version: string): string[] {
  const name = freeName(layout, version);
  chmodSync(staged, 0o755);
  renameSync(staged, join(layout.versions, name));
  rmSync(dirname(staged), { recursive: true, force: true });
  syncDirectory(layout.versions);
  return use(layout, name, currentOf(layout));
}

/**
 * Returns to the previous version. Call it under the lock.
 * @returns the version, and skipped paths like `install`
 * @throws Failure `nothing-previous`
 */
export function rollBack(layout: UserLayout): { version: string; kept: string[] } {
  const name = previousOf(layout);
  if (name === null) throw new Failure('There is no version to go back to.', { code: 'nothing-previous' });
  const names = use(layout, name, null);
  rmSync(layout.previous, { force: true });
  return { version: versionOf(name), kept: names };
}

/** Completes the files outside of the tree after a killed run. Call it under the lock. */
export function repair(layout: UserLayout): void {
  const name = currentOf(layout);
  if (name !== null && isPending(layout)) use(layout, name, null);
}

/** True if a run was killed while it replaced files. Cheap. */
export function isPending(layout: UserLayout): boolean {
  return readRecord(layout)?.pending === true;
}

/**
 * Removes exactly the installed files. Call it under the lock.
 * @returns installed paths that have changed since, and were kept
 */
export function uninstall(layout: UserLayout): string[] {
  const record = readRecord(layout) ?? guessRecord(layout);
  const paths: string[] = [];
  for (const entry of record.entries) {
    const state = stateOf(entry);
    if (state === 'ours') rmSync(entry.path, { force: true });
    else if (state === 'foreign') paths.push(entry.path);
    rmSync(temporaryName(entry.path), { force: true });
  }
  for (const link of [layout.current, layout.previous]) {
    rmSync(link, { force: true });
    rmSync(temporaryName(link), { force: true });
  }
  rmSync(layout.versions, { recursive: true, force: true });
  // `withInstallLock` removes the record last, for a further run if this run is killed
  writeRecord(layout, { ...EMPTY_RECORD, directories: record.directories });
  return paths;
}

/** Refuses a first installation if files of other programs are in the way. */
function refuseForeign(layout: UserLayout, tree: string): void {
  const record = readRecord(layout) ?? EMPTY_RECORD;
  const foreign = plan(tree, layout).filter(entry => isForeign(entry, record));
  if (foreign.length === 0) return;
  const list = foreign.map(({ path }) => path).join(', ');
  const message = `Files that Culvert did not write are in the way: ${list}. Nothing was changed.`;
  throw new Failure(`${message} Move them away, then try again.`, { code: 'foreign-files' });
}

/** Switches to a tree: writes the record, the links, the files outside of the tree, and the record again. */
function use(layout: UserLayout, name: string, before: string | null): string[] {
  const record = readRecord(layout) ?? guessRecord(layout);
  const planned = plan(join(layout.versions, name), layout);
  const foreign = planned.filter(entry => isForeign(entry, record)).map(({ path }) => path);
  const entries = planned.filter(({ path }) => !foreign.includes(path));
  const paths = new Set(planned.map(({ path }) => path));
  const obsolete = record.entries.filter(({ path }) => !paths.has(path));
  const directories = [...new Set([...record.directories, ...missingDirectories(entries.map(({ path }) => path))])];

  const either = entries.map(entry => withPrevious(toRecorded(entry), record));
  writeRecord(layout, { pending: true, entries: [...either, ...obsolete], directories });

  if (before !== null && before !== name && versionOf(before) !== versionOf(name))
    replaceLink(layout.previous, join('versions', before));
  replaceLink(layout.current, join('versions', name));

  // the switch is complete: later failures are reported, and the next start retries
  const failed = entries.flatMap(entry => attempt(entry.path, () => writeEntry(entry)));
  for (const entry of obsolete)
    failed.push(...attempt(entry.path, () => stateOf(entry) === 'ours' && rmSync(entry.path, { force: true })));
  attempt(layout.data, () => touchIconCache(layout));
  if (failed.length === 0)
    attempt(layout.record, () =>
      writeRecord(layout, { pending: false, entries: entries.map(toRecorded), directories }),
    );
  return [...foreign, ...failed];
}

/** @returns the path with the reason if the work fails, else an empty list */
function attempt(path: string, work: () => unknown): string[] {
  try {
    work();
    return [];
  } catch (error) {
    return [`${path} (${reason(error)})`];
  }
}

/** Writes a link or a file, unless it exists already. @throws NodeJS.ErrnoException */
export function writeEntry(entry: Entry): void {
  if (stateOf(toRecorded(entry)) === 'ours') return;
  makeDirectory(dirname(entry.path));
  if ('link' in entry) replaceLink(entry.path, entry.link);
  else replaceFile(entry.path, entry.text, { mode: 0o644 });
}

/** Replaces a record that a failing disk lost with the entries of the current tree. */
function guessRecord(layout: UserLayout): InstallRecord {
  const name = currentOf(layout);
  const entries = name === null ? [] : plan(join(layout.versions, name), layout).map(toRecorded);
  return { pending: true, entries, directories: [] };
}

/** Makes a user's icon cache older than its directory. GTK ignores an outdated cache. */
function touchIconCache({ data }: UserLayout): void {
  const directory = join(data, 'icons/hicolor');
  if (existsSync(join(directory, 'icon-theme.cache'))) utimesSync(directory, new Date(), new Date());
}

/**
 * Runs `work` while no other process changes this installation.
 * @throws Failure `locked`
 */
export async function withInstallLock<T>(layout: UserLayout, work: () => T | Promise<T>): Promise<T> {
  // includes the directories of configuration and state, which the programs create later
  const directories = missingDirectories([layout.record, ...layout.own]);
  makeDirectory(layout.root);
  const file = join(layout.root, 'lock');
  const lock = acquireLock(file);
  if ('heldBy' in lock)
    throw new Failure(`Process ${lock.heldBy} is changing this installation. Wait for it.`, { code: 'locked' });
  let unused: string[] = [];
  try {
    sweepLock(file);
    if (readRecord(layout) === null && currentOf(layout) === null)
      writeRecord(layout, { ...EMPTY_RECORD, directories });
    return await work();
  } finally {
    unused = removeLeftovers(layout);
    lock.release();
    for (const directory of unused.toReversed()) removeIfEmpty(directory);
  }
}

/** Removes the remaining files if nothing is installed. @returns the directories created for this installation */
function removeLeftovers(layout: UserLayout): string[] {
  const record = readRecord(layout);
  if (currentOf(layout) !== null || record?.entries.length) return [];
  for (const path of [layout.versions, layout.record, temporaryName(layout.record)])
    rmSync(path, { recursive: true, force: true });
  return record?.directories ?? [];
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // another program uses the directory
  }
}
