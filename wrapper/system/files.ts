// Writes files that survive kill -9 and concurrent writers: a lock that ends with its owner, and whole-file replacement.
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { errno } from '../../daemon/core/errors.ts';
import { EXIT, WrapError } from './errors.ts';

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_DIRECTORY } = constants;

/** The text of a file, or `undefined` without a file. */
export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** `{NAME}` and `{NAME:default}` from the environment. */
export function expandVariables(template: string, env: NodeJS.ProcessEnv): string {
  return template.replace(
    /\{(\w+)(?::([^}]*))?\}/g,
    (_, name: string, fallback?: string) => env[name] || fallback || '',
  );
}

/** A path of the configuration, where `~/` stands for the home. */
export function expandHome(file: string, { HOME = '~' }: NodeJS.ProcessEnv): string {
  return file.replace(/^~(?=\/)/, () => HOME);
}

/** Reports whether others than its owner may use a file in any way. One that is missing gives nothing away. */
export function isReadableByOthers(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat !== undefined && (stat.mode & 0o077) !== 0;
}

/** Reports whether another user may change a file: by its mode, but for the user's own group, or as its owner, but for root. */
export function isWritableByOthers(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return false;
  const isOthers = stat.uid !== 0 && stat.uid !== process.getuid?.();
  return isOthers || (stat.mode & (stat.gid === process.getgid?.() ? 0o002 : 0o022)) !== 0;
}

/**
 * Replaces a file as a whole: a reader sees the old or the new text and nothing else, also after a kill. Parent
 * directories are created 0700.
 * @param mode permission bits of the new file
 * @throws WrapError `not-stored`
 */
export function writeAtomic(file: string, text: string | Uint8Array, mode = 0o600): void {
  const dir = dirname(file);
  createDirectory(dir);
  const temporary = join(dir, `.${basename(file)}.${unique()}.tmp`);
  try {
    const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      writeFileSync(fd, text);
      giveToOwner(fd, dir);
      if (mode !== 0o600) fchmodSync(fd, mode);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw notStored(file, error);
  }
  syncDirectory(dir);
}

/**
 * Replaces a file of the user's as `writeAtomic` does. A link to it stays, because a repository of such files (stow, chezmoi) has the
 * file itself: that is replaced, or made where its directory exists.
 * @throws WrapError `link-unusable`, `not-stored`
 */
export function writeLinked(file: string, text: string): void {
  writeAtomic(linkTarget(file), text);
}

/** Most links on the way to a file; the system's own limit (path_resolution(7)). */
const MOST_LINKS = 40;

/** The file that a link leads to, or `file` itself. */
function linkTarget(file: string): string {
  const unusable = (why: string) =>
    new WrapError('link-unusable', EXIT.cannotCreate, `${file} could not be written: ${why}`, {
      hint: `nothing was changed; correct the link, or replace it with a file`,
    });
  let target = file;
  for (let links = 0; ; links++) {
    const stat = lstatSync(target, { throwIfNoEntry: false });
    if (!stat?.isSymbolicLink()) return target;
    if (links === MOST_LINKS) throw unusable('its links lead in a circle');
    // root would write wherever another user's link leads
    if (process.geteuid?.() === 0 && stat.uid !== 0) throw unusable(`${target} is a link of another user`);
    const link = readlinkSync(target);
    const to = isAbsolute(link) ? link : `${dirname(target)}/${link}`;
    try {
      // the system's own, because `..` of a linked directory is that of the real one
      target = join(realpathSync.native(dirname(to)), basename(to));
    } catch (error) {
      if (errno(error) === 'ELOOP') throw unusable('its links lead in a circle');
      throw errno(error) === 'ENOENT' ? unusable(`it is a link to ${to}, whose directory does not exist`) : error;
    }
  }
}

/**
 * Makes a directory, 0700, and those above it that are missing.
 * @throws WrapError `not-stored`
 */
export function createDirectory(dir: string): void {
  try {
    const first = mkdirSync(dir, { recursive: true, mode: 0o700 });
    if (first !== undefined) giveDirectories(resolve(first), resolve(dir));
  } catch (error) {
    throw notStored(dir, error);
  }
}

/** The new directories from `first` down to `last`. */
function giveDirectories(first: string, last: string): void {
  if (last !== first) giveDirectories(first, dirname(last));
  const fd = openSync(last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    giveToOwner(fd, dirname(last));
  } finally {
    closeSync(fd);
  }
}

/**
 * Gives what root makes in another user's home to that user, whose own commands could not use it otherwise.
 * @param fd of a new file or directory
 * @param dir the directory it is in, whose owner gets it
 */
export function giveToOwner(fd: number, dir: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(dir);
  if (uid === 0) return;
  try {
    fchownSync(fd, uid, gid);
  } catch {
    // A file system, or a container, may know no other owner.
  }
}

const REASONS: Record<string, string> = {
  ENOSPC: 'No space left on disk',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
};

