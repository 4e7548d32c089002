// Makes the reports of a run: how it used the accounts that it leased, and what the provider says they have left.
import type { LeaseEnd, LeaseOptions } from '../context.ts';
import { type Done, noteLocal, type Observation } from '../store/pool-file.ts';
import type { CliState } from '../store/state.ts';
import type { Identified } from './identify.ts';
import type { Granted } from './store/store.ts';

/** A refused account that is not identified by its credential is left alone for this long. */
const REFUSED_MS = 300_000;
/** Length of a pause without a known end. */
const FALLBACK_MS = { quota: 3_600_000, rate: 60_000, auth: 3_600_000 };

/** An account that this run may use. */
export interface Held {
  id: Identified;
  /** Missing where the store could not be reached. */
  lease?: Granted;
  /** Result of the attempt with it. */
  end?: LeaseEnd;
}

/** The report about an account that is held. */
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
  // In the store it is the same account with another credential, so that would end nothing.
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

/** Keeps a report for the next run. Where it can't be kept, the lease ends automatically and then counts as used. */
export function keepReport(done: Done, { plan, context }: Pick<LeaseOptions, 'plan' | 'context'>): void {
  noteLocal(context.paths, local => {
    local.unsent.push({ cli: plan.cli, at: context.now(), done });
  });
}

/** A report as it is after it could not be sent for a while. */
export function aged(done: Done, ms: number): Done {
  const { rest, seen, ...others } = done;
  const age = Math.max(0, ms);
  const over = rest?.kind === 'elapsed' && (rest.ms ?? 0) <= age;
  return {
    ...others,
    ...(rest && !over && { rest: rest.kind === 'elapsed' ? { ...rest, ms: (rest.ms ?? 0) - age } : rest }),
    ...(seen && { seen: seen.map(each => ({ ...each, age: each.age + age })) }),
  };
}

/** Asks the provider for these accounts, whatever this machine knows about them. */
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
