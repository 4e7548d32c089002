// Collects garbage after a number of bytes of input, before the GJS engine starts an incremental collection.
import system from 'system';

/**
 * Bytes read between two collections. GJS (1.74 to 1.82 at least) drops every callback that comes between the slices of an
 * incremental collection ("Attempting to run a JS callback during garbage collection"), which leaves readers deaf. The engine
 * begins such a collection at some tens of megabytes; a whole one, well before that, drops nothing. A parsed listing takes
 * many times the bytes of its text.
 */
const COLLECT_BYTES = 1 << 20;

let uncollected = 0;

/** @param bytes that were read, and have become garbage by now or will soon */
export function countGarbage(bytes: number): void {
  uncollected += bytes;
  if (uncollected < COLLECT_BYTES) return;
  uncollected = 0;
  system.gc();
}
