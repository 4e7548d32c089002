// Finds this desktop's apps in the directories of desktop entries, and lists them, sorted, with their shortcuts.
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
import type { App, ShortcutWay } from '../api/schema.ts';
import type { FeatureContext } from '../controls.ts';
import { versionAt, versionOf } from '../core/file-version.ts';
import { namesIn } from '../core/files.ts';
import { Problem } from '../problem.ts';
import { SHORTCUT_PREFIXES, userData } from './data-home.ts';
import { createDescriber, type Described, type Kind } from './describe.ts';
import { type Entry, localeKeys, messageLocales, parseEntry } from './desktop-entry.ts';

/** The entries found, by id; the same object while nothing changes. */
export type FoundApps = ReadonlyMap<string, Found<Kind>>;

/** An app with its desktop entry. */
export interface Launchable {
  app: Described;
  entry: Entry;
  /** Path of the desktop entry. */
  path: string;
}

export interface AppList {
  read(): Promise<FoundApps>;
  /** Returns the apps that the desktop shows, sorted by name in the user's language. */
  list(entries: FoundApps): App[];
  /** @throws Problem app-not-found */
  find(id: string): Promise<Launchable>;
  /** Finds an app that supports the proxy. @throws Problem app-not-found, app-not-launchable */
  findForProxy(id: string): Promise<Launchable>;
  /** Returns the paths of our shortcuts for one way, by app id. */
  shortcuts(entries: FoundApps, way: ShortcutWay): Map<string, string>;
  close(): void;
}

/** Creates the list of this desktop's apps. @param dataHome `$XDG_DATA_HOME`, the parent of the shortcuts; null if unknown */
export function createAppList({ env, settings }: FeatureContext, dataHome: string | null): AppList {
  let catalog: Catalog<Kind> | null = null;
  let locales: readonly string[] = [];
  /** The last list, valid while `found` is the same object. */
  let lastList: { found: FoundApps; apps: App[] } | null = null;

  async function read(): Promise<FoundApps> {
    const { config, sources } = settings.response();
    const chosen = sources['ui.locale'] === 'default' ? null : config.ui.locale;
    const keys = localeKeys(messageLocales(env, chosen));
    if (!catalog || keys.join() !== locales.join()) {
      catalog?.close();
      locales = keys;
      catalog = createCatalog({
        directories: applicationDirectories(env),
        programs: (env.PATH ?? '').split(':'),
        locales,
        describer: () => createDescriber({ env, locales: keys }),
        isStable: value => value.kind === 'shortcut' || !value.missing,
      });
    }
    return catalog.read();
  }

  function list(entries: FoundApps): App[] {
    if (lastList?.found === entries) return lastList.apps;
    const paths = {
      proxy: shortcuts(entries, 'proxy'),
      'tunnel-only': shortcuts(entries, 'tunnel-only'),
      outside: shortcuts(entries, 'outside'),
    };
    const collator = new Intl.Collator(locales.find(key => /^[a-z]{2,3}$/.test(key)) ?? 'en');
    const apps = [...entries.values()]
      .flatMap(({ value }) => (value.kind === 'shown' ? [listed(value.app, paths)] : []))
      .sort((a, b) => collator.compare(a.name, b.name) || (a.id < b.id ? -1 : 1));
    lastList = { found: entries, apps };
    return apps;
  }

  async function find(id: string): Promise<Launchable> {
    const match = (await read()).get(id);
    const entry = match?.value.kind === 'shown' ? readEntry(match.path) : null;
    if (match?.value.kind !== 'shown' || !entry)
      throw new Problem('app-not-found', `There is no app "${id}" on this desktop.`, {
        hint: 'Its id is the name of its desktop file, as in the list of apps.',
      });
    return { app: match.value.app, entry, path: match.path };
  }

  async function findForProxy(id: string): Promise<Launchable> {
    const launchable = await find(id);
    const { app } = launchable;
    if (app.method === 'none')
      throw new Problem('app-not-launchable', `${app.name} can’t be started through the proxy. ${app.note}`);
    return launchable;
  }

  function shortcuts(entries: FoundApps, way: ShortcutWay): Map<string, string> {
    const own = dataHome ? `${dataHome}/applications/${SHORTCUT_PREFIXES[way]}` : null;
    return new Map(
      [...entries.values()].flatMap(({ value }) =>
        value.kind === 'shortcut' && own && value.path.startsWith(own) ? [[value.of, value.path] as const] : [],
      ),
    );
  }

  return { read, list, find, findForProxy, shortcuts, close: () => catalog?.close() };
}

/** Reads the desktop entry in a file; null if the file is gone or has no entry. */
export function readEntry(path: string): Entry | null {
  return parseEntry(readFileSafely(path) ?? '');
}

function listed(
  { family: _, ...app }: Described,
  paths: Readonly<Record<ShortcutWay, ReadonlyMap<string, string>>>,
): App {
  const of = (way: ShortcutWay) => paths[way].get(app.id) ?? null;
  return { ...app, shortcut: of('proxy'), tunnelShortcut: of('tunnel-only'), outsideShortcut: of('outside') };
}

