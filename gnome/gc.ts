// Collects garbage in quiet moments: dropped widgets are large, and the engine sees only their small JS side.
import { gc } from 'system';

/** Longer than a pause between two keys, since a collection takes some hundredths of a second. */
const QUIET_MS = 1500;
/** A list that never stops changing must not postpone the collection forever. */
const LONGEST_MS = 10_000;

let pending: ReturnType<typeof setTimeout> | null = null;
let since = 0;

/**
 * Collects once no call has come for a while. An idle process never reaches the engine's thresholds (about 36 MiB of heap, or
 * 51 MiB counted for it) and would keep its garbage for hours. Nor may a process reach them: the engine then collects in slices,
 * and GJS 1.74 drops every callback from C until the last slice. No JS runs to start the next slice, and the process hangs.
 * So no callback may allocate megabytes.
 */
export function collectWhenQuiet(): void {
  if (!pending) since = Date.now();
  else if (Date.now() - since > LONGEST_MS) return;
  else clearTimeout(pending);
  pending = setTimeout(() => {
    pending = null;
    gc();
  }, QUIET_MS);
}
