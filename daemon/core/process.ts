// Identifies processes by pid and start time, because a pid alone is reused, and runs helper programs to their end.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { errno } from './errors.ts';
import { readText } from './files.ts';

/** Codes of a machine or process that can open no further file (open(2)). */
const EXHAUSTED: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

/** Exists where systemd is the init system (sd_booted(3)). */
export const SYSTEMD = '/run/systemd/system';

/** Reports whether systemd runs this machine: elsewhere systemctl can do nothing. */
export const runsSystemd = () => existsSync(SYSTEMD);

/**
 * Kernel start time of a process in clock ticks since boot (proc(5), field 22 of /proc/PID/stat).
 * @returns null for a process that is gone. A zombie counts as gone, once its other threads (field 20) have ended: until then its
 * sockets still take connections.
 * @throws NodeJS.ErrnoException without free file descriptors or memory: whether the process runs is then unknown
 */
export function startTime(pid: number): string | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    if (EXHAUSTED.has(errno(error))) throw error;
    return null;
  }
  // the second field is the program's name in parentheses, and a name may contain spaces and parentheses
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const isGone = fields[0] === 'X' || (fields[0] === 'Z' && Number(fields[17]) <= 1);
  return isGone ? null : (fields[19] ?? null);
}

/** True for a process that a signal (SIGSTOP, SIGTSTP) or a debugger has stopped. */
export function isSuspended(pid: number): boolean {
  const stat = readText(`/proc/${pid}/stat`);
  return stat !== null && /^[Tt]/.test(stat.slice(stat.lastIndexOf(')') + 2));
}

/** True while a process is the one that had this start time. */
export function isRunning(pid: number, started: string): boolean {
  return startTime(pid) === started;
}

/** Names this process by pid and start time. */
export function thisProcess(): string {
  return `${process.pid} ${startTime(process.pid)}`;
}

/** True while the process runs that `thisProcess` named. */
export function isAlive(named: string): boolean {
  const [pid, started] = named.split(' ');
  return started !== undefined && isRunning(Number(pid), started);
}

/** Blocks the thread. */
export function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

export interface HelperResult {
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
 * Runs a program to its end for its output. It never takes longer than its time limit, whatever its children do.
 * @param argv program and arguments; nothing secret belongs here
 * @param options.input written to stdin, which is then closed
 * @param options.timeoutMs after it the whole process group is killed
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
    // A grandchild may keep the pipes open forever. Where the event loop was held up, its timers run before its pipes:
    // one more turn reads what the program had written.
    child.on('exit', (code, signal) => {
      grace = setTimeout(() => setImmediate(finish, code, signal), GRACE_MS);
    });
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
  });
}

/** Words for how a program failed: `failed with exit status 1`, `was ended by SIGKILL`. */
export function failureOf({ exit, signal }: HelperResult): string {
  return signal === null ? `failed with exit status ${exit}` : `was ended by ${signal}`;
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
