// In which order accounts are tried: pure, so that `explain` and a run can't disagree.
import type { Account } from './config.ts';
import { type CliState, isResting } from './state.ts';

export type Choice = { by: 'environment' | 'directory' | 'job'; name: string } | { by: 'default' };

export interface Candidate {
  account: Account;
  /** Why it stands where it stands, in words. */
  why: string;
  resting: boolean;
  /** Its known remaining capacity is below cost and reserve. */
  spent: boolean;
}

/**
 * Enabled accounts in the order they are tried: from the chosen one on, round to those before it; resting and spent ones
 * last, the one that wakes first before the others. An account that the user named goes first even when it rests.
 * @param cost what the command is expected to use, in the provider's unit
 * @param reserve what is to be left alone
 */
export function orderCandidates(
  accounts: readonly Account[],
  state: CliState,
  choice: Choice,
  now: number,
  { cost = 0, reserve = 0 } = {},
): Candidate[] {
  const enabled = accounts.filter(account => account.enabled);
  const first = choice.by === 'default' ? state.default : choice.name;
  const start = Math.max(
    0,
    enabled.findIndex(account => account.name === first),
  );
  const named = choice.by !== 'default';
  const ring = [...enabled.slice(start), ...enabled.slice(0, start)].map((account, index): Candidate => {
    const remaining = state.remaining[account.name]?.remaining;
    const resting = isResting(state.resting[account.name], now);
    const spent = typeof remaining === 'number' && (remaining <= 0 || remaining - cost < reserve);
    const why =
      index === 0 && account.name === first
        ? {
            environment: 'named by CULVERT_WRAP_ACCOUNT',
            directory: 'chosen for this directory',
            job: 'created the job',
            default: 'default',
          }[choice.by]
        : 'next in the list';
    return { account, resting, spent, why };
  });
  const late = (candidate: Candidate, index: number) =>
    (candidate.resting || candidate.spent) && !(named && index === 0);
  return [
    ...ring.filter((candidate, index) => !late(candidate, index)),
    ...ring.filter(late).sort((a, b) => wakes(a, state) - wakes(b, state)),
  ];
}

function wakes(candidate: Candidate, state: CliState): number {
  if (!candidate.resting) return 0;
  return state.resting[candidate.account.name]?.until ?? Number.POSITIVE_INFINITY;
}
