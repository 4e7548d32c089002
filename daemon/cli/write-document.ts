// Writes what a command exports.
import { realpathSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { FileError } from '../system/errno.ts';
import { replaceFile } from '../system/files.ts';
import { Failure } from './errors.ts';

/**
 * Writes the whole document or leaves the file as it was; where a link leads to it, the link stays.
 * @param mode permission bits of a new file, less the umask
 * @throws Failure that names the file
 */
export function writeDocument(file: string, text: string, mode: number): void {
  try {
    const existing = statSync(file, { throwIfNoEntry: false });
    // a device or a pipe
    if (existing && !existing.isFile()) writeFileSync(file, text);
    else
      replaceFile(existing ? realpathSync(file) : resolve(file), text, {
        mode: existing ? existing.mode & 0o777 : mode,
      });
  } catch (error) {
    throw new Failure((error instanceof FileError ? error : new FileError(file, error)).message, { cause: error });
  }
}
