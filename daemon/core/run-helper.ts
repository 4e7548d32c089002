// Finds programs, and runs helper programs within a time limit.
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/**
 * Returns the path of a program's executable file, or null.
 * @param program absolute path, or a name without a slash
 * @param path list of directories as in PATH; relative directories are skipped
 */
export function findProgram(program: string, path: string): string | null {
  if (isAbsolute(program)) return isExecutable(program) ? program : null;
  if (program.includes('/') || program === '') return null;
  const directories = path.split(':').filter(directory => isAbsolute(directory));
  return directories.map(directory => join(directory, program)).find(isExecutable) ?? null;
}

/** Returns true if a path is a file that this user may run. */
function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false; // missing, or in a directory that this user may not enter
  }
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
      killGroup(child.pid);
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
        if (size > MAX_OUTPUT) killGroup(child.pid);
        else chunks[stream].push(chunk);
      });
    }
    child.on('error', error => finish(null, null, error));
    child.on('close', finish);
    // A grandchild may keep the pipes open forever. After a delay of the event loop, timers run before pipes:
    // one more turn reads the rest of the output.
    child.on('exit', (code, signal) => {
      grace = setTimeout(() => setImmediate(finish, code, signal), GRACE_MS);
    });
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
  });
}

/** Describes how a program failed: `failed with exit status 1`, `was ended by SIGKILL`. */
export function failureOf({ exit, signal }: HelperResult): string {
  return signal === null ? `failed with exit status ${exit}` : `was ended by ${signal}`;
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // the process group has ended
  }
}
