// Keeps what this machine used of its pool and could not report while the store was away. Holds no secret.

import { readOptional } from '../../daemon/core/files.ts';
import { randomHex } from '../../daemon/core/hash.ts';
import {
  isAmount,
  isBoolean,
  isNumber,
  isRecord,
  isText,
  isTime,
  listOf,
  nullable,
  oneOf,
  optional,
  shape,
} from '../../daemon/core/shape.ts';
import { withLock, writeAtomic } from '../system/files.ts';
import type { Paths } from './paths.ts';

/** Remaining quota of an account, as the provider stated it. */
export interface Observation {
  fp: string;
  /** In the provider's unit; `null`: unlimited, unknown, or the question failed. */
  remaining: number | null;
  limit: number | null;
  /** Milliseconds since the epoch, as the provider stated it. */
  resets: number | null;
  /** Accounts with the same value share one budget. */
  identity?: string;
  /** Milliseconds since the question was asked. */
  age: number;
}

const isObservation = shape<Observation>({
  fp: isText,
  remaining: nullable(isNumber),
  limit: nullable(isNumber),
  resets: nullable(isNumber),
  identity: optional(isText),
  age: isAmount,
});

/** Why an account is to be left alone, and until when; see `NamedPause` in pause.ts. */
interface Rest {
  class: string;
  kind: 'elapsed' | 'time' | 'period' | 'credential';
  ms?: number;
  at?: number;
  /** Milliseconds, where `period` has no known end or `time` has passed. */
  fallback: number;
}

const isRest = shape<Rest>({
  class: isText,
  kind: oneOf('elapsed', 'time', 'period', 'credential'),
  ms: optional(isAmount),
  at: optional(isNumber),
  fallback: isAmount,
});

/** Result of a lease. */
export interface Done {
  fence: string;
  fp: string;
  spent: number;
  rest?: Rest | undefined;
  /** Observations of this account, and of others that the lease asked for. */
  seen?: Observation[] | undefined;
  /** Ends the lease as well. */
  release?: boolean | undefined;
}

const isDone = shape<Done>({
  fence: isText,
  fp: isText,
  spent: isAmount,
  rest: optional(isRest),
  seen: optional(listOf(isObservation)),
  release: optional(isBoolean),
});

/** A report that did not reach the store. */
interface Unsent {
  cli: string;
  /** Milliseconds since the epoch, by this machine's clock: only to tell how old it is. */
  at: number;
  done: Done;
}

/** Used part of a share of the reserve. */
interface Away {
  fp: string;
  spent: number;
  /** The part of it that the store knows about. */
  reported: number;
}

export interface LocalPool {
  /** Since when commands did not reach the store, in milliseconds since the epoch. */
  degradedSince?: number;
  /** Runs without the store, within this machine's share, ever. */
  degradedRuns: number;
  /** Runs that waited for an account, ever. */
  waits: number;
  unsent: Unsent[];
  /** By CLI and quota. */
  away: Record<string, Record<string, Away>>;
  /** By CLI and account, so that a run starts no program to identify an account. */
  fingerprints: Record<string, Record<string, Kept>>;
  /** Key of the marks in `fingerprints`. */
  salt: string;
}

/** Stored identity of an account. */
export interface Kept {
  fp: string;
  /** Changes with the credential. */
  mark: string;
  /** Changes with the places that the credential comes from. */
  sources: string;
  /** When this credential was seen first, in milliseconds since the epoch. */
  since: number;
  /** Credentials in a row before it that lasted for less than a day. */
  short: number;
  /** The credential is another one each time, so `fp` is that of the name. */
  rotates: boolean;
}

const isUnsent = shape<Unsent>({ cli: isText, at: isTime, done: isDone });
const isAway = shape<Away>({ fp: isText, spent: isAmount, reported: isAmount });
const isKept = shape<Kept>({
  fp: isText,
  mark: isText,
  sources: isText,
  since: isTime,
  short: isAmount,
  rotates: isBoolean,
});

const MAX_UNSENT = 100;

/** A damaged or missing file reads as empty. A share that is forgotten this way can be used twice; the README says so. */
export function readLocal(paths: Paths): LocalPool {
  let raw: unknown;
  try {
    raw = JSON.parse(readOptional(paths.pool) ?? '{}');
  } catch {
    raw = {};
  }
  const fields = isRecord(raw) ? raw : {};
  const count = (value: unknown) => (isAmount(value) ? value : 0);
  return {
    ...(isTime(fields.degradedSince) && { degradedSince: fields.degradedSince }),
    degradedRuns: count(fields.degradedRuns),
    waits: count(fields.waits),
    unsent: Array.isArray(fields.unsent) ? fields.unsent.filter(isUnsent) : [],
    away: tables(fields.away, isAway),
    fingerprints: tables(fields.fingerprints, isKept),
    salt: isText(fields.salt) ? fields.salt : '',
  };
}

/** Changes it where it can be written. A full or read-only disk does not stop a command. */
export function noteLocal(paths: Paths, change: (pool: LocalPool) => void): LocalPool {
  try {
    return updateLocal(paths, change);
  } catch {
    const pool = readLocal(paths);
    change(pool);
    return pool;
  }
}

/** Changes it while no other process does. */
export function updateLocal(paths: Paths, change: (pool: LocalPool) => void): LocalPool {
  return withLock(paths.pool, () => {
    const pool = readLocal(paths);
    pool.salt ||= randomHex(16);
    change(pool);
    pool.unsent = pool.unsent.slice(-MAX_UNSENT);
    writeAtomic(paths.pool, `${JSON.stringify(pool)}\n`);
    return pool;
  });
}

function tables<T>(value: unknown, is: (item: unknown) => item is T): Record<string, Record<string, T>> {
  const table = (inner: unknown) =>
    Object.fromEntries(
      Object.entries(isRecord(inner) ? inner : {}).filter((entry): entry is [string, T] => is(entry[1])),
    );
  return Object.fromEntries(Object.entries(isRecord(value) ? value : {}).map(([key, inner]) => [key, table(inner)]));
}
