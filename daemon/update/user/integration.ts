// Plans the files that a user installation needs outside of its tree: links to `current`, and files that contain a path.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { quote } from '../../view/fix.ts';
import type { UserLayout } from './layout.ts';

/** A symbolic link or a file to be written. */
export type Entry = { path: string } & ({ link: string } | { text: string | Buffer });

/**
 * Everything that a tree needs outside of itself. Links are preferred, because they never have to be written again.
 * @param tree the tree to read; the entries name `layout.current`, which will lead to it
 */
export function plan(tree: string, layout: UserLayout): Entry[] {
  const { bin, current, data } = layout;
  const linked = (from: string, to: string) =>
    files(join(tree, from)).map(file => ({ path: join(to, file), link: join(current, from, file) }));
  const written = (from: string, to: string, kind: Kind) =>
    files(join(tree, from)).map(file => ({
      path: join(to, file),
      text: render(readFileSync(join(tree, from, file), 'utf8'), kind, layout),
    }));
  return [
    ...linked('bin', bin),
    ...written('share/applications', join(data, 'applications'), 'desktop'),
    ...written('share/dbus-1/services', join(data, 'dbus-1/services'), 'dbus'),
    ...written('lib/systemd/user', join(data, 'systemd/user'), 'unit'),
    ...[
      'icons/hicolor',
      'metainfo',
      'dbus-1/interfaces',
      'man',
      'bash-completion/completions',
      'zsh/site-functions',
      'fish/vendor_completions.d',
    ].flatMap(place => linked(join('share', place), join(data, place))),
  ];
}

type Kind = 'desktop' | 'dbus' | 'unit';

/** A text of a tree that is built for users, its tokens (data/meson.build) replaced, each path quoted in the file's own syntax. */
export function render(text: string, kind: Kind, { current, data, bin }: UserLayout): string {
  return text
    .replace(/@PREFIX@((?:\/[\w.-]+)*)/g, (_, below: string) => QUOTE[kind](join(current, below)))
    .replaceAll('@DATA@', QUOTE[kind](data))
    .replaceAll('@USERBIN@', QUOTE[kind](bin));
}

const plain = /^[\w/.+-]+$/;
const QUOTE: Record<Kind, (path: string) => string> = {
  // Desktop Entry Specification, "The Exec key": quoted, then escaped once more as a string; % begins a field code
  desktop: path => (plain.test(path) ? path : `"${path.replace(/[\\"`$]/g, '\\\\$&').replaceAll('%', '%%')}"`),
  // D-Bus splits Exec as a shell does
  dbus: path => quote([path]),
  // systemd.service(5), "Command lines"; systemd.unit(5), "Specifiers"
  unit: path =>
    plain.test(path) ? path : `"${path.replace(/["\\]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`,
};

/** Files and links below a directory, by relative path, sorted. Empty when there is no such directory. */
function files(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}
