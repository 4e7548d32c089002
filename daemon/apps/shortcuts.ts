// Makes, renews and removes Culvert's shortcuts: desktop entries that start an app through the proxy, only through the tunnel,
// or outside it.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ShortcutWay } from '../api/schema.ts';
import { makeDirectory, namesIn, readText, replaceFile } from '../core/files.ts';
import { readFileSafely } from './catalog.ts';
import { fileNameOf } from './command-line.ts';
import { SHORTCUT_PREFIXES, wayOfShortcut } from './data-home.ts';
import { ORIGINAL_KEY, SHORTCUT_KEY } from './describe.ts';
import { type Entry, escapeValue, joinExec, list, parseEntry, text, unescapeValue } from './desktop-entry.ts';

/** Returns the directory of the shortcuts in `$XDG_DATA_HOME`. */
function shortcutDirectory(dataHome: string): string {
  return join(dataHome, 'applications');
}

/** The app that a shortcut starts. */
export interface Original {
  id: string;
  way: ShortcutWay;
  /** Path of its desktop file. */
  path: string;
  entry: Entry;
}

/** Returns the path of an app's shortcut, even if none exists. */
export function shortcutPath(dataHome: string, id: string, way: ShortcutWay): string {
  return join(shortcutDirectory(dataHome), `${SHORTCUT_PREFIXES[way]}${fileNameOf(id)}.desktop`);
}

/** Lists Culvert's shortcuts with their app ids. Files with such a name but without Culvert's key belong to the user. */
export function listShortcuts(dataHome: string): { id: string; way: ShortcutWay; path: string; original: string }[] {
  return namesIn(shortcutDirectory(dataHome))
    .filter(name => name.endsWith('.desktop'))
    .flatMap(name => {
      const way = wayOfShortcut(name);
      if (!way) return [];
      const path = join(shortcutDirectory(dataHome), name);
      const entry = parseEntry(readFileSafely(path) ?? '');
      const id = entry && text(entry, SHORTCUT_KEY);
      return id ? [{ id, way, path, original: text(entry, ORIGINAL_KEY) ?? '' }] : [];
    });
}

/**
 * Makes or renews a shortcut.
 * @param launcher absolute path of `culvert`
 * @returns true if anything was written
 * @throws NodeJS.ErrnoException when the directory can't be written
 */
export function writeShortcut(dataHome: string, original: Original, launcher: string): boolean {
  const path = shortcutPath(dataHome, original.id, original.way);
  const content = shortcutText(original, launcher);
  if (readText(path) === content) return false;
  makeDirectory(shortcutDirectory(dataHome), 0o777);
  replaceFile(path, content);
  return true;
}

/** @returns true if the shortcut existed */
export function removeShortcut(path: string): boolean {
  const present = readText(path) !== null;
  rmSync(path, { force: true });
  return present;
}

/** Removes all our shortcuts for an uninstallation. @returns their paths */
export function removeAllShortcuts(dataHome: string): string[] {
  const paths = listShortcuts(dataHome).map(({ path }) => path);
  for (const path of paths) rmSync(path, { force: true });
  return paths;
}

/** Returns a shortcut's text: a desktop entry that resembles the original. Pure. */
function shortcutText({ id, way, path, entry }: Original, launcher: string): string {
  const copied = [...entry].flatMap(([key, value]) => {
    const [, base = '', locale] = /^([A-Za-z0-9-]+)(?:\[([^\]]+)\])?$/.exec(key) ?? [];
    const clean = escapeValue(unescapeValue(value));
    if (base === 'Name') return [`${key}=${clean} (${ADDED[way][languageOf(locale)] ?? ADDED[way].en})`];
    return COPIED.has(base) && clean !== '' ? [`${key}=${clean}`] : [];
  });
  const categories = list(entry, 'Categories').filter(category => CATEGORIES.has(category));
  return `${[
    '[Desktop Entry]',
    'Type=Application',
    ...copied,
    `Categories=${(categories.length > 0 ? categories : ['Network']).join(';')};`,
    `Exec=${escapeValue(joinExec([launcher, 'apps', 'launch', OPTIONS[way], id]))}`,
    `TryExec=${escapeValue(launcher)}`,
    'Terminal=false',
    `${SHORTCUT_KEY}=${escapeValue(id)}`,
    `${ORIGINAL_KEY}=${escapeValue(path)}`,
  ].join('\n')}\n`;
}

/** Options of `culvert apps launch`. */
const OPTIONS: Readonly<Record<ShortcutWay, string>> = {
  proxy: '--yes',
  'tunnel-only': '--tunnel-only',
  outside: '--outside',
};

/** Keys to copy, without StartupWMClass, which would assign the windows of the usual instance to the shortcut. */
const COPIED = new Set(['GenericName', 'Comment', 'Icon']);

/** Categories of the Desktop Menu Specification; an original's other categories may be invalid elsewhere. */
const CATEGORIES = new Set(
  'AudioVideo Audio Video Development Education Game Graphics Network Office Science Settings System Utility WebBrowser Email Chat InstantMessaging IRCClient Feed News FileTransfer P2P VideoConference RemoteAccess TerminalEmulator IDE TextEditor Maps'.split(
    ' ',
  ),
);

/** Suffixes of app names by language; they are in the shortcut itself, because desktops don't read our catalogs. */
const ADDED: Readonly<Record<ShortcutWay, Record<string, string>>> = {
  proxy: {
    en: 'through WARP',
    de: 'über WARP',
    es: 'a través de WARP',
    fr: 'via WARP',
    it: 'tramite WARP',
    nl: 'via WARP',
    pl: 'przez WARP',
    pt: 'através do WARP',
    ru: 'через WARP',
    uk: 'через WARP',
  },
  'tunnel-only': {
    en: 'only through the tunnel',
    de: 'nur durch den Tunnel',
    es: 'solo por el túnel',
    fr: 'uniquement par le tunnel',
    it: 'solo attraverso il tunnel',
    nl: 'alleen via de tunnel',
    pl: 'tylko przez tunel',
    pt: 'somente pelo túnel',
    ru: 'только через туннель',
    uk: 'лише через тунель',
  },
  outside: {
    en: 'outside the tunnel',
    de: 'außerhalb des Tunnels',
    es: 'fuera del túnel',
    fr: 'hors du tunnel',
    it: 'fuori dal tunnel',
    nl: 'buiten de tunnel',
    pl: 'poza tunelem',
    pt: 'fora do túnel',
    ru: 'вне туннеля',
    uk: 'поза тунелем',
  },
};

const languageOf = (locale: string | undefined) => locale?.split(/[_@.-]/)[0] ?? 'en';
