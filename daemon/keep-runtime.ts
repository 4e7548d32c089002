// Makes the runtime directory and its files again when they are removed while the daemon runs, as logind does at a logout.
import { existsSync, lstatSync } from 'node:fs';
import { watchFile } from './config/watch-file.ts';
import { reason } from './system/errno.ts';
import type { Paths } from './system/paths.ts';

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
      // the removed directory reports no end of its own while the old socket is open, which keeps it (inotify(7))
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
