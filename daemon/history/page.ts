// Answers a query of the history with a page and the totals. Code that writes the history does not load this file, because it
// needs zod.
import * as z from 'zod/mini';
import {
  type History,
  HistoryChange,
  type HistoryQuery,
  type HistoryResolution,
  type HistorySample,
} from '../api/history.ts';
import { parseJson } from '../core/shape.ts';
import type { DayFiles, OnLine } from './day-files.ts';
import { stopOf } from './observe.ts';
import { addTo, type Change, dayOf, parseSample, type Sample } from './records.ts';
import { bucketOf, HOUR, MINUTE } from './summarize.ts';
import { createTimeline } from './timeline.ts';

const BRACE = 0x7b;

interface Question {
  files: Pick<DayFiles, 'days' | 'read'>;
  query: HistoryQuery;
  /** ms since the epoch. */
  since: number;
  until: number;
  /** Time until which the last known state lasts; null if recording has ended. */
  now: number | null;
  /** End of a recording that fails, which is not written yet, in ms since the epoch; else null. */
  failedAt: number | null;
}

export function readPage(question: Question): Omit<History, 'ok' | 'enabled'> {
  const { files, query, since, until, now, failedAt } = question;
  const resolution = query.resolution ?? suitedTo(until - since);
  const bucket = SECONDS[resolution];
  const cursor = query.cursor === undefined ? null : Number(query.cursor);
  const from = cursor ?? since;
  // the first sample may cover a time that began before `since`
  const page = createPage({ from: cursor ?? since - (since % (bucket * 1000)), until, bucket });
  const line = {} as Sample;
  let last = null as Change | null;
  const fromSeconds = from / 1000;
  const timeline = createTimeline({ since, until }, change => page.change(change));
  const onLine: OnLine = (bytes, start, end) => {
    if (bytes[start] === BRACE) {
      const change = parseChange(bytes, start, end);
      if (change) timeline.change(change);
      last = change ?? last;
      return;
    }
    const sample = parseSample(bytes, start, end, line);
    if (!sample || sample.at < fromSeconds) return;
    timeline.sample(sample);
    page.sample(sample);
  };
  const first = dayOf(from);
  for (const day of daysFrom(files.days(), first, dayOf(until))) {
    // only the last state of the previous day counts
    const onChange: OnLine = (bytes, start, end) => bytes[start] === BRACE && onLine(bytes, start, end);
    files.read(day, day < first ? onChange : onLine);
  }
  if (last && last.kind !== 'stop' && failedAt !== null) timeline.change(stopOf(last, Math.max(failedAt, last.at)));
  const { total, days } = timeline.end(now);
  return {
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    resolution,
    ...page.end(),
    totals: cursor === null ? { ...total, days } : null,
  };
}

/** Returns the days to read: those of the query, and the last day before them, which has the state at the beginning. */
function daysFrom(days: string[], first: string, last: string): string[] {
  const begin = Math.max(
    0,
    days.findLastIndex(day => day < first),
  );
  return days.slice(begin).filter(day => day <= last);
}

/** Limit of records on one page. */
const LIMIT = 2_000;

export const SECONDS: Record<HistoryResolution, number> = {
  full: 1,
  minute: MINUTE.bucket,
  hour: HOUR.bucket,
};

/** Returns the default resolution for a length of time in ms: at most 2,160 samples. */
export function suitedTo(ms: number): HistoryResolution {
  const hours = ms / 3_600_000;
  return hours <= 2 ? 'full' : hours <= 12 ? 'minute' : 'hour';
}

interface Range {
  /** ms since the epoch. */
  from: number;
  until: number;
  /** Length of one sample, in seconds. */
  bucket: number;
}

/** @param limit records on a page; a page exceeds it if records share a timestamp */
export function createPage({ from, until, bucket }: Range, limit = LIMIT) {
  const samples = new Map<number, Sample>();
  let changes: Change[] = [];
  /** Start of the next page, in ms. */
  let next = until;
  /** The same limits in seconds, the unit of samples. */
  const [firstSecond, lastSecond] = [from / 1000, until / 1000];
  let nextSecond = lastSecond;

  /** Cuts the page, but never between records with the same timestamp. */
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
      else samples.set(at, { ...sample, at });
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

function changeOf({ lastAt: _, asked: __, ...change }: Change): HistoryChange {
  const kind = change.kind === 'start' || change.kind === 'stop' ? change.kind : 'state';
  return { ...change, at: new Date(change.at).toISOString(), kind };
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

/** The last moment that a Date can hold, in ms. */
const MAX_TIME = 8.64e15;

const Moment = z.int().check(z.gte(0), z.lte(MAX_TIME));
const Line = z.extend(HistoryChange, {
  at: Moment,
  kind: z.enum(['state', 'start', 'stop', 'day', 'same']),
  lastAt: z.optional(Moment),
  asked: z.optional(z.literal(true)),
});

/** Reads a change from the bytes of a line. @returns null for anything else, such as half a line */
export function parseChange(bytes: Buffer, start: number, end: number): Change | null {
  return z.safeParse(Line, parseJson(bytes.toString('utf8', start, end))).data ?? null;
}
