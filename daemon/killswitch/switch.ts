// The kill switch: keeps what is wanted, stored, in the kernel and published in step. It knows no bus, files or processes;
// they come in as `Edges`.
import { describeState } from './describe-state.ts';
import type { Edges } from './edges.ts';
import { createEffects, messageOf, readStored, readTrial, tolerant } from './effects.ts';
import { type Action, requiredAction } from './permission.ts';
import type { Report } from './report.ts';
import type { Wanted } from './request.ts';
import { isPause, type Trial } from './rules/persisted-rules.ts';
import type { Endpoint } from './rules/rules.ts';
import { isBlocking, type Listing } from './rules/ruleset-diff.ts';
import { type Event, inForce, type Mode, reconcile, transition, undo } from './transition.ts';
import { type Message, N_, wordingOf } from './wording.ts';

/** A refusal or failure with the name it has on the bus. */
export class SwitchError extends Error {
  readonly code:
    | 'Denied'
    | 'InvalidArgument'
    | 'LimitsExceeded'
    | 'NotEnabled'
    | 'NothingPending'
    | 'Unconfirmed'
    | 'Failed';
  constructor(code: SwitchError['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SwitchError';
    this.code = code;
  }
}

/** The user who makes a change, and the permissions of that user. */
export interface Caller {
  uid: number;
  granted: readonly Action[];
}

export interface Switch {
  /** Brings the kernel to what is stored. Never throws: what went wrong is in the report. */
  start(): Promise<Report>;
  /**
   * @param granted what the caller may do. What the change needs is decided on the state that it changes.
   * @throws SwitchError Denied; Failed, with everything as it was before
   */
  enable(wanted: Wanted, granted: readonly Action[]): Promise<Report>;
  /** @throws SwitchError Failed */
  disable(): Promise<Report>;
  /**
   * Sets a value whose previous one returns after some seconds, unless it is confirmed.
   * @param wanted null: off
   * @throws SwitchError Denied; Unconfirmed in a pause, or while what is wanted can't be known; Failed
   */
  try(wanted: Wanted | null, seconds: number, caller: Caller): Promise<Report>;
  /** Keeps the unconfirmed value. @throws SwitchError NothingPending, Denied, Failed */
  confirm(caller: Caller): Promise<Report>;
  /** Brings the previous value back now. @throws SwitchError as `confirm` */
  revert(caller: Caller): Promise<Report>;
  /** Replaces the endpoints of what is on, confirmed or not. @throws SwitchError NotEnabled, Denied, Failed */
  setEndpoints(endpoints: readonly Endpoint[], granted: readonly Action[]): Promise<Report>;
  /** @param seconds 0 ends a pause. @throws SwitchError NotEnabled, Unconfirmed, Failed */
  pause(seconds: number): Promise<Report>;
  /** Measures, repairs what another program changed, and publishes. */
  check(): Promise<Report>;
  /** Permission that enabling needs at the moment. */
  permissionFor(wanted: Wanted): Action;
  /** Permission needed to start a trial. @param wanted null: off */
  permissionToTry(wanted: Wanted | null, uid: number): Action;
  /** Permission that confirming or reverting needs; null for the user who made the change, and without a change. */
  permissionToDecide(uid: number): Action | null;
  /** Permission that replacing the endpoints needs. */
  permissionForEndpoints(endpoints: readonly Endpoint[]): Action;
  /** Nothing to guard, so that the process may end. */
  idle(): boolean;
}

/** Until the next attempt, where the kernel did not take what is wanted. */
const RETRY_SECONDS = 2;

/** Keeps kernel, files and report in step with the mode. Its calls must not overlap. */
function createKeeper(edges: Edges, ring: () => void) {
  const { kernel, files, clock } = edges;
  let mode: Mode = { kind: 'off' };
  let trouble: Message[] | null = null;
  let repairedAt: number | null = null;
  let announced: { until: number; ends: number } | null = null;
  const effects = createEffects(edges);

  /** Runs what an event calls for; the mode follows once all of it is done, or first. @throws Error */
  async function run({ mode: next, effects: list }: ReturnType<typeof transition>, order: 'first' | 'after' = 'after') {
    if (order === 'first') mode = next;
    for (const effect of list) await effects.run(effect);
    mode = 'fingerprint' in next && inForce(next) ? { ...next, fingerprint: effects.fingerprint() } : next;
  }

  /** Repairs, ends a pause whose time has come, and lists. */
  async function settle(): Promise<Listing | null> {
    const listing = await kernel.list();
    const seen = { fingerprint: listing?.fingerprint ?? null, blocks: isBlocking(listing) };
    const event = reconcile(mode, seen, clock.uptime());
    if (!event) return listing;
    if (event.kind === 'damaged') await repairDamage();
    else await run(transition(mode, event));
    return kernel.list();
  }

  async function repairDamage(): Promise<void> {
    if (!('fingerprint' in mode) || mode.fingerprint !== null) repairedAt = clock.now();
    await run(transition(mode, { kind: 'damaged' }));
  }

  /** By the clock of the wall as it was when the trial began: a report must not change with each measurement. */
  function trialEnds({ until }: Trial): number {
    if (announced?.until !== until) announced = { until, ends: clock.now() + (until - clock.uptime()) * 1000 };
    return announced.ends;
  }

  async function measure(): Promise<Report> {
    let listing: Listing | null | undefined;
    try {
      listing = await settle();
      if (mode.kind !== 'fail-closed') trouble = null;
    } catch (error) {
      trouble = wordingOf(error);
      listing = await kernel.list().catch(() => undefined);
    }
    const active = listing === undefined ? null : isBlocking(listing);
    const report = describeState(mode, {
      active,
      protection: kernel.protection(listing ?? null),
      bootGuard: edges.bootGuard(),
      backend: kernel.backend,
      trouble,
      repairedAt,
      ends: mode.kind === 'trying' ? trialEnds(mode.trial) : 0,
    });
    edges.alarm(nextLook(mode, active, clock.uptime()), ring);
    edges.publish(report);
    return report;
  }

  /** Runs a change, or brings back what was before. @throws SwitchError Failed */
  async function change(event: Event, failure: string): Promise<Report> {
    const before = mode;
    const stored = {
      rules: tolerant(() => files.read('rules.nft')),
      trial: tolerant(() => files.read('trial.json')),
    };
    try {
      await run(transition(mode, event));
      trouble = repairedAt = null;
    } catch (error) {
      await run(undo(before, event, stored)).catch(() => {});
      await measure();
      throw new SwitchError('Failed', `${failure}: ${messageOf(error)}`, error);
    }
    return measure();
  }

  async function start(): Promise<Report> {
    try {
      const stored = readStored(files);
      const event: Event = {
        kind: 'started',
        stored,
        trial: readTrial(edges),
        inForce: stored.kind === 'absent' && (await kernel.list()) !== null,
      };
      await run(transition(mode, event), 'first');
    } catch (error) {
      trouble = wordingOf(error);
    }
    return measure();
  }

  return {
    start,
    change,
    measure,
    mode: () => mode,
  };
}

/** Seconds until something has to be done; null: time alone calls for nothing. */
function nextLook(mode: Mode, active: boolean | null, uptime: number): number | null {
  if (mode.kind === 'trying') {
    const left = mode.trial.until - uptime;
    const retry = active !== true && mode.trial.wanted !== null;
    return retry || left <= 0 ? Math.min(RETRY_SECONDS, left > 0 ? left : RETRY_SECONDS) : left;
  }
  return active !== true && mode.kind !== 'off' ? RETRY_SECONDS : null;
}

/** The change that waits for a confirmation; a pause is not one. */
function unconfirmedOf(mode: Mode): Trial | null {
  return mode.kind === 'trying' && !isPause(mode.trial) ? mode.trial : null;
}

export function createSwitch(edges: Edges): Switch {
  const { clock } = edges;
  const keeper = createKeeper(edges, () => void check());
  const inTurn = createQueue();
  let checking: Promise<Report> | null = null;

  /** Callers that ask while a check waits for its turn share that check. */
  function check(): Promise<Report> {
    checking ??= inTurn(() => {
      checking = null;
      return keeper.measure();
    });
    return checking;
  }

  /** @param by null: a pause */
  function trialOf(wanted: Wanted | null, seconds: number, by: number | null): Event {
    const { bootId } = clock;
    return { kind: 'try', trial: { bootId, until: clock.uptime() + seconds, by, setAt: clock.now(), wanted }, seconds };
  }

  async function pause(seconds: number): Promise<Report> {
    const mode = keeper.mode();
    if (unconfirmedOf(mode))
      throw new SwitchError(
        'Unconfirmed',
        N_('The kill switch was changed, and that is not confirmed yet. Decide first.'),
      );
    if (mode.kind !== 'on' && mode.kind !== 'trying')
      throw new SwitchError('NotEnabled', N_('There is nothing to pause: the kill switch is not on.'));
    if (seconds > 0) return keeper.change(trialOf(null, seconds, null), 'The kill switch was not paused');
    return mode.kind === 'on' ? keeper.measure() : keeper.change({ kind: 'revert' }, 'The pause could not be ended');
  }

  function permissionFor(wanted: Wanted): Action {
    return permissionToEnable(keeper.mode(), edges.fallback, wanted);
  }

  /** Replacing another user's trial would move its deadline and take the decision away from that user. */
  function permissionToTry(wanted: Wanted | null, uid: number): Action {
    const isAnothers = (unconfirmedOf(keeper.mode())?.by ?? uid) !== uid;
    return wanted === null || isAnothers ? 'org.culvert.killswitch.disable' : permissionFor(wanted);
  }

  async function enable(wanted: Wanted, granted: readonly Action[]): Promise<Report> {
    if (!granted.includes(permissionFor(wanted))) throw changedMeanwhile();
    return keeper.change({ kind: 'enable', wanted }, 'The rules could not be put in force');
  }

  async function tryValue(wanted: Wanted | null, seconds: number, { uid, granted }: Caller): Promise<Report> {
    if (!granted.includes(permissionToTry(wanted, uid))) throw changedMeanwhile();
    const mode = keeper.mode();
    const isPaused = mode.kind === 'trying' && isPause(mode.trial);
    if (isPaused || mode.kind === 'fail-closed')
      throw new SwitchError(
        'Unconfirmed',
        isPaused
          ? N_('A change that is to be confirmed cannot begin in a pause. End the pause first.')
          : N_('What is stored cannot be read, so it could not return. Make the change without a time to confirm it.'),
      );
    return keeper.change(trialOf(wanted, seconds, uid), 'The kill switch was not changed');
  }

  /** @throws SwitchError NothingPending, Denied */
  function checkDecision(kind: 'confirm' | 'revert', { uid, granted }: Caller): void {
    const trial = unconfirmedOf(keeper.mode());
    // a return that failed and is tried again does not give a second chance to confirm
    if (!trial || (kind === 'confirm' && trial.until <= clock.uptime()))
      throw new SwitchError(
        'NothingPending',
        N_('There is no such change, or the previous value has returned already.'),
      );
    const action = permissionToDecide(trial, uid);
    if (action && !granted.includes(action)) throw changedMeanwhile();
  }

  async function decide(kind: 'confirm' | 'revert', caller: Caller): Promise<Report> {
    // a timer may be late, above all in a machine that slept
    await keeper.measure();
    checkDecision(kind, caller);
    return keeper.change({ kind }, kind === 'confirm' ? 'The change was not kept' : 'The change was not taken back');
  }

  function permissionForEndpoints(endpoints: readonly Endpoint[]): Action {
    const now = inForce(keeper.mode());
    return requiredAction(now, { allowLan: now?.allowLan ?? false, endpoints });
  }

  async function setEndpoints(endpoints: readonly Endpoint[], granted: readonly Action[]): Promise<Report> {
    const mode = keeper.mode();
    if (mode.kind !== 'on' && (mode.kind !== 'trying' || !mode.trial.wanted))
      throw new SwitchError('NotEnabled', N_('There are no rules to change: the kill switch is not on.'));
    if (!granted.includes(permissionForEndpoints(endpoints))) throw changedMeanwhile();
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
    permissionFor,
    permissionToTry,
    permissionToDecide(uid) {
      const trial = unconfirmedOf(keeper.mode());
      return trial && permissionToDecide(trial, uid);
    },
    permissionForEndpoints,
    idle: () => keeper.mode().kind === 'off',
  };
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

/** The user who made a change had the permission to make it for good. For the change of another user an administrator decides. */
function permissionToDecide({ by }: Trial, uid: number): Action | null {
  return by === uid ? null : 'org.culvert.killswitch.disable';
}

function changedMeanwhile(): SwitchError {
  return new SwitchError('Denied', N_('The kill switch was changed while permission was asked for. Try again.'));
}

/** One operation at a time: two of them never meet in the kernel or on disk. */
function createQueue() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(operation: () => Promise<T>): Promise<T> => {
    const result = last.then(operation);
    last = result.catch(() => {});
    return result;
  };
}
