// Decides which permission a call of the kill switch needs in the present mode. Pure.
import { type Action, requiredAction } from './permission.ts';
import { isPause, type Trial } from './rules/persisted-rules.ts';
import type { Wanted } from './rules/request.ts';
import type { Endpoint } from './rules/rules.ts';
import { inForce, type Mode } from './transition.ts';

/** @param fallback what is in force where what is wanted can't be known */
export function createPermissions(modeNow: () => Mode, fallback: Wanted) {
  const toEnable = (wanted: Wanted): Action => permissionToEnable(modeNow(), fallback, wanted);
  return {
    toEnable,
    /** Replacing another user's trial would move its deadline and take the decision away from that user. */
    toTry(wanted: Wanted | null, uid: number): Action {
      const isAnothers = (unconfirmedOf(modeNow())?.by ?? uid) !== uid;
      return wanted === null || isAnothers ? 'org.culvert.killswitch.disable' : toEnable(wanted);
    },
    /** A user may make a change for good that was made by the same user; else an administrator decides. */
    toDecide(uid: number): Action | null {
      const trial = unconfirmedOf(modeNow());
      return !trial || trial.by === uid ? null : 'org.culvert.killswitch.disable';
    },
    toSetEndpoints(endpoints: readonly Endpoint[]): Action {
      const now = inForce(modeNow());
      return requiredAction(now, { allowLan: now?.allowLan ?? false, endpoints });
    },
  };
}

/** The change that waits for a confirmation; a pause is not one. */
export function unconfirmedOf(mode: Mode): Trial | null {
  return mode.kind === 'trying' && !isPause(mode.trial) ? mode.trial : null;
}

/** @param fallback what is in force where what is wanted can't be known */
function permissionToEnable(mode: Mode, fallback: Wanted, next: Wanted): Action {
  if (mode.kind !== 'trying')
    return requiredAction(mode.kind === 'off' ? null : mode.kind === 'fail-closed' ? fallback : mode.wanted, next);
  // a change of another user is neither confirmed nor undone by what would need less without it
  const values = mode.trial.wanted ? [mode.trial.wanted, mode.previous] : [mode.previous];
  const needed = values.map(value => requiredAction(value, next));
  return needed.find(action => action !== 'org.culvert.killswitch.enable') ?? 'org.culvert.killswitch.enable';
}
