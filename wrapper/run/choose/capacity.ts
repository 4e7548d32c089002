// Reports what a command costs, whether anything is left for it, and when to warn. Pure.

import type { Provider } from '../../catalog/provider.ts';
import type { Capacity } from '../../store/config.ts';
import type { CliState } from '../../store/state.ts';
import { isCommandIn } from '../rules/classify.ts';
import { type Candidate, shareQuota } from './candidates.ts';

/** The expected cost of a command: the user's figure, else the catalog's, else 1. The longest matching name counts. */
export function costOf(command: string, provider: Pick<Provider, 'costs'>, capacity: Pick<Capacity, 'costs'>): number {
  const costs = { ...provider.costs, ...capacity.costs };
  const name = Object.keys(costs)
    .filter(key => isCommandIn(command, [key]))
    .sort((a, b) => b.length - a.length)[0];
  return name === undefined ? 1 : costs[name]!;
}

/** Reports whether the settings need to know what is left. */
export function needsUsage({ capacity }: { capacity: Capacity }): boolean {
  return (
    capacity.policy !== 'execute' ||
    capacity.reserve > 0 ||
    capacity.warn_below !== undefined ||
    capacity.switch_below !== undefined ||
    capacity.notify_at.length > 0 ||
    (capacity.strategy !== 'in-order' && capacity.strategy !== 'round-robin')
  );
}

/** True while any account is neither paused nor spent. */
export function isAvailable(candidates: readonly Candidate[]): boolean {
  return candidates.some(({ paused, spent }) => !paused && !spent);
}

/**
 * The known remaining capacity of all accounts, or `undefined` when some have no figure. A quota that several of
 * them share counts once.
 */
export function totalRemaining(names: readonly string[], state: Pick<CliState, 'remaining'>): number | undefined {
  let total = 0;
  for (const [index, name] of names.entries()) {
    const remaining = state.remaining[name]?.remaining;
    if (typeof remaining !== 'number') return undefined;
    if (!names.slice(0, index).some(other => shareQuota(other, name, state))) total += remaining;
  }
  return total;
}

/** Reports whether a warning is due: below the threshold, and not warned within the hour. */
export function isWarningDue(
  total: number | undefined,
  capacity: Capacity,
  state: Pick<CliState, 'warnedAt'>,
  now: number,
): boolean {
  if (total === undefined || capacity.warn_below === undefined || total >= capacity.warn_below) return false;
  return state.warnedAt === undefined || state.warnedAt > now || now - state.warnedAt > 3_600_000;
}
