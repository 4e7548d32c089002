// Identifies what is in a file, for caches, without reading it.
import { statSync } from 'node:fs';

/** The times of files advance with the kernel's tick, of up to 10 ms. */
const TICKS_MS = 20;
const PAUSE_MS = 5;
const MOST_PAUSES = 10;

/**
 * Differs after each change of a file. While a further change within the same tick could leave size and time as they are, it differs
 * from every other, also from those of other processes. A missing file has `-`.
 */
export function versionAt(file: string): string {
  return read(file).version;
}

/** The same once a further change would show, for what is stored. Blocks for up to 25 ms after a change, and 50 ms while others follow. */
export function settledVersionAt(file: string): string {
  for (let pauses = 0; ; pauses++) {
    const { version, isSettled } = read(file);
    if (isSettled || pauses === MOST_PAUSES) return version;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
  }
}

function read(file: string): { version: string; isSettled: boolean } {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (!stats) return { version: '-', isSettled: true };
  // not the time of the status, which a hard link changes: a plan keeps one to each private source
  const { dev, ino, size, mtimeNs } = stats;
  const version = [dev, ino, size, mtimeNs].join(':');
  const isSettled = Math.abs(Date.now() - Number(mtimeNs / 1_000_000n)) > TICKS_MS;
  return { version: isSettled ? version : `${version}:${process.hrtime.bigint()}`, isSettled };
}
