// Reads what is outdated before an answer, for a limited time.
import { setTimeout as delay } from 'node:timers/promises';
import { READ_LIMIT_MS } from '../cli/read-commands.ts';
import type { Watch } from '../listen/watch.ts';
import type { Reader } from './reader.ts';

const STALE_MS = 1000;
const ALL_MS = READ_LIMIT_MS + 1000;
/** Settings that were never read are waited for this much longer. */
const FIRST_READ_MS = 2 * READ_LIMIT_MS;

interface Options {
  reader: Reader;
  watch: Pick<Watch, 'retry' | 'spoken'>;
  /** Resolves when the present executable is in use. */
  adopted(): Promise<void>;
}

/** @returns `Tunnel.refresh` */
export function createRefresh({ reader, watch, adopted }: Options): (which: 'stale' | 'all') => Promise<void> {
  return async which => {
    if (which === 'stale' && reader.isFresh()) return;
    const limit = new AbortController();
    const within = (ms: number, work: Promise<void>) =>
      Promise.race([work, delay(ms, undefined, { signal: limit.signal })]).catch(() => {});
    if (which === 'all') {
      watch.retry();
      await within(ALL_MS, reader.readAll());
    } else {
      const limitMs = reader.hasUnreadChanges() ? ALL_MS : STALE_MS;
      await within(
        limitMs,
        reader.readStale(() => adopted().then(watch.spoken)),
      );
    }
    if (reader.stale(['settings']).some(({ ageSeconds }) => ageSeconds === null))
      await within(FIRST_READ_MS, reader.readLatest('settings'));
    limit.abort();
  };
}
