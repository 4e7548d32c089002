// Collects garbage in quiet moments, since the engine sees only the small JS side of large dropped widgets.
import { gc } from 'system';

/** Longer than the pause between two keys, in ms: a collection takes some hundredths of a second. */
const QUIET_MS = 1500;
/** Longest delay of a collection, in ms: a list that never stops changing must not postpone it forever. */
const MAX_DELAY_MS = 10_000;

let pending: ReturnType<typeof setTimeout> | null = null;
let since = 0;

/**
 * Collects garbage when no call has come for a while. An idle process never reaches the engine's thresholds (about 36 MiB of
 * heap, or 51 MiB counted for it) and would keep its garbage for hours. A process must not reach them either: the engine then
 * collects in slices, and GJS 1.74 drops every callback from C until the last slice. No JS runs to start the next slice, so the
 * process hangs. Therefore no callback may allocate megabytes.
 */
export function collectWhenQuiet(): void {
  if (!pending) since = Date.now();
  else if (Date.now() - since > MAX_DELAY_MS) return;
  else clearTimeout(pending);
  pending = setTimeout(() => {
    pending = null;
    gc();
  }, QUIET_MS);
}
