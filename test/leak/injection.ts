// Failures at every system call of a program, by strace.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine, Program } from './machine.ts';

/** strace counts the calls of a program by name and thread, so that is how one is addressed. */
export interface Point {
  call: string;
  ordinal: number;
}

const ERRORS = ['ENOBUFS', 'ENOMEM', 'EINTR', 'EPERM', 'EAGAIN'] as const;
const NETLINK = new Set(
  'sendmsg sendto recvmsg recvfrom socket bind setsockopt getsockname poll ppoll read openat'.split(' '),
);

/** Every system call in a trace of one process. */
export function pointsOf(trace: string): Point[] {
  const seen = new Map<string, number>();
  const points: Point[] = [];
  for (const line of trace.split('\n')) {
    const [, thread, call] = /^(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed)/.exec(line) ?? [];
    if (!call || /resumed/.test(line)) continue;
    const key = `${thread} ${call}`;
    const ordinal = (seen.get(key) ?? 0) + 1;
    seen.set(key, ordinal);
    if (!points.some(point => point.call === call && point.ordinal === ordinal)) points.push({ call, ordinal });
  }
  return points;
}

/** Faults of a program: death at each call, and each error at those that talk to the kernel. */
export function planFor(points: readonly Point[]): (Point & { fault: string })[] {
  return [
    ...points.map(point => ({ ...point, fault: 'signal=SIGKILL' })),
    ...points
      .filter(({ call }) => NETLINK.has(call))
      .flatMap(point => ERRORS.map(error => ({ ...point, fault: `error=${error}` }))),
  ];
}

/** @returns the trace of a command that ran undisturbed */
export async function traced(
  machine: Machine,
  directory: string,
  command: readonly string[],
  input: string,
): Promise<string> {
  const file = join(directory, 'trace');
  await machine.run(['strace', '-f', '-qq', '-o', file, ...command], input);
  return readFileSync(file, 'utf8');
}

/** Runs a command with a fault at one call. @returns whether it was hit */
export async function inject(
  machine: Machine,
  directory: string,
  { call, ordinal, fault }: Point & { fault: string },
  { command, input }: { command: readonly string[]; input: string },
): Promise<boolean> {
  const file = join(directory, 'injected');
  const words = ['-f', '-qq', '-o', file, '-e', `trace=${call}`, '-e', `inject=${call}:${fault}:when=${ordinal}`];
  await machine.attempt(['timeout', '-s', 'KILL', '10', 'strace', ...words, ...command], input);
  return /\(INJECTED\)|killed by SIGKILL/.test(readFileSync(file, 'utf8'));
}

/** Attaches to a process and its threads. Resolves once it has. */
export async function attach(machine: Machine, pid: number, words: readonly string[]): Promise<Program> {
  const tracer = machine.start(['sh', '-c', 'exec strace "$@" 2>&1', 'strace', '-f', ...words, '-p', String(pid)]);
  const said = await tracer.line();
  if (!/attached/.test(said)) throw new Error(`strace: ${said}`);
  return tracer;
}
