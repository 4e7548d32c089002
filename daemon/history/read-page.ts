// Answers a query of the history: walks through the files of its time, and collects a page and the totals.
import type { History, HistoryQuery } from '../api/history.ts';
import type { DayFiles } from './day-files.ts';
import type { OnLine } from './line-files.ts';
import { createPage, SECONDS, suitedTo } from './page.ts';
import { createChangeParser } from './parse-change.ts';
import { parseSample, type Sample } from './records.ts';
import { createTimeline } from './timeline.ts';

const BRACE = 0x7b;

interface Question {
  files: Pick<DayFiles, 'days' | 'read'>;
  query: HistoryQuery;
  /** ms since the epoch. */
  since: number;
  until: number;
  /** The last known state lasts until then; null if it is not recorded anymore. */
  now: number | null;
}

export function readPage({ files, query, since, until, now }: Question): Omit<History, 'ok' | 'enabled'> {
  const resolution = query.resolution ?? suitedTo(until - since);
  const bucket = SECONDS[resolution];
  const cursor = query.cursor === undefined ? null : Number(query.cursor);
  const from = cursor ?? since;
  // the first sample may be of a time that began before
  const page = createPage({ from: cursor ?? since - (since % (bucket * 1000)), until, bucket });
  const line = {} as Sample;
  const parseChange = createChangeParser();
  const fromSeconds = from / 1000;
  const timeline = createTimeline({ since, until }, change => page.change(change));
  const onLine: OnLine = (bytes, start, end) => {
    if (bytes[start] === BRACE) {
      const change = parseChange(bytes, start, end);
      if (change) timeline.change(change);
      return;
    }
    const sample = parseSample(bytes, start, end, line);
    if (!sample || sample.at < fromSeconds) return;
    timeline.sample(sample);
    page.sample(sample);
  };
  const first = dayOf(from);
  for (const day of daysFrom(files.days(), first, dayOf(until))) {
    // only the last state of the day before counts
    const onChange: OnLine = (bytes, start, end) => bytes[start] === BRACE && onLine(bytes, start, end);
    files.read(day, day < first ? onChange : onLine);
  }
  const { total, days } = timeline.end(now);
  return {
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    resolution,
    ...page.end(),
    totals: cursor === null ? { ...total, days } : null,
  };
}

/** Days to read: those of the query, and the last one before them, which has the state at the beginning. */
function daysFrom(days: string[], first: string, last: string): string[] {
  const begin = Math.max(
    0,
    days.findLastIndex(day => day < first),
  );
  return days.slice(begin).filter(day => day <= last);
}

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);
