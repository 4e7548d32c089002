// Identifies what is in a file, for caches, without reading it.
import { type BigIntStats, statSync } from 'node:fs';
import { pause } from './process.ts';

/** The times of files advance with the kernel's tick, of up to 10 ms. */
const TICKS_MS = 20;
const PAUSE_MS = 5;
const MOST_PAUSES = 10;

/**
 * Identifies the content of a file, or the names in a directory. While a further change within the same tick could leave size and times
 * as they are, it differs from every other version, also from those of other processes.
 */
export function versionOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return describe([dev, ino, size, mtimeNs, ctimeNs], ctimeNs).version;
}

/** The same by path, following links; null for a missing file. */
export function versionAt(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? versionOf(stats) : null;
}

/** A version that a new hard link leaves as it is: a plan keeps one to each private source. A missing file has `-`. */
export function stampAt(file: string): string {
  return stamp(file).version;
}

/** The same once a further change would show, for what is stored. Blocks for up to 25 ms after a change, and 50 ms while others follow. */
export function settledStampAt(file: string): string {
  for (let pauses = 0; ; pauses++) {
    const { version, isSettled } = stamp(file);
    if (isSettled || pauses === MOST_PAUSES) return version;
    pause(PAUSE_MS);
  }
}

function stamp(file: string): { version: string; isSettled: boolean } {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (!stats) return { version: '-', isSettled: true };
  const { dev, ino, size, mtimeNs } = stats;
  return describe([dev, ino, size, mtimeNs], mtimeNs);
}

function describe(parts: readonly bigint[], changedNs: bigint): { version: string; isSettled: boolean } {
  const isSettled = Math.abs(Date.now() - Number(changedNs / 1_000_000n)) > TICKS_MS;
  const version = parts.join(':');
  return { version: isSettled ? version : `${version}:${process.hrtime.bigint()}`, isSettled };
}
