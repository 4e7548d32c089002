// Snapshots of a program's directory after each of its file operations, from one run: each is what a kill would leave.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { changes, FILE_CALLS } from './file-operations.ts';
import { type Ends, removeTree, temporary } from './temporary.ts';

/** The system calls that change what a reader of files sees. */
const CHANGES = FILE_CALLS.split(',')
  .filter(call => call !== 'fsync')
  .join(',');

/** A directory between two operations of a program, as a kill at that time would have left it. */
export interface Moment {
  /** The operation before it: `rename 2`, or `start`. */
  after: string;
  /** Gives the directory the content of this moment. Once: it is moved there. */
  restore(): void;
}

/**
 * Runs a program to its end under strace, which stops its main thread after each of its changes below a directory, so that the
 * directory can be copied. That is what SIGKILL would leave: the kernel ends a process between two such calls, not inside one.
 * @param directory whose content is kept; it lies in the temporary directory
 * @param argv the program and its arguments
 * @throws Error when the program does not end with 0
 */
export async function moments(
  t: Ends,
  directory: string,
  argv: readonly string[],
  { env, cwd }: { env: NodeJS.ProcessEnv; cwd?: string },
): Promise<Moment[]> {
  const kept = temporary(t, 'moments');
  const found: Moment[] = [];
  const keep = (after: string) => {
    const copy = join(kept, String(found.length));
    const { status, stderr } = spawnSync('cp', ['-a', directory, copy], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    const restore = () => {
      removeTree(directory);
      renameSync(copy, directory);
    };
    found.push({ after, restore });
  };
  keep('start');
  const tracing = [
    '-D',
    '-qq',
    '-y',
    '-o',
    '|exec cat >&3',
    '-e',
    `trace=${CHANGES}`,
    '-e',
    `inject=${CHANGES}:signal=STOP`,
  ];
  const program = spawn('strace', [...tracing, ...argv], {
    env: { PATH: process.env.PATH, ...env },
    cwd,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  const stderr = text(program.stderr!);
  const ended = once(program, 'exit');
  t.after(() => program.kill('SIGKILL'));
  const counts = new Map<string, number>();
  let changed: string | undefined;
  for await (const line of createInterface({ input: program.stdio[3] as Readable })) {
    const call = /^(\w+)\(/.exec(line)?.[1];
    if (call) {
      const ordinal = (counts.get(call) ?? 0) + 1;
      counts.set(call, ordinal);
      changed = line.includes(`${directory}/`) && changes(call, line) ? `${call} ${ordinal}` : undefined;
    } else if (line === '--- stopped by SIGSTOP ---') {
      if (changed !== undefined) keep(changed);
      program.kill('SIGCONT');
    }
  }
  const [code, signal] = await ended;
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${signal ?? code}: ${await stderr}`);
  return found;
}
