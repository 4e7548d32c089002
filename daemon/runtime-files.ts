// The files of the runtime directory: the socket, and the record by which commands find this daemon.
import { chmodSync, rmSync } from 'node:fs';
import type { Listeners } from './http/listeners.ts';
import { VERSION } from './system/build-info.ts';
import { replaceFile } from './system/files.ts';
import { type Instance, prepareRuntime } from './system/instance.ts';
import { acquireLock, lockHolder } from './system/lock.ts';
import type { Paths } from './system/paths.ts';
import { startTime } from './system/process.ts';

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
