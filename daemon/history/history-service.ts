// Writes observations to the files of the history, and answers queries about them.
import { parseDuration } from '../api/duration.ts';
import type { History, HistoryQuery } from '../api/history.ts';
import { reason } from '../core/errors.ts';
import { Problem } from '../problem.ts';
import { createDayFiles } from './day-files.ts';
import { createObserver, type Observer, type Seen, stopOf } from './observe.ts';
import { type Change, dayOf, formatChange, formatCounters, formatSample } from './records.ts';

/** Files are deleted only after this time: a clock that is wrong at boot is usually corrected by then. */
const SETTLED_MS = 600_000;
const DAY_MS = 86_400_000;
/** Length of time for which the history is kept. */
const KEPT_MS = 90 * DAY_MS;

interface Options {
  directory: string;
  say(line: string): void;
  /** ms since the epoch. */
  now?: () => number;
  /** Monotonic time, in ms. */
  steady?: () => number;
}

export function createHistoryService({ directory, say, now = Date.now, steady = () => performance.now() }: Options) {
  const files = createDayFiles(directory);
  const startedAt = steady();
  let observer: Observer | null = null;
  let maintained = '';
  let problem: string | null = null;
  /** End of the recording that is not written yet, because writes fail. */
  let unwrittenEnd: Change | null = null;

  /** Runs `work`. A record that can't be written is dropped: the next try is a minute later, and the tunnel matters more. */
  function attempt(work: () => void): void {
    try {
      work();
      problem = null;
    } catch (error) {
      if (problem === null) say(`The history is not recorded: ${reason(error)}`);
      problem = reason(error);
    }
  }

  /** Writes observations, after the end of an earlier recording that failed. A failure ends the recording. */
  function write(seen: readonly Seen[], by: Observer): void {
    const [before, first] = [by.present(), seen[0]];
    try {
      if (unwrittenEnd) files.append(dayOf(unwrittenEnd.at), formatChange(unwrittenEnd));
      unwrittenEnd = null;
      for (const [day, text] of linesOf(seen, by)) files.append(day, text);
    } catch (error) {
      if (before && first) unwrittenEnd ??= stopOf(before, first.at);
      observer = null;
      throw error;
    }
  }

  /** Returns the lines of the observations, by day. */
  function linesOf(seen: readonly Seen[], by: Observer): Map<string, string> {
    const lines = new Map<string, string>();
    for (const each of seen) {
      const before = by.present();
      const add = (at: number, line: string) => {
        const day = dayOf(at);
        const repeated = before && { ...before, at: Date.parse(day), kind: 'day' as const };
        const start = repeated && !files.has(day) ? formatChange(repeated) : '';
        lines.set(day, `${lines.get(day) ?? start}${line}`);
      };
      const { changes, sample } = by.observe(each);
      if (sample) add(sample.at * 1000, formatSample(sample));
      for (const change of changes) add(change.at, formatChange(change));
    }
    const [counters, last] = [by.counters(), [...lines.keys()].at(-1)];
    if (counters && last) lines.set(last, `${lines.get(last)}${formatCounters(counters)}`);
    return lines;
  }

  function maintain(): void {
    const today = dayOf(now());
    if (maintained === today || steady() - startedAt < SETTLED_MS) return;
    maintained = today;
    files.maintain(today);
  }

  return {
    /** Writes observations in the given order. */
    record(seen: readonly Seen[]): void {
      attempt(() => {
        observer ??= createObserver(files.left(dayOf(now())));
        write(seen, observer);
        maintain();
      });
    },
    /** Notes that nothing changed since the last record. */
    touch(): void {
      if (observer) attempt(() => files.touch(now()));
    },
    /** Records the end of the recording, until the next observation. */
    end(): void {
      const present = observer?.present();
      observer = null;
      const end = unwrittenEnd ?? (present ? stopOf(present, now()) : null);
      if (end) attempt(() => files.append(dayOf(end.at), formatChange(end)));
      unwrittenEnd = null;
    },
    /** @throws Problem invalid-query */
    async read(query: HistoryQuery, enabled: boolean): Promise<History> {
      const { readPage } = await import('./page.ts');
      // include the current millisecond
      const until = Math.min(now(), momentOf(query.until, now(), now())) + 1;
      const since = Math.max(now() - KEPT_MS, momentOf(query.since, now(), now() - DAY_MS));
      if (since > now()) throw new Problem('invalid-query', 'The time asked for lies in the future.');
      if (since >= until)
        throw new Problem('invalid-query', 'The time asked for ends before it begins, or before the last 90 days.');
      const failedAt = problem === null ? null : (unwrittenEnd?.at ?? files.left(dayOf(now())).lastAt);
      const page = readPage({ files, query, since, until, now: enabled ? now() : null, failedAt });
      return { ok: true, enabled, ...(problem === null || !enabled ? {} : { problem }), ...page };
    },
    /** @throws Problem state-not-writable */
    clear(): void {
      try {
        files.clear();
      } catch (error) {
        throw new Problem('state-not-writable', reason(error), {}, error);
      }
      // the next record repeats the current state, as at a start
      observer = null;
      unwrittenEnd = null;
    },
  };
}

/** Returns the ms since the epoch of a date, or of a duration before now. */
function momentOf(text: string | undefined, now: number, fallback: number): number {
  if (text === undefined) return fallback;
  const seconds = parseDuration(text);
  return seconds === null ? Date.parse(text) : now - seconds * 1000;
}
