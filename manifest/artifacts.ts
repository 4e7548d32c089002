// Compares artifacts with a manifest: checks sizes first, then hashes with two threads, and follows no symbolic links.
import { createHash } from 'node:crypto';
import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, Worker } from 'node:worker_threads';
import { errno, reason } from '../daemon/core/errors.ts';
import { Refusal, type RefusalCode } from './errors.ts';
import type { Artifact, Manifest } from './schema.ts';

export interface Finding {
  readonly artifact: Artifact;
  /** `undefined` when the file matches the manifest. */
  readonly fault: Fault | undefined;
}

/**
 * Compares every artifact with the file of the same name in a directory.
 * @param manifest result of `readManifest`, whose checks keep the names inside the directory
 * @param worker program file of the hashing thread (see `hashFiles`)
 * @param progress called with the number of bytes hashed so far, and the total
 * @returns a finding for each artifact, in the manifest's order
 * @throws Refusal `input-unreadable` if the directory can't be read
 */
export async function verifyDirectory(
  manifest: Manifest,
  directory: string,
  worker: string,
  progress: (bytes: number, total: number) => void,
): Promise<Finding[]> {
  checkDirectory(directory);
  const faults = new Map<Artifact, Fault>();
  for (const artifact of manifest.artifacts) {
    const size = sizeOf(join(directory, artifact.name));
    if (typeof size !== 'number') faults.set(artifact, size);
    else if (size !== artifact.size) faults.set(artifact, sizeFault(size, artifact.size));
  }
  const rest = manifest.artifacts.filter(artifact => !faults.has(artifact));
  const total = rest.reduce((sum, { size }) => sum + size, 0);
  const report: Progress = bytes => progress(bytes, total);
  const jobs = rest.map(({ name, size }) => ({ path: join(directory, name), size }));
  const outcomes = await hashFiles(jobs, worker, report);
  for (const [index, artifact] of rest.entries()) {
    const fault = compare(outcomes[index]!, artifact);
    if (fault) faults.set(artifact, fault);
  }
  return manifest.artifacts.map(artifact => ({ artifact, fault: faults.get(artifact) }));
}

function checkDirectory(directory: string): void {
  try {
    if (statSync(directory).isDirectory()) return;
  } catch (cause) {
    throw new Refusal('input-unreadable', `The directory of the artifacts can't be read: ${reason(cause)}.`, { cause });
  }
  throw new Refusal('input-unreadable', `${directory} is not a directory.`);
}

interface Job {
  readonly path: string;
  /** Expected size in bytes. */
  readonly size: number;
}

/** Called a few times per second with the number of bytes hashed so far, and at the end with the total. */
type Progress = (bytes: number) => void;

/** Memory shared by the threads: two counters, so that taking a job and reporting progress cost no message. */
interface Shared {
  readonly jobs: readonly Job[];
  readonly next: Int32Array;
  readonly bytes: BigInt64Array;
}

/** Minimum bytes for a second thread: with less, its start takes longer than hashing. */
const WORTH_A_THREAD = 32 * 1024 * 1024;

/**
 * Hashes files on this thread and a second thread; this thread begins while the second thread starts.
 * @param worker program file of the second thread, which must call {@link serveHashing}
 * @returns one outcome for each job, in the same order
 */
