// Formats numbers, sizes, durations and dates for people, in the translator's language.
import { fill, type Translator } from './translator.ts';

const UNITS = 6;

/** Formats bytes: 1234567 -> `1.2 MB`. Units are powers of 1000, as in file managers and warp-cli. */
export function formatBytes(bytes: number, tr: Translator): string {
  const { _ } = tr;
  // Translators: units of data; %s is a number
  const names = [_('%s B'), _('%s kB'), _('%s MB'), _('%s GB'), _('%s TB'), _('%s PB')];
  let [value, unit] = [bytes, 0];
  // 999.95 would appear as 1000.0
  while (value >= (unit === 0 ? 1000 : 999.95) && unit < UNITS - 1) [value, unit] = [value / 1000, unit + 1];
  return isolate(fill(names[unit]!, formatNumber(value, tr, unit === 0 ? 0 : 1)), tr);
}

/** Formats bytes per second: 125000 -> `125.0 kB/s`. */
export function formatRate(bytesPerSecond: number, tr: Translator): string {
  // Translators: an amount of data per second; %s is such as 1.2 MB
  return fill(tr._('%s/s'), formatBytes(bytesPerSecond, tr));
}

/** Formats milliseconds: 11.4 -> `11 ms`, with one decimal below 10. */
export function formatLatency(ms: number, tr: Translator): string {
  // Translators: milliseconds; %s is a number
  return isolate(fill(tr._('%s ms'), formatNumber(ms, tr, ms < 10 ? 1 : 0, 0)), tr);
}

/** Formats a fraction of packets: 0.0002 -> `0.02 %`. */
export function formatLoss(fraction: number, tr: Translator): string {
  // Translators: per cent; %s is a number
  return isolate(fill(tr._('%s %%').replace('%%', '%'), formatNumber(fraction * 100, tr, 2, 0)), tr);
}

