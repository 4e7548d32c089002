// Finds programs, and runs helper programs within a time limit.
import { spawn } from 'node:child_process';
import { isAbsolute, join } from 'node:path';
import { errno } from './errors.ts';
import { isExecutable } from './files.ts';

/**
 * Returns the path of a program's executable file, or null.
 * @param program absolute path, or a name without a slash
 * @param path list of directories as in PATH; relative directories are skipped
 */
export function findProgram(program: string, path: string): string | null {
  return programPaths(program, path).find(isExecutable) ?? null;
}

/** Returns the paths that `findProgram` tries, in order. */
export function programPaths(program: string, path: string): string[] {
  if (isAbsolute(program)) return [program];
  if (program.includes('/')) return [];
  const directories = path.split(':').filter(directory => isAbsolute(directory));
  return directories.map(directory => join(directory, program));
}

interface HelperResult {
  exit: number | null;
  /** Set when a signal ended the program. */
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  timedOut: boolean;
  /** Set when the program could not be started. */
  error?: Error;
}

const MAX_OUTPUT = 1024 * 1024;
const GRACE_MS = 250;

/**
 * Runs a program and returns its output. Never takes longer than the time limit, even if its children keep running.
 * @param argv program and arguments, which must not contain secrets
 * @param options.input written to stdin, which is then closed
 * @param options.timeoutMs time limit, after which the whole process group is killed
 */
export function runHelper(
  argv: readonly [string, ...string[]],
  options: { env?: NodeJS.ProcessEnv; input?: string; timeoutMs: number; cwd?: string },
): Promise<HelperResult> {
  return new Promise(resolve => {
    const child = spawn(argv[0], argv.slice(1), {
      env: options.env ?? process.env,
      cwd: options.cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    let size = 0;
    let timedOut = false;
    let grace: NodeJS.Timeout | undefined;
    const timer = setTimeout(() => {
      timedOut = true;
      signalGroup(child, 'SIGKILL');
    }, options.timeoutMs);
    const finish = (exit: number | null, signal: NodeJS.Signals | null, error?: Error) => {
      clearTimeout(timer);
      clearTimeout(grace);
      child.stdout.destroy();
      child.stderr.destroy();
      const text = (stream: keyof typeof chunks) => Buffer.concat(chunks[stream]).toString('utf8');
      resolve({ exit, signal, stdout: text('stdout'), stderr: text('stderr'), timedOut, ...(error && { error }) });
    };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_OUTPUT) signalGroup(child, 'SIGKILL');
        else chunks[stream].push(chunk);
      });
    }
    child.on('error', error => finish(null, null, error));
    child.on('close', finish);
    child.on('exit', (code, signal) => {
      grace = afterExit(GRACE_MS, () => finish(code, signal));
    });
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
  });
}

/** Describes how a program failed: `failed with exit status 1`, `was ended by SIGKILL`. */
export function failureOf({ exit, signal }: HelperResult): string {
  return signal === null ? `failed with exit status ${exit}` : `was ended by ${signal}`;
}

/** Signals the process group that a child leads. Ignores a group that is gone or now belongs to another user. */
export function signalGroup({ pid }: { pid?: number | undefined }, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (!['ESRCH', 'EPERM'].includes(errno(error) ?? '')) throw error;
  }
}

/**
 * Calls `done` some time after a child has exited, because a grandchild may hold the pipes open forever; callers clear the
 * timer if the output ends earlier (`close`). The child's output is read first: a delayed event loop runs timers before
 * pipes, so `done` waits for one more turn.
 * @returns the timer
 */
export function afterExit(graceMs: number, done: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(done), graceMs);
}
