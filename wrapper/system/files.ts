// Writes the wrapper's private files atomically, locks them, and refuses directories that are not private.
import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { errno, FileError } from '../../daemon/core/errors.ts';
import { foreignOwner, giveIfPossible, makeDirectory, replaceFile, uniqueName } from '../../daemon/core/files.ts';
import { acquireLock, putLink } from '../../daemon/core/lock.ts';
import { EXIT, WrapError } from './errors.ts';

/**
 * Replaces a file atomically: a reader sees either the old or the new text, even after a kill. Creates missing parent
 * directories with mode 0700.
 * @param mode permission bits of the new file
 * @throws WrapError `not-stored`
 */
export function writeAtomic(file: string, text: string | Uint8Array, mode = 0o600): void {
  createDirectory(dirname(file));
  const temporary = uniqueName(file);
  storing(() =>
    replaceFile(file, text, { mode, exact: mode !== 0o600, owner: 'directory', durable: 'strict', temporary }),
  );
}

/**
 * Replaces a user's file as `writeAtomic` does, but follows symlinks, because a dotfile manager (stow, chezmoi) may keep the
 * actual file elsewhere. Creates a missing target if its directory exists.
 * @throws WrapError `link-unusable`, `not-stored`
 */
export function writeLinked(file: string, text: string): void {
  writeAtomic(linkTarget(file), text);
}

/** Maximum number of links to follow, as in the kernel (path_resolution(7)). */
const MAX_LINKS = 40;

/** Returns the target of a link, or `file` itself. */
function linkTarget(file: string): string {
  const unusable = (why: string) =>
    new WrapError('link-unusable', EXIT.cannotCreate, `${file} could not be written: ${why}`, {
      hint: `nothing was changed; correct the link, or replace it with a file`,
    });
  let target = file;
  for (let links = 0; ; links++) {
    const stat = lstatSync(target, { throwIfNoEntry: false });
    if (!stat?.isSymbolicLink()) return target;
    if (links === MAX_LINKS) throw unusable('its links lead in a circle');
    // another user's link could make root write anywhere
    if (process.geteuid?.() === 0 && stat.uid !== 0) throw unusable(`${target} is a link of another user`);
    const link = readlinkSync(target);
    const to = isAbsolute(link) ? link : `${dirname(target)}/${link}`;
    try {
      // `native`, because `..` in a linked directory is the parent of the real directory
      target = join(realpathSync.native(dirname(to)), basename(to));
    } catch (error) {
      if (errno(error) === 'ELOOP') throw unusable('its links lead in a circle');
      throw errno(error) === 'ENOENT' ? unusable(`it is a link to ${to}, whose directory does not exist`) : error;
    }
  }
}

/**
 * Creates a directory and its missing parents with mode 0700.
 * @throws WrapError `not-stored`
 */
export function createDirectory(dir: string): void {
  const made = storing(() => makeDirectory(dir));
  if (process.geteuid?.() === 0) made.forEach(giveDirectory);
}

function giveDirectory(dir: string): void {
  const fd = openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    giveIfPossible(fd, dirname(dir));
  } finally {
    closeSync(fd);
  }
}

/** Runs work on a file. @throws WrapError `not-stored` */
function storing<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof FileError ? notStored(error.path, error.cause) : error;
  }
}

const REASONS: Record<string, string> = {
  ENOSPC: 'No space left on disk',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
};

/** Returns a `not-stored` error for a known reason of the system; any other error unchanged. */
export function notStored(file: string, error: unknown): unknown {
  const why = REASONS[errno(error) ?? ''];
  if (why === undefined) return error;
  return new WrapError('not-stored', EXIT.cannotCreate, `${file} could not be written: ${why}`, {
    hint: 'it is as before; make room or correct the permissions, then try again',
    cause: error,
  });
}

/**
 * Refuses a directory in which another user could replace files that we execute or trust.
 * @throws WrapError `unsafe-directory`
 */
export function assertPrivate(dir: string): void {
  const stat = statSync(dir, { throwIfNoEntry: false });
  const uid = process.getuid?.();
  if (uid === undefined) return;
  if (!stat) {
    const owner = foreignOwner(dir);
    if (owner) throw notOwn(owner.directory, owner.uid);
    return;
  }
  if (stat.uid !== uid) throw notOwn(dir, stat.uid);
  if ((stat.mode & 0o022) === 0) return;
  throw new WrapError('unsafe-directory', EXIT.noPermission, `${dir} can't be used: others can write to it`, {
    hint: `run \`chmod go-w ${dir}\``,
  });
}

function notOwn(dir: string, owner: number): WrapError {
  const own = process.getuid?.() === 0 ? "with root's own home, as after `sudo -i`" : 'correct XDG_STATE_HOME';
  return new WrapError('unsafe-directory', EXIT.noPermission, `${dir} can't be used: it belongs to the user ${owner}`, {
    hint: `run the command as that user, or ${own}`,
  });
}

/**
 * Runs `work` while holding the lock of a file.
 * @param timeoutMs time to wait for a running owner of the lock
 * @throws WrapError `locked` if the owner holds the lock for longer, `not-stored`
 */
export function withLock<T>(file: string, work: () => T, timeoutMs = 15_000): T {
  const release = takeLock(file, timeoutMs);
  try {
    sweep(file);
    return work();
  } finally {
    release();
  }
}

/** Takes the lock of a file for asynchronous work. @returns a function that releases it */
export function takeLock(file: string, timeoutMs = 15_000): () => void {
  createDirectory(dirname(file));
  const path = `${file}.lock`;
  const lock = storing(() => acquireLock(path, timeoutMs, putLink));
  if ('release' in lock) return lock.release;
  throw new WrapError('locked', EXIT.tempFail, `${file} is being changed by another process`, {
    hint: `try again; if nothing else runs, remove ${path}`,
  });
}

/** Removes temporary files older than a minute that a killed writer left next to `file`. */
function sweep(file: string): void {
  const dir = dirname(file);
  const base = basename(file);
  for (const name of readdirSync(dir)) {
    if (!(name.startsWith(`.${base}.`) && name.endsWith('.tmp')) && !name.startsWith(`${base}.lock.`)) continue;
    const full = join(dir, name);
    const stat = lstatSync(full, { throwIfNoEntry: false });
    if (stat?.isFile() && Date.now() - stat.mtimeMs > 60_000) rmSync(full, { force: true });
  }
}
