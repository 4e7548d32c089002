// The user installation: versions side by side, one in use. Whoever is killed at any point leaves the old or the new whole.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  utimesSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { acquire } from '../instance.ts';
import { linkAt, replaceFile, replaceLink, sweepLocks, syncDirectory, temporaryOf } from './files.ts';
import { type Entry, plan } from './integration.ts';
import { type Places, versionOf } from './places.ts';

/** What was written outside of the root, so that exactly that is removed. */
interface Record {
  /** Set while files are being replaced: a run that was killed in between is completed by the next. */
  pending: boolean;
  /** Of a file the digests of what may stand there; a link is known by where it leads. */
  entries: ({ path: string } & ({ link: string } | { sha256: string[] }))[];
  /** Directories that did not exist before, outermost first. */
  directories: string[];
}

const NOTHING: Record = { pending: false, entries: [], directories: [] };

/** A failure of installing or uninstalling; the sentence says what to do. */
export class InstallError extends Error {
  readonly code: 'foreign-files' | 'locked' | 'no-tree' | 'nothing-previous' | 'not-installed';
  constructor(code: InstallError['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'InstallError';
    this.code = code;
  }
}

/** The directory name of the version in use, or null. */
export function currentOf({ current, versions }: Places): string | null {
  return treeAt(current, versions);
}

/** The directory name of the version that can be gone back to, or null. */
export function previousOf(places: Places): string | null {
  const name = treeAt(places.previous, places.versions);
  return name === currentOf(places) ? null : name;
}

/** A directory for a new tree, empty, under the lock. What a killed run left there is gone. */
export function makeStaging({ versions }: Places): string {
  const staging = join(versions, '.staging');
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true, mode: 0o700 });
  return staging;
}

/**
 * Runs `work` while no other process changes this installation. Where nothing is installed afterwards, nothing is left.
 * @throws InstallError `locked`
 */
export async function locked<T>(places: Places, work: () => T | Promise<T>): Promise<T> {
  // also those that configuration and state will lie in, once there are any
  const directories = [...new Set([places.record, ...places.own].flatMap(missingAbove))].sort();
  mkdirSync(places.root, { recursive: true, mode: 0o700 });
  const lock = acquire({ runtime: places.root });
  if ('heldBy' in lock)
    throw new InstallError('locked', `Process ${lock.heldBy} is changing this installation. Wait for it.`);
  let emptied: string[] = [];
  try {
    sweepLocks(places.root);
    if (readRecord(places) === null && currentOf(places) === null)
      writeRecord(places, { pending: false, entries: [], directories });
    return await work();
  } finally {
    const record = readRecord(places);
    if (currentOf(places) === null && !record?.entries.length) {
      for (const path of [places.versions, places.record, temporaryOf(places.record)])
        rmSync(path, { recursive: true, force: true });
      emptied = record?.directories ?? [];
    }
    lock.release();
    for (const directory of emptied.toReversed()) removeIfEmpty(directory);
  }
}

/**
 * Installs a tree that lies elsewhere; it is copied. To be run under the lock.
 * @returns paths that were left alone, because something else stands there or they can't be written
 * @throws InstallError `foreign-files` before anything is changed, where nothing is installed yet
 */
export function install(places: Places, tree: string, version: string): string[] {
  if (currentOf(places) === null) refuseForeign(places, tree);
  const staging = makeStaging(places);
  const staged = join(staging, version);
  cpSync(tree, staged, { recursive: true, verbatimSymlinks: true });
  return adopt(places, staged, version);
}

/**
 * Puts a complete tree in the staging directory to use. To be run under the lock.
 * @returns as `install`
 */
export function adopt(places: Places, staged: string, version: string): string[] {
  const name = freeName(places, version);
  chmodSync(staged, 0o755);
  renameSync(staged, join(places.versions, name));
  rmSync(dirname(staged), { recursive: true, force: true });
  syncDirectory(places.versions);
  return use(places, name, currentOf(places));
}

