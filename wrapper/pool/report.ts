// Builds a run's requests and reports to the pool's store, and asks the provider for the remaining quota.
import type { LeaseEnd, LeaseOptions } from '../context.ts';
import { type Done, type LocalPool, noteLocal, type Observation } from '../store/pool-file.ts';
import type { CliState } from '../store/state.ts';
import { parseDuration } from '../system/notation.ts';
import type { Identified } from './identify.ts';
import { unreported } from './offline.ts';
import type { Granted, LeaseRequest } from './store.ts';

/** Length of the pause after a refusal, for an account that is not identified by its credential. */
const REFUSED_MS = 300_000;
/** Length of a pause without a known end. */
const FALLBACK_MS = { quota: 3_600_000, rate: 60_000, auth: 3_600_000 };

/** An account that this run may use. */
export interface Held {
  id: Identified;
  /** Missing if the store could not be reached. */
  lease?: Granted;
  /** Result of the attempt with this account. */
  end?: LeaseEnd;
}

/** Returns the report about a held account. */
export function reportOf({ id, lease, end }: Held): Done {
  const { spent, pause } = end ?? { spent: 0 };
  return {
    fence: lease?.fence ?? '0',
    fp: id.fp,
    spent,
    release: true,
    ...(pause && { rest: restOf(pause, id.byCredential) }),
  };
}

function restOf(
  { class: failure, rest }: NonNullable<LeaseEnd['pause']>,
  byCredential: boolean,
): NonNullable<Done['rest']> {
  const common = { class: failure, fallback: FALLBACK_MS[failure] };
  // In the store, a new credential does not make it another account, so it would not end the pause.
  if (rest.until === 'credential' && !byCredential) return { ...common, kind: 'elapsed', ms: REFUSED_MS };
  switch (rest.until) {
    case 'elapsed':
      return { ...common, kind: 'elapsed', ms: rest.ms };
    case 'time':
      return { ...common, kind: 'time', at: rest.at };
    default:
      return { ...common, kind: rest.until };
  }
}

/** Keeps a report for the next run. If that fails, the lease expires and then counts as used. */
export function keepReport(done: Done, { plan, context }: Pick<LeaseOptions, 'plan' | 'context'>): void {
  noteLocal(context.paths, local => {
    local.unsent.push({ cli: plan.cli, at: context.now(), done });
  });
}

/** Adjusts a report's times for a delay in sending it. */
function aged(done: Done, ms: number): Done {
  const { rest, seen, ...others } = done;
  const age = Math.max(0, ms);
  const over = rest?.kind === 'elapsed' && (rest.ms ?? 0) <= age;
  return {
    ...others,
    ...(rest && !over && { rest: rest.kind === 'elapsed' ? { ...rest, ms: (rest.ms ?? 0) - age } : rest }),
    ...(seen && { seen: seen.map(each => ({ ...each, age: each.age + age })) }),
  };
}

/** Asks the provider about these accounts, and ignores what this machine already knows. */
export async function askProvider(
  ids: readonly Identified[],
  { plan, state, context, credentials }: LeaseOptions,
): Promise<Observation[]> {
  const asked = { ...state, remaining: {} as CliState['remaining'] };
  const begun = context.now();
  const { refreshUsage } = await context.load();
  await refreshUsage(plan, asked, context, { accounts: ids.map(({ account }) => account), credentials });
  return ids.map(({ account, fp }) => {
    const figures = asked.remaining[account.name];
    const answer = figures && figures.at >= begun ? figures : undefined;
    const resets = Date.parse(answer?.resets ?? '');
    return {
      fp,
      remaining: answer?.remaining ?? null,
      limit: answer?.limit ?? null,
      resets: Number.isNaN(resets) ? null : resets,
      ...(answer?.identity !== undefined && { identity: answer.identity }),
      age: Math.max(0, context.now() - begun),
    };
  });
}

/** The parts of a request that change during a run. */
interface Changing {
  ids: readonly Identified[];
  /** Answers of the provider to the store's questions. */
  seen: Observation[];
  /** The report about the previous account. */
  done: Done | undefined;
  /** Locally stored state of the pool when the run started. */
  local: LocalPool;
}

/** Returns the request for a lease of one of these accounts. */
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
 * Notes that the store has received the reports, so that no run sends them again.
 * @param intact accounts whose share of the reserve is available again
 * @returns the new local state of the pool
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
