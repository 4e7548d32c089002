// Collects the earliest records of a time into one page of the API. Objects are not spread here: V8 takes 10 µs for each
// that holds a fraction, and there are thousands.
import type { HistoryChange, HistoryResolution, HistorySample } from '../api/history.ts';
import { addTo, type Change, copyAt, type Sample } from './records.ts';
import { bucketOf, HOUR, MINUTE } from './summarize.ts';

/** Records of one page. */
const LIMIT = 2_000;

export const SECONDS: Record<HistoryResolution, number> = {
  full: 1,
  minute: MINUTE.bucket,
  hour: HOUR.bucket,
};

/** The default resolution for a length of time in ms: at most 2,160 samples. */
export function suitedTo(ms: number): HistoryResolution {
  const hours = ms / 3_600_000;
  return hours <= 2 ? 'full' : hours <= 12 ? 'minute' : 'hour';
}

interface Range {
  /** ms since the epoch. */
  from: number;
  until: number;
  /** Seconds that become one sample. */
  bucket: number;
}

/** @param limit records of a page; a few more where several are of one moment */
export function createPage({ from, until, bucket }: Range, limit = LIMIT) {
  const samples = new Map<number, Sample>();
  let changes: Change[] = [];
  /** Start of the next page, in ms. */
  let next = until;
  /** The same in seconds, as samples have them. */
  const [firstSecond, lastSecond] = [from / 1000, until / 1000];
  let nextSecond = lastSecond;

  /** Drops what belongs to later pages. Records of one moment stay together. */
  function cut(): void {
    if (changes.length + samples.size <= limit) return;
    const moments = [...changes.map(({ at }) => at), ...[...samples.keys()].map(at => at * 1000)].sort((a, b) => a - b);
    const last = moments[limit - 1];
    const after = last === undefined ? undefined : moments.find(at => at > last);
    if (after === undefined) return;
    next = after;
    nextSecond = next / 1000;
    changes = changes.filter(({ at }) => at < next);
    for (const at of samples.keys()) if (at >= nextSecond) samples.delete(at);
  }

  return {
    change(change: Change): void {
      if (change.at < from || change.at >= next) return;
      changes.push(change);
      if (changes.length + samples.size > 2 * limit) cut();
    },
    sample(sample: Sample): void {
      const at = bucketOf(sample.at, bucket);
      if (sample.at >= lastSecond || at < firstSecond || at >= nextSecond) return;
      const before = samples.get(at);
      if (before) addTo(before, sample);
      else samples.set(at, copyAt(at, sample));
      if (changes.length + samples.size > 2 * limit) cut();
    },
    end() {
      cut();
      return {
        changes: changes.sort((a, b) => a.at - b.at).map(changeOf),
        samples: [...samples.values()].sort((a, b) => a.at - b.at).map(sampleOf),
        next: next < until ? String(next) : null,
      };
    },
  };
}

function changeOf({ at, kind, state, reason, blocked, network, mode, colo, effect, signIn }: Change): HistoryChange {
  const kindOnPage = kind === 'start' || kind === 'stop' ? kind : 'state';
  const change: HistoryChange = {
    at: new Date(at).toISOString(),
    kind: kindOnPage,
    state,
    reason,
    blocked,
    network,
    mode,
    colo,
  };
  if (effect !== undefined) change.effect = effect;
  if (signIn !== undefined) change.signIn = signIn;
  return change;
}

function sampleOf({ at, span, latency, least, greatest, loss, received, sent }: Sample): HistorySample {
  const ms = (micros: number | null) => micros && micros / 1000;
  return {
    at: new Date(at * 1000).toISOString(),
    seconds: span,
    latencyMs: ms(latency),
    latencyMinMs: ms(least),
    latencyMaxMs: ms(greatest),
    loss: loss && loss / 1e6,
    received,
    sent,
  };
}
