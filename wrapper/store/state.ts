// Stores the wrapper's run-time state in one file per CLI. Losing a file loses no account.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { stampAt } from '../../daemon/core/file-version.ts';
import { readOptional } from '../../daemon/core/files.ts';
import { hmac, randomHex } from '../../daemon/core/hash.ts';
import {
  type Checked,
  isNumber,
  isRecord,
  isText,
  isTime,
  listOf,
  nullable,
  parseJson,
  shape,
} from '../../daemon/core/shape.ts';
import { withLock, writeAtomic } from '../system/files.ts';
import type { Account } from './config.ts';
import type { Paths } from './paths.ts';
import type { Pause } from './pause.ts';

export interface Remaining {
  /** In the provider's unit; `null` when unlimited or unknown. */
  remaining: number | null;
  limit: number | null;
  used: number | null;
  /** ISO 8601, as the provider gave it. */
  resets: string | null;
  /** Milliseconds since the epoch. */
  at: number;
  credential?: string;
  /** Accounts with the same value share one quota. */
  identity?: string;
  /** Like `identity`, from the catalog's `moment`; comparable only between accounts asked together. */
  moment?: string;
}

const isSample = shape({ at: isTime, remaining: isNumber });
/** An account's remaining quota at one time, for the forecast. */
export type Sample = Checked<typeof isSample>;

const isWindow = shape({ name: isText, percent: isNumber, resets: nullable(isText) });
/** A window of a login's limits, as the CLI reports it: the used share in percent, and its end in ISO 8601. */
export type LimitWindow = Checked<typeof isWindow>;
const isWindows = shape({ at: isTime, list: listOf(isWindow) });

const isJob = shape({ account: isText, at: isTime });

export interface CliState {
  default?: string;
  previous?: string;
  /** The account of the last success, for `round-robin`. */
  lastUsed?: string;
  /** HMAC key for fingerprints, made by the first update; testing a guess against a fingerprint needs it. */
  salt: string;
  paused: Record<string, Pause>;
  remaining: Record<string, Remaining>;
  /** Windows of logins, and when they were reported. */
  windows: Record<string, Checked<typeof isWindows>>;
  /** Oldest first. */
  history: Record<string, Sample[]>;
  /** Accounts that fell below `switch_below` and have not risen above `return_above` since. */
  low: string[];
  /** Job id to the account that created it, newest last. */
  jobs: Record<string, Checked<typeof isJob>>;
  /** SHA-256 digests of rendered prepare commands that have run. */
  prepared: string[];
  /** Last digest in `prepared`. */
  lastPrepared?: string;
  warnedAt?: number;
  /** Highest reported threshold of `notify_at`, by account. */
  notified: Record<string, number>;
}

/** Up to this many jobs, none is removed; beyond it, expired jobs and the oldest above the maximum are. */
const FEW_JOBS = 500;
const MAX_JOBS = 10_000;
/** Time to keep a job after its last use, on this machine and in a pool. */
const JOB_MS = 40 * 86_400_000;
/** Prefix of requests among the jobs. Requests have a separate limit: they are many and matter for minutes. */
export const REQUEST = 'request:';
/** Time to keep a request, which a program may repeat for up to 20 minutes. */
export const REQUEST_MS = 1_200_000;
const MAX_REQUESTS = 2_000;
const MAX_SAMPLES = 60;
const SAMPLE_EVERY_MS = 60_000;

/**
 * Reads the state of one CLI. A missing part counts as empty, because no command needs it to run. Intact jobs are read even
 * from a damaged file, because no other account may continue them.
 * @param onDamage gets the path of a file that can't be read
 */
export function readState(paths: Paths, cli: string, onDamage?: (file: string) => void): CliState {
  const file = stateFile(paths, cli);
  let text = '';
  try {
    text = readOptional(file) ?? '{}';
    const parsed: unknown = JSON.parse(text);
    if (isRecord(parsed)) return parseState(parsed);
  } catch {
    // damaged
  }
  onDamage?.(file);
  return parseState({ default: LOST, jobs: Object.fromEntries(wholeJobs(text)) });
}

/** Stands for a default that is no longer known; no account has this name. */
const LOST = '';

const JOB = /"(?:[^"\\]|\\.)*"\s*:\s*\{\s*"account"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"at"\s*:\s*\d+\s*\}/g;

function wholeJobs(text: string): [string, unknown][] {
  return (text.match(JOB) ?? []).flatMap(job => Object.entries(parseJson(`{${job}}`) ?? {}));
}

