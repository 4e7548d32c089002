// Signals processes that may end by themselves.
import { errno } from '../../daemon/core/errors.ts';
import { isSuspended } from '../../daemon/core/process.ts';
import { until } from './until.ts';

/**
 * Sends a signal to a process; nothing happens when it has ended since it was seen.
 * @param pid negative for a process group
 */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (errno(error) !== 'ESRCH') throw error;
  }
}

/** Suspends a process, and waits until the kernel has: a busy machine takes its time. @param pid of one process */
export async function suspend(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await until(() => isSuspended(pid), `process ${pid} is suspended`);
}
