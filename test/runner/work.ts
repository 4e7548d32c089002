// Reads how long a process and all that it started have worked, by proc_pid_stat(5).
import { readdirSync, readFileSync } from 'node:fs';

/** Length of a tick of the kernel's accounting: 100 a second on every Linux that Node runs on. */
const TICK_MS = 10;

interface Process {
  parent: number;
  /** Its own time and that of its children that have ended. */
  ms: number;
}

/** Processor time of a process, its descendants, and those of them that ended, in milliseconds. Those that lost their parent are missing. */
export function workOf(pid: number): number {
  const processes = new Map<number, Process>();
  for (const name of readdirSync('/proc')) {
    const process = /^\d+$/.test(name) ? readProcess(name) : null;
    if (process) processes.set(Number(name), process);
  }
  const isOurs = (each: number): boolean =>
    each === pid || (processes.has(each) && isOurs(processes.get(each)!.parent));
  return [...processes].reduce((sum, [each, { ms }]) => (isOurs(each) ? sum + ms : sum), 0);
}

function readProcess(pid: string): Process | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // the name before the parenthesis may hold spaces; the fields after it begin with the third
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return { parent: Number(fields[1]), ms: ticks * TICK_MS };
  } catch {
    return null; // it has ended
  }
}
