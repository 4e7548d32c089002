// Installs, switches and removes versions of a user installation; a process killed at any point leaves a whole version.
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
 * Installs a copy of a tree. To be called under the lock.
 * @returns paths that were left alone, because they belong to something else or can't be written
 * @throws Failure `foreign-files` before anything is changed, when nothing is installed yet
 */
export function install(layout: UserLayout, tree: string, version: string): string[] {
  if (currentOf(layout) === null) refuseForeign(layout, tree);
  const staging = makeStaging(layout);
  const staged = join(staging, version);
  cpSync(tree, staged, { recursive: true, verbatimSymlinks: true });
  return adopt(layout, staged, version);
}

/**
 * Puts a complete tree in the staging directory to use. To be called under the lock.
 * @returns as `install`
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
 * Returns to the previous version. To be called under the lock.
 * @returns its version, and paths as `install`
 * @throws Failure `nothing-previous`
 */
export function rollBack(layout: UserLayout): { version: string; kept: string[] } {
  const name = previousOf(layout);
  if (name === null) throw new Failure('There is no version to go back to.', { code: 'nothing-previous' });
  const names = use(layout, name, null);
  rmSync(layout.previous, { force: true });
  return { version: versionOf(name), kept: names };
}

/** Completes files outside of the tree that a killed run left half written. Call it under the lock. */
export function repair(layout: UserLayout): void {
  const name = currentOf(layout);
  if (name !== null && isPending(layout)) use(layout, name, null);
}

/** Reports whether a run was killed while it replaced files. Cheap. */
export function isPending(layout: UserLayout): boolean {
  return readRecord(layout)?.pending === true;
}

/**
 * Removes everything that was installed, and nothing else. To be called under the lock.
 * @returns paths that an install wrote but that have changed since, and so were left alone
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
  // the lock removes the record last, so that a run after a killed one still finds in it what is left
  writeRecord(layout, { ...EMPTY_RECORD, directories: record.directories });
  return paths;
}

/** Before a first installation, files of other programs in the way stop it. */
function refuseForeign(layout: UserLayout, tree: string): void {
  const record = readRecord(layout) ?? EMPTY_RECORD;
  const foreign = plan(tree, layout).filter(entry => isForeign(entry, record));
  if (foreign.length === 0) return;
  const list = foreign.map(({ path }) => path).join(', ');
  const message = `Files that Culvert did not write are in the way: ${list}. Nothing was changed.`;
  throw new Failure(`${message} Move them away, then try again.`, { code: 'foreign-files' });
}

/** Puts a tree to use: first the record, then the switch, then the files outside of the tree, then the record again. */
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

  // the switch is made; a failure from here on is reported, and the next start tries again
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

/** @returns the path with the reason when the work fails */
function attempt(path: string, work: () => unknown): string[] {
  try {
    work();
    return [];
  } catch (error) {
    return [`${path} (${reason(error)})`];
  }
}

/** Makes a link or a file, unless it is there. @throws NodeJS.ErrnoException */
export function writeEntry(entry: Entry): void {
  if (stateOf(toRecorded(entry)) === 'ours') return;
  makeDirectory(dirname(entry.path));
  if ('link' in entry) replaceLink(entry.path, entry.link);
  else replaceFile(entry.path, entry.text, { mode: 0o644 });
}

/** Stands in for a lost record, which takes a failing disk: the entries that the tree in use would have. */
function guessRecord(layout: UserLayout): InstallRecord {
  const name = currentOf(layout);
  const entries = name === null ? [] : plan(join(layout.versions, name), layout).map(toRecorded);
  return { pending: true, entries, directories: [] };
}

/** Makes a user's icon cache older than its directory, so that GTK ignores it until it is renewed. */
function touchIconCache({ data }: UserLayout): void {
  const directory = join(data, 'icons/hicolor');
  if (existsSync(join(directory, 'icon-theme.cache'))) utimesSync(directory, new Date(), new Date());
}

/**
 * Runs `work` while no other process changes this installation.
 * @throws Failure `locked`
 */
export async function withInstallLock<T>(layout: UserLayout, work: () => T | Promise<T>): Promise<T> {
  // includes the directories of configuration and state, which the programs make later
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

/** @returns the directories that were made for this installation, once nothing is installed */
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
    // another program uses it by now
  }
}
