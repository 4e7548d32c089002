// Signals processes that may end by themselves.
import { errno } from '../../daemon/core/errors.ts';

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
