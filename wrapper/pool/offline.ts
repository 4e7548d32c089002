// Lets a machine use its share of the reserve while the store can't be reached. Leases never touch the reserve, so all
// machines together stay within the limit.
import { reason } from '../../daemon/core/errors.ts';
import type { Context } from '../context.ts';
import { isPaused } from '../store/pause.ts';
import type { Plan } from '../store/plan.ts';
import { noteLocal, updateLocal } from '../store/pool-file.ts';
import type { CliState } from '../store/state.ts';
import type { Identified } from './identify.ts';

/** Returns this machine's share of an account's reserve, in the provider's unit. */
function shareOf({ pool, capacity }: Pick<Plan, 'pool' | 'capacity'>): number {
  return Math.floor(capacity.reserve / (pool?.machines ?? Number.POSITIVE_INFINITY));
}

/** Returns the key of an account's quota: accounts with the same quota have one share of its reserve. */
function quotaOf({ account, fp }: Identified, state: CliState): string {
  return state.remaining[account.name]?.identity ?? fp;
}

/**
 * Takes the cost of a command from the share of the first account with enough left. Only the store makes a used share available
 * again, after the provider has been asked.
 * @returns the account, or the reason why no account has enough left
 */
export function takeShare(
  accounts: readonly Identified[],
  cost: number,
  { plan, state, context }: { plan: Plan; state: CliState; context: Context },
): Identified | string {
  const { cli, pool } = plan;
  const assigned = pool?.accounts[cli] ?? [];
  const own = accounts.filter(({ account }) => assigned.includes(account.name));
  if (own.length === 0) return `pool.accounts in config.toml assigns none of the accounts of ${cli} to this machine`;
  const awake = own.filter(({ account }) => !isPaused(state.paused[account.name], context.now()));
  if (awake.length === 0) return 'the accounts that are assigned to this machine are paused';
  const share = shareOf(plan);
  let account: Identified | undefined;
  try {
    updateLocal(context.paths, local => {
      local.away[cli] ??= {};
      const table = local.away[cli];
      account = awake.find(each => (table[quotaOf(each, state)]?.spent ?? 0) + cost <= share);
      if (!account) return;
      const key = quotaOf(account, state);
      table[key] = { fp: account.fp, reported: table[key]?.reported ?? 0, spent: (table[key]?.spent ?? 0) + cost };
    });
  } catch (error) {
    return `what this machine uses of the reserve can't be stored: ${reason(error)}`;
  }
  if (account) return account;
  return share < cost
    ? `this machine's share of the reserve is ${share}, and the command needs ${cost}`
    : `this machine's share of the reserve, ${share}, is used up until the store is back`;
}

/** Gives back the part of a share that a command took and did not use. */
export function returnShare(
  account: Identified,
  amount: number,
  state: CliState,
  { cli, context }: { cli: string; context: Context },
): void {
  if (amount <= 0) return;
  noteLocal(context.paths, local => {
    const entry = local.away[cli]?.[quotaOf(account, state)];
    if (entry) entry.spent = Math.max(entry.reported, entry.spent - amount);
  });
}

/** Returns the unreported use of each share while the store was away; 0 for a share that may be available again. */
export function unreported(away: Record<string, { fp: string; spent: number; reported: number }> | undefined) {
  return Object.values(away ?? {}).map(({ fp, spent, reported }) => ({ fp, spent: spent - reported }));
}
