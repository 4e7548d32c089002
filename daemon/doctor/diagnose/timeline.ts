// Reads from the history what happened to the tunnel in the last week, for a bundle: changes of its state, and totals.
import type { History, HistoryChange, HistoryQuery } from '../../api/history.ts';

/** Changes that are kept: the newest. */
const KEPT = 2_000;

export interface Timeline extends Pick<History, 'since' | 'until' | 'totals'> {
  changes: HistoryChange[];
}

/** @param read a page of the history */
export async function readTimeline(read: (query: HistoryQuery) => Promise<History>): Promise<Timeline> {
  const query = { since: '7d', resolution: 'hour' } as const;
  let page = await read(query);
  const { since, until, totals } = page;
  let { changes } = page;
  while (page.next !== null) {
    page = await read({ since, until, resolution: 'hour', cursor: page.next });
    changes = [...changes, ...page.changes].slice(-KEPT);
  }
  return { since, until, totals, changes: changes.slice(-KEPT) };
}
