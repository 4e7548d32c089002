// Makes one change, and stores what it replaces for as long as that may return.

import type { TunnelSubject as Subject } from '../api/actions.ts';
import type { ChangeOptions } from '../api/changes.ts';
import { NotRestored, Problem } from '../problem.ts';
import type { ChangeStore } from './change-store.ts';
import type { Pending } from './changes-file.ts';
import { type Clock, deadlineIn } from './deadline.ts';
import type { Value } from './values.ts';

export interface LimitedChange extends ChangeOptions {
  previous: Value;
  /** The new value in readable form; null for lists. */
  value: string | null;
}

/** A command that ended so may have done its work before. */
const UNCERTAIN: readonly Problem['code'][] = ['tunnel-cli-timeout', 'service-hangs', 'service-stopped'];

export function createMaker(store: ChangeStore, clock: () => Clock) {
  return {
    /** Makes a change that stays. It replaces one of the same subject that would revert. */
    async keep<T>(subject: Subject, work: () => Promise<T>): Promise<T> {
      const result = await work();
      store.note(subject, null);
      store.acknowledgeLost();
      return result;
    },

    /** Makes a change whose previous value is on disk before: it returns after a kill, and when a limit is over. */
    async makeReturning<T>(change: LimitedChange, work: () => Promise<T>): Promise<T> {
      const { subject } = change.previous;
      const before = store.get(subject) ?? null;
      const limited = isLimited(change) ? () => entryOf(change, clock()) : () => null;
      store.set(subject, { ...entryOf(change, clock()), making: true });
      let result: T;
      try {
        result = await work();
      } catch (error) {
        if (error instanceof NotRestored) {
          store.fail(subject, error, 'now');
          throw error.problem;
        }
        const isUncertain = error instanceof Problem && UNCERTAIN.includes(error.code);
        store.note(subject, (isUncertain && limited()) || before);
        throw error;
      }
      store.note(subject, limited());
      store.acknowledgeLost();
      return result;
    },
  };
}

export const limitsOf = ({ confirmWithin, forSeconds }: ChangeOptions): ChangeOptions => ({
  confirmWithin,
  forSeconds,
});

export const isLimited = ({ confirmWithin, forSeconds }: ChangeOptions) =>
  confirmWithin !== undefined || forSeconds !== undefined;

function entryOf({ previous, value, confirmWithin, forSeconds }: LimitedChange, now: Clock): Pending {
  return {
    previous,
    value,
    setAt: new Date(now.wallMs).toISOString(),
    making: false,
    confirmBy: confirmWithin === undefined ? null : deadlineIn(confirmWithin, now),
    endsAt: forSeconds === undefined ? null : deadlineIn(forSeconds, now),
  };
}
