// Starts and ends the processes that a benchmark measures. Each wait ends: a process that is gone, or that never answers, fails the run.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';

/** Far above what a start or an end takes on a busy machine. */
const LIMIT_MS = 60_000;

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

/** Asks without a pause until a daemon answers, so that the time of its start can be measured. @throws Error if it ended, or after a minute */
export async function answering(child: ChildProcess, port: number): Promise<void> {
  const last = performance.now() + LIMIT_MS;
  while (!(await answers(port))) {
    if (hasEnded(child)) throw new Error(`${child.spawnargs.join(' ')} ended before it answered on port ${port}`);
    if (performance.now() < last) continue;
    child.kill('SIGKILL');
    throw new Error(`${child.spawnargs.join(' ')} does not answer on port ${port}`);
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise(done => {
    const asking = get({ host: '127.0.0.1', port, path: '/api/health', agent: false, timeout: 5_000 }, response => {
      response.resume().on('end', () => done(response.statusCode === 200));
    });
    asking.on('timeout', () => asking.destroy()).on('close', () => done(false));
    asking.on('error', () => done(false));
  });
}

/** Ends a process and waits for that, also if it has ended already, or does not obey the signal. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  const late = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  await ended;
  clearTimeout(late);
}

/** The result of an event. @throws Error if it does not come within a minute */
export async function promptly<T>(event: Promise<T>, what: string): Promise<T> {
  let late: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, fail) => {
    late = setTimeout(() => fail(new Error(`Waited ${LIMIT_MS / 1000} s in vain for ${what}.`)), LIMIT_MS);
  });
  return Promise.race([event, tooLate]).finally(() => clearTimeout(late));
}