export async function hashFiles(jobs: readonly Job[], worker: string, progress: Progress): Promise<Outcome[]> {
  const order = jobs.map((_, index) => index).sort((a, b) => jobs[b]!.size - jobs[a]!.size);
  const shared: Shared = {
    jobs: order.map(index => jobs[index]!),
    next: new Int32Array(new SharedArrayBuffer(4)),
    bytes: new BigInt64Array(new SharedArrayBuffer(8)),
  };
  const outcomes: Outcome[] = new Array(jobs.length);
  const take = (index: number, outcome: Outcome) => {
    outcomes[order[index]!] = outcome;
  };
  let reported = Date.now();
  const report = () => {
    if (Date.now() - reported < 100) return;
    reported = Date.now();
    progress(Number(Atomics.load(shared.bytes, 0)));
  };
  const total = jobs.reduce((sum, { size }) => sum + size, 0);
  const thread = jobs.length > 1 && total > WORTH_A_THREAD ? runThread(worker, shared, take) : undefined;
  hashRemaining(shared, take, report);
  // the other thread may still be hashing its last file
  const timer = setInterval(report, 100);
  await thread;
  clearInterval(timer);
  // hash the second thread's files here if it could not start or died (limits on processes and memory)
  const buffer = Buffer.allocUnsafeSlow(CHUNK);
  for (const index of order) outcomes[index] ??= hashOne(jobs[index]!, buffer, report);
  progress(total);
  return outcomes;
}

/** Runs in the second thread: hashes until no job is left. */
export function serveHashing(shared: unknown): void {
  const port = parentPort!;
  hashRemaining(shared as Shared, (index, outcome) => port.postMessage([index, outcome]));
}

function hashRemaining(
  { jobs, next, bytes }: Shared,
  done: (index: number, outcome: Outcome) => void,
  report: () => void = () => {},
): void {
  const buffer = Buffer.allocUnsafeSlow(CHUNK);
  const count = (read: number) => {
    Atomics.add(bytes, 0, BigInt(read));
    report();
  };
  for (let index = Atomics.add(next, 0, 1); index < jobs.length; index = Atomics.add(next, 0, 1)) {
    done(index, hashOne(jobs[index]!, buffer, count));
  }
}

function hashOne({ path, size }: Job, buffer: Buffer, chunk: (read: number) => void): Outcome {
  const reading = digest(path, size, buffer);
  let step = reading.next();
  for (; !step.done; step = reading.next()) chunk(step.value);
  return step.value;
}

/** Runs the second thread; resolves when the thread has ended, even after a failure. */
function runThread(file: string, shared: Shared, done: (index: number, outcome: Outcome) => void): Promise<void> {
  return new Promise(resolve => {
    const thread = new Worker(file, { workerData: shared });
    thread.on('message', ([index, outcome]: [number, Outcome]) => done(index, outcome));
    thread.once('error', () => {}); // an exit follows
    thread.once('exit', () => resolve());
  });
}

type ArtifactFault = Extract<RefusalCode, `artifact-${string}`>;

/** Fault of an artifact: a code, and the rest of a sentence that begins with the artifact's name. */
export interface Fault {
  readonly code: ArtifactFault;
  readonly detail: string;
}

export type Outcome = { readonly sha256: string } | Fault;

/** Bytes per read; the fastest size in measurements: smaller reads cost calls, and larger reads cost cache. */
const CHUNK = 256 * 1024;

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

/** Returns the fault for an unexpected size. */
function sizeFault(size: number, expected: number): Fault {
  return { code: 'artifact-size', detail: `has ${size} bytes instead of ${expected}` };
}

/**
 * Hashes a file, and yields the number of bytes read after each chunk, so that a caller can count or let other code run.
 * @param path path of the file; opened without following a final symbolic link, and without blocking on a pipe
 * @param size expected size in bytes; the function reads no more
 * @param buffer buffer for the chunks
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
    // a writing program can reset the modification time, but not the change time
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
 * Checks a downloaded file, size before hash, and lets the event loop run after every chunk.
 * @returns the fault, or `undefined` if the file is the artifact
 */
export async function checkArtifact(path: string, artifact: Artifact): Promise<Fault | undefined> {
  const reading = digest(path, artifact.size, Buffer.allocUnsafe(CHUNK));
  for (;;) {
    const step = reading.next();
    if (step.done) return compare(step.value, artifact);
    await nextTurn();
  }
}

/** Returns the fault of a hashed artifact, if any. */
function compare(outcome: Outcome, { sha256 }: Artifact): Fault | undefined {
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
