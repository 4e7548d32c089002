// Finds and reads the files of a catalog: one file or, in the sources, a directory with one file for each tool; and a signed catalog.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errno } from '../../daemon/core/errors.ts';
import { readOptional, readText } from '../../daemon/core/files.ts';
import { isRecord, isText, parseJson } from '../../daemon/core/shape.ts';

/**
 * Returns the files of a catalog in the order of their names, in which the build joins them (data/build/bundle.mjs).
 * @param catalog a file with the ending `.toml`, or a directory
 * @throws NodeJS.ErrnoException if the directory can't be read
 */
export function catalogFiles(catalog: string): string[] {
  if (catalog.endsWith('.toml')) return [catalog];
  try {
    return readdirSync(catalog)
      .filter(name => name.endsWith('.toml'))
      .sort()
      .map(name => join(catalog, name));
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return [];
    throw error;
  }
}

/** Returns the text of a catalog, or undefined if it is missing. @throws NodeJS.ErrnoException if it can't be read */
export function readCatalogText(catalog: string): string | undefined {
  const texts = catalogFiles(catalog).map(readOptional);
  return texts.length === 0 || texts.includes(undefined) ? undefined : texts.join('\n');
}

/**
 * Returns the file whose change is a change of the signed catalog (`updated.ts`).
 * @param directory `Paths.catalogUpdates`
 */
export function updateStateFile(directory: string): string {
  return join(directory, 'state.json');
}

/** Returns the file of a stored signed catalog. @param digest its SHA-256 in hexadecimal */
export function storedFile(directory: string, digest: string): string {
  return join(directory, `${digest}.json`);
}

/**
 * Returns the entries of the signed catalog in use as text, without the checks of `readUpdated`: enough to look for the names of
 * commands, at a fraction of the time.
 */
export function signedEntriesText(directory: string): string {
  const state = parseJson(readText(updateStateFile(directory)));
  if (!isRecord(state) || !isText(state.current)) return '';
  const stored = parseJson(readText(storedFile(directory, state.current)));
  return isRecord(stored) && isRecord(stored.files) ? String(stored.files['providers.toml'] ?? '') : '';
}