/** Formats seconds as a clock: `0:42`, `12:05`, `1:02:03`, `2 days, 1:02:03`. */
export function formatDuration(seconds: number, tr: Translator): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [days, hours, minutes] = [
    Math.floor(whole / 86400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  const two = (n: number) => (n < 10 ? formatCount(0, tr) : '') + formatCount(n, tr);
  const clock =
    days || hours
      ? `${formatCount(hours, tr)}:${two(minutes)}:${two(whole % 60)}`
      : `${formatCount(minutes, tr)}:${two(whole % 60)}`;
  if (!days) return isolate(clock, tr);
  // Translators: a duration; %d is a number of days and %s a clock such as 1:02:03
  return fill(tr.ngettext('%d day, %s', '%d days, %s', days), formatCount(days, tr), clock);
}

/** Formats seconds with at most two units: `42 s`, `12 min`, `1 h 2 min`, `2 days, 1 h`. */
export function formatElapsed(seconds: number, tr: Translator): string {
  const { _ } = tr;
  const minutes = Math.floor(Math.max(0, seconds) / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  const count = (n: number) => formatCount(n, tr);
  // Translators: seconds; %s is a number
  if (minutes < 1) return isolate(fill(_('%s s'), count(Math.floor(Math.max(0, seconds)))), tr);
  // Translators: minutes; %s is a number
  if (hours < 1) return isolate(fill(_('%s min'), count(minutes)), tr);
  // Translators: hours and minutes, both numbers
  if (days < 1) return isolate(fill(_('%s h %s min'), count(hours), count(minutes % 60)), tr);
  // Translators: hours; %s is a number
  const rest = isolate(fill(_('%s h'), count(hours % 24)), tr);
  return fill(tr.ngettext('%d day, %s', '%d days, %s', days), count(days), rest);
}

/** Formats seconds like `formatElapsed`, but below an hour with seconds: `2 min 19 s`. */
export function formatLasted(seconds: number, tr: Translator): string {
  const [minutes, rest] = [Math.floor(seconds / 60), Math.floor(seconds % 60)];
  if (minutes < 1 || minutes > 59 || rest === 0) return formatElapsed(seconds, tr);
  // Translators: minutes and seconds, both numbers
  return isolate(fill(tr._('%s min %s s'), formatCount(minutes, tr), formatCount(rest, tr)), tr);
}

/** Formats the approximate time from now: `in 12 minutes`, `in 3 hours`, `in 2 days`. */
export function formatIn(seconds: number, { locale }: Translator): string {
  const format = relativeTimes(locale, { numeric: 'always' });
  if (seconds < 90) return format.format(Math.max(1, Math.round(seconds)), 'second');
  if (seconds < 90 * 60) return format.format(Math.round(seconds / 60), 'minute');
  if (seconds < 36 * 3600) return format.format(Math.round(seconds / 3600), 'hour');
  return format.format(Math.round(seconds / 86400), 'day');
}

/** Formats the approximate time since an event: `1 minute ago`, `3 hours ago`, `2 days ago`. */
export function formatAgo(seconds: number, { locale }: Translator): string {
  const format = relativeTimes(locale, { numeric: 'always' });
  const [unit, length] = unitOf(seconds);
  return format.format(-Math.max(1, Math.round(seconds / length)), unit);
}

/** Formats an approximate duration: `12 minutes`, `3 hours`, `2 days`. */
export function formatAbout(seconds: number, { locale }: Translator): string {
  const [unit, length] = unitOf(seconds);
  const format = numbers(locale, { style: 'unit', unit, unitDisplay: 'long', maximumFractionDigits: 0 });
  return format.format(Math.max(1, Math.round(seconds / length)));
}

/** Returns the unit for a rough time, and its length in seconds. */
function unitOf(seconds: number): ['minute' | 'hour' | 'day', number] {
  if (seconds < 90 * 60) return ['minute', 60];
  return seconds < 36 * 3600 ? ['hour', 3600] : ['day', 86400];
}

/** Formats a date and time in this time zone, with 24 hours like all times in Culvert. */
export function formatDate(time: string | number, { locale }: Translator): string {
  return dates(locale, { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' }).format(new Date(time));
}

/** Formats a day (`2026-11-21`) or a month (`2026-11`). */
export function formatDay(day: string, { locale }: Translator): string {
  const parts = day.length > 7 ? ({ dateStyle: 'medium' } as const) : ({ year: 'numeric', month: 'long' } as const);
  return dates(locale, { ...parts, timeZone: 'UTC' }).format(new Date(day));
}

/** Formats a time of day with seconds, always with two digits for each part. */
export function formatTime(time: string | number, { locale }: Translator): string {
  const twoDigits = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
  return dates(locale, { ...twoDigits, hourCycle: 'h23' }).format(new Date(time));
}

/** Formats a time of day without seconds: `15:06`. */
export function formatClock(time: number, { locale }: Translator): string {
  return dates(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(time);
}

/** Formats a day without its year: `Nov 27`. */
export function formatMonthDay(time: number, { locale }: Translator): string {
  return dates(locale, { month: 'short', day: 'numeric' }).format(time);
}

/** Formats an integer in the language's digits. */
export function formatCount(n: number, tr: Pick<Translator, 'locale'>): string {
  return formatNumber(n, tr, 0);
}

/** Joins parts with the language's comma: `1 problem, 2 hints`. */
export function formatList(parts: readonly string[], { _ }: Translator): string {
  // Translators: what separates two items of a list
  return parts.reduce((list, part) => fill(_('%s, %s'), list, part));
}

/** Languages of the catalogs with digits other than 0 to 9 (CLDR, default numbering systems). */
const OWN_DIGITS = /^ar\b/;

/** Formats a number with the language's decimal point, without group separators. */
function formatNumber(value: number, { locale }: Pick<Translator, 'locale'>, digits: number, least = digits): string {
  // avoids loading the data of all languages, which costs the tray 3 MB and a browser 15 ms
  if (digits === 0 && Number.isSafeInteger(value) && value >= 0 && !OWN_DIGITS.test(locale ?? 'en')) return `${value}`;
  const fractions = { minimumFractionDigits: least, maximumFractionDigits: digits };
  return numbers(locale, { ...fractions, useGrouping: false }).format(value);
}

/**
 * Cached formatters. SpiderMonkey counts 92 kB for a date formatter, and `toLocaleString` creates a formatter for each
 * call: a page of the log would cause an incremental garbage collection, in which GJS 1.74 drops callbacks.
 */
const numbers = kept((locale, options: Intl.NumberFormatOptions) => new Intl.NumberFormat(locale, options));
const dates = kept((locale, options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options));
const relativeTimes = kept(
  (locale, options: Intl.RelativeTimeFormatOptions) => new Intl.RelativeTimeFormat(locale, options),
);

function kept<O extends object, F>(make: (locale: string | undefined, options: O) => F) {
  const made = new Map<string, F>();
  return (locale: string | undefined, options: O): F => {
    // a date formatter keeps its initial time zone, but a computer's time zone can change
    const key = JSON.stringify([locale, options, new Date().getTimezoneOffset()]);
    const formatter = made.get(key) ?? make(locale, options);
    made.set(key, formatter);
    return formatter;
  };
}

/** Right-to-left languages, where the bidirectional algorithm would reorder a number and its unit (Unicode UAX 9). */
const RIGHT_TO_LEFT = /^(ar|he|fa|ur)\b/;

/** True for a right-to-left language. */
export function isRightToLeft({ locale }: Pick<Translator, 'locale'>): boolean {
  return locale !== undefined && RIGHT_TO_LEFT.test(locale);
}

function isolate(text: string, tr: Translator): string {
  return isRightToLeft(tr) ? `\u2068${text}\u2069` : text;
}

/** Returns the label of the command that pauses the tunnel. */
export function pauseText(minutes: number, tr: Translator): string {
  const hours = minutes / 60;
  // Translators: the tunnel is turned off for so long
  if (Number.isInteger(hours))
    return fill(tr.ngettext('Pause for %d hour', 'Pause for %d hours', hours), formatCount(hours, tr));
  return fill(tr.ngettext('Pause for %d minute', 'Pause for %d minutes', minutes), formatCount(minutes, tr));
}

/**
 * Returns the seconds until the local clock next shows a time such as `18:00`, or null if the text is not a time of day.
 * It rounds up to avoid an early end.
 */
export function secondsUntil(text: string, now: Date): number | null {
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours === undefined) return null;
  const at = new Date(now);
  at.setHours(Number(hours), Number(minutes), 0, 0);
  // the next calendar day, which is not always 24 hours later
  if (at <= now) at.setDate(at.getDate() + 1);
  return Math.ceil((at.getTime() - now.getTime()) / 1000);
}

/** Formats the local time, with the day if it is not today. */
export function timeOfDay(iso: string, withSeconds: boolean, now = new Date()): string {
  const at = new Date(iso);
  const two = (n: number) => String(n).padStart(2, '0');
  const time = [at.getHours(), at.getMinutes(), ...(withSeconds ? [at.getSeconds()] : [])].map(two).join(':');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return at.toDateString() === now.toDateString() ? time : `${day} ${time}`;
}
