// What the wrapper learns while it runs, one file per CLI: default account, rests, jobs, capacity. Losing it loses no account.
import { join } from 'node:path';
import { hmac, randomHex } from './hash.ts';
import type { Paths } from './paths.ts';
import { readText, withLock, writeAtomic } from './store.ts';

export interface Resting {
  class: 'quota' | 'rate' | 'auth';
  /** Milliseconds since the epoch; `null` while it rests until its credential changes. */
  until: number | null;
  since: number;
  /** Fingerprint of the credential that was refused. */
  credential?: string;
}

export interface Remaining {
  /** In the provider's unit; `null` when unlimited or not told. */
  remaining: number | null;
  limit: number | null;
  used: number | null;
  /** ISO 8601, as the provider gave it. */
  resets: string | null;
  /** Milliseconds since the epoch. */
  at: number;
  credential?: string;
}

export interface CliState {
  default?: string;
  previous?: string;
  /** Key of the fingerprints, made with the first update; guesses tested against a fingerprint need it. */
  salt: string;
  resting: Record<string, Resting>;
  remaining: Record<string, Remaining>;
  /** Job id to the account that created it, newest last. */
  jobs: Record<string, { account: string; at: number }>;
  /** SHA-256 digests of rendered prepare commands that have run. */
  prepared: string[];
  /** The last of them. */
  lastPrepared?: string;
  warnedAt?: number;
}

const MAX_JOBS = 500;

/**
 * The state of one CLI. Damaged or missing state reads as empty: nothing in it is needed to run a command.
 * @param paths see `pathsFor`
 */
export function readState(paths: Paths, cli: string): CliState {
  let raw: Partial<CliState> = {};
  try {
    const parsed: unknown = JSON.parse(readText(stateFile(paths, cli)) ?? '{}');
    if (isRecord(parsed)) raw = parsed;
  } catch {
    // Empty state it is; the next update writes it anew.
  }
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const table = <T>(value: unknown) => (isRecord(value) ? (value as Record<string, T>) : {});
  const [first, previous, last] = [text(raw.default), text(raw.previous), text(raw.lastPrepared)];
  return {
    ...(first !== undefined && { default: first }),
    ...(previous !== undefined && { previous }),
    ...(last !== undefined && { lastPrepared: last }),
    ...(typeof raw.warnedAt === 'number' && { warnedAt: raw.warnedAt }),
    salt: text(raw.salt) ?? '',
    resting: table(raw.resting),
    remaining: table(raw.remaining),
    jobs: table(raw.jobs),
    prepared: Array.isArray(raw.prepared) ? raw.prepared.filter(item => typeof item === 'string') : [],
  };
}

/** Changes the state of one CLI while no other process does. Returns the new state. */
export function updateState(paths: Paths, cli: string, change: (state: CliState) => void): CliState {
  const file = stateFile(paths, cli);
  return withLock(file, () => {
    const state = readState(paths, cli);
    state.salt ||= randomHex(16);
    change(state);
    const jobs = Object.entries(state.jobs);
    if (jobs.length > MAX_JOBS) state.jobs = Object.fromEntries(jobs.slice(-MAX_JOBS));
    writeAtomic(file, `${JSON.stringify(state)}\n`);
    return state;
  });
}

/**
 * Makes `name` the default and remembers the one before it for `use -`.
 * @param first the account that is the default while none has been chosen
 */
export function setDefault(state: CliState, name: string, first: string | undefined): void {
  const before = state.default ?? first;
  if (before !== name && before !== undefined) state.previous = before;
  state.default = name;
}

/** Forgets an account, or carries what is known of it over to its new name. */
export function renameInState(state: CliState, name: string, to?: string): void {
  for (const table of [state.resting, state.remaining] as Record<string, unknown>[]) {
    if (to !== undefined && name in table) table[to] = table[name];
    delete table[name];
  }
  for (const [id, job] of Object.entries(state.jobs)) {
    if (job.account !== name) continue;
    if (to === undefined) delete state.jobs[id];
    else job.account = to;
  }
  for (const key of ['default', 'previous'] as const) {
    if (state[key] !== name) continue;
    if (to === undefined) delete state[key];
    else state[key] = to;
  }
}

/** Recognises a credential without keeping it: 64 bits of an HMAC over all values. */
export function fingerprint(salt: string, env: Record<string, string>): string {
  const sorted = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  return hmac(salt, JSON.stringify(sorted)).slice(0, 16);
}

/** Whether an account rests now. */
export function isResting(resting: Resting | undefined, now: number): boolean {
  return resting !== undefined && (resting.until === null || resting.until > now);
}

export function stateFile(paths: Paths, cli: string): string {
  return join(paths.accounts, `${cli}.json`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
