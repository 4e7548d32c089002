// Keeps this machine's use of its pool that it could not report while the store was away. Holds no secret.

import { readOptional } from '../../daemon/core/files.ts';
import { randomHex } from '../../daemon/core/hash.ts';
import {
  type Checked,
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

const isObservation = shape({
  fp: isText,
  /** In the provider's unit; `null`: unlimited, unknown, or the question failed. */
  remaining: nullable(isNumber),
  limit: nullable(isNumber),
  /** Milliseconds since the epoch, as the provider stated it. */
  resets: nullable(isNumber),
  /** Accounts with the same value share one budget. */
  identity: optional(isText),
  /** Milliseconds since the question was asked. */
  age: isAmount,
});
/** Remaining quota of an account, as the provider stated it. */
export type Observation = Checked<typeof isObservation>;

/** Why an account is to be left alone, and until when; see `NamedPause` in pause.ts. */
const isRest = shape({
  class: isText,
  kind: oneOf('elapsed', 'time', 'period', 'credential'),
  ms: optional(isAmount),
  at: optional(isNumber),
  /** Milliseconds, where `period` has no known end or `time` has passed. */
  fallback: isAmount,
});

const isDone = shape({
  fence: isText,
  fp: isText,
  spent: isAmount,
  rest: optional(isRest),
  /** Observations of this account, and of others that the lease asked for. */
  seen: optional(listOf(isObservation)),
  /** Ends the lease as well. */
  release: optional(isBoolean),
});
/** Result of a lease. */
export type Done = Checked<typeof isDone>;

const isUnsent = shape({
  cli: isText,
  /** Milliseconds since the epoch, by this machine's clock: only to tell how old it is. */
  at: isTime,
  done: isDone,
});

const isAway = shape({
  fp: isText,
  spent: isAmount,
  /** The part of `spent` that the store knows about. */
  reported: isAmount,
});

const isKept = shape({
  fp: isText,
  /** Changes with the credential. */
  mark: isText,
  /** Changes with the places that the credential comes from. */
  sources: isText,
  /** When this credential was seen first, in milliseconds since the epoch. */
  since: isTime,
  /** Credentials in a row before it that lasted for less than a day. */
  short: isAmount,
  /** The credential is another one each time, so `fp` is that of the name. */
  rotates: isBoolean,
});
/** Stored identity of an account. */
export type Kept = Checked<typeof isKept>;

export interface LocalPool {
  /** Since when commands did not reach the store, in milliseconds since the epoch. */
  degradedSince?: number;
  /** Runs without the store, within this machine's share, ever. */
  degradedRuns: number;
  /** Runs that waited for an account, ever. */
  waits: number;
  /** Reports that did not reach the store. */
  unsent: Checked<typeof isUnsent>[];
  /** Used parts of shares of the reserve, by CLI and quota. */
  away: Record<string, Record<string, Checked<typeof isAway>>>;
  /** By CLI and account, so that a run starts no program to identify an account. */
  fingerprints: Record<string, Record<string, Kept>>;
  /** Key of the marks in `fingerprints`. */
  salt: string;
}

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
