// Makes the files of the runtime directory (the socket, and the record by which commands find this daemon), and makes them again
// when they are removed while the daemon runs, as logind does at a logout.
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
    /** Makes the directory and its files again. @throws Error when another daemon uses the directory by now */
    async restore(): Promise<void> {
      prepareRuntime(paths);
      const lock = acquireLock(paths.lock);
      if ('heldBy' in lock && lock.heldBy !== process.pid)
        throw new Error(`process ${lock.heldBy} uses ${paths.runtime} now`);
      await open();
    },
    /** Removes the files, unless another daemon has taken the directory over while it was gone. */
    remove(): void {
      if (lockHolder(paths.lock)?.pid !== process.pid) return;
      for (const file of [paths.record, paths.statusFile, paths.socket]) rmSync(file, { force: true });
    },
  };
}

const RETRY_MS = { first: 500, last: 30_000 };

/**
 * Watches the files of the runtime directory, each time that something in it changes.
 * @param restore makes all of them
 * @returns what ends the watching
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
      // the watch of the removed directory does not end while the old socket keeps the directory (inotify(7))
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

  // not while the directory is still being removed, which new files in it would disturb
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
