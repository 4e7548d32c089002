// Stores this machine's state of a pool, such as reports not yet sent to the pool's store. Holds no secret.
import { readText } from '../../daemon/core/files.ts';
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
  parseJson,
  shape,
} from '../../daemon/core/shape.ts';
import { withLock, writeAtomic } from '../system/files.ts';
import type { Paths } from './paths.ts';

const isObservation = shape({
  fp: isText,
  /** In the provider's unit; `null`: unlimited, unknown, or the request failed. */
  remaining: nullable(isNumber),
  limit: nullable(isNumber),
  /** Milliseconds since the epoch, as the provider stated it. */
  resets: nullable(isNumber),
  /** Accounts with the same value share one budget. */
  identity: optional(isText),
  /** Milliseconds since the request. */
  age: isAmount,
});
/** Remaining quota of an account, as the provider stated it. */
export type Observation = Checked<typeof isObservation>;

/** Reason and length of an account's pause; see `NamedPause` in pause.ts. */
const isRest = shape({
  class: isText,
  kind: oneOf('elapsed', 'time', 'period', 'credential'),
  ms: optional(isAmount),
  at: optional(isNumber),
  /** Milliseconds to pause if `period` has no known end or `time` is past. */
  fallback: isAmount,
});

const isDone = shape({
  fence: isText,
  fp: isText,
  spent: isAmount,
  rest: optional(isRest),
  /** Observations of this account and of other accounts that the lease asked for. */
  seen: optional(listOf(isObservation)),
  /** True to end the lease, too. */
  release: optional(isBoolean),
});
/** Result of a lease. */
export type Done = Checked<typeof isDone>;

const isUnsent = shape({
  cli: isText,
  /** Milliseconds since the epoch, by this machine's clock; used only for the age. */
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
  /** Time when this credential was first seen, in ms since the epoch. */
  since: isTime,
  /** Number of consecutive earlier credentials that lasted less than a day. */
  short: isAmount,
  /** True if the credential keeps changing; `fp` then identifies the name. */
  rotates: isBoolean,
});
/** Stored identity of an account. */
export type Kept = Checked<typeof isKept>;

export interface LocalPool {
  /** Time since which commands cannot reach the store, in milliseconds since the epoch. */
  degradedSince?: number;
  /** Total runs without the store, within this machine's share. */
  degradedRuns: number;
  /** Total runs that waited for an account. */
  waits: number;
  /** Reports that did not reach the store. */
  unsent: Checked<typeof isUnsent>[];
  /** Used parts of shares of the reserve, by CLI and quota. */
  away: Record<string, Record<string, Checked<typeof isAway>>>;
  /** By CLI and account; saves runs from starting a program to identify an account. */
  fingerprints: Record<string, Record<string, Kept>>;
  /** Key of the marks in `fingerprints`. */
  salt: string;
}

const MAX_UNSENT = 100;

/** Reads the state; a damaged or missing file counts as empty. A lost share can then be used twice, as the README says. */
export function readLocal(paths: Paths): LocalPool {
  const raw = parseJson(readText(paths.pool));
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

/** Changes the state, in memory only if writing fails: a full disk must not stop a command. */
export function noteLocal(paths: Paths, change: (pool: LocalPool) => void): LocalPool {
  try {
    return updateLocal(paths, change);
  } catch {
    const pool = readLocal(paths);
    change(pool);
    return pool;
  }
}

/** Changes the state under a lock. */
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
