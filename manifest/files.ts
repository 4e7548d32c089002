// Reads small files under a size limit, and writes files whole or not at all.
import * as fs from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errno, FileError, reason } from '../daemon/core/errors.ts';
import { readUpTo, replaceFile, uniqueName } from '../daemon/core/files.ts';
import { Refusal, type RefusalCode } from './errors.ts';

const { O_RDONLY, O_NONBLOCK } = fs.constants;

/**
 * Reads a whole regular file, and refuses a larger file than the limit.
 * @param what name of the kind of file in messages, such as "manifest"
 * @param limit in bytes
 * @param tooLarge code of the refusal when the file is larger
 * @throws Refusal `input-unreadable` (with its `cause`), `input-not-regular`, `tooLarge`
 */
export function readSmall(path: string, what: string, limit: number, tooLarge: RefusalCode): Buffer {
  return openForReading(path, what, fd =>
    readUpTo(fd, limit, () => new Refusal(tooLarge, `The ${what} ${path} has more than ${limit} bytes.`)),
  );
}

/**
 * Reads a private key's file, and refuses a file that users other than its owner can access.
 * @throws Refusal `key-exposed`, `key-invalid` (too large), and those of {@link readSmall}
 */
export function readSecret(path: string): Buffer {
  return openForReading(path, 'private key', (fd, { mode }) => {
    if ((mode & 0o077) !== 0) {
      const rights = (mode & 0o777).toString(8).padStart(3, '0');
      throw new Refusal(
        'key-exposed',
        `Other users than its owner can access the private key ${path} (mode ${rights}).`,
      );
    }
    const tooLarge = () => new Refusal('key-invalid', `The private key ${path} has more than ${KEY_LIMIT} bytes.`);
    return readUpTo(fd, KEY_LIMIT, tooLarge);
  });
}

export const KEY_LIMIT = 16 * 1024;

/** Reports whether an error means that a file does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'input-unreadable' && errno(error.cause) === 'ENOENT';
}

export interface WriteOptions {
  mode: number;
  /** Replaces an existing file instead of refusing it. */
  replace: boolean;
}

/**
 * Writes a file so that it holds either the old content or the new, whenever the process or the machine stops.
 * @throws Refusal `output-failed`, `output-exists`
 */
export function writeWhole(path: string, bytes: Uint8Array, { mode, replace }: WriteOptions): void {
  try {
    // a rename would replace the link, pipe or device
    if (replace && fs.lstatSync(path, { throwIfNoEntry: false })?.isFile() === false)
      throw new Error('it is not a regular file');
    removeLeftovers(dirname(path), basename(path));
    replaceFile(path, bytes, { mode, durable: 'strict', overwrite: replace, temporary: uniqueName(path) });
  } catch (error) {
    const cause = error instanceof FileError ? error.cause : error;
    if (errno(cause) === 'EEXIST' && !replace) throw new Refusal('output-exists', `${path} already exists.`, { cause });
    throw new Refusal('output-failed', `${path} can't be written: ${reason(cause)}.`, { cause });
  }
}

/** Removes temporary files of killed runs. The pid in a file's name shows whether its run still exists. */
function removeLeftovers(directory: string, name: string): void {
  for (const entry of fs.readdirSync(directory)) {
    if (!entry.startsWith(`.${name}.`)) continue;
    const pid = /^(\d+)\.[0-9a-f]{12}\.tmp$/.exec(entry.slice(name.length + 2))?.[1];
    if (pid && !fs.existsSync(`/proc/${pid}`)) fs.rmSync(join(directory, entry), { force: true });
  }
}

/** Reports whether two paths lead to the same existing file. */
export function sameFile(a: string, b: string): boolean {
  if (resolve(a) === resolve(b)) return true;
  try {
    const [x, y] = [fs.statSync(a), fs.statSync(b)];
    return x.ino === y.ino && x.dev === y.dev;
  } catch {
    return false;
  }
}

function openForReading<T>(path: string, what: string, read: (fd: number, stat: fs.Stats) => T): T {
  let fd: number | undefined;
  try {
    // O_NONBLOCK keeps the opening of a pipe without a writer from hanging
    fd = fs.openSync(path, O_RDONLY | O_NONBLOCK);
    const stat = fs.fstatSync(fd);
    if (!stat.isFile()) throw new Refusal('input-not-regular', `The ${what} ${path} is not a regular file.`);
    return read(fd, stat);
  } catch (cause) {
    if (cause instanceof Refusal) throw cause;
    throw new Refusal('input-unreadable', `The ${what} can't be read: ${reason(cause)}.`, { cause });
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}
