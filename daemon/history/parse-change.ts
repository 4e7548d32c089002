// Reads the lines of changes. Apart from the other records, because writing the history needs no schema.
import * as z from 'zod/mini';
import { HistoryChange } from '../api/history.ts';
import type { Change } from './records.ts';

/** The last moment that a Date can hold, in ms. */
const MAX_TIME = 8.64e15;

const Moment = z.int().check(z.gte(0), z.lte(MAX_TIME));
const Line = z.extend(HistoryChange, {
  at: Moment,
  kind: z.enum(['state', 'start', 'stop', 'day', 'same']),
  lastAt: z.optional(Moment),
  asked: z.optional(z.literal(true)),
});

/** Most lines differ from another one only in their time, and a schema's check costs 10 µs and 10 kB of garbage. */
const MOST_KNOWN = 200;
const HEAD = Buffer.from('{"at":');
const [COMMA, ZERO] = [0x2c, 0x30];
/** As many digits are exact. */
const MAX_DIGITS = 15;

/** @returns what reads a line of a change from its bytes; null for anything else, such as half a line */
export function createChangeParser(): (bytes: Buffer, start: number, end: number) => Change | null {
  /** By what follows the time. */
  const cache = new Map<string, Change>();
  return (bytes, start, end) => {
    const comma = endOfTime(bytes, start, end);
    const rest = comma === null ? '' : bytes.toString('utf8', comma, end);
    const same = comma === null ? undefined : cache.get(rest);
    if (same) return { ...same, at: timeIn(bytes, start, comma!) };
    const change = parseChange(bytes.toString('utf8', start, end));
    if (change && comma !== null && cache.size < MOST_KNOWN && change.at === timeIn(bytes, start, comma))
      cache.set(rest, change);
    return change;
  };
}

/** Position of the comma after the time; null for a line that does not begin with a time. */
function endOfTime(bytes: Buffer, start: number, end: number): number | null {
  const first = start + HEAD.length;
  if (first >= end || HEAD.compare(bytes, start, first) !== 0) return null;
  let i = first;
  while (i < end && bytes[i]! >= ZERO && bytes[i]! <= ZERO + 9) i++;
  return i < end && bytes[i] === COMMA && i > first && i - first <= MAX_DIGITS ? i : null;
}

/** In ms since the epoch. Seconds are read apart, because V8 makes an object of each number beyond 31 bits. */
function timeIn(bytes: Buffer, start: number, comma: number): number {
  let [seconds, ms] = [0, 0];
  const point = comma - 3;
  for (let i = start + HEAD.length; i < comma; i++)
    if (i < point) seconds = seconds * 10 + bytes[i]! - ZERO;
    else ms = ms * 10 + bytes[i]! - ZERO;
  return seconds * 1000 + ms;
}

function parseChange(line: string): Change | null {
  try {
    return z.safeParse(Line, JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}
