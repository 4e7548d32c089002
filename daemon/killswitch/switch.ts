// Keeps the wanted, stored, enforced and published state of the kill switch in step. It knows no bus, files or processes, which
// come in as `Edges`.
import { createKeeper, type Edges } from './keeper.ts';
import { type Event, inForce } from './machine.ts';
import { createQueue, createShared } from './pacing.ts';
import { type Action, createPermissions, type Permissions, unconfirmedOf } from './permission.ts';
import type { Report } from './report.ts';
import type { Endpoint } from './rules/endpoints.ts';
import { isPause, type Wanted } from './rules/wanted.ts';
import { N_, SwitchError } from './wording.ts';

/** The user who makes a change, and that user's permissions. */
export interface Caller {
  uid: number;
  granted: readonly Action[];
}

export interface Switch {
  /** Puts the stored rules in force. Never throws: the report contains the failure. */
  start(): Promise<Report>;
  /**
   * @param granted the caller's permissions. The current state decides which permission the change needs.
   * @throws SwitchError Denied; Failed, with everything unchanged
   */
  enable(wanted: Wanted, granted: readonly Action[]): Promise<Report>;
  /** @throws SwitchError Failed */
  disable(): Promise<Report>;
  /**
   * Sets a value. The previous value returns after some seconds, unless the new value is confirmed.
   * @param wanted null to turn the switch off
   * @throws SwitchError Denied; Unconfirmed in a pause, or while the stored settings can't be read; Failed
   */
  try(wanted: Wanted | null, seconds: number, caller: Caller): Promise<Report>;
  /** Keeps the unconfirmed value. @throws SwitchError NothingPending, Denied, Failed */
  confirm(caller: Caller): Promise<Report>;
  /** Restores the previous value now. @throws SwitchError like `confirm` */
  revert(caller: Caller): Promise<Report>;
  /** Replaces the endpoints of the rules in force, confirmed or not. @throws SwitchError NotEnabled, Denied, Failed */
  setEndpoints(endpoints: readonly Endpoint[], granted: readonly Action[]): Promise<Report>;
  /** @param seconds 0 ends a pause. @throws SwitchError NotEnabled, Unconfirmed, Failed */
  pause(seconds: number): Promise<Report>;
  /** Measures the state, repairs foreign changes, and publishes the report. */
  check(): Promise<Report>;
  /** Permission that each call needs at present. */
  permissions: Permissions;
  /** True if rules are in force, or must be. */
  isBlocking(): boolean;
  /** True if there is nothing to guard, so the process may end. */
  idle(): boolean;
}

export function createSwitch(edges: Edges): Switch {
  const { clock } = edges;
  const keeper = createKeeper(edges, () => void check());
  const permissions = createPermissions(keeper.mode, edges.fallback);
  const inTurn = createQueue();
  const check = createShared(inTurn, keeper.measure);

  /** @param by the user; null for a pause */
  function trialOf(wanted: Wanted | null, seconds: number, by: number | null): Event {
    const { bootId } = clock;
    return { kind: 'try', trial: { bootId, until: clock.uptime() + seconds, by, setAt: clock.now(), wanted }, seconds };
  }

  async function pause(seconds: number): Promise<Report> {
    const mode = keeper.mode();
    if (unconfirmedOf(mode))
      throw new SwitchError(
        'Unconfirmed',
        N_('The last change of the kill switch is not confirmed yet. Keep or revert it first.'),
      );
    if (mode.kind !== 'on' && mode.kind !== 'trying')
      throw new SwitchError('NotEnabled', N_('There is nothing to pause: the kill switch is not on.'));
    if (seconds > 0) return keeper.change(trialOf(null, seconds, null), 'The kill switch was not paused');
    return mode.kind === 'on' ? keeper.measure() : keeper.change({ kind: 'revert' }, 'The pause could not be ended');
  }

  async function enable(wanted: Wanted, granted: readonly Action[]): Promise<Report> {
    if (!granted.includes(permissions.toEnable(wanted))) throw changedMeanwhile();
    return keeper.change({ kind: 'enable', wanted }, 'The rules could not be put in force');
  }

  async function tryValue(wanted: Wanted | null, seconds: number, { uid, granted }: Caller): Promise<Report> {
    if (!granted.includes(permissions.toTry(wanted, uid))) throw changedMeanwhile();
    const mode = keeper.mode();
    const isPaused = mode.kind === 'trying' && isPause(mode.trial);
    if (isPaused || mode.kind === 'fail-closed')
      throw new SwitchError(
        'Unconfirmed',
        isPaused
          ? N_('A change with a confirmation cannot start during a pause. End the pause first.')
          : N_(
              'The stored settings cannot be read, so this change could not be reverted. Make it without a confirmation.',
            ),
      );
    return keeper.change(trialOf(wanted, seconds, uid), 'The kill switch was not changed');
  }

  /** @throws SwitchError NothingPending, Denied */
  function checkDecision(kind: 'confirm' | 'revert', { uid, granted }: Caller): void {
    const trial = unconfirmedOf(keeper.mode());
    // retrying a failed revert gives no second chance to confirm
    if (!trial || (kind === 'confirm' && trial.until <= clock.uptime()))
      throw new SwitchError('NothingPending', N_('There is no such change, or it was already reverted.'));
    const action = permissions.toDecide(uid);
    if (action && !granted.includes(action)) throw changedMeanwhile();
  }

  async function decide(kind: 'confirm' | 'revert', caller: Caller): Promise<Report> {
    // a timer may be late, above all after a suspend
    await keeper.measure();
    checkDecision(kind, caller);
    return keeper.change({ kind }, kind === 'confirm' ? 'The change was not kept' : 'The change was not reverted');
  }

  async function setEndpoints(endpoints: readonly Endpoint[], granted: readonly Action[]): Promise<Report> {
    const mode = keeper.mode();
    if (mode.kind !== 'on' && (mode.kind !== 'trying' || !mode.trial.wanted))
      throw new SwitchError('NotEnabled', N_('There are no rules to change: the kill switch is not on.'));
    if (!granted.includes(permissions.toSetEndpoints(endpoints))) throw changedMeanwhile();
    const wanted = { allowLan: inForce(mode)!.allowLan, endpoints };
    const event: Event =
      mode.kind === 'on'
        ? { kind: 'enable', wanted }
        : { kind: 'try', trial: { ...mode.trial, wanted }, seconds: mode.trial.until - clock.uptime() };
    return keeper.change(event, 'The rules could not be put in force');
  }

  return {
    start: () => inTurn(keeper.start),
    enable: (wanted, granted) => inTurn(() => enable(wanted, granted)),
    disable: () => inTurn(() => keeper.change({ kind: 'disable' }, 'The rules could not be removed')),
    try: (wanted, seconds, caller) => inTurn(() => tryValue(wanted, seconds, caller)),
    confirm: caller => inTurn(() => decide('confirm', caller)),
    revert: caller => inTurn(() => decide('revert', caller)),
    setEndpoints: (endpoints, granted) => inTurn(() => setEndpoints(endpoints, granted)),
    pause: seconds => inTurn(() => pause(seconds)),
    check,
    permissions,
    isBlocking: () => keeper.mode().kind === 'fail-closed' || inForce(keeper.mode()) !== null,
    idle: () => keeper.mode().kind === 'off',
  };
}

function changedMeanwhile(): SwitchError {
  return new SwitchError('Denied', N_('The kill switch was changed while permission was asked for. Try again.'));
}
