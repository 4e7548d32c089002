// Describes accounts from local files, without secrets. The daemon also uses this module.
import { type Account, accountsOf, type Capacity, type Pool, readConfig } from './config.ts';
import type { Paths } from './paths.ts';
import { isPaused, type Pause } from './pause.ts';
import { describeSource } from './secrets.ts';
import { type CliState, effectiveDefault, readState, type Sample } from './state.ts';

/** An account as `accounts --json` shows it. Times are in ISO 8601. */
export interface AccountReport {
  name: string;
  enabled: boolean;
  default: boolean;
  /** The current pause; `until` is `null` if it lasts until the account's credential changes. */
  paused: { class: Pause['class']; until: string | null } | null;
  /** Sources of credentials, by variable. */
  sources: Record<string, string>;
  /** Remaining units, in the provider's unit, as known at `at`. */
  remaining: number | null;
  limit: number | null;
  used: number | null;
  resets: string | null;
  at: string | null;
  /** The time at which nothing will be left at the present rate. */
  emptyAt: string | null;
  /** Accounts with the same value share one quota. */
  identity: string | null;
}

/** Describes the accounts of every CLI in the configuration, from local files only. */
export function describeAllAccounts(paths: Paths, now: number): { cli: string; accounts: AccountReport[] }[] {
  const config = readConfig(paths.config);
  const clis = [...new Set(config.accounts.map(account => account.cli))];
  return clis.map(cli => ({
    cli,
    accounts: describeAccounts(accountsOf(config, cli), readState(paths, cli), now),
  }));
}

/** Describes the accounts of one CLI, in the order of `accounts`. */
export function describeAccounts(accounts: readonly Account[], state: CliState, now: number): AccountReport[] {
  const first = effectiveDefault(accounts, state);
  return accounts.map(({ name, enabled, env }) => {
    const figures = state.remaining[name];
    const emptyAt = forecast(state.history[name] ?? [], now);
    return {
      name,
      enabled,
      default: name === first,
      paused: describePause(state.paused[name], now),
      sources: Object.fromEntries(Object.entries(env).map(([variable, source]) => [variable, describeSource(source)])),
      remaining: figures?.remaining ?? null,
      limit: figures?.limit ?? null,
      used: figures?.used ?? null,
      resets: figures?.resets ?? null,
      at: figures ? new Date(figures.at).toISOString() : null,
      emptyAt: emptyAt === undefined ? null : new Date(emptyAt).toISOString(),
      identity: figures?.identity ?? figures?.moment ?? null,
    };
  });
}

/** Returns the current pause of an account, or `null`. */
export function describePause(pause: Pause | undefined, now: number): AccountReport['paused'] {
  if (!pause || !isPaused(pause, now)) return null;
  return { class: pause.class, until: pause.until === null ? null : new Date(pause.until).toISOString() };
}

/**
 * Reports whether a command would use an account: it is enabled, not paused, and not known to be used up.
 * @param reserve the units that commands never use; see `reserveOf`
 */
export function isUsable(
  { enabled, paused, remaining }: Pick<AccountReport, 'enabled' | 'paused' | 'remaining'>,
  reserve: number,
): boolean {
  return enabled && paused === null && (remaining === null || remaining > reserve);
}

/** Returns the part of a quota that commands never use. If they run anyway, the reserve only decides the order of accounts. */
export function reserveOf(pool: Pool | undefined, capacity: Capacity | undefined): number {
  return capacity && (pool || capacity.policy !== 'execute') ? capacity.reserve : 0;
}

/** Returns the names of other accounts that share this account's quota. */
export function sharedWith(
  { name, identity }: Pick<AccountReport, 'name' | 'identity'>,
  all: readonly Pick<AccountReport, 'name' | 'identity'>[],
): string[] {
  if (identity === null) return [];
  return all.filter(other => other.identity === identity && other.name !== name).map(other => other.name);
}

/** Sums in the provider's unit; `null` if no account has a value. */
export interface Total {
  remaining: number | null;
  limit: number | null;
  used: number | null;
}

/** Sums up the enabled accounts; a quota that several accounts share counts once. */
export function totalOf(accounts: readonly Omit<AccountReport, 'sources'>[]): Total {
  const counted = accounts.filter(
    (account, index) =>
      account.enabled &&
      !accounts
        .slice(0, index)
        .some(other => other.enabled && account.identity !== null && other.identity === account.identity),
  );
  const sum = (key: 'remaining' | 'limit' | 'used') => {
    const numbers = counted.map(row => row[key]).filter(value => value !== null);
    return numbers.length === 0 ? null : numbers.reduce((total, value) => total + value, 0);
  };
  return { remaining: sum('remaining'), limit: sum('limit'), used: sum('used') };
}

const MIN_SPAN_MS = 10 * 60_000;
/** The longest forecast; beyond it, a rate says nothing. */
const HORIZON_MS = 90 * 86_400_000;

/**
 * Forecasts when nothing will be left, from the rate since the quota was last refilled.
 * @param samples oldest first
 * @returns milliseconds since the epoch, or `undefined` if nothing was used or too little is known
 */
export function forecast(samples: readonly Sample[], now: number): number | undefined {
  const refilled = samples.findLastIndex((sample, i) => i > 0 && sample.remaining > samples[i - 1]!.remaining);
  const period = samples.slice(Math.max(0, refilled));
  const [first, last] = [period[0], period.at(-1)];
  if (!first || !last || last.at - first.at < MIN_SPAN_MS) return undefined;
  const perMs = (first.remaining - last.remaining) / (last.at - first.at);
  if (perMs <= 0) return undefined;
  const emptyAt = last.at + last.remaining / perMs;
  return emptyAt - now > HORIZON_MS ? undefined : Math.max(now, emptyAt);
}
