// Reads small files under a size limit, and writes files whole or not at all.
import * as fs from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errno, FileError, reason } from '../daemon/core/errors.ts';
import { replaceFile, uniqueName } from '../daemon/core/files.ts';
import { Refusal, type RefusalCode } from './errors.ts';

const { O_RDONLY, O_NONBLOCK } = fs.constants;

/**
 * Reads a regular file whole, if it is not larger than a limit.
 * @param what how a message calls it: "manifest"
 * @param limit in bytes
 * @param tooLarge the code of the refusal of a larger one
 * @throws Refusal `input-unreadable` (with its `cause`), `input-not-regular`, `tooLarge`
 */
export function readSmall(path: string, what: string, limit: number, tooLarge: RefusalCode): Buffer {
  return openForReading(path, what, fd => readUpTo(fd, limit, tooLarge, `${what} ${path}`));
}

/**
 * Reads a private key's file, which only its owner may be able to read.
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
    return readUpTo(fd, KEY_LIMIT, 'key-invalid', `private key ${path}`);
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
 * Writes a file so that, whenever the process or the machine stops, the old content or the new one is there.
 * @throws Refusal `output-failed`, `output-exists`
 */
export function writeWhole(path: string, bytes: Uint8Array, { mode, replace }: WriteOptions): void {
  try {
    // a rename would replace the link, the pipe or the device itself
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

/** Removes the temporary files of runs that were killed; the pid in the name shows whether a run is still at work. */
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
    // O_NONBLOCK: opening a pipe that has no writer must not hang
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

/** Reads to the end, but at most one byte beyond the limit: the size that a file reports can be wrong. */
function readUpTo(fd: number, limit: number, tooLarge: RefusalCode, what: string): Buffer {
  const buffer = Buffer.alloc(limit + 1);
  let length = 0;
  while (length < buffer.length) {
    const read = fs.readSync(fd, buffer, length, buffer.length - length, null);
    if (read === 0) return buffer.subarray(0, length);
    length += read;
  }
  throw new Refusal(tooLarge, `The ${what} has more than ${limit} bytes.`);
}
