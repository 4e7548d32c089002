// Writes to the standard streams synchronously: an exit right after loses nothing, and a listener's line leaves without delay.
import { writeSync } from 'node:fs';
import { errno } from '../system/errno.ts';

/** Writes all of a text; waits where a full pipe does not block. Ends the process where it can't be written. */
export function write(fd: 1 | 2, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      const code = errno(error);
      if (code === 'EAGAIN') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      else {
        if (code !== 'EPIPE' && fd === 1) write(2, `culvert-emulator: The output can't be written (${code}).\n`);
        process.exit(1);
      }
    }
  }
}
