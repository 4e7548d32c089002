// Identifies processes by pid and start time, because a pid alone is reused.
import { existsSync } from 'node:fs';
import { readText } from './files.ts';

/** Exists where systemd is the init system (sd_booted(3)). */
export const SYSTEMD = '/run/systemd/system';

/** Reports whether systemd runs this machine: elsewhere systemctl can do nothing. */
export const runsSystemd = () => existsSync(SYSTEMD);

/**
 * Kernel start time of a process in clock ticks since boot (proc(5), field 22 of /proc/PID/stat).
 * @returns null for a process that is gone. A zombie counts as gone, once its other threads (field 20) have ended: until then its
 * sockets still take connections.
 */
export function startTime(pid: number): string | null {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === null) return null;
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
