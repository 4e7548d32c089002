// Copies and rewrites files with everything that belongs to them: owner, mode and extended attributes.
import { execFileSync } from 'node:child_process';
import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { FileError } from '../system/errno.ts';
import { syncDirectory, temporaryName } from '../system/files.ts';

/** Node copies neither owner nor extended attributes. @throws Error with the output of cp */
export function copyWhole(from: string, to: string): void {
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

/** Puts a copy in the place of a file, with owner, mode and extended attributes. */
export function restoreFile(copy: string, path: string): void {
  const temporary = temporaryName(path);
  rmSync(temporary, { force: true });
  copyWhole(copy, temporary);
  renameSync(temporary, path);
  syncDirectory(dirname(path));
}
