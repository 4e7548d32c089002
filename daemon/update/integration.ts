// What a user installation needs outside of its tree: links that lead to `current`, and the few files that name a path.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Places } from './places.ts';

/** Something to be written: a symbolic link, or a file with its text. */
export type Entry = { path: string } & ({ link: string } | { text: string });

/** In a tree that is built for users, files that have to name its place have this in its stead (data/meson.build). */
export const PREFIX = '@PREFIX@';

/**
 * Everything that a tree wants outside of itself. Links are preferred: they never have to be written again.
 * @param tree the tree to read; what is planned names `places.current`, whose place it is to take.
 */
export function plan(tree: string, places: Places): Entry[] {
  const { bin, current, data } = places;
  const linked = (from: string, to: string) =>
    files(join(tree, from)).map(file => ({ path: join(to, file), link: join(current, from, file) }));
  const written = (from: string, to: string, kind: Kind) =>
    files(join(tree, from)).map(file => ({
      path: join(to, file),
      text: render(readFileSync(join(tree, from, file), 'utf8'), kind, places),
    }));
  return [
    ...linked('bin', bin),
    ...written('share/applications', join(data, 'applications'), 'desktop'),
    ...written('share/dbus-1/services', join(data, 'dbus-1/services'), 'dbus'),
    ...written('lib/systemd/user', join(data, 'systemd/user'), 'unit'),
    ...[
      ...['icons/hicolor', 'metainfo', 'man'],
      ...['bash-completion/completions', 'zsh/site-functions', 'fish/vendor_completions.d'],
    ].flatMap(place => linked(join('share', place), join(data, place))),
  ];
}

type Kind = 'desktop' | 'dbus' | 'unit';

/** A text with its tokens replaced, each path quoted as the file's own syntax wants it. */
export function render(text: string, kind: Kind, { current, data, bin }: Places): string {
  return text
    .replace(/@PREFIX@((?:\/[\w.-]+)*)/g, (_, below: string) => QUOTE[kind](join(current, below)))
    .replaceAll('@DATA@', QUOTE[kind](data))
    .replaceAll('@USERBIN@', QUOTE[kind](bin));
}

const plain = /^[\w/.+-]+$/;
const QUOTE: Record<Kind, (path: string) => string> = {
  // Desktop Entry Specification, "The Exec key": quoted, then escaped once more as a string; % begins a field code
  desktop: path => (plain.test(path) ? path : `"${path.replace(/[\\"`$]/g, '\\\\$&').replaceAll('%', '%%')}"`),
  // the bus splits Exec like a shell
  dbus: path => (plain.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`),
  // systemd.service(5), "Command lines"; systemd.unit(5), "Specifiers"
  unit: path =>
    plain.test(path) ? path : `"${path.replace(/["\\]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`,
};

/** Files and links below a directory, by relative path, sorted. Nothing where there is no such directory. */
function files(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}