/** The error for a file that could not be written, when the system says why; any other error as it is. */
export function notStored(file: string, error: unknown): unknown {
  const why = REASONS[errno(error) ?? ''];
  if (why === undefined) return error;
  return new WrapError('not-stored', EXIT.cannotCreate, `${file} could not be written: ${why}`, {
    hint: 'nothing was changed; make room or correct the permissions, then try again',
    cause: error,
  });
}

/**
 * Refuses a directory in which another user could replace what we execute or trust.
 * @throws WrapError `unsafe-directory`
 */
export function assertPrivate(dir: string): void {
  const stat = statSync(dir, { throwIfNoEntry: false });
  const uid = process.getuid?.();
  if (uid === undefined) return;
  if (!stat) {
    // root would make it in the home of another user
    const place = nearest(dir);
    const owner = statSync(place).uid;
    if (uid === 0 && owner !== 0) throw notOwn(place, owner);
    return;
  }
  if (stat.uid !== uid) throw notOwn(dir, stat.uid);
  if ((stat.mode & 0o022) === 0) return;
  throw new WrapError('unsafe-directory', EXIT.noPermission, `${dir} can't be used: others can write to it`, {
    hint: `run \`chmod go-w ${dir}\``,
  });
}

/** The directory itself, or the nearest one above it that exists. */
function nearest(dir: string): string {
  return existsSync(dir) ? dir : nearest(dirname(dir));
}

function notOwn(dir: string, owner: number): WrapError {
  const own = process.getuid?.() === 0 ? "with root's own home, as after `sudo -i`" : 'correct XDG_STATE_HOME';
  return new WrapError('unsafe-directory', EXIT.noPermission, `${dir} can't be used: it belongs to the user ${owner}`, {
    hint: `run the command as that user, or ${own}`,
  });
}

/** Makes a rename or a removal in `dir` durable. */
export function syncDirectory(dir: string): void {
  const fd = openSync(dir, O_RDONLY | O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Runs `work` while no other process does for the same file. The lock is a symlink whose target names its owner by pid
 * and start time: it appears as a whole, needs no space on a full disk, and is taken over from a killed process.
 * @param timeoutMs how long to wait for a living owner
 * @throws WrapError `locked` when the owner keeps it for longer, `not-stored`
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

/** The lock of `withLock`, for work that waits. @returns what ends it */
export function takeLock(file: string, timeoutMs = 15_000): () => void {
  createDirectory(dirname(file));
  const lock = `${file}.lock`;
  const owner = thisProcess();
  const deadline = Date.now() + timeoutMs;
  while (!tryLock(lock, owner)) {
    if (breakStale(lock)) continue;
    if (Date.now() > deadline) {
      throw new WrapError('locked', EXIT.tempFail, `${file} is being changed by another process`, {
        hint: `try again; if nothing else runs, remove ${lock}`,
      });
    }
    pause(2 + Math.random() * 8);
  }
  return () => rmSync(lock, { force: true });
}

function tryLock(lock: string, owner: string): boolean {
  try {
    symlinkSync(owner, lock);
    return true;
  } catch (error) {
    if (errno(error) === 'EEXIST') return false;
    throw notStored(lock, error);
  }
}

/** Owner of a lock; locks of versions up to 0.2 are files with the same text. */
function ownerOf(lock: string): string | undefined {
  try {
    return readlinkSync(lock);
  } catch (error) {
    return errno(error) === 'EINVAL' ? readText(lock) : undefined;
  }
}

/** Removes a lock whose owner is gone. Returns whether the caller should try again immediately. */
function breakStale(lock: string): boolean {
  const held = ownerOf(lock);
  if (held === undefined) return true;
  if (isAlive(held)) return false;
  // Breakers take turns and look again, or the second would remove the lock of the first one's successor.
  const turn = `${lock}.break`;
  try {
    mkdirSync(turn, 0o700);
  } catch {
    removeIfOlderThan(turn, 5_000);
    return false;
  }
  try {
    if (ownerOf(lock) === held) unlinkSync(lock);
  } finally {
    rmdirSync(turn);
  }
  return true;
}

function removeIfOlderThan(dir: string, ms: number): void {
  try {
    if (Date.now() - statSync(dir).mtimeMs > ms) rmdirSync(dir);
  } catch {
    // Its owner was quicker.
  }
}

/** Names this process by pid and start time, because pids are used again. */
export function thisProcess(): string {
  return `${process.pid} ${startTime(process.pid)}`;
}

/** Reports whether the process that `thisProcess` named still runs. */
export function isAlive(named: string): boolean {
  const [pid, started] = named.split(' ');
  return started !== undefined && startTime(Number(pid)) === started;
}

/** Field 22 of proc_pid_stat(5). A zombie keeps its start time but holds nothing, so it counts as gone. */
function startTime(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (!stat) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

/** Collisions are excluded by O_EXCL; the directory is the user's own. */
function unique(): string {
  return `${process.pid}.${Math.random().toString(36).slice(2, 10)}`;
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Removes what a killed writer left next to `file`: temporary files older than a minute. */
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