/** Renames a damaged file and writes a new file with the intact jobs. */
export function setAside(paths: Paths, cli: string): void {
  const file = stateFile(paths, cli);
  try {
    withLock(file, () => {
      let damaged = false;
      const state = readState(paths, cli, () => {
        damaged = true;
      });
      // another run may have replaced it
      if (!damaged) return;
      renameSync(file, `${file}.broken`);
      writeAtomic(file, `${JSON.stringify({ ...state, salt: randomHex(16) })}\n`);
    });
  } catch {
    // the damaged file stays, and every run reports it
  }
}

/** Reads all valid parts of a state and omits invalid parts. */
export function parseState(raw: unknown): CliState {
  const fields = isRecord(raw) ? raw : {};
  const text = (key: string) => (typeof fields[key] === 'string' ? { [key]: fields[key] } : {});
  const texts = (value: unknown) => (Array.isArray(value) ? value.filter(isText) : []);
  return {
    ...text('default'),
    ...text('previous'),
    ...text('lastUsed'),
    ...text('lastPrepared'),
    ...(typeof fields.warnedAt === 'number' && { warnedAt: fields.warnedAt }),
    salt: typeof fields.salt === 'string' ? fields.salt : '',
    // older versions used the name `resting`
    paused: table(fields.paused ?? fields.resting, isPause),
    remaining: table(fields.remaining, isRemaining),
    windows: table(fields.windows, isWindows),
    history: table(fields.history, listOf(isSample)),
    low: texts(fields.low),
    jobs: table(fields.jobs, isJob),
    prepared: texts(fields.prepared),
    notified: table(fields.notified, isNumber),
  };
}

/**
 * Changes the state of one CLI under a lock and returns the new state.
 * @param timeoutMs time to wait for another process; see `withLock`
 */
export function updateState(
  paths: Paths,
  cli: string,
  change: (state: CliState) => void,
  timeoutMs?: number,
): CliState {
  const file = stateFile(paths, cli);
  const work = () => {
    const state = readState(paths, cli);
    state.salt ||= randomHex(16);
    change(state);
    state.jobs = withoutOld(state.jobs);
    writeAtomic(file, `${JSON.stringify(state)}\n`);
    return state;
  };
  return withLock(file, work, timeoutMs);
}

function withoutOld(jobs: CliState['jobs']): CliState['jobs'] {
  const entries = Object.entries(jobs);
  if (entries.length <= FEW_JOBS) return jobs;
  const now = Date.now();
  // a job dated in the future would make all other jobs expire
  const newest = entries.reduce((at, [, job]) => (job.at > now ? at : Math.max(at, job.at)), 0);
  const isRequest = ([id]: [string, unknown]) => id.startsWith(REQUEST);
  const since = (ms: number) => (entry: (typeof entries)[number]) => newest - entry[1].at <= ms;
  const others = entries.filter(entry => !isRequest(entry)).filter(since(JOB_MS));
  const requests = entries.filter(isRequest).filter(since(REQUEST_MS));
  const kept = [...others.slice(-MAX_JOBS), ...requests.slice(-MAX_REQUESTS)];
  return kept.length === entries.length ? jobs : Object.fromEntries(kept);
}

/** Returns a stamp that changes with each write to a CLI's state; see `stampAt`. */
export function stateStamp(paths: Paths, cli: string): string {
  return stampAt(stateFile(paths, cli));
}

/**
 * Makes `name` the default and stores the previous default for `use -`.
 * @param first the default account if the user has not chosen an account
 */
export function setDefault(state: CliState, name: string, first: string | undefined): void {
  const before = state.default || first;
  if (before !== name && before !== undefined) state.previous = before;
  state.default = name;
}

type Selectable = Pick<Account, 'name' | 'enabled' | 'default'>;

/** Returns the default account that the configuration or, if it marks no default, the state names. */
export function chosenDefault(accounts: readonly Selectable[], state: Pick<CliState, 'default'>): string | undefined {
  if (accounts.every(account => account.default === undefined)) return state.default;
  const [only, ...more] = accounts.filter(account => account.default);
  return only && more.length === 0 ? only.name : LOST;
}

/**
 * Returns the account to try first: the chosen default if it is enabled, or the first enabled account, unless the configuration
 * chooses the default and several accounts could replace it.
 */
export function effectiveDefault(
  accounts: readonly Selectable[],
  state: Pick<CliState, 'default'>,
): string | undefined {
  const enabled = accounts.filter(account => account.enabled);
  const chosen = chosenDefault(accounts, state);
  const found = enabled.find(account => account.name === chosen);
  const isKept = accounts.some(account => account.default !== undefined);
  return (found ?? (isKept && enabled.length > 1 ? undefined : enabled[0]))?.name;
}