/**
 * Goes back to the version before. To be run under the lock.
 * @returns its version, and paths as `install`
 * @throws InstallError `nothing-previous`
 */
export function goBack(places: Places): { version: string; kept: string[] } {
  const name = previousOf(places);
  if (name === null) throw new InstallError('nothing-previous', 'There is no version to go back to.');
  const kept = use(places, name, null);
  rmSync(places.previous, { force: true });
  return { version: versionOf(name), kept };
}

/** Completes what a killed run left half written outside of the tree. To be run under the lock. */
export function repair(places: Places): void {
  const name = currentOf(places);
  if (name !== null && isPending(places)) use(places, name, null);
}

/** Whether a run was killed while it replaced files. Cheap. */
export function isPending(places: Places): boolean {
  return readRecord(places)?.pending === true;
}

/**
 * Removes trees that are neither in use nor the one before.
 * @param running the tree that this process runs in; it goes with the next update
 */
export function prune(places: Places, running: string): void {
  const kept = [currentOf(places), previousOf(places), basename(running)];
  for (const name of list(places.versions))
    if (!kept.includes(name))
      attempt(name, () => rmSync(join(places.versions, name), { recursive: true, force: true }));
}

/**
 * Removes all that was installed, and nothing else. To be run under the lock.
 * @returns paths that were written by an install but changed since, and so were left alone
 */
export function uninstall(places: Places): string[] {
  const record = readRecord(places) ?? guessed(places);
  const kept: string[] = [];
  for (const entry of record.entries) {
    const found = stateOf(entry);
    if (found === 'ours') rmSync(entry.path, { force: true });
    else if (found === 'foreign') kept.push(entry.path);
    rmSync(temporaryOf(entry.path), { force: true });
  }
  for (const link of [places.current, places.previous]) {
    rmSync(link, { force: true });
    rmSync(temporaryOf(link), { force: true });
  }
  rmSync(places.versions, { recursive: true, force: true });
  // record and directories are the last to go, with the lock: who was killed before finds out here what is left
  writeRecord(places, { pending: false, entries: [], directories: record.directories });
  return kept;
}

/** What stands in the way of a first installation is left alone, and nothing is begun. */
function refuseForeign(places: Places, tree: string): void {
  const known = readRecord(places) ?? NOTHING;
  const foreign = plan(tree, places)
    .filter(entry => isForeign(entry, known))
    .map(({ path }) => path);
  if (foreign.length > 0)
    throw new InstallError(
      'foreign-files',
      `Files that Culvert did not write are in the way: ${foreign.join(', ')}. Nothing was changed. Move them away, then try again.`,
    );
}

/** Makes a tree the one in use: the record first, then the switch, then what stands outside, then the record again. */
function use(places: Places, name: string, before: string | null): string[] {
  const tree = join(places.versions, name);
  const known = readRecord(places) ?? guessed(places);
  const wanted = plan(tree, places);
  const kept = wanted.filter(entry => isForeign(entry, known)).map(({ path }) => path);
  const entries = wanted.filter(({ path }) => !kept.includes(path));
  const paths = new Set(entries.map(({ path }) => path));
  const obsolete = known.entries.filter(({ path }) => !paths.has(path) && !kept.includes(path));
  const directories = [...new Set([...known.directories, ...missingDirectories(entries)])];

  const either = entries.map(entry => merged(recorded(entry), known));
  writeRecord(places, { pending: true, entries: [...either, ...obsolete], directories });

  if (before !== null && before !== name && versionOf(before) !== versionOf(name))
    replaceLink(places.previous, join('versions', before));
  replaceLink(places.current, join('versions', name));

  // the switch is made: what fails from here on is told, and tried again by the next start
  const failed = entries.flatMap(entry => attempt(entry.path, () => write(entry)));
  for (const entry of obsolete)
    failed.push(...attempt(entry.path, () => stateOf(entry) === 'ours' && rmSync(entry.path, { force: true })));
  attempt(places.data, () => touchIconCache(places));
  if (failed.length === 0)
    attempt(places.record, () => writeRecord(places, { pending: false, entries: entries.map(recorded), directories }));
  return [...kept, ...failed];
}

