// Chooses an account by directory, from a .culvert-wrap.toml that the user has trusted.
import { parse } from 'smol-toml';
import { errno, reason } from '../../daemon/core/errors.ts';
import { readRegular, readText } from '../../daemon/core/files.ts';
import { sha256 } from '../../daemon/core/hash.ts';
import { isText, parseJson } from '../../daemon/core/shape.ts';
import type { DirectoryChoice } from '../context.ts';
import { directoryFile, type Paths } from '../store/paths.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { withLock, writeAtomic } from '../system/files.ts';

/**
 * Returns the account that the nearest `.culvert-wrap.toml` in `directory` or above chooses for `cli`
 * (`[accounts]` with `firecrawl = "team-b"`).
 */
export function chooseByDirectory(cli: string, directory: string, paths: Paths): DirectoryChoice {
  const choiceFile = readDirectoryFile(directory);
  if (!choiceFile) return { kind: 'none' };
  if (!trusted(paths).includes(digest(choiceFile.file, choiceFile.text)))
    return { kind: 'untrusted', file: choiceFile.file };
  try {
    const account = (parse(choiceFile.text).accounts as Record<string, unknown> | undefined)?.[cli];
    if (account === undefined) return { kind: 'none' };
    if (typeof account !== 'string')
      return { kind: 'broken', file: choiceFile.file, why: `accounts.${cli} is not a string` };
    return { kind: 'chosen', file: choiceFile.file, account };
  } catch {
    return { kind: 'broken', file: choiceFile.file, why: 'it is not TOML' };
  }
}

/** Trusts a file with its current content. After a change, the file is no longer trusted. */
export function trust(file: string, text: string, paths: Paths): void {
  changeTrust(paths, list => [...list.filter(item => item !== digest(file, text)), digest(file, text)]);
}

/** Stops trusting a file. */
export function distrust(file: string, text: string, paths: Paths): void {
  changeTrust(paths, list => list.filter(item => item !== digest(file, text)));
}

function changeTrust(paths: Paths, change: (list: string[]) => string[]): void {
  withLock(paths.trust, () => writeAtomic(paths.trust, `${JSON.stringify(change(trusted(paths)))}\n`));
}

function trusted(paths: Paths): string[] {
  const list = parseJson(readText(paths.trust));
  return Array.isArray(list) ? list.filter(isText) : [];
}

/** Returns a digest of path and content, because the same content elsewhere needs its own decision. */
function digest(file: string, text: string): string {
  return sha256(`${file}\0${text}`);
}

/**
 * Reads the nearest file in `directory` or above.
 * @throws WrapError `directory-broken` if the file can't be read, because it may name an account
 */
export function readDirectoryFile(directory: string): { file: string; text: string } | undefined {
  const file = directoryFile(directory);
  try {
    const text = file && readRegular(file)?.toString();
    return file && text !== undefined ? { file, text } : undefined;
  } catch (error) {
    // another user may have put a pipe or a device into a directory above
    if (['EISDIR', 'ELOOP', 'not-regular'].includes(errno(error) ?? '')) return undefined;
    throw new WrapError('directory-broken', EXIT.config, `${file} can't be used: ${reason(error)}`, {
      hint: 'make it readable, or remove it',
      cause: error,
    });
  }
}