/** Reports whether the chosen default is disabled, removed or unknown, and several accounts could replace it. */
export function hasLostDefault(accounts: readonly Selectable[], state: Pick<CliState, 'default'>): boolean {
  const enabled = accounts.filter(account => account.enabled);
  const chosen = chosenDefault(accounts, state);
  return enabled.length > 1 && chosen !== undefined && !enabled.some(account => account.name === chosen);
}

/** True for a figure from before a reset, which says nothing about the new period, or from the future, by a wrong clock. */
export function isOld({ at, resets }: Pick<Remaining, 'at' | 'resets'>, now: number): boolean {
  const reset = resets ? Date.parse(resets) : Number.NaN;
  return at > now || (at < reset && reset <= now);
}

/** Stores an account's remaining quota and a sample for the forecast. */
export function recordRemaining(state: CliState, name: string, remaining: Remaining): void {
  state.remaining[name] = remaining;
  if (remaining.remaining === null) return;
  const samples = state.history[name] ?? [];
  const last = samples.at(-1);
  if (last && remaining.at - last.at < SAMPLE_EVERY_MS && remaining.at >= last.at) return;
  state.history[name] = [...samples.slice(1 - MAX_SAMPLES), { at: remaining.at, remaining: remaining.remaining }];
}

/** Pauses an account; never shortens a pause with an end for the same credential. */
export function pauseAccount(state: CliState, name: string, pause: Pause): void {
  const entry = believable(state.paused[name], pause);
  const until =
    entry?.until && pause.until && entry.credential === pause.credential
      ? Math.max(entry.until, pause.until)
      : pause.until;
  state.paused[name] = { ...pause, until };
}

/** Pauses an account because of another account's limit, unless it already has a pause at least as long. */
export function extendPause(state: CliState, name: string, pause: Pause): void {
  const entry = believable(state.paused[name], pause);
  if (entry && (entry.until === null || (pause.until !== null && entry.until >= pause.until))) return;
  state.paused[name] = { ...pause, ...(entry?.credential && { credential: entry.credential }) };
}

/** Returns a pause, unless it began after the newest pause because the clock was ahead. */
function believable(entry: Pause | undefined, newest: Pause): Pause | undefined {
  return entry && entry.since <= newest.since ? entry : undefined;
}

/** Moves an account's state to its new name, or removes it, except jobs, which no other account may continue. */
export function renameInState(state: CliState, name: string, to?: string): void {
  const all = [state.paused, state.remaining, state.windows, state.history, state.notified];
  for (const records of all as Record<string, unknown>[]) {
    if (to !== undefined && Object.hasOwn(records, name)) records[to] = records[name];
    delete records[name];
  }
  for (const job of Object.values(state.jobs)) if (to !== undefined && job.account === name) job.account = to;
  state.low = state.low.flatMap(each => (each === name ? (to ?? []) : each));
  for (const key of ['default', 'previous', 'lastUsed'] as const) {
    if (state[key] !== name) continue;
    if (to !== undefined) state[key] = to;
    else if (key === 'default') state.default = LOST;
    else delete state[key];
  }
}

/** Returns 64 bits of an HMAC over all values, to recognize a credential without storing it. */
export function fingerprint(salt: string, env: Record<string, string>): string {
  const sorted = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  return hmac(salt, JSON.stringify(sorted)).slice(0, 16);
}

function stateFile(paths: Paths, cli: string): string {
  return join(paths.accounts, `${cli}.json`);
}

/** Returns the valid entries without a prototype: names and job ids may be `constructor` or `__proto__`. */
function table<T>(raw: unknown, fits: (value: unknown) => value is T): Record<string, T> {
  const result: Record<string, T> = Object.create(null);
  if (!isRecord(raw)) return result;
  for (const [key, value] of Object.entries(raw)) if (fits(value)) result[key] = value;
  return result;
}

function isPause(value: unknown): value is Pause {
  return (
    isRecord(value) &&
    (value.class === 'quota' || value.class === 'rate' || value.class === 'auth') &&
    (value.until === null || isTime(value.until)) &&
    isTime(value.since) &&
    (value.probedAt === undefined || isTime(value.probedAt))
  );
}

function isRemaining(value: unknown): value is Remaining {
  const numberOrNull = (item: unknown) => item === null || isNumber(item);
  return (
    isRecord(value) &&
    [value.remaining, value.limit, value.used].every(numberOrNull) &&
    (value.resets === null || typeof value.resets === 'string') &&
    isTime(value.at)
  );
}
