// Collects garbage in quiet moments: widgets that a list dropped weigh much, and the engine sees only their small JS side.
import { gc } from 'system';

/** Longer than between two keys: a collection takes some hundredths of a second. */
const QUIET_MS = 1500;
/** A list that changes all the time must not put it off for good. */
const LONGEST_MS = 10_000;

let pending: ReturnType<typeof setTimeout> | null = null;
let since = 0;

/**
 * Collects once nothing has asked for it for a while. An idle process never reaches the engine's own thresholds (about 36 MiB
 * of its heap, or 51 MiB that is counted for it) and would keep its garbage for hours. They must not be reached either:
 * the engine then collects in slices, and until the last one GJS 1.74 drops every callback from C, so that no JS runs which
 * would bring the next slice about, and the process is dead. Nothing may therefore allocate by the megabyte in a callback.
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
