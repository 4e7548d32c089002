// Prints the results of commands as JSON or text, and formats tables, numbers and times.
import stringWidth from 'string-width';
import { dateTime } from '../../daemon/core/terminal.ts';

/** Options of every command. */
export interface Options {
  json?: boolean;
}

/** Prints `data` as JSON if `json` is set, and `text` otherwise. */
export function emit(json: boolean | undefined, data: object, text: string): void {
  process.stdout.write(json ? `${JSON.stringify({ ok: true, ...data }, null, 2)}\n` : text === '' ? '' : `${text}\n`);
}

/**
 * Formats a table with columns as wide as their widest cell in a terminal, two spaces apart.
 * @param width width of the terminal; if it is too small, the last column loses its heading, and its cells are below their rows
 */
export function table(rows: readonly (readonly string[])[], width = Number.POSITIVE_INFINITY): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map(row => stringWidth(row[column] ?? '')))) ?? [];
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => cell + ' '.repeat(widths[i]! - stringWidth(cell)))
      .join('  ')
      .trimEnd();
  const lines = rows.map(line);
  if (lines.every(each => stringWidth(each) <= width)) return lines.join('\n');
  return rows
    .flatMap((row, i) => [line(row.slice(0, -1)), ...(i > 0 && row.at(-1) ? [`     ${row.at(-1)}`] : [])])
    .join('\n');
}

/**
 * Breaks the lines of a text at spaces, but never within a command in backticks. The CLI of the daemon marks commands itself.
 * @param indent columns before each continued line @param width width of the terminal
 */
export function wrapped(text: string, indent: number, width = process.stdout.columns ?? Number.POSITIVE_INFINITY) {
  return text
    .split('\n')
    .flatMap(line => (stringWidth(line) <= width ? [line] : broken(line, indent, width)))
    .join('\n');
}

function broken(line: string, indent: number, width: number): string[] {
  const lines: string[] = [];
  let current = '';
  for (const [part, word = ''] of line.matchAll(/ *((?:`[^`]*`|[^ ])+)/g)) {
    const isFull = current.trim() !== '' && stringWidth(current + part) > width;
    if (isFull) lines.push(current);
    current = isFull ? ' '.repeat(indent) + word : current + part;
  }
  return [...lines, current];
}

/** Formats a number with thousands separators, or a missing number as a dash. */
export function number(value: number | null | undefined): string {
  return value === null || value === undefined ? '-' : value.toLocaleString('en-US');
}

/** Formats a local date and time to the minute, or a missing time as a dash. */
export function time(value: number | string | null | undefined): string {
  return value === null || value === undefined ? '-' : dateTime(value).slice(0, -':00'.length);
}

/** Formats the time of a quota's reset. The time may be past if the provider has not updated its answer. */
export function resetText(resets: string | null, now: number): string {
  return resets !== null && Date.parse(resets) < now ? `${time(resets)} (past)` : time(resets);
}

/** Formats the result of `describePause`: `(quota) until 2031-01-31 23:59`. */
export function pauseText(paused: { class: string; until: string | null }): string {
  return `(${paused.class}) until ${paused.until === null ? 'its credential changes' : time(paused.until)}`;
}
