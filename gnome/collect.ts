// When the engine collects its garbage: in a quiet moment and at once, instead of whenever it sees fit.
import { gc } from 'system';

let pending: ReturnType<typeof setTimeout> | null = null;

/**
 * Collects once nothing has asked for it for `ms`. An idle process never reaches the engine's own thresholds and
 * would keep its garbage for hours; a busy one reaches them within a change of a list, and GJS drops the callbacks
 * that come while it sweeps in slices ("Attempting to call back into JSAPI during the sweeping phase").
 */
export function collectWhenQuiet(ms: number): void {
  if (pending) clearTimeout(pending);
  pending = setTimeout(() => {
    pending = null;
    gc();
  }, ms);
}
