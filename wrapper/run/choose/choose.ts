// Chooses which accounts may come next, and says when none may. Pure: it knows nothing of how a request is made.
import type { Account } from '../../store/config.ts';
import type { CliState } from '../../store/state.ts';
import { type Candidate, shareQuota } from './candidates.ts';

/** An account that met a limit or was refused. */
export interface Failure {
  account: string;
  class: 'quota' | 'rate' | 'auth';
  /** Why no other account may make the request again; see `obstacleTo`. */
  obstacle?: string | undefined;
}

/** One request on its way from account to account. */
export interface Choosing {
  /** Accounts that are still to be tried, the best first. */
  left: readonly Account[];
  failures: readonly Failure[];
  /** An account was left out that becomes available automatically, and the request can wait for it. */
  awaits: boolean;
  /** Accounts with one identity draw on one quota. */
  sharesQuota: boolean;
}

export type Next =
  | {
      kind: 'accounts';
      choosing: Choosing;
      /** Each of these may be tried now, the best first. */
      accounts: readonly Account[];
      spared: readonly Spared[];
    }
  | {
      kind: 'end';
      spared: readonly Spared[];
      /** Why the last failure is not repeated, if that is why. */
      obstacle: string | undefined;
      /** Every account met a limit or is awaited, so that the request may succeed later. */
      exhausted: boolean;
    };

/** An account that is not tried because another one used up its quota. */
interface Spared {
  account: string;
  sameAs: string;
}

interface Options {
  /** The request can wait or be kept, so that no pause is shortened. */
  patient: boolean;
  /** The first account was named: it is tried whatever its state. */
  pinned: boolean;
  sharesQuota: boolean;
}

/** Begins with the candidates in their order. */
export function begin(candidates: readonly Candidate[], { patient, pinned, sharesQuota }: Options): Choosing {
  const ready = candidates.filter(({ paused }, index) => !patient || !paused || (pinned && index === 0));
  return {
    left: ready.map(({ account }) => account),
    failures: [],
    awaits: ready.length < candidates.length,
    sharesQuota,
  };
}

/**
 * The next step after a failure, or at the beginning.
 * @param state holds the latest figures of the accounts' quotas
 */
export function next(choosing: Choosing, state: Pick<CliState, 'remaining'>, failure?: Failure): Next {
  const failures = failure ? [...choosing.failures, failure] : choosing.failures;
  if (failure?.obstacle !== undefined) {
    return { kind: 'end', spared: [], obstacle: failure.obstacle, exhausted: false };
  }
  const spared = choosing.left.map(account => sparedFor(account, choosing.sharesQuota ? failures : [], state));
  const accounts = choosing.left.filter((_, index) => !spared[index]);
  const first = accounts.length > 0 ? choosing.left.indexOf(accounts[0]!) : choosing.left.length;
  const reported = spared.slice(0, first).filter(each => each !== undefined);
  if (accounts.length === 0) {
    const exhausted = choosing.awaits || failures.some(each => each.class !== 'auth');
    return { kind: 'end', spared: reported, obstacle: undefined, exhausted };
  }
  return {
    kind: 'accounts',
    choosing: { ...choosing, left: choosing.left.slice(first), failures },
    accounts,
    spared: reported,
  };
}

function sparedFor(
  { name }: Account,
  failures: readonly Failure[],
  state: Pick<CliState, 'remaining'>,
): Spared | undefined {
  const same = failures.find(failure => failure.class !== 'auth' && shareQuota(failure.account, name, state));
  return same && { account: name, sameAs: same.account };
}

/**
 * The remaining accounts once one of them is tried, or none can be leased.
 * @param accounts those that `next` gave
 * @param taken the one that is tried; the others that may follow; and whether some can be had later
 */
export function afterTaking(
  choosing: Choosing,
  accounts: readonly Account[],
  taken: { account: Account | undefined; rest: readonly Account[]; awaits: boolean },
): Choosing {
  const spared = choosing.left.filter(account => !accounts.includes(account));
  const left = taken.account ? [...taken.rest, ...spared] : [];
  return { ...choosing, left, awaits: choosing.awaits || taken.awaits };
}

/** The same with an account that was taken and is to be tried again. */
export function afterReturning(choosing: Choosing, account: Account): Choosing {
  return { ...choosing, left: [account, ...choosing.left] };
}
