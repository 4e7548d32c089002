// Replaces files and links atomically, keeps copies with owner, mode and extended attributes, and restores the copies.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { FileError } from './errors.ts';
import { syncDirectory, temporaryName } from './files.ts';
import { sha256 } from './hash.ts';

/** Copies with cp: Node copies neither owner nor extended attributes. @throws Error with the output of cp */
function copyWhole(from: string, to: string): void {
  execFileSync('cp', ['-a', '--', from, to], { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Replaces the content of a file, and keeps its owner, mode and extended attributes. @throws FileError */
export function rewriteFile(path: string, content: string): void {
  const copy = temporaryName(path);
  rmSync(copy, { force: true });
  try {
    copyWhole(path, copy);
    const fd = openSync(copy, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW);
    try {
      writeFileSync(fd, content);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(copy, path);
  } catch (error) {
    rmSync(copy, { force: true });
    throw new FileError(path, error);
  }
  syncDirectory(dirname(path));
}

/** Replaces a file with a copy of a file, including owner, mode and extended attributes. */
export function restoreFile(copy: string, path: string): void {
  const temporary = temporaryName(path);
  rmSync(temporary, { force: true });
  copyWhole(copy, temporary);
  renameSync(temporary, path);
  syncDirectory(dirname(path));
}

/** Place of a journal's copies, which have names with the prefix. */
export interface Copies {
  directory: string;
  prefix: string;
}

/** Copies a file with its attributes. @returns the name of the copy @throws Error */
export function keepCopy({ directory, prefix }: Copies, path: string): string {
  const name = `${prefix}${randomBytes(8).toString('hex')}`;
  copyWhole(path, join(directory, name));
  return name;
}

/** Deletes the copies that no entry of the journal needs. */
export function removeCopies({ directory, prefix }: Copies, needed: readonly (string | null)[]): void {
  for (const name of readdirSync(directory))
    if (name.startsWith(prefix) && !needed.includes(name)) rmSync(join(directory, name), { force: true });
}

/** Replaces a link atomically: a killed process leaves the old link or the new link. @throws NodeJS.ErrnoException */
export function replaceLink(path: string, target: string): void {
  const temporary = temporaryName(path);
  try {
    rmSync(temporary, { force: true });
    symlinkSync(target, temporary);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

/** Returns the target of a symbolic link, unresolved; null for anything else. */
export function linkAt(path: string): string | null {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : null;
}

/** Returns the SHA-256 digest of a file's bytes, or null if it can't be read for any reason. */
export function digestOf(path: string): string | null {
  try {
    return sha256(readFileSync(path));
  } catch {
    return null;
  }
}

/** Returns the digest of a regular file, the target of a symbolic link (`linkTo`), or null for a path that can't be read. */
export function contentOf(path: string): string | null {
  const target = linkAt(path);
  return target === null ? digestOf(path) : linkTo(target);
}

export function linkTo(target: string): string {
  return `link to ${target}`;
}
