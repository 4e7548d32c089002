// Formats and parses the lines of the history. Pure.
//
//   1763775119 5 1 11000 11000 11000 200 1234 567   a sample: see `formatSample`
//   {"at":1763775119000,"kind":"state",…}           a change of the state
//   = 1763775119 81234 20567                        the tunnel's own counters of bytes, to go on counting from
//   # minute                                        first line of a file that was summed up
import type { HistoryChange } from '../api/history.ts';

/** Time limit for reading the mode after a reconnect, in ms. */
export const SWITCH_MS = 10_000;

/**
 * A change of the state. `day` repeats the state at the start of a file, so that each file can be read alone; `same` says that
 * the connection continues across a `start`.
 */
export interface Change extends Omit<HistoryChange, 'at' | 'kind'> {
  /** ms since the epoch. */
  at: number;
  kind: HistoryChange['kind'] | 'day' | 'same';
  /** For a `start`: last known time of the state before it, in ms since the epoch. */
  lastAt?: number | undefined;
  /** True if the change came while an action or a settings change took effect. */
  asked?: true | undefined;
}

/** One reading of the figures, or the sum of several readings. */
export interface Sample {
  /** Time of the reading, or start of the summed-up time, in seconds since the epoch. */
  at: number;
  /** Time in which the bytes passed, in seconds. */
  span: number;
  /** Number of readings that the latency and the loss are averaged over. */
  count: number;
  /** Microseconds; null if it was not reported. */
  latency: number | null;
  least: number | null;
  greatest: number | null;
  /** Millionths of the packets. */
  loss: number | null;
  received: number;
  sent: number;
}

/** Bytes since the tunnel's counters began. */
export interface Counters {
  /** Seconds since the epoch. */
  at: number;
  received: number;
  sent: number;
}

export function formatSample({ at, span, count, latency, least, greatest, loss, received, sent }: Sample): string {
  return `${[at, span, count, latency, least, greatest, loss, received, sent].map(figure => figure ?? '-').join(' ')}\n`;
}

export const formatChange = (change: Change): string => `${JSON.stringify(change)}\n`;
export const formatCounters = ({ at, received, sent }: Counters): string => `= ${at} ${received} ${sent}\n`;

/**
 * The figures of the line that is being read; null for an unknown figure. All lines share this array: a day has 17,000 lines.
 * It is not a typed array, because V8 makes an object of each number that it reads from one until the loop is compiled.
 */
const figures: (number | null)[] = new Array(9).fill(null);
const [SPACE, DASH, ZERO] = [0x20, 0x2d, 0x30];
/** Maximum digits of a figure: numbers of this length are exact. */
const MAX_DIGITS = 15;

/**
 * Reads a sample from the bytes of a line: a string for each line would take most of the daemon's memory.
 * @param end end of the line, without its line break
 * @param into object to fill and return; a caller that reuses the object leaves no garbage
 * @returns null for anything else, such as half a line
 */
export function parseSample(bytes: Uint8Array, start: number, end: number, into = {} as Sample): Sample | null {
  if (!readFigures(bytes, start, end)) return null;
  const { 0: at, 1: span, 2: count, 3: latency, 4: least, 5: greatest, 6: loss, 7: received, 8: sent } = figures;
  if (at == null || span == null || count == null || received == null || sent == null) return null;
  into.at = at;
  into.span = span;
  into.count = count;
  into.latency = latency ?? null;
  into.least = least ?? null;
  into.greatest = greatest ?? null;
  into.loss = loss ?? null;
  into.received = received;
  into.sent = sent;
  return into;
}

/** Reports whether the line has nine figures, each a number or a dash, with a space between. */
function readFigures(bytes: Uint8Array, start: number, end: number): boolean {
  let i = start;
  for (let n = 0; n < figures.length; n++) {
    const from = i;
    let value: number | null = 0;
    if (bytes[i] === DASH) {
      value = null;
      i++;
    } else
      for (; i < end; i++) {
        const digit = bytes[i]! - ZERO;
        if (digit < 0 || digit > 9) break;
        value = value * 10 + digit;
      }
    if (i === from || i - from > MAX_DIGITS) return false;
    figures[n] = value;
    if (i >= end) return i === end && n === figures.length - 1;
    if (bytes[i++] !== SPACE) return false;
  }
  return false;
}

/** @returns null for any other line */
export function parseCounters(line: string): Counters | null {
  const [, at, received, sent] = /^= (\d{1,15}) (\d{1,15}) (\d{1,15})$/.exec(line) ?? [];
  return at === undefined ? null : { at: Number(at), received: Number(received), sent: Number(sent) };
}

/** Makes a filter for names: sentences from the tunnel CLI may hold addresses and host names, which are not kept. */
const matching = (pattern: RegExp) => (value: unknown) =>
  typeof value === 'string' && pattern.test(value) ? value : null;
export const nameOr = matching(/^[A-Za-z]\w{0,63}$/);
export const modeOr = matching(/^[A-Za-z][\w+-]{0,31}$/);
export const coloOr = matching(/^[A-Z]{3}\d{0,3}$/);

const mean = (a: number | null, b: number | null, { count: m }: Sample, { count: n }: Sample) =>
  a === null ? b : b === null ? a : Math.round((a * m + b * n) / (m + n));
const pick = (of: (a: number, b: number) => number, a: number | null, b: number | null) =>
  a === null ? b : b === null ? a : of(a, b);

/** Adds a sample to a sum. The sum keeps its time. */
export function addTo(sum: Sample, sample: Sample): void {
  sum.latency = mean(sum.latency, sample.latency, sum, sample);
  sum.loss = mean(sum.loss, sample.loss, sum, sample);
  sum.least = pick(Math.min, sum.least, sample.least);
  sum.greatest = pick(Math.max, sum.greatest, sample.greatest);
  sum.count += sample.count;
  sum.span += sample.span;
  sum.received += sample.received;
  sum.sent += sample.sent;
}

/** Returns the day of a time in UTC, which names a file: `2026-11-21`. */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);
