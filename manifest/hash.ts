// Hashes many files with two threads; each takes the largest file left, because one file keeps one core busy.
import { parentPort, Worker } from 'node:worker_threads';
import { CHUNK, digest, type Outcome } from './artifacts.ts';

export interface Job {
  readonly path: string;
  /** Expected size in bytes. */
  readonly size: number;
}

/** Called a few times per second with the bytes hashed so far, and at the end with all. */
export type Progress = (bytes: number) => void;

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
