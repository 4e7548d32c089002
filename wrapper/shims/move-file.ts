// Moves and compares files, even between file systems, and never leaves a name without a file.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { errno, reason } from '../../daemon/core/errors.ts';
import { syncStrictly } from '../../daemon/core/files.ts';
import type { Paths } from '../store/paths.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { createDirectory } from '../system/files.ts';

/**
 * Creates a file in the state directory and renames it to `file`. If `file` is on another file system, creates the new file
 * next to it under a fixed name, which the next run replaces.
 * @param make creates a file or symlink at the given path
 * @throws WrapError `not-writable`
 */
export function place(paths: Paths, file: string, make: (stage: string) => void): void {
  const dir = path.dirname(file);
  const near = path.join(dir, `.${path.basename(file)}.culvert-wrap`);
  const stages = [path.join(paths.originals, `${path.basename(file)}.stage`), near];
  createDirectory(paths.originals);
  try {
    fs.rmSync(near, { force: true });
    for (const stage of stages) {
      fs.rmSync(stage, { force: true });
      make(stage);
      if (tryRename(stage, file)) break;
    }
    syncStrictly(dir);
  } catch (error) {
    for (const stage of stages) fs.rmSync(stage, { force: true });
    throw notWritable(dir, error, path.basename(file));
  }
}

/** Moves a saved file back to its place; it keeps its inode if both places are on one file system. */
export function moveBack(paths: Paths, from: string, to: string): void {
  const stat = fs.lstatSync(from);
  if (!tryRename(from, to)) {
    place(paths, to, stage => linkOrCopy(from, stage, stat));
    fs.rmSync(from, { force: true });
  }
  syncStrictly(path.dirname(to));
}

/** Keeps a file under a second name, or as a copy. After a kill, `to` is either unchanged or the whole file. */
export function keepAt(from: string, to: string): void {
  const stage = `${to}.new`;
  fs.rmSync(stage, { force: true });
  try {
    linkOrCopy(from, stage, fs.lstatSync(from));
    fs.renameSync(stage, to);
  } finally {
    // rename(2) keeps both names if they are already names of one file.
    fs.rmSync(stage, { force: true });
  }
  syncStrictly(path.dirname(to));
}

/** Gives a file a second name, or copies it with mode, owner and times if a hard link is impossible. */
function linkOrCopy(from: string, to: string, stat: fs.Stats): void {
  try {
    fs.linkSync(from, to);
    return;
  } catch (error) {
    // EPERM: fs.protected_hardlinks, or a file system without hard links.
    if (!['EXDEV', 'EPERM', 'EMLINK'].includes(errno(error) ?? '')) throw error;
  }
  fs.copyFileSync(from, to, fs.constants.COPYFILE_EXCL);
  try {
    fs.chownSync(to, stat.uid, stat.gid);
  } catch {
    // If this user may not set the owner, the copy belongs to this user.
  }
  // chown(2) clears set-user-id, so the mode is set afterwards.
  fs.chmodSync(to, stat.mode & 0o7777);
  fs.utimesSync(to, stat.atimeMs / 1000, stat.mtimeMs / 1000);
  const fd = fs.openSync(to, 'r');
  fs.fsyncSync(fd);
  fs.closeSync(fd);
}

/** @throws WrapError `not-writable` */
export function assertWritable(dir: string, cli: string): void {
  try {
    fs.accessSync(dir, fs.constants.W_OK);
  } catch (error) {
    throw notWritable(dir, error, cli);
  }
}

function tryRename(from: string, to: string): boolean {
  try {
    fs.renameSync(from, to);
    return true;
  } catch (error) {
    if (errno(error) === 'EXDEV') return false;
    throw error;
  }
}

function notWritable(dir: string, cause: unknown, cli: string): WrapError {
  return new WrapError('not-writable', EXIT.noPermission, `nothing can be written to ${dir}: ${reason(cause)}`, {
    hint: `put the shim into a directory of your own that comes earlier on PATH: culvert-wrap install ${cli} --dir ~/.local/bin`,
    cause,
  });
}

/** Reports whether two paths name one file, or files with the same content. */
export function isSameFile(a: string, b: string): boolean {
  const [one, other] = [fs.statSync(a), fs.statSync(b)];
  if (one.ino === other.ino && one.dev === other.dev) return true;
  return one.size === other.size && fs.readFileSync(a).equals(fs.readFileSync(b));
}

/** Returns the target of a symbolic link, or `undefined` for anything else. */
export function readLink(file: string): string | undefined {
  try {
    return fs.readlinkSync(file);
  } catch {
    return undefined;
  }
}
