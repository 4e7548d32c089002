// Plans the files that a user installation needs outside of its tree, and records them, so only these files are replaced and
// removed.
import { existsSync, lstatSync, readdirSync, readFileSync, type Stats } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import * as z from 'zod/mini';
import { errno } from '../core/errors.ts';
import { readText, replaceFile } from '../core/files.ts';
import { sha256 } from '../core/hash.ts';
import { parseJson } from '../core/shape.ts';
import { linkAt } from '../core/undo.ts';
import { quote } from '../view/fix.ts';
import type { UserLayout } from './user-layout.ts';

/** A file with the digests of its possible contents, or a link with its target. */
const RecordedEntry = z.union([
  z.object({ path: z.string(), link: z.string() }),
  z.object({ path: z.string(), sha256: z.array(z.string()) }),
]);
type RecordedEntry = z.infer<typeof RecordedEntry>;

const InstallRecord = z.object({
  /** True while files are replaced. The next run completes a killed run. */
  pending: z.boolean(),
  entries: z.array(RecordedEntry),
  /** Directories that did not exist before the installation, outermost first. */
  directories: z.array(z.string()),
});
export type InstallRecord = z.infer<typeof InstallRecord>;

export const EMPTY_RECORD: InstallRecord = { pending: false, entries: [], directories: [] };

/** Reads the record. @returns null if it is missing or damaged */
export function readRecord({ record }: Pick<UserLayout, 'record'>): InstallRecord | null {
  return z.safeParse(InstallRecord, parseJson(readText(record))).data ?? null;
}

/** @throws NodeJS.ErrnoException */
export function writeRecord({ record }: Pick<UserLayout, 'record'>, value: InstallRecord): void {
  replaceFile(record, `${JSON.stringify(value, null, 1)}\n`);
}

/** Returns the record of a written entry. */
export function toRecorded(entry: Entry): RecordedEntry {
  return 'link' in entry ? entry : { path: entry.path, sha256: [sha256(entry.text)] };
}

/** Returns the entry with its previous contents: until a file is replaced, its old content is also Culvert's. */
export function withPrevious(entry: RecordedEntry, record: InstallRecord): RecordedEntry {
  const old = record.entries.find(({ path }) => path === entry.path);
  if (!('sha256' in entry) || !old || !('sha256' in old)) return entry;
  return { path: entry.path, sha256: [...new Set([...old.sha256, ...entry.sha256])] };
}

/** True if another program's file is in the place of an entry. */
export function isForeign(entry: Entry, record: InstallRecord): boolean {
  const old = record.entries.find(({ path }) => path === entry.path);
  return stateOf(toRecorded(entry)) === 'foreign' && (!old || stateOf(old) === 'foreign');
}

export function stateOf(entry: RecordedEntry): 'absent' | 'ours' | 'foreign' {
  const stat = statOf(entry.path);
  if (!stat) return 'absent';
  if (stat === 'blocked') return 'foreign';
  if ('link' in entry) return linkAt(entry.path) === entry.link ? 'ours' : 'foreign';
  return stat.isFile() && entry.sha256.includes(sha256(readFileSync(entry.path))) ? 'ours' : 'foreign';
}

/** Returns the missing directories above these paths, parents first. */
export function missingDirectories(paths: readonly string[]): string[] {
  const missing = new Set<string>();
  for (const path of paths) for (let at = dirname(path); !existsSync(at); at = dirname(at)) missing.add(at);
  return [...missing].sort();
}

function statOf(path: string): Stats | 'blocked' | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (errno(error) === 'ENOTDIR') return 'blocked'; // a file is in the place of a directory
    throw error;
  }
}

/** A symbolic link or a file to write. */
export type Entry = { path: string } & ({ link: string } | { text: string | Buffer });

/**
 * Returns the entries that a tree needs outside of itself. It prefers links, because they never change.
 * @param tree the tree to read; the entries name `layout.current`, which will link to the tree
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

/** Replaces the tokens (data/meson.build) in a text of a user build with paths, quoted in the file's syntax. */
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
  // D-Bus splits Exec like a shell
  dbus: path => quote([path]),
  // systemd.service(5), "Command lines"; systemd.unit(5), "Specifiers"
  unit: path =>
    plain.test(path) ? path : `"${path.replace(/["\\]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`,
};

/** Returns the sorted relative paths of files and links below a directory, or an empty list if it does not exist. */
function files(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}
