// Records the files that an installation wrote outside of its tree, so that exactly those are replaced and removed.
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod/mini';
import { errno } from '../../system/errno.ts';
import { readText, replaceFile } from '../../system/files.ts';
import { linkAt } from '../links.ts';
import type { Entry } from './integration.ts';
import type { UserLayout } from './layout.ts';

/** A file by the digests of the contents that it may have, or a link by its target. */
const RecordedEntry = z.union([
  z.object({ path: z.string(), link: z.string() }),
  z.object({ path: z.string(), sha256: z.array(z.string()) }),
]);
export type RecordedEntry = z.infer<typeof RecordedEntry>;

const InstallRecord = z.object({
  /** True while files are being replaced: the next run completes what a killed one began. */
  pending: z.boolean(),
  entries: z.array(RecordedEntry),
  /** Directories that did not exist before, outermost first. */
  directories: z.array(z.string()),
});
export type InstallRecord = z.infer<typeof InstallRecord>;

export const EMPTY_RECORD: InstallRecord = { pending: false, entries: [], directories: [] };

/** @returns null when there is no record, or none that can be read */
export function readRecord({ record }: Pick<UserLayout, 'record'>): InstallRecord | null {
  const text = readText(record);
  if (text === null) return null;
  try {
    return z.parse(InstallRecord, JSON.parse(text));
  } catch {
    return null;
  }
}

/** @throws NodeJS.ErrnoException */
export function writeRecord({ record }: Pick<UserLayout, 'record'>, value: InstallRecord): void {
  replaceFile(record, `${JSON.stringify(value, null, 1)}\n`);
}

/** The record of an entry after it is written. */
export function toRecorded(entry: Entry): RecordedEntry {
  return 'link' in entry ? entry : { path: entry.path, sha256: [digest(entry.text)] };
}

/** The entry with its previous contents added: until a file is replaced, its old content is ours as well. */
export function withPrevious(entry: RecordedEntry, record: InstallRecord): RecordedEntry {
  const old = record.entries.find(({ path }) => path === entry.path);
  if (!('sha256' in entry) || !old || !('sha256' in old)) return entry;
  return { path: entry.path, sha256: [...new Set([...old.sha256, ...entry.sha256])] };
}

/** Reports whether a foreign file is in the place of an entry. */
export function isForeign(entry: Entry, record: InstallRecord): boolean {
  const old = record.entries.find(({ path }) => path === entry.path);
  return stateOf(toRecorded(entry)) === 'foreign' && (!old || stateOf(old) === 'foreign');
}

export function stateOf(entry: RecordedEntry): 'absent' | 'ours' | 'foreign' {
  const stat = statOf(entry.path);
  if (!stat) return 'absent';
  if (stat === 'blocked') return 'foreign';
  if ('link' in entry) return linkAt(entry.path) === entry.link ? 'ours' : 'foreign';
  return stat.isFile() && entry.sha256.includes(digest(readFileSync(entry.path))) ? 'ours' : 'foreign';
}

/** Directories above these paths that do not exist yet; a parent comes before what is in it. */
export function missingDirectories(paths: readonly string[]): string[] {
  const missing = new Set<string>();
  for (const path of paths) for (let at = dirname(path); !existsSync(at); at = dirname(at)) missing.add(at);
  return [...missing].sort();
}

function statOf(path: string): Stats | 'blocked' | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (errno(error) === 'ENOTDIR') return 'blocked'; // there is a file where a directory should be
    throw error;
  }
}

function digest(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
