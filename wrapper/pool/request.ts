// Makes the request for a lease, with what this machine has not reported yet; and notes that the store has it.
import type { LeaseOptions } from '../context.ts';
import { type Done, type LocalPool, noteLocal, type Observation } from '../store/pool-file.ts';
import { parseDuration } from '../system/duration.ts';
import type { Identified } from './identify.ts';
import { unreported } from './offline.ts';
import { aged } from './report.ts';
import type { LeaseRequest } from './store/store.ts';

/** The parts of a request that change during a run. */
interface Changing {
  ids: readonly Identified[];
  /** Answers of the provider to what the store asked. */
  seen: Observation[];
  /** The report about the account that was tried before. */
  done: Done | undefined;
  /** Locally stored state of the pool when the run started. */
  local: LocalPool;
}

/** The request for a lease of one of these accounts. */
export function leaseRequest({ ids, seen, done, local }: Changing, options: LeaseOptions): LeaseRequest {
  const { plan, cost, context } = options;
  const { provider, capacity, pool, cli } = plan;
  const now = context.now();
  const late = local.unsent.filter(unsent => unsent.cli === cli).map(unsent => aged(unsent.done, now - unsent.at));
  return {
    owner: pool!.machine,
    accounts: ids.map(({ account, fp }) => ({ fp, name: account.name })),
    want: cost,
    ttl: parseDuration(pool!.ttl),
    strategy: capacity.strategy,
    reserve: capacity.reserve,
    max: capacity.max_leases,
    below: capacity.switch_below,
    above: capacity.return_above ?? (capacity.switch_below ?? 0) * 2,
    askable: provider.usage !== undefined || provider.status_command !== undefined,
    stale: parseDuration(provider.usage?.cache ?? '60s'),
    done: done ? [...late, done] : late,
    seen,
    away: unreported(local.away[cli]),
  };
}

/**
 * Notes that the store has what was sent, so that it is not sent again.
 * @param intact accounts whose share of the reserve is there again
 * @returns the local state of the pool from now on
 */
export function noteDelivered(
  before: LocalPool,
  intact: readonly string[],
  { plan: { cli }, context }: LeaseOptions,
): LocalPool {
  const late = before.unsent.some(unsent => unsent.cli === cli);
  const away = before.away[cli] ?? {};
  const news = Object.values(away).some(each => each.spent > each.reported || intact.includes(each.fp));
  if (!(late || news || before.degradedSince !== undefined)) return before;
  return noteLocal(context.paths, local => {
    delete local.degradedSince;
    // a run without the store has no fencing number
    const sent = new Set(before.unsent.map(({ at, done }) => `${at} ${done.fence}`));
    local.unsent = local.unsent.filter(each => each.cli !== cli || !sent.has(`${each.at} ${each.done.fence}`));
    for (const [key, { fp, spent }] of Object.entries(away)) {
      const entry = local.away[cli]?.[key];
      if (!entry) continue;
      entry.reported = Math.max(entry.reported, spent);
      if (intact.includes(fp) && entry.spent === entry.reported) delete local.away[cli]![key];
    }
  });
}
