// Writes what a command exports.
import { realpathSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { FileError } from '../system/errno.ts';
import { replaceFile } from '../system/files.ts';
import { foreignOwner } from '../system/own-home.ts';
import type { OptionSpec } from './command-spec.ts';
import { Failure } from './errors.ts';

/** Option of commands that write a file. */
export const FORCE: OptionSpec = { flags: '--force', summary: 'replace an existing file' };

/**
 * Writes the whole document or leaves the file as it was; where a link leads to it, the link stays. As root, the file keeps its owner,
 * and a new one belongs to the owner of its directory.
 * @param mode permission bits of a new file, less the umask
 * @throws Failure that names the file; for one that is there, unless `--force` was given
 */
export function writeDocument(file: string, text: string, { mode, force }: { mode: number; force: boolean }): void {
  try {
    const existing = statSync(file, { throwIfNoEntry: false });
    if (existing?.isFile() && !force)
      throw new Failure(`${file} already exists, and was left as it is.`, { hint: 'Replace it with --force.' });
    // a device or a pipe
    if (existing && !existing.isFile()) writeFileSync(file, text);
    else {
      const path = existing ? realpathSync(file) : resolve(file);
      replaceFile(path, text, {
        mode: existing ? existing.mode & 0o777 : mode,
        owner: existing && process.geteuid?.() === 0 ? existing : foreignOwner(dirname(path)),
      });
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure((error instanceof FileError ? error : new FileError(file, error)).message, { cause: error });
  }
}
