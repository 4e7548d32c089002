// Sums up totals of the history. Free of zod, so that every client can load it.
import type { HistoryTotal } from './history.ts';

/** Adds `n` connections that a cause ended. */
export function addDrops(drops: HistoryTotal['drops'], cause: string, n: number): void {
  drops[cause] = (Object.hasOwn(drops, cause) ? drops[cause]! : 0) + n;
}

/** Returns the sum of the totals of several periods. */
export function totalOf(parts: readonly HistoryTotal[]): HistoryTotal {
  const total: HistoryTotal = { connectedSeconds: 0, received: 0, sent: 0, drops: {} };
  for (const { connectedSeconds, received, sent, drops } of parts) {
    total.connectedSeconds += connectedSeconds;
    total.received += received;
    total.sent += sent;
    for (const [cause, n] of Object.entries(drops)) addDrops(total.drops, cause, n);
  }
  return total;
}
