// Hashes artifacts with two threads and compares them with a manifest: sizes first, and links are not followed.
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
 * Compares every artifact with the file of its name in a directory.
 * @param manifest as `readManifest` returns it: its names stay in the directory
 * @param worker the program to hash with (see `hashFiles`)
 * @param progress called with the bytes so far, and the bytes to be hashed
 * @returns a finding for each artifact, in the manifest's order
 * @throws Refusal `input-unreadable` when there is no such directory
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

/** Called a few times per second with the bytes hashed so far, and at the end with all. */
type Progress = (bytes: number) => void;

/** Memory shared by the threads: two counters, so that taking a job and reporting progress cost no message. */
interface Shared {
  readonly jobs: readonly Job[];
  readonly next: Int32Array;
  readonly bytes: BigInt64Array;
}

/** Below this, starting a thread takes longer than hashing here. */
const WORTH_A_THREAD = 32 * 1024 * 1024;

/**
 * Hashes files, on this thread and a second one: this thread begins while the other one starts.
 * @param worker the program file to run as a thread, which must end up in {@link serveHashing}
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
  // when the thread could not start or died (limits on processes and memory), its files are hashed here
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

/** Resolves when the thread has ended, also when it failed. */
function runThread(file: string, shared: Shared, done: (index: number, outcome: Outcome) => void): Promise<void> {
  return new Promise(resolve => {
    const thread = new Worker(file, { workerData: shared });
    thread.on('message', ([index, outcome]: [number, Outcome]) => done(index, outcome));
    thread.once('error', () => {}); // an exit follows
    thread.once('exit', () => resolve());
  });
}

type ArtifactFault = Extract<RefusalCode, `artifact-${string}`>;

/** A fault of an artifact: a code and the rest of a sentence that begins with its name. */
export interface Fault {
  readonly code: ArtifactFault;
  readonly detail: string;
}

export type Outcome = { readonly sha256: string } | Fault;

/** Bytes per read. Measured to be the fastest: smaller reads cost calls, larger ones cost cache. */
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

/** The fault of a size that is not the expected one. */
function sizeFault(size: number, expected: number): Fault {
  return { code: 'artifact-size', detail: `has ${size} bytes instead of ${expected}` };
}

/**
 * Hashes a file, yielding the bytes read after each chunk, so that a caller can count or let others run.
 * @param path opened without following a final symbolic link, and without blocking on a pipe
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
 * @returns the fault, or `undefined` when the file is the artifact
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
