// Frees the buffers of large bodies soon after they were passed on.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** V8 alone waits for 32 MiB of buffers. Sooner costs no time, because the processor's cache holds what is used again. */
const EVERY_BYTES = 4_194_304;

let passed = 0;
let collect: ((options: { type: 'minor' }) => void) | undefined;

/** Counts bytes that are passed on, and frees the buffers of earlier ones from time to time. */
export function countPassed(bytes: number): void {
  passed += bytes;
  if (passed < EVERY_BYTES) return;
  passed = 0;
  if (!collect) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as typeof collect;
  }
  collect?.({ type: 'minor' });
}
