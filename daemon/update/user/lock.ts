// Lets one process at a time change a user installation, and leaves no directory behind when nothing is installed.
import { rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory, temporaryName } from '../../system/files.ts';
import { acquireLock, sweepLock } from '../../system/lock.ts';
import { InstallError } from './errors.ts';
import type { UserLayout } from './layout.ts';
import { EMPTY_RECORD, missingDirectories, readRecord, writeRecord } from './record.ts';
import { currentOf } from './trees.ts';

/**
 * Runs `work` while no other process changes this installation.
 * @throws InstallError `locked`
 */
export async function withInstallLock<T>(layout: UserLayout, work: () => T | Promise<T>): Promise<T> {
  // includes the directories of configuration and state, which the programs make later
  const directories = missingDirectories([layout.record, ...layout.own]);
  makeDirectory(layout.root);
  const file = join(layout.root, 'lock');
  const lock = acquireLock(file);
  if ('heldBy' in lock)
    throw new InstallError('locked', `Process ${lock.heldBy} is changing this installation. Wait for it.`);
  let unused: string[] = [];
  try {
    sweepLock(file);
    if (readRecord(layout) === null && currentOf(layout) === null)
      writeRecord(layout, { ...EMPTY_RECORD, directories });
    return await work();
  } finally {
    unused = removeLeftovers(layout);
    lock.release();
    for (const directory of unused.toReversed()) removeIfEmpty(directory);
  }
}

/** @returns the directories that were made for this installation, when nothing is installed anymore */
function removeLeftovers(layout: UserLayout): string[] {
  const record = readRecord(layout);
  if (currentOf(layout) !== null || record?.entries.length) return [];
  for (const path of [layout.versions, layout.record, temporaryName(layout.record)])
    rmSync(path, { recursive: true, force: true });
  return record?.directories ?? [];
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // another program uses it by now
  }
}
