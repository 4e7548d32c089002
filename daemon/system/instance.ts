// Prepares the runtime directory, and reads the record that other processes use to find the running daemon.
import { lstatSync } from 'node:fs';
import { makeDirectory, readText } from '../core/files.ts';
import { isRunning } from '../core/process.ts';
import { parseJson } from '../core/shape.ts';
import type { Paths } from './paths.ts';

/** The description of the running daemon in `daemon.json`. */
export interface Instance {
  pid: number;
  /** TCP port, or null. */
  port: number | null;
  version: string;
  /** Kernel start time of the process. With the pid, it identifies the process uniquely. */
  started: string;
  /** True if the daemon drives the embedded emulator. */
  demo: boolean;
}

/**
 * Creates the runtime directory, private to this user.
 * @throws Error if it belongs to another user, can't be created, or has a path too long for a socket.
 */
export function prepareRuntime({ runtime: directory, socket }: Pick<Paths, 'runtime' | 'socket'>): void {
  const length = Buffer.byteLength(socket);
  // libuv truncates a longer path
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

/** Returns the running daemon, or null. */
export function runningInstance(paths: Pick<Paths, 'record'>): Instance | null {
  const record = recordedInstance(paths);
  return record && isRunning(record.pid, record.started) ? record : null;
}

/** Returns the daemon that wrote the record, or null. A killed daemon leaves its record. */
export function recordedInstance(paths: Pick<Paths, 'record'>): Instance | null {
  return parseRecord(parseJson(readText(paths.record)) ?? {}); // a full disk may have truncated the record
}

function parseRecord(value: { [K in keyof Instance]?: unknown }): Instance | null {
  const { pid, port, version, started, demo } = value;
  // a signal to 0 or a negative pid would reach a process group or all processes
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 1) return null;
  if (typeof version !== 'string' || typeof started !== 'string') return null;
  return { pid, port: typeof port === 'number' ? port : null, version, started, demo: demo === true };
}
