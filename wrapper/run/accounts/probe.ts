// Lets one run at a time try an account after its cooldown, while others use the next account or wait.
import type { Context } from '../../context.ts';
import { isBeingProbed, isCoolingDown } from '../../store/cooldown.ts';
import type { Plan } from '../../store/plan.ts';
import { type CliState, updateState } from '../../store/state.ts';

/**
 * Claims the first try after a cooldown. What another run has learned since goes into `state`.
 * @returns whether this run may try the account; true for one that never cooled down
 */
export function claimProbe(
  name: string,
  { plan, state, context }: { plan: Pick<Plan, 'cli'>; state: CliState; context: Pick<Context, 'paths' | 'now'> },
): boolean {
  const cooldown = state.resting[name];
  if (!cooldown || isCoolingDown(cooldown, context.now())) return true;
  try {
    let mine = true;
    updateState(context.paths, plan.cli, stored => {
      const current = stored.resting[name];
      if (!current) return;
      // The clock is read while the lock is held: a claim made while this run waited for it must not look like a future one.
      const now = context.now();
      mine = !isCoolingDown(current, now) && !isBeingProbed(current, now);
      if (mine) current.probedAt = now;
      else state.resting[name] = current;
    });
    return mine;
  } catch {
    // The state can't be written: several runs may try the account at the same time.
    return true;
  }
}
