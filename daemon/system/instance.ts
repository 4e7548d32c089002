// Manages the runtime directory of the one daemon per user session, and the record by which others find that daemon.
import { lstatSync } from 'node:fs';
import { makeDirectory, readText } from '../core/files.ts';
import { isRunning } from '../core/process.ts';
import type { Paths } from './paths.ts';

/** The running daemon, as `daemon.json` describes it. */
export interface Instance {
  pid: number;
  /** null while it has no TCP port. */
  port: number | null;
  version: string;
  /** Kernel start time of the pid, which together identify a process for good. */
  started: string;
  /** It drives the embedded emulator. */
  demo: boolean;
}

/**
 * Makes the runtime directory, private to this user.
 * @throws Error when it belongs to another user, can't be made, or has a path too long for a socket.
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
  makeDirectory(directory);
  const { uid, mode } = lstatSync(directory);
  if (uid !== process.getuid!() || (mode & 0o077) !== 0)
    throw new Error(
      `${directory} is open to other users (owner ${uid}, mode ${(mode & 0o777).toString(8)}). ` +
        `Remove it, or make it yours: chown $USER ${directory} && chmod 700 ${directory}`,
    );
}

const SOCKET_PATH_BYTES = 107;

/** The running daemon, or null. */
export function running(paths: Pick<Paths, 'record'>): Instance | null {
  const record = recorded(paths);
  return record && isRunning(record.pid, record.started) ? record : null;
}

/** The daemon that wrote the record last, or null. A daemon that was killed leaves its record. */
export function recorded(paths: Pick<Paths, 'record'>): Instance | null {
  const text = readText(paths.record);
  if (text === null) return null;
  try {
    return parseRecord(JSON.parse(text));
  } catch {
    return null; // torn by a full disk: as good as none
  }
}

function parseRecord(value: { [K in keyof Instance]?: unknown }): Instance | null {
  const { pid, port, version, started, demo } = value;
  // a signal to this pid must never reach a process group, or all processes, by 0 or a negative number
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 1) return null;
  if (typeof version !== 'string' || typeof started !== 'string') return null;
  return { pid, port: typeof port === 'number' ? port : null, version, started, demo: demo === true };
}
