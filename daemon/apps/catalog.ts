// Reads the desktop entries of this session: found in the XDG data directories in their order, read once, kept while unchanged.
import {
  closeSync,
  constants,
  type FSWatcher,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  statSync,
  watch,
} from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { namesIn, versionAt, versionOf } from '../system/files.ts';
import { userData } from './data-home.ts';
import { type Entry, parseEntry } from './desktop-entry.ts';

/** A desktop file as found. */
export interface Found<T> {
  /** The desktop file id: its path below `applications/`, with dashes for slashes. */
  id: string;
  path: string;
  /** Result of `describe`. */
  value: T;
}

export interface Catalog<T> {
  /** By id; of several files with one id the first directory's. */
  read(): Promise<ReadonlyMap<string, Found<T>>>;
  /** Stops watching. */
  close(): void;
}

/** Subdirectories deeper than this hold no entries of a desktop. */
const DEPTH = 4;
const FILE_BYTES = 256 * 1024;
/** So many files are read before others get their turn. */
const BATCH = 64;

/**
 * The directories that hold desktop entries, first ones first, each once (XDG Base Directory Specification), with
 * Flatpak's and snapd's, which a session that began before their installation does not have in XDG_DATA_DIRS.
 */
export function applicationDirectories(env: NodeJS.ProcessEnv): string[] {
  const home = env.HOME && isAbsolute(env.HOME) ? env.HOME : null;
  const data = userData(env);
  const system = (env.XDG_DATA_DIRS || '/usr/local/share:/usr/share').split(':').filter(isAbsolute);
  const exports = [
    ...(home ? [join(home, '.local/share/flatpak/exports/share')] : []),
    '/var/lib/flatpak/exports/share',
    '/var/lib/snapd/desktop',
  ];
  const roots = [...(data ? [data] : []), ...system, ...exports].map(root => join(root, 'applications'));
  return [...new Set(roots)];
}

interface Options<T> {
  /** Roots, first ones first (see `applicationDirectories`). */
  directories: readonly string[];
  /** Directories in which a change can make other values of the same entries: those of PATH. */
  programs: readonly string[];
  /** Translations that are asked for. */
  locales: readonly string[];
  /** Summarizes an entry, so that its text can go; null stands for a broken one. Called for each reading. */
  describer: () => (entry: Entry | null, id: string, path: string) => T;
  /** True if a value is valid until its file changes. */
  lasts: (value: T) => boolean;
}

/** A catalog that has read nothing yet. While it holds anything it watches the directories; nothing is polled. */
export function createCatalog<T>({ directories, programs, locales, describer, lasts }: Options<T>): Catalog<T> {
  /** By path; an entry that has not changed is not read again. */
  let files = new Map<string, { version: string; value: T }>();
  let current: ReadonlyMap<string, Found<T>> | null = null;
  let reading: Promise<ReadonlyMap<string, Found<T>>> | null = null;
  let signature = '';
  let watchers: FSWatcher[] = [];

  const unwatch = () => {
    for (const watcher of watchers) watcher.close();
    watchers = [];
  };
  const stale = () => {
    current = null;
    unwatch();
  };

  async function scan(): Promise<ReadonlyMap<string, Found<T>>> {
    const places = directories.flatMap(root => listDirectories(root));
    // before the first file is read, so that no change falls between
    unwatch();
    watchers = places.flatMap(({ directory }) => {
      try {
        return [watch(directory, { persistent: false }, stale).on('error', stale)];
      } catch {
        return []; // no watches left: the directories' times still show that files come and go
      }
    });
    signature = signatureOf([...directories, ...programs]);
    const watched = watchers;
    const describe = describer();
    const next = new Map<string, { version: string; value: T }>();
    const entries = new Map<string, Found<T>>();
    let count = 0;
    for (const { directory, prefix } of places)
      for (const name of namesIn(directory).filter(each => each.endsWith('.desktop'))) {
        const id = prefix + name;
        if (entries.has(id)) continue;
        const path = `${directory}/${name}`;
        const earlier = files.get(path);
        const file = readKnown(path, earlier && lasts(earlier.value) ? earlier.version : null);
        if (!file) continue;
        const value = file.text === null ? earlier!.value : describe(parseEntry(file.text, locales), id, path);
        next.set(path, { version: file.version, value });
        entries.set(id, { id, path, value });
        if (++count % BATCH === 0) await turn();
      }
    files = next;
    // unless something changed during the scan
    if (watchers === watched) current = entries;
    return entries;
  }

  return {
    read() {
      if (current && signature === signatureOf([...directories, ...programs])) return Promise.resolve(current);
      reading ??= scan().finally(() => {
        reading = null;
      });
      return reading;
    },
    close: stale,
  };
}

/** Also of directories that did not exist, which nothing watches. */
function signatureOf(roots: readonly string[]): string {
  return roots.map(root => versionAt(root) ?? '-').join(' ');
}

/** A root and the directories below it; links that lead out of it, or in a circle, are not followed. */
function listDirectories(root: string): { directory: string; prefix: string }[] {
  const places: { directory: string; prefix: string }[] = [];
  const seen = new Set<string>();
  let top: string;
  try {
    top = realpathSync(root);
  } catch {
    return [];
  }
  const visit = (directory: string, prefix: string, depth: number) => {
    let real: string;
    try {
      real = realpathSync(directory);
      if (seen.has(real) || (real !== top && !real.startsWith(`${top}/`))) return;
      seen.add(real);
      places.push({ directory, prefix });
      if (depth === DEPTH) return;
      for (const item of readdirSync(directory, { withFileTypes: true })) {
        if (item.name.endsWith('.desktop')) continue;
        if (item.isDirectory() || item.isSymbolicLink())
          if (item.isDirectory() || statSync(join(directory, item.name), { throwIfNoEntry: false })?.isDirectory())
            visit(join(directory, item.name), `${prefix}${item.name}-`, depth + 1);
      }
    } catch {
      // not ours to read
    }
  };
  visit(root, '', 0);
  return places;
}

/**
 * A file's text as bytes in a string (see `parseEntry`), or null for an unreadable file. Links are followed, as
 * Flatpak's entries are links; but nothing is opened that could hold the reader up or fill the memory.
 */
export function readFileSafely(path: string): string | null {
  return readKnown(path, null)?.text ?? null;
}

/** As `readFileSafely`, with the version; `text` is null if it is the known one. */
function readKnown(path: string, oldVersion: string | null): { version: string; text: string | null } | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return null;
  }
  try {
    const stats = fstatSync(fd, { bigint: true });
    if (!stats.isFile() || stats.size > FILE_BYTES) return null;
    const version = versionOf(stats);
    if (version === oldVersion) return { version, text: null };
    // one read into one buffer: readFileSync asks for the size again, and reads until nothing comes
    space ??= Buffer.allocUnsafe(FILE_BYTES);
    return { version, text: space.toString('latin1', 0, readSync(fd, space, 0, FILE_BYTES, 0)) };
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

let space: Buffer | undefined;
