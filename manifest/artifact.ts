// Reads and hashes one artifact: links are not followed, and the size is compared before a byte is hashed.
import { createHash } from 'node:crypto';
import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errno, reason } from '../daemon/core/errors.ts';
import type { RefusalCode } from './errors.ts';
import type { Artifact } from './schema.ts';

type ArtifactFault = Extract<RefusalCode, `artifact-${string}`>;

/** A fault of an artifact: a code and the rest of a sentence that begins with its name. */
export interface Fault {
  readonly code: ArtifactFault;
  readonly detail: string;
}

export type Outcome = { readonly sha256: string } | Fault;

/** Bytes per read. Measured to be the fastest: smaller reads cost calls, larger ones cost cache. */
export const CHUNK = 256 * 1024;

/**
 * Checks a path without opening it.
 * @returns the size in bytes, or a fault
 */
export function sizeOf(path: string): number | Fault {
  try {
    const stat = lstatSync(path, { bigint: true });
    return irregular(stat) ?? Number(stat.size);
  } catch (error) {
    return unopened(error);
  }
}

/** The fault of a size that is not the expected one. */
export function sizeFault(size: number, expected: number): Fault {
  return { code: 'artifact-size', detail: `has ${size} bytes instead of ${expected}` };
}

/**
 * Hashes a file, yielding the bytes read after each chunk, so that a caller can count or let others run.
 * @param path opened without following a symbolic link at its end, and without blocking on a pipe
 * @param size the expected size in bytes; never more than this is read
 * @param buffer where chunks are read into
 */
export function* digest(path: string, size: number, buffer: Uint8Array): Generator<number, Outcome> {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return unopened(error);
  }
  try {
    const before = fstatSync(fd, { bigint: true });
    const fault = irregular(before);
    if (fault) return fault;
    if (Number(before.size) !== size) return sizeFault(Number(before.size), size);
    const hash = createHash('sha256');
    for (let left = size; left > 0; ) {
      const read = readSync(fd, buffer, 0, Math.min(buffer.length, left), null);
      if (read === 0) return { code: 'artifact-changed', detail: 'became shorter while it was read' };
      hash.update(read === buffer.length ? buffer : buffer.subarray(0, read));
      left -= read;
      yield read;
    }
    // a program that writes can put the time of the content back, but not that of the change
    const after = fstatSync(fd, { bigint: true });
    if (after.size !== before.size || after.mtimeNs !== before.mtimeNs || after.ctimeNs !== before.ctimeNs) {
      return { code: 'artifact-changed', detail: 'was written to while it was read' };
    }
    return { sha256: hash.digest('hex') };
  } catch (error) {
    return { code: 'artifact-unreadable', detail: `can't be read: ${reason(error)}` };
  } finally {
    closeSync(fd);
  }
}

/**
 * Checks one downloaded file, size before hash, letting the event loop turn after every chunk.
 * @returns what is wrong, or `undefined` when the file is the artifact
 */
export async function checkArtifact(path: string, artifact: Artifact): Promise<Fault | undefined> {
  const reading = digest(path, artifact.size, Buffer.allocUnsafe(CHUNK));
  for (;;) {
    const step = reading.next();
    if (step.done) return compare(step.value, artifact);
    await nextTurn();
  }
}

/** Fault of an artifact that was hashed, if any. */
export function compare(outcome: Outcome, { sha256 }: Artifact): Fault | undefined {
  if ('code' in outcome) return outcome;
  if (outcome.sha256 === sha256) return undefined;
  return { code: 'artifact-hash', detail: `has the SHA-256 ${outcome.sha256} instead of ${sha256}` };
}

function irregular(stat: BigIntStats): Fault | undefined {
  if (stat.isFile()) return undefined;
  const kinds = {
    isSymbolicLink: 'a symbolic link',
    isDirectory: 'a directory',
    isFIFO: 'a pipe',
    isSocket: 'a socket',
  };
  const kind = Object.entries(kinds).find(([is]) => stat[is as keyof typeof kinds]())?.[1] ?? 'a device';
  return { code: 'artifact-not-regular', detail: `is ${kind}, not a regular file` };
}

function unopened(error: unknown): Fault {
  const code = errno(error);
  if (code === 'ENOENT') return { code: 'artifact-missing', detail: 'is missing' };
  if (code === 'ELOOP') return { code: 'artifact-not-regular', detail: 'is a symbolic link, not a regular file' };
  if (code === 'ENXIO') return { code: 'artifact-not-regular', detail: 'is a socket or a device, not a regular file' };
  return { code: 'artifact-unreadable', detail: `can't be read: ${reason(error)}` };
}
