// One daemon per user session: a lock that survives no kill, and the record by which others find who holds it.
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import type { Paths } from './paths.ts';

/** What `daemon.json` tells of the running daemon. */
export interface Instance {
  pid: number;
  /** null while it has no TCP port. */
  port: number | null;
  version: string;
  /** Kernel start time of the pid, which together identify a process for good. */
  started: string;
}

/**
 * Makes the runtime directory, private to this user.
 * @throws Error when it belongs to somebody else, can't be made, or lies too deep for a socket.
 */
export function prepareRuntime({ runtime: directory, socket }: Pick<Paths, 'runtime' | 'socket'>): void {
  const length = Buffer.byteLength(socket);
  // beyond it libuv binds a name that it has cut short
  if (length > SOCKET_PATH_BYTES)
    throw new Error(
      `${socket} has ${length} bytes, and a socket's path may have ${SOCKET_PATH_BYTES} (unix(7)). ` +
        'Set XDG_RUNTIME_DIR to a shorter directory.',
    );
  const present = lstatSync(directory, { throwIfNoEntry: false });
  if (present && !present.isDirectory())
    throw new Error(`${directory} is not a directory of its own, as it has to be. Remove it.`);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(directory);
  if (uid !== process.getuid!() || (mode & 0o077) !== 0)
    throw new Error(
      `${directory} is open to other users (owner ${uid}, mode ${(mode & 0o777).toString(8)}). ` +
        `Remove it, or make it yours: chown $USER ${directory} && chmod 700 ${directory}`,
    );
}

const SOCKET_PATH_BYTES = 107;

/**
 * Takes the lock, or tells who has it. A holder that is gone (killed, or not yet reaped) holds nothing.
 * The lock appears complete or not at all: a private file is linked into its place.
 */
export function acquire({ runtime }: Pick<Paths, 'runtime'>): { release(): void } | { heldBy: number } {
  const lock = `${runtime}/lock`;
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, `${process.pid} ${startOf(process.pid)}`, { mode: 0o600 });
  try {
    for (;;) {
      try {
        linkSync(mine, lock);
        return { release: () => rmSync(lock, { force: true }) };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const held = holder(lock);
      if (held === null) continue; // released in this moment
      const [pid, started] = held.split(' ') as [string, string];
      if (startOf(Number(pid)) === started) return { heldBy: Number(pid) };
      removeStale(lock, held);
    }
  } finally {
    unlinkSync(mine);
  }
}

/** What stands in the lock; null when there is none. @throws NodeJS.ErrnoException for what is there and no lock. */
function holder(lock: string): string | null {
  try {
    return readFileSync(lock, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new Error(`${lock} can't be read: ${(error as Error).message}. Remove it.`, { cause: error });
  }
}

/**
 * Removes a dead holder's lock. Those who try take turns and look again: while one of them holds the turn nobody else
 * takes the name away, and while the name exists nobody can link a new lock there.
 */
function removeStale(lock: string, held: string) {
  const turn = `${lock}.turn`;
  try {
    mkdirSync(turn, { mode: 0o700 });
  } catch {
    const since = statSync(turn, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > TURN_MS) rmSync(turn, { recursive: true, force: true }); // killed in its turn
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    return;
  }
  try {
    if (read(lock) === held) unlinkSync(lock);
  } finally {
    rmSync(turn, { recursive: true, force: true });
  }
}
const TURN_MS = 2_000;

/** The running daemon, or null. */
export function running(paths: Paths): Instance | null {
  const text = read(paths.record);
  if (text === null) return null;
  try {
    const record = JSON.parse(text) as Instance;
    // whoever signals this pid must never reach a process group, or all processes, by 0 or a negative number
    const proven = Number.isSafeInteger(record.pid) && record.pid > 1 && typeof record.started === 'string';
    return proven && startOf(record.pid) === record.started ? record : null;
  } catch {
    return null; // torn by a full disk: as good as none
  }
}

/**
 * Replaces a small file of the runtime directory, readable by this user alone. Readers see the old one or the new one.
 * No fsync: after a crash of the machine there is no daemon that the file could speak for.
 */
export function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Kernel start time of a process (proc(5), field 22), or null when it is gone; a zombie is gone. */
export function startOf(pid: number): string | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? null : fields[19]!;
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
