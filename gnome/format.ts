// Figures as people read them.
import { fill, type Words } from './words.ts';

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** 1234567 -> `1.2 MB`: powers of 1000, as file managers and warp-cli count. */
export function formatBytes(bytes: number, { _ }: Words): string {
  // Translators: units of data; %s is a number
  const names = [_('%s B'), _('%s kB'), _('%s MB'), _('%s GB'), _('%s TB'), _('%s PB')];
  let [value, unit] = [bytes, 0];
  // 999.95 would be printed as 1000.0
  while (value >= (unit === 0 ? 1000 : 999.95) && unit < UNITS.length - 1) [value, unit] = [value / 1000, unit + 1];
  return fill(names[unit]!, number(value, unit === 0 ? 0 : 1));
}

/** 11.4 -> `11 ms`; a decimal below 10. */
export function formatLatency(ms: number, { _ }: Words): string {
  // Translators: milliseconds; %s is a number
  return fill(_('%s ms'), number(ms, ms < 10 ? 1 : 0, 0));
}

/** A fraction of packets: 0.0002 -> `0.02 %`. */
export function formatLoss(fraction: number, { _ }: Words): string {
  // Translators: per cent; %s is a number
  return fill(_('%s %%').replace('%%', '%'), number(fraction * 100, 2, 0));
}

/** Seconds as a clock: `0:42`, `12:05`, `1:02:03`, `2 days, 1:02:03`. */
export function formatDuration(seconds: number, { ngettext }: Words): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [days, hours, minutes] = [
    Math.floor(whole / 86400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  const two = (n: number) => String(n).padStart(2, '0');
  const clock = days || hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
  if (!days) return clock;
  // Translators: a duration; %d is a number of days and %s a clock such as 1:02:03
  return fill(ngettext('%d day, %s', '%d days, %s', days), days, clock);
}

/** The desktop's decimal point, without Intl's group separators. */
function number(value: number, digits: number, least = digits): string {
  return value.toLocaleString(undefined, {
    minimumFractionDigits: least,
    maximumFractionDigits: digits,
    useGrouping: false,
  });
}
