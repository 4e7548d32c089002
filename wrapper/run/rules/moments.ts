// Reads the times that providers state in headers, bodies, texts and usage endpoints, in various formats. Pure.

/** A wait in milliseconds, or its end in milliseconds since the epoch. */
export type Moment = { until: 'elapsed'; ms: number } | { until: 'time'; at: number };

const UNIT = '(?:ns|us|µs|μs|ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)';
const PART = `\\d+(?:\\.\\d+)?\\s*${UNIT}(?![a-z])`;
const DURATION = new RegExp(`^${PART}(?:[\\s,]*(?:and\\s+)?${PART})*$`, 'i');
const PARTS = new RegExp(`(\\d+(?:\\.\\d+)?)\\s*(${UNIT})(?![a-z])`, 'gi');
/** ISO 8601: `PT30S`, `P1DT2H`. */
const ISO = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i;
const NUMBERS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ');
/** "one minute", "a minute", "half a minute", "half an hour". */
const IN_WORDS = new RegExp(`\\b(?:(half) )?(an?|${NUMBERS.join('|')})(?= ${UNIT}(?![a-z]))`, 'gi');
/** The characters between a name and its value, including in JSON. */
const SIGN = `["']?\\s*[:=]?\\s*["']?`;
/**
 * "Please try again in 1m2.5s", "retry after 23s", "Retry after: 3600s", "wait 30 seconds", "available in about 5 minutes",
 * "next request allowed in 45 seconds", `"retryDelay": "7s"`.
 */
const IN_TEXT = new RegExp(
  `\\b(?:(?:try again|retry|wait|resets?)(?:\\s+(?:your|the|this) requests?)?(?:[\\s_-]+(?:after|in|for|at least))?|available in|(?:next|another) (?:request|attempt|try)\\b[^.]{0,30}?\\b(?:in|after)|back-?off for|retry[_-]?delay)\\b(?:\\s+(?:about|around|approximately))?${SIGN}(PT(?:[\\d.]+[HMS])+|${PART}(?:[\\s,]*(?:and\\s+)?${PART})*)`,
  'i',
);
/** "Retry after 30", `"retry_after": 30`: seconds, as in the `Retry-After` header. */
const SECONDS_IN_TEXT = new RegExp(`\\bretry[ _-]after${SIGN}(\\d+)(?![\\d:/-]|[.,]\\d|\\s*[a-z%])`, 'i');
/** "resets at 2026-05-15T15:00:00Z". */
const AT_IN_TEXT =
  /\b(?:resets?|available|try again) (?:at|on|after) (\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:?\d{2}))/i;
/** The start of a date of RFC 9110 or ISO 8601; `Date.parse` would read `1.5` as a day in 2001. */
const DATE = /^(?:[A-Z][a-z]{2,8},? |\d{4}-\d{2}-\d{2})/;

/** The first number that means a time: no provider states a wait of three years. */
const FIRST_TIME = 1e8;
/** The first time in milliseconds since the epoch; smaller times are in seconds. */
const FIRST_MS = 1e11;
const LAST_MS = 1e14;

const MS: [RegExp, number][] = [
  [/^ns$/i, 1e-6],
  [/^[uµμ]s$/i, 1e-3],
  [/^(?:ms|milli)/i, 1],
  [/^s/i, 1_000],
  [/^m/i, 60_000],
  [/^h/i, 3_600_000],
  [/^d/i, 86_400_000],
];

/**
 * Reads a time: seconds (`23`, `1.5`), a duration (`2s`, `1m30s`, `20ms`, `PT30S`), a date (RFC 9110 or ISO 8601), or seconds
 * or milliseconds since the epoch.
 * @returns `undefined` for any other text, and for zero and below
 */
export function readMoment(value: unknown): Moment | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return ofNumber(value);
  if (typeof value !== 'string') return undefined;
  const text = value.trim().replace(/^"(.*)"$/, '$1');
  if (/^[+-]?\d+(?:\.\d+)?$/.test(text)) return ofNumber(Number(text));
  if (DURATION.test(text)) return elapsed(millisecondsIn(text));
  const [iso, ...parts] = ISO.exec(text) ?? [];
  if (iso !== undefined) return elapsed(millisecondsOf(parts));
  const at = DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : { until: 'time', at };
}

/** Returns the time that a provider's text names, or `undefined`. */
export function momentInText(text: string): Moment | undefined {
  // "1,200 seconds" becomes "1200 seconds"
  const plain = text
    .replace(/(?<!\d)(\d{1,3}),(?=\d{3}(?!\d))/g, '$1')
    .replace(IN_WORDS, (_, half: string | undefined, word: string) =>
      String((half ? 0.5 : 1) * Math.max(NUMBERS.indexOf(word.toLowerCase()), /^an?$/i.test(word) ? 1 : 0)),
    );
  const [, duration] = IN_TEXT.exec(plain) ?? [];
  if (duration !== undefined) return readMoment(duration);
  return readMoment(SECONDS_IN_TEXT.exec(plain)?.[1] ?? AT_IN_TEXT.exec(text)?.[1]);
}

/** Returns the first statement that names a time in the future; past times are skipped. */
export function firstToCome(statements: readonly (Moment | undefined)[], now: number): Moment | undefined {
  return statements.find(moment => waitUntil(moment, now) !== undefined);
}

/** Returns the milliseconds from `now` to a time, or `undefined` for a past time. */
export function waitUntil(moment: Moment | undefined, now: number): number | undefined {
  if (moment === undefined) return undefined;
  const ms = moment.until === 'elapsed' ? moment.ms : moment.at - now;
  return ms > 0 ? ms : undefined;
}

function ofNumber(value: number): Moment | undefined {
  if (value < FIRST_TIME) return elapsed(value * 1_000);
  // an implausible number, which the callers limit
  if (value >= LAST_MS) return elapsed(value * 1_000);
  return { until: 'time', at: value < FIRST_MS ? value * 1_000 : value };
}

function elapsed(ms: number): Moment | undefined {
  return ms > 0 ? { until: 'elapsed', ms } : undefined;
}

/** Converts days, hours, minutes and seconds to milliseconds. */
function millisecondsOf(parts: readonly (string | undefined)[]): number {
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = parts.map(part => Number(part ?? 0));
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000;
}

function millisecondsIn(text: string): number {
  const parts = [...text.matchAll(PARTS)];
  const sum = parts.reduce((ms, [, count, unit]) => ms + Number(count) * MS.find(([name]) => name.test(unit!))![1], 0);
  // avoids 2800.0000000000005 ms for 2.5 s and 0.3 s
  return Math.round(sum * 1_000) / 1_000;
}
