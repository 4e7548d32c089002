// What this machine keeps about its pool: what it used and could not report while the store was away. Holds no secret.
import { readText, withLock, writeAtomic } from '../store/files.ts';
import { randomHex } from '../store/hash.ts';
import type { Paths } from '../store/paths.ts';
import type { Done } from './store.ts';

/** A report that did not reach the store. */
interface Unsent {
  cli: string;
  /** Milliseconds since the epoch, by this machine's clock: only to tell how old it is. */
  at: number;
  done: Done;
}

/** What was used of a share of the reserve. */
interface Away {
  fp: string;
  spent: number;
  /** The part of it that the store knows about. */
  reported: number;
}

export interface LocalPool {
  /** Since when the store can't be reached, in milliseconds since the epoch. */
  degradedSince?: number;
  /** Runs without the store, ever. */
  degradedRuns: number;
  /** Runs that waited for an account, ever. */
  waits: number;
  unsent: Unsent[];
  /** By CLI and quota. */
  away: Record<string, Record<string, Away>>;
  /** By CLI and account, so that a run needs neither a program that gives the credential nor node:crypto. */
  fingerprints: Record<string, Record<string, Kept>>;
  /** Begins what `Kept.mark` is made of. */
  salt: string;
}

interface Kept {
  fp: string;
  /** Changes with the credential. */
  mark: string;
}

const MAX_UNSENT = 100;

/** What is damaged or missing reads as empty. A share that is forgotten this way can be used twice; the README says so. */
export function readLocal(paths: Paths): LocalPool {
  let raw: unknown;
  try {
    raw = JSON.parse(readText(paths.pool) ?? '{}');
  } catch {
    raw = {};
  }
  const fields = isRecord(raw) ? raw : {};
  const count = (value: unknown) => (typeof value === 'number' && value >= 0 ? value : 0);
  return {
    ...(typeof fields.degradedSince === 'number' && { degradedSince: fields.degradedSince }),
    degradedRuns: count(fields.degradedRuns),
    waits: count(fields.waits),
    unsent: Array.isArray(fields.unsent) ? fields.unsent.filter(isUnsent) : [],
    away: tables(fields.away, isAway),
    fingerprints: tables(fields.fingerprints, isKept),
    salt: typeof fields.salt === 'string' ? fields.salt : '',
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isAway(value: unknown): value is Away {
  return (
    isRecord(value) &&
    typeof value.fp === 'string' &&
    typeof value.spent === 'number' &&
    typeof value.reported === 'number'
  );
}

function isKept(value: unknown): value is Kept {
  return isRecord(value) && typeof value.fp === 'string' && typeof value.mark === 'string';
}

function isUnsent(value: unknown): value is Unsent {
  if (!isRecord(value) || typeof value.cli !== 'string' || typeof value.at !== 'number') return false;
  return isRecord(value.done) && typeof value.done.fence === 'string' && typeof value.done.fp === 'string';
}

function tables<T>(value: unknown, is: (item: unknown) => item is T): Record<string, Record<string, T>> {
  const table = (inner: unknown) =>
    Object.fromEntries(
      Object.entries(isRecord(inner) ? inner : {}).filter((entry): entry is [string, T] => is(entry[1])),
    );
  return Object.fromEntries(Object.entries(isRecord(value) ? value : {}).map(([key, inner]) => [key, table(inner)]));
}
