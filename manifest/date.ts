// Parses and formats the dates of manifest and sidecar: RFC 3339 date-time, as in JSON Schema's format "date-time".

const FORM = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/**
 * Reports whether `text` is an RFC 3339 date-time that exists: no 30 February, hour 24 or offset of 25 hours. A leap second
 * counts where one can be: in the last minute of a UTC day (RFC 3339, section 5.7).
 */
export function isDateTime(text: string): boolean {
  const match = FORM.exec(text);
  if (!match) return false;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const offset = (match[7] === '-' ? -1 : 1) * (Number(match[8] ?? 0) * 60 + Number(match[9] ?? 0));
  if (Number(match[8] ?? 0) > 23 || Number(match[9] ?? 0) > 59) return false;
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59) return false;
  return second < 60 || (second === 60 && (hour * 60 + minute - offset + 1440) % 1440 === 1439);
}

/**
 * A date-time's instant, in milliseconds since 1970. A leap second is the second after it, as POSIX counts.
 * @param text what {@link isDateTime} accepts
 */
export function instant(text: string): number {
  const leap = text.slice(17, 19) === '60';
  const second = leap ? `${text.slice(0, 17)}59${text.slice(19)}` : text;
  return Date.parse(second.toUpperCase()) + (leap ? 1000 : 0);
}

/** The form this project writes: UTC, whole seconds. */
export function dateTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function daysIn(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
}
