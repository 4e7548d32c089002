// Identifies the content of a file without reading it, for caches.
import { type BigIntStats, statSync } from 'node:fs';
import { pause } from './process.ts';

/** Age of a settled change: file times advance with the kernel's tick, of up to 10 ms. */
const TICKS_MS = 20;
const PAUSE_MS = 5;
const MAX_PAUSES = 10;

/**
 * Returns a version of a file's content, or of the names in a directory. While another change within the same tick could leave
 * size and times unchanged, the version differs from every other, including those of other processes.
 */
export function versionOf(stats: BigIntStats): string {
  return describeStats(stats).version;
}

/** Returns the version of the file at a path, following links; null for a missing file. */
export function versionAt(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? versionOf(stats) : null;
}

/**
 * Returns the version of the file at a path, following links, once it would show another change; null for a missing file. For
 * readers that must not take an unchanged file for a new one. Blocks as `settledStampAt`.
 */
export function settledVersionAt(path: string): string | null {
  return settled(() => {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats ? describeStats(stats) : null;
  });
}

/** Returns a version that a new hard link does not change: a plan links each private source. `-` for a missing file. */
export function stampAt(file: string): string {
  return stamp(file).version;
}

/** Returns a stamp to store, once it would show another change. Blocks up to 25 ms after a change, 50 ms if more follow. */
export function settledStampAt(file: string): string {
  return settled(() => stamp(file))!;
}

interface Described {
  version: string;
  isSettled: boolean;
}

/** Describes a file until its last change is old enough. */
function settled(describeFile: () => Described | null): string | null {
  for (let pauses = 0; ; pauses++) {
    const described = describeFile();
    if (!described || described.isSettled || pauses === MAX_PAUSES) return described?.version ?? null;
    pause(PAUSE_MS);
  }
}

function stamp(file: string): Described {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (!stats) return { version: '-', isSettled: true };
  const { dev, ino, size, mtimeNs } = stats;
  return describe([dev, ino, size, mtimeNs], mtimeNs);
}

function describeStats({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): Described {
  return describe([dev, ino, size, mtimeNs, ctimeNs], ctimeNs);
}

function describe(parts: readonly bigint[], changedNs: bigint): Described {
  const isSettled = Math.abs(Date.now() - Number(changedNs / 1_000_000n)) > TICKS_MS;
  const version = parts.join(':');
  return { version: isSettled ? version : `${version}:${process.hrtime.bigint()}`, isSettled };
}
