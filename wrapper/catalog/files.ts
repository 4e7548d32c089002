// Reads the text of a catalog, which is one file or, in the sources, a directory with one file for each tool.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errno } from '../../daemon/core/errors.ts';
import { readOptional } from '../../daemon/core/files.ts';

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
