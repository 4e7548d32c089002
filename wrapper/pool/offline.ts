// Decides what a machine may use while the store can't be reached: its share of the reserve, which leases never touch. Whatever
// the other machines do, together they stay within the limit.
import type { Context } from '../context.ts';
import { isCoolingDown } from '../store/cooldown.ts';
import type { Plan } from '../store/plan.ts';
import { noteLocal, updateLocal } from '../store/pool-file.ts';
import type { CliState } from '../store/state.ts';
import { reason } from '../system/errors.ts';
import type { Identified } from './identify.ts';

/** This machine's part of the reserve of an account, in the provider's unit. */
function shareOf({ pool, capacity }: Pick<Plan, 'pool' | 'capacity'>): number {
  return Math.floor(capacity.reserve / (pool?.machines ?? Number.POSITIVE_INFINITY));
}

/** Accounts that are known to have one quota have one share of it. */
function quotaOf({ account, fp }: Identified, state: CliState): string {
  return state.remaining[account.name]?.identity ?? fp;
}

/**
 * Takes the cost of a command from the share of the first account that has enough left of it. A share is there again when
 * the provider was asked after all that was used of it, which only the store can tell.
 * @returns the account, or why there is none
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
  const awake = own.filter(({ account }) => !isCoolingDown(state.resting[account.name], context.now()));
  if (awake.length === 0) return 'the accounts that are assigned to this machine are paused';
  const share = shareOf(plan);
  let taken: Identified | undefined;
  try {
    updateLocal(context.paths, local => {
      local.away[cli] ??= {};
      const table = local.away[cli];
      taken = awake.find(each => (table[quotaOf(each, state)]?.spent ?? 0) + cost <= share);
      if (!taken) return;
      const key = quotaOf(taken, state);
      table[key] = { fp: taken.fp, reported: table[key]?.reported ?? 0, spent: (table[key]?.spent ?? 0) + cost };
    });
  } catch (error) {
    return `what this machine uses of the reserve can't be stored: ${reason(error)}`;
  }
  if (taken) return taken;
  return share < cost
    ? `this machine's share of the reserve is ${share}, and the command needs ${cost}`
    : `this machine's share of the reserve, ${share}, is used up until the store is back`;
}

/** Gives back what a command took and did not use. */
export function returnShare(
  taken: Identified,
  amount: number,
  state: CliState,
  { cli, context }: { cli: string; context: Context },
): void {
  if (amount <= 0) return;
  noteLocal(context.paths, local => {
    const entry = local.away[cli]?.[quotaOf(taken, state)];
    if (entry) entry.spent = Math.max(entry.reported, entry.spent - amount);
  });
}

/** Use of this machine without the store that is still to be reported, and the shares that may be available again. */
export function unreported(away: Record<string, { fp: string; spent: number; reported: number }> | undefined) {
  return Object.values(away ?? {}).map(({ fp, spent, reported }) => ({ fp, spent: spent - reported }));
}
