// Creates the runtime directory's socket and the record that commands use to find this daemon, and restores both if they are
// removed while the daemon runs, as logind does at logout.
import { chmodSync, existsSync, lstatSync, rmSync } from 'node:fs';
import { watchFile } from './config/watch-file.ts';
import { reason } from './core/errors.ts';
import { replaceFile } from './core/files.ts';
import { acquireLock, lockHolder } from './core/lock.ts';
import { startTime } from './core/process.ts';
import type { Listeners } from './http/listeners.ts';
import { VERSION } from './system/installation.ts';
import { type Instance, prepareRuntime } from './system/instance.ts';
import type { Paths } from './system/paths.ts';

export function createRuntimeFiles(
  paths: Paths,
  listeners: Pick<Listeners, 'listenUnix'>,
  { port, demo }: Pick<Instance, 'port' | 'demo'>,
) {
  async function open(): Promise<void> {
    rmSync(paths.socket, { force: true });
    await listeners.listenUnix(paths.socket);
    chmodSync(paths.socket, 0o600);
    const record: Instance = { pid: process.pid, port, version: VERSION, started: startTime(process.pid)!, demo };
    replaceFile(paths.record, `${JSON.stringify(record)}\n`, { durable: false });
  }

  return {
    open,
    /** Restores the directory and its files. @throws Error if another daemon uses the directory now */
    async restore(): Promise<void> {
      prepareRuntime(paths);
      const lock = acquireLock(paths.lock);
      if ('heldBy' in lock && lock.heldBy !== process.pid)
        throw new Error(`process ${lock.heldBy} uses ${paths.runtime} now`);
      await open();
    },
    /** Removes the files, unless another daemon has taken over the directory. */
    remove(): void {
      if (lockHolder(paths.lock)?.pid !== process.pid) return;
      for (const file of [paths.record, paths.statusFile, paths.socket]) rmSync(file, { force: true });
    },
  };
}

const RETRY_MS = { first: 500, last: 30_000 };

/**
 * Checks the files of the runtime directory after each change in it, and restores missing files.
 * @param restore creates all of the files
 * @returns a function that ends the watch
 */
export function keepRuntime(
  { socket, record, statusFile, lock }: Paths,
  restore: () => Promise<void>,
  say: (line: string) => void,
): () => void {
  const inodeOf = () => lstatSync(socket, { throwIfNoEntry: false })?.ino;
  let inode = inodeOf();
  let delayMs = RETRY_MS.first;
  let timer: NodeJS.Timeout | undefined;
  let isRestoring = false;
  let isClosed = false;

  const isWhole = () => inodeOf() === inode && [socket, record, statusFile, lock].every(file => existsSync(file));

  async function look(): Promise<void> {
    if (isClosed || isRestoring || isWhole()) return;
    isRestoring = true;
    clearTimeout(timer);
    try {
      await restore();
      if (isClosed) return;
      inode = inodeOf();
      delayMs = RETRY_MS.first;
      // the old socket keeps the removed directory, and so its watch, alive (inotify(7))
      stopWatching();
      stopWatching = watch();
      say(`${socket} was removed, and is there again.`);
    } catch (error) {
      if (delayMs === RETRY_MS.first) say(`${socket} was removed, and can't be made again yet: ${reason(error)}`);
      timer = setTimeout(() => void look(), delayMs).unref();
      delayMs = Math.min(2 * delayMs, RETRY_MS.last);
    } finally {
      isRestoring = false;
    }
    // a removal during this check has already fired its event
    if (!isClosed && delayMs === RETRY_MS.first && !isWhole()) timer = setTimeout(() => void look(), delayMs).unref();
  }

  // waits before it restores, because new files would disturb a removal of the directory that still runs
  const watch = () =>
    watchFile(socket, () => {
      if (isClosed || isRestoring || isWhole()) return;
      clearTimeout(timer);
      timer = setTimeout(() => void look(), RETRY_MS.first).unref();
    });
  let stopWatching = watch();
  return () => {
    isClosed = true;
    clearTimeout(timer);
    stopWatching();
  };
}
