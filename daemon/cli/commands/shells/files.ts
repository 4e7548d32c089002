// Writes the files of the tile and removes exactly those: a list of them is kept in the state of the user.
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assertOwn, makeDirectory, removeIfEmpty } from '../../../core/files.ts';
import { writeEntry } from '../../../update/installation.ts';
import {
  EMPTY_RECORD,
  type Entry,
  isForeign,
  missingDirectories,
  readRecord,
  stateOf,
  toRecorded,
  withPrevious,
  writeRecord,
} from '../../../update/record.ts';
import { Failure } from '../../errors.ts';

/**
 * Writes the entries, and removes those of an earlier run that are not among them.
 * @param record file of the list
 * @throws Failure where files of others are in the way, before anything is changed
 */
export function putFiles(record: string, planned: readonly Entry[]): void {
  assertOwn(dirname(record), ...planned.map(({ path }) => dirname(path)));
  const before = readRecord({ record }) ?? EMPTY_RECORD;
  const foreign = planned.filter(entry => isForeign(entry, before)).map(({ path }) => path);
  if (foreign.length > 0)
    throw new Failure(`Files that Culvert did not write are in the way: ${foreign.join(', ')}. Nothing was changed.`, {
      hint: 'Move them away, then try again.',
    });
  const paths = new Set(planned.map(({ path }) => path));
  const obsolete = before.entries.filter(({ path }) => !paths.has(path));
  const directories = [...new Set([...before.directories, ...missingDirectories([...paths, record])])].sort();
  const either = planned.map(entry => withPrevious(toRecorded(entry), before));
  makeDirectory(dirname(record));
  writeRecord({ record }, { pending: true, entries: [...either, ...obsolete], directories });
  for (const entry of planned) writeEntry(entry);
  for (const entry of obsolete) if (stateOf(entry) === 'ours') rmSync(entry.path, { force: true });
  writeRecord({ record }, { pending: false, entries: planned.map(toRecorded), directories });
}

/** Removes what the list names, unless it was changed since. @returns the paths that stay */
export function removeFiles(record: string): string[] {
  const { entries, directories } = readRecord({ record }) ?? EMPTY_RECORD;
  const changed = entries.filter(entry => stateOf(entry) === 'foreign').map(({ path }) => path);
  for (const entry of entries) if (stateOf(entry) === 'ours') rmSync(entry.path, { force: true });
  rmSync(record, { force: true });
  for (const directory of [...directories].reverse()) removeIfEmpty(directory);
  return changed;
}

/** Copies of the files below a directory, also of those that links lead to. */
export function copies(from: string, to: string, wanted?: (name: string) => boolean): Entry[] {
  return filesBelow(from, wanted).map(name => ({ path: join(to, name), text: readFileSync(join(from, name)) }));
}

function filesBelow(directory: string, wanted: (name: string) => boolean = () => true): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(
    name => wanted(name) && !statSync(join(directory, name)).isDirectory(),
  );
}
