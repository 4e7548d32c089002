// Identifies processes by pid and start time, because a pid alone is reused.
import { existsSync, readFileSync } from 'node:fs';
import { errno } from './errors.ts';
import { readText } from './files.ts';

/** Error codes if the machine or process can't open more files (open(2)). */
const EXHAUSTED: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

/** Directory that exists if systemd is the init system (sd_booted(3)). */
export const SYSTEMD = '/run/systemd/system';

/** Returns true if systemd is the init system, without which systemctl can do nothing. */
export const runsSystemd = () => existsSync(SYSTEMD);

/**
 * Returns the kernel's start time of a process in clock ticks since boot (proc(5), field 22 of /proc/PID/stat).
 * @returns null for a process that is gone. A zombie counts as gone, once its other threads (field 20) have ended: until then its
 * sockets still take connections.
 * @throws NodeJS.ErrnoException without free file descriptors or memory: the state of the process is then unknown
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

/** Returns true for a process that a signal (SIGSTOP, SIGTSTP) or a debugger has stopped. */
export function isSuspended(pid: number): boolean {
  const stat = readText(`/proc/${pid}/stat`);
  return stat !== null && /^[Tt]/.test(stat.slice(stat.lastIndexOf(')') + 2));
}

/** Returns true while the process with this pid and start time runs. */
export function isRunning(pid: number, started: string): boolean {
  return startTime(pid) === started;
}

/** Returns the pid and start time of this process. */
export function thisProcess(): string {
  return `${process.pid} ${startTime(process.pid)}`;
}

/** Returns true while a process that `thisProcess` named is running. */
export function isAlive(named: string): boolean {
  const [pid, started] = named.split(' ');
  return started !== undefined && isRunning(Number(pid), started);
}

/** Blocks the thread. */
export function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