/** A desktop file in the catalog. */
interface Found<T> {
  /** The desktop file id: the path below `applications/`, with dashes for slashes. */
  id: string;
  path: string;
  /** Result of `describe`. */
  value: T;
}

export interface Catalog<T> {
  /** Returns the files by id; of several files with the same id, the file in the first directory. */
  read(): Promise<ReadonlyMap<string, Found<T>>>;
  /** Stops watching. */
  close(): void;
}

/** Maximum depth of subdirectories with desktop entries. */
const DEPTH = 4;
const FILE_BYTES = 256 * 1024;
/** Number of files read before other work gets a turn. */
const BATCH = 64;

/**
 * Returns the directories of desktop entries in order, each once (XDG Base Directory Specification). Includes Flatpak's and
 * snapd's, because XDG_DATA_DIRS lacks them in a session that began before their installation.
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
  /** Roots in order of precedence (see `applicationDirectories`). */
  directories: readonly string[];
  /** Directories of PATH: changes there can affect the values of unchanged entries. */
  programs: readonly string[];
  /** Locales of the translations to keep. */
  locales: readonly string[];
  /** Makes a function that summarizes an entry, so that its text can be freed; null is a broken entry. Called for each scan. */
  describer: () => (entry: Entry | null, id: string, path: string) => T;
  /** True if a value stays valid until its file changes. */
  isStable: (value: T) => boolean;
}

/** Creates an empty catalog. Once it has read entries, it watches the directories and does not poll. */
export function createCatalog<T>({ directories, programs, locales, describer, isStable }: Options<T>): Catalog<T> {
  /** The known files by path, so that unchanged entries are not read again. */
  let files = new Map<string, { version: string; value: T }>();
  let current: ReadonlyMap<string, Found<T>> | null = null;
  let reading: Promise<ReadonlyMap<string, Found<T>>> | null = null;
  let signature = '';
  let watchers: FSWatcher[] = [];

  const unwatch = () => {
    for (const watcher of watchers) watcher.close();
    watchers = [];
  };
  const invalidate = () => {
    current = null;
    unwatch();
  };

  async function scan(): Promise<ReadonlyMap<string, Found<T>>> {
    const folders = directories.flatMap(root => listDirectories(root));
    // before the first read, so that no change is missed
    unwatch();
    watchers = folders.flatMap(({ directory }) => {
      try {
        return [watch(directory, { persistent: false }, invalidate).on('error', invalidate)];
      } catch {
        return []; // no watches left: the directories' times still show added and removed files
      }
    });
    signature = signatureOf([...directories, ...programs]);
    const watched = watchers;
    const describe = describer();
    const next = new Map<string, { version: string; value: T }>();
    const entries = new Map<string, Found<T>>();
    let count = 0;
    for (const { directory, prefix } of folders)
      for (const name of namesIn(directory).filter(each => each.endsWith('.desktop'))) {
        const id = prefix + name;
        if (entries.has(id)) continue;
        const path = `${directory}/${name}`;
        const earlier = files.get(path);
        const file = readKnown(path, earlier && isStable(earlier.value) ? earlier.version : null);
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
    close: invalidate,
  };
}

/** Returns a signature of the roots, including missing roots, which can't be watched. */
function signatureOf(roots: readonly string[]): string {
  return roots.map(root => versionAt(root) ?? '-').join(' ');
}

/** Lists a root and the directories below it; ignores links that leave the root or form a loop. */
function listDirectories(root: string): { directory: string; prefix: string }[] {
  const folders: { directory: string; prefix: string }[] = [];
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
      folders.push({ directory, prefix });
      if (depth === DEPTH) return;
      for (const item of readdirSync(directory, { withFileTypes: true })) {
        if (item.name.endsWith('.desktop')) continue;
        if (item.isDirectory() || item.isSymbolicLink())
          if (item.isDirectory() || statSync(join(directory, item.name), { throwIfNoEntry: false })?.isDirectory())
            visit(join(directory, item.name), `${prefix}${item.name}-`, depth + 1);
      }
    } catch {
      // gone or unreadable
    }
  };
  visit(root, '', 0);
  return folders;
}

/**
 * Reads a file's bytes into a string (see `parseEntry`); null for an unreadable file. Follows links, because Flatpak's
 * entries are links. Avoids files that could block the reader or fill the memory.
 */
export function readFileSafely(path: string): string | null {
  return readKnown(path, null)?.text ?? null;
}

let readBuffer: Buffer | undefined;

/** Works like `readFileSafely` and returns the version too; `text` is null for the known version. */
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
    // a single read into a shared buffer; readFileSync would stat again and read until the end
    readBuffer ??= Buffer.allocUnsafe(FILE_BYTES);
    return { version, text: readBuffer.toString('latin1', 0, readSync(fd, readBuffer, 0, FILE_BYTES, 0)) };
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}
