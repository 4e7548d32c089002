// Chooses where tests put their files: most of them are homes that live for a second, and a disk writes each to be safe.
import { readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const IN_MEMORY = '/dev/shm';
/** Several times what the tests need together. */
const ENOUGH_BYTES = 4 * 2 ** 30;

/** The directory in memory, where the machine has room and lets programs run there; otherwise the usual one. Full runs need more. */
export function temporaryDirectory(): string {
  try {
    const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
    const options = mounts.findLast(line => line.split(' ')[1] === IN_MEMORY)?.split(' ')[3] ?? 'noexec';
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    const isUsable = !options.split(',').includes('noexec') && bavail * bsize >= ENOUGH_BYTES;
    return isUsable ? IN_MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
