// Durations and times of day as people type them.
import { parseDuration } from '../api/duration.ts';
import { secondsUntil } from '../view/format.ts';
import type { OptionSpec } from './command-spec.ts';
import type { Options } from './context.ts';
import { usage } from './errors.ts';

/** Options of commands whose effect can have an end. */
export const UNTIL: readonly OptionSpec[] = [
  { flags: '--for <duration>', summary: 'for this long, then revert: 15m, 2h, 1h30m, 1d' },
  { flags: '--until <time>', summary: 'until this time within 24 hours, then revert: 18:00' },
];

const A_WEEK = 604_800;

/** The seconds that `--for` or `--until` mean; undefined without either. @throws Failure for what they can't mean */
export function forSeconds({ for: duration, until }: Options): number | undefined {
  if (duration !== undefined && until !== undefined) throw usage("--for and --until can't be used together.");
  if (until !== undefined) {
    const seconds = secondsUntil(String(until), new Date());
    if (seconds === null) throw usage(`--until takes a time of day such as 18:00, not "${until}".`);
    return seconds;
  }
  return duration === undefined ? undefined : seconds(String(duration), '--for');
}

/** @param what names the argument @throws Failure */
export function seconds(text: string, what: string): number {
  const duration = parseDuration(text);
  if (duration === null || duration < 1 || duration > A_WEEK)
    throw usage(`${what} takes a duration such as 15m, 2h or 1d, at most a week; not "${text}".`);
  return duration;
}
