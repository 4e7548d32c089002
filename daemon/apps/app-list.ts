// Finds the apps of this desktop and lists them, sorted, with their shortcuts.
import type { App, ShortcutWay } from '../api/schema.ts';
import type { FeatureContext } from '../controls.ts';
import { Problem } from '../problem.ts';
import { applicationDirectories, type Catalog, createCatalog, type Found, readFileSafely } from './catalog.ts';
import { SHORTCUT_PREFIXES } from './data-home.ts';
import { createDescriber, type Described, type Kind } from './describe.ts';
import { type Entry, localeKeys, messageLocales, parseEntry } from './desktop-entry.ts';

/** Everything found, by id; the same object while nothing changed. */
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
  /** The apps that a desktop shows, sorted by name in the user's language. */
  list(entries: FoundApps): App[];
  /** @throws Problem app-not-found */
  find(id: string): Promise<Launchable>;
  /** An app that takes the proxy. @throws Problem app-not-found, app-not-launchable */
  findForProxy(id: string): Promise<Launchable>;
  /** The paths of our shortcuts of one way, by the id of their app. */
  shortcuts(entries: FoundApps, way: ShortcutWay): Map<string, string>;
  close(): void;
}

/** @param dataHome `$XDG_DATA_HOME`, the parent of the shortcuts; null for no place */
export function createAppList({ env, settings }: FeatureContext, dataHome: string | null): AppList {
  let catalog: Catalog<Kind> | null = null;
  let locales: readonly string[] = [];
  /** The last list, valid until something else is found. */
  let latest: { found: FoundApps; apps: App[] } | null = null;

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
        lasts: value => value.kind === 'shortcut' || !value.missing,
      });
    }
    return catalog.read();
  }

  function list(entries: FoundApps): App[] {
    if (latest?.found === entries) return latest.apps;
    const paths = {
      proxy: shortcuts(entries, 'proxy'),
      'tunnel-only': shortcuts(entries, 'tunnel-only'),
      outside: shortcuts(entries, 'outside'),
    };
    const collator = new Intl.Collator(locales.find(key => /^[a-z]{2,3}$/.test(key)) ?? 'en');
    const apps = [...entries.values()]
      .flatMap(({ value }) => (value.kind === 'shown' ? [listed(value.app, paths)] : []))
      .sort((a, b) => collator.compare(a.name, b.name) || (a.id < b.id ? -1 : 1));
    latest = { found: entries, apps };
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

/** The desktop entry in a file, or null if the file is gone or has none. */
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
