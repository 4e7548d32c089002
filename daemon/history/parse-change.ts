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
});

/** Most lines differ from another one in their time alone, and a schema's check costs 10 µs and 10 kB of garbage. */
const MOST_KNOWN = 200;

/** @returns what reads lines of changes; null for anything else, such as half a line */
export function createChangeParser(): (line: string) => Change | null {
  /** By what follows the time. */
  const known = new Map<string, Change>();
  return line => {
    const head = /^\{"at":(\d{1,15}),/.exec(line);
    const at = Number(head?.[1]);
    const rest = line.slice(head?.[0].length ?? 0);
    const same = head && at <= MAX_TIME ? known.get(rest) : undefined;
    if (same) return { ...same, at };
    const change = parseChange(line);
    if (change && change.at === at && known.size < MOST_KNOWN) known.set(rest, change);
    return change;
  };
}

function parseChange(line: string): Change | null {
  try {
    return z.safeParse(Line, JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}
