// Files that survive kill -9 and concurrent writers: a lock that dies with its owner, and whole-file replacement.
import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { EXIT, errno, WrapError } from './errors.ts';

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_DIRECTORY } = constants;

/** The text of a file, or `undefined` when there is none. */
export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

/**
 * Replaces a file as a whole: a reader, and whoever comes after a kill, sees the old or the new text and nothing else.
 * Parent directories are created 0700.
 * @param mode permission bits of the new file
 */
export function writeAtomic(file: string, text: string, mode = 0o600): void {
  const dir = dirname(file);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const temporary = join(dir, `.${basename(file)}.${unique()}.tmp`);
  try {
    const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      writeFileSync(fd, text);
      if (mode !== 0o600) fchmodSync(fd, mode);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(dir);
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
 * Runs `work` while no other process does for the same file. The lock names its owner by pid and start time, so one
 * left by a killed process is taken over.
 * @param timeoutMs how long to wait for a living owner
 * @throws WrapError `locked` when the owner keeps it for longer
 */
export function withLock<T>(file: string, work: () => T, timeoutMs = 15_000): T {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const lock = `${file}.lock`;
  const mine = `${lock}.${unique()}`;
  const deadline = Date.now() + timeoutMs;
  // link(2) lets the lock appear complete or not at all, which open(O_EXCL) followed by write(2) does not.
  writeFileSync(mine, `${process.pid} ${startTime(process.pid)}`, { mode: 0o600, flag: 'wx' });
  try {
    while (!tryLink(mine, lock)) {
      if (breakStale(lock)) continue;
      if (Date.now() > deadline) {
        throw new WrapError('locked', EXIT.tempFail, `${file} is being changed by another process`, {
          hint: `try again; if nothing else runs, remove ${lock}`,
        });
      }
      pause(2 + Math.random() * 8);
    }
  } finally {
    unlinkSync(mine);
  }
  try {
    sweep(file);
    return work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function tryLink(mine: string, lock: string): boolean {
  try {
    linkSync(mine, lock);
    return true;
  } catch (error) {
    if (errno(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Removes a lock whose owner is gone. Returns whether the caller should try at once. */
function breakStale(lock: string): boolean {
  const held = readText(lock);
  if (held === undefined) return true;
  const [pid, started] = held.split(' ');
  if (startTime(Number(pid)) === started) return false;
  // Breakers take turns and look again, or the second would remove the lock of the first one's successor.
  const turn = `${lock}.break`;
  try {
    mkdirSync(turn, 0o700);
  } catch {
    removeIfOlderThan(turn, 5_000);
    return false;
  }
  try {
    if (readText(lock) === held) unlinkSync(lock);
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

/** Removes what a killed writer left beside `file`: its temporaries and private lock files older than a minute. */
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