function attempt(path: string, work: () => unknown): string[] {
  try {
    work();
    return [];
  } catch (error) {
    return [`${path} (${(error as Error).message})`];
  }
}

function write(entry: Entry): void {
  if (stateOf(recorded(entry)) === 'ours') return;
  mkdirSync(dirname(entry.path), { recursive: true, mode: 0o700 });
  if ('link' in entry) replaceLink(entry.path, entry.link);
  else replaceFile(entry.path, entry.text, 0o644);
}

function recorded(entry: Entry): Record['entries'][number] {
  return 'link' in entry ? entry : { path: entry.path, sha256: [digest(entry.text)] };
}

/** Until a file is replaced, its old content is ours as well. */
function merged(entry: Record['entries'][number], known: Record): Record['entries'][number] {
  const old = known.entries.find(({ path }) => path === entry.path);
  if (!('sha256' in entry) || !old || !('sha256' in old)) return entry;
  return { path: entry.path, sha256: [...new Set([...old.sha256, ...entry.sha256])] };
}

function isForeign(entry: Entry, known: Record): boolean {
  const old = known.entries.find(({ path }) => path === entry.path);
  return stateOf(recorded(entry)) === 'foreign' && (!old || stateOf(old) === 'foreign');
}

function stateOf(entry: Record['entries'][number]): 'absent' | 'ours' | 'foreign' {
  const stat = statOf(entry.path);
  if (!stat) return 'absent';
  if (stat === 'blocked') return 'foreign';
  if ('link' in entry) return linkAt(entry.path) === entry.link ? 'ours' : 'foreign';
  return stat.isFile() && entry.sha256.includes(digest(readFileSync(entry.path))) ? 'ours' : 'foreign';
}

function statOf(path: string): Stats | 'blocked' | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return 'blocked'; // a file where a directory should be
    throw error;
  }
}

function missingDirectories(entries: Entry[]): string[] {
  return [...new Set(entries.flatMap(({ path }) => missingAbove(path)))].sort(); // a parent sorts before what is in it
}

function missingAbove(path: string): string[] {
  const missing: string[] = [];
  for (let at = dirname(path); !existsSync(at); at = dirname(at)) missing.unshift(at);
  return missing;
}

function readRecord({ record }: Places): Record | null {
  try {
    const read = JSON.parse(readFileSync(record, 'utf8')) as Record;
    return Array.isArray(read.entries) && Array.isArray(read.directories) ? read : null;
  } catch {
    return null;
  }
}

/** Without a record, which only a failing disk could lose: what the tree in use would write. */
function guessed(places: Places): Record {
  const name = currentOf(places);
  const entries = name === null ? [] : plan(join(places.versions, name), places).map(recorded);
  return { pending: true, entries, directories: [] };
}

function writeRecord({ record }: Places, value: Record): void {
  replaceFile(record, `${JSON.stringify(value, null, 1)}\n`, 0o600);
}

function treeAt(link: string, versions: string): string | null {
  const target = linkAt(link);
  const name = target === null ? null : basename(target);
  return name !== null && target === join('versions', name) && existsSync(join(versions, name)) ? name : null;
}

/** A name that no tree in use has; what a killed run left under a free one is removed. */
function freeName(places: Places, version: string): string {
  const taken = [treeAt(places.current, places.versions), treeAt(places.previous, places.versions)];
  for (let n = 1; ; n++) {
    const name = n === 1 ? version : `${version}~${n}`;
    if (taken.includes(name)) continue;
    rmSync(join(places.versions, name), { recursive: true, force: true });
    return name;
  }
}

/** A cache that the user keeps for icons is older than its directory now, and so passed over until it is renewed. */
function touchIconCache({ data }: Places): void {
  const directory = join(data, 'icons/hicolor');
  if (existsSync(join(directory, 'icon-theme.cache'))) utimesSync(directory, new Date(), new Date());
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // in use by somebody else by now
  }
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function digest(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
