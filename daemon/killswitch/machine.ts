// Pure: the state machine of the kill switch. It maps each event to effects, which `keeper.ts` carries out, and each mode to the
// published report.
import type { Protection, Report, Unconfirmed } from './report.ts';
import { isPause, isSame, type Stored, type Trial, type Wanted } from './rules/wanted.ts';
import { explained, type Message, message } from './wording.ts';

export type Mode =
  | { kind: 'off' }
  /** `fingerprint`: identifies the table as it was last put in force; null until then. */
  | { kind: 'on'; wanted: Wanted; fingerprint: string | null }
  /** A pause or an unconfirmed change. `previous`: the value to restore at its deadline; null: off. */
  | { kind: 'trying'; trial: Trial; previous: Wanted | null; fingerprint: string | null }
  /** Fail closed: rules are in force or must be, but the stored ones can't be read. */
  | { kind: 'fail-closed'; why: Message };

export type Event =
  /**
   * The service started and read its files.
   * `inForce`: a table exists. `due`: the trial has ended.
   */
  | { kind: 'started'; stored: Stored; trial: { trial: Trial; due: boolean } | null; inForce: boolean }
  | { kind: 'enable'; wanted: Wanted }
  | { kind: 'disable' }
  /** A pause, or a change to be confirmed. `seconds`: until `trial.until`. */
  | { kind: 'try'; trial: Trial; seconds: number }
  | { kind: 'confirm' }
  /** The end of a pause or an unconfirmed change, by request or at its deadline. */
  | { kind: 'revert' }
  /** Another program changed or removed the table. */
  | { kind: 'damaged' };

export type Effect =
  | { do: 'store-rules'; wanted: Wanted }
  /** Stores the rules only where an earlier version rendered them differently. */
  | { do: 'refresh-rules'; wanted: Wanted }
  /** Puts a file back as it was. */
  | { do: 'restore-rules' | 'restore-trial'; text: string }
  | { do: 'store-trial'; trial: Trial }
  | { do: 'forget-rules' }
  | { do: 'forget-trial'; tolerant?: true }
  /** Starts or stops listening for foreign changes. */
  | { do: 'watch'; on: boolean }
  /** Puts rules in force. null: puts the fallback in force, unless the current rules already block. */
  | { do: 'block'; wanted: Wanted | null }
  | { do: 'open' }
  /** Has systemd load the rules later, even if this process dies. */
  | { do: 'arm'; seconds: number }
  | { do: 'disarm'; tolerant: true };

interface Transition {
  mode: Mode;
  effects: readonly Effect[];
}

type Trying = Extract<Mode, { kind: 'trying' }>;

const DISARM: Effect = { do: 'disarm', tolerant: true };
const FORGET_TRIAL: Effect = { do: 'forget-trial' };

/** The value that should be in force; null: nothing, or it can't be known. */
export function inForce(mode: Mode): Wanted | null {
  return mode.kind === 'trying' ? mode.trial.wanted : mode.kind === 'on' ? mode.wanted : null;
}

/** The order of the effects matters: a crash between any two leaves the machine blocked, unless the kill switch is off. */
export function transition(mode: Mode, event: Event): Transition {
  switch (event.kind) {
    case 'started':
      return start(event);
    case 'enable':
      return enable(mode, event.wanted);
    case 'disable':
      return {
        mode: { kind: 'off' },
        effects: [
          { do: 'forget-rules' }, // first: a crash from here on leaves rules in force but not stored, never the reverse
          { do: 'watch', on: false },
          { do: 'open' },
          FORGET_TRIAL, // last: until then, the trial explains to a restart why rules are in force but not stored
          DISARM,
        ],
      };
    case 'try':
      return begin(mode, event);
    case 'confirm':
      return mode.kind === 'trying' && !isPause(mode.trial) ? confirm(mode) : { mode, effects: [] };
    case 'revert':
      return mode.kind === 'trying' ? returning(mode.previous) : { mode, effects: [] };
    case 'damaged': {
      if (mode.kind === 'fail-closed') return { mode, effects: [{ do: 'block', wanted: null }] };
      const wanted = inForce(mode);
      return { mode, effects: wanted ? blocking(wanted) : [] };
    }
  }
}

function start({ stored, trial: storedTrial, inForce: hasTable }: Extract<Event, { kind: 'started' }>): Transition {
  const forget: Effect[] = storedTrial ? [{ do: 'forget-trial', tolerant: true }] : [];
  if (stored.kind === 'broken') return failClosed(stored.why, forget);
  const previous = stored.kind === 'wanted' ? stored.wanted : null;
  // equal values: the change had been confirmed
  const pending = storedTrial && !isSame(storedTrial.trial.wanted, previous) ? storedTrial : null;
  if (pending && !pending.due) return trying(pending.trial, previous);
  if (!previous && !pending)
    return hasTable
      ? failClosed(message('Nothing is stored, but rules of an earlier run are in force.'), forget)
      : { mode: { kind: 'off' }, effects: forget };
  const { mode, effects } = returning(previous);
  return { mode, effects: previous ? [...effects, { do: 'refresh-rules', wanted: previous }] : effects };
}

function failClosed(why: Message, before: readonly Effect[]): Transition {
  return {
    mode: { kind: 'fail-closed', why },
    effects: [...before, { do: 'watch', on: true }, { do: 'block', wanted: null }],
  };
}

function enable(mode: Mode, wanted: Wanted): Transition {
  // an unconfirmed "off" must not outlive the request to block; the stored rules already block
  const first = mode.kind === 'trying' && mode.trial.wanted === null ? [FORGET_TRIAL] : [];
  return {
    mode: { kind: 'on', wanted, fingerprint: null },
    effects: [
      ...first,
      { do: 'store-rules', wanted }, // the wanted rules first: a crash from here on ends blocked
      FORGET_TRIAL,
      ...blocking(wanted),
      DISARM,
    ],
  };
}

/** Begins a trial. The rules file keeps the previous value, which a reboot, the boot guard or systemd's timer restores. */
function begin(mode: Mode, { trial, seconds }: Extract<Event, { kind: 'try' }>): Transition {
  const previous = mode.kind === 'trying' ? mode.previous : inForce(mode);
  const isOther = mode.kind === 'trying' && isPause(mode.trial) !== isPause(trial);
  if (mode.kind === 'fail-closed' || isOther || (isPause(trial) && !previous)) return { mode, effects: [] };
  if (isSame(trial.wanted, previous))
    return transition(mode, previous ? { kind: 'enable', wanted: previous } : { kind: 'disable' });
  const next = trying(trial, previous);
  // the block is not lifted before systemd is sure to restore it
  const arm: Effect[] = trial.wanted ? [] : [{ do: 'arm', seconds }];
  return {
    mode: next.mode,
    effects: [...arm, { do: 'store-trial', trial }, ...next.effects, ...(trial.wanted ? [DISARM] : [])],
  };
}

/** Puts a stored trial in force. */
function trying(trial: Trial, previous: Wanted | null): Transition {
  return {
    mode: { kind: 'trying', trial, previous, fingerprint: null },
    effects: trial.wanted ? blocking(trial.wanted) : [{ do: 'watch', on: true }, { do: 'open' }],
  };
}

/** Stores the tried value, then forgets the trial: after a crash between the two, both files have the same value. */
function confirm(mode: Trying): Transition {
  const { wanted } = mode.trial;
  if (wanted === null) return transition(mode, { kind: 'disable' });
  return {
    mode: { kind: 'on', wanted, fingerprint: mode.fingerprint },
    effects: [{ do: 'store-rules', wanted }, FORGET_TRIAL],
  };
}

/** Restores the value from before a trial. The trial is forgotten last, so that a restart in between restores the value too. */
function returning(previous: Wanted | null): Transition {
  if (previous === null)
    return {
      mode: { kind: 'off' },
      effects: [{ do: 'watch', on: false }, { do: 'open' }, FORGET_TRIAL],
    };
  return {
    mode: { kind: 'on', wanted: previous, fingerprint: null },
    effects: [...blocking(previous), FORGET_TRIAL, DISARM],
  };
}

function blocking(wanted: Wanted): Effect[] {
  return [
    { do: 'watch', on: true },
    { do: 'block', wanted },
  ];
}

/**
 * The event that the state of the kernel calls for, or null.
 * @param fingerprint fingerprint of the table in force; null without a table
 * @param blocks true if that table blocks outgoing packets
 * @param uptime seconds since boot
 */
export function reconcile(
  mode: Mode,
  { fingerprint, blocks }: { fingerprint: string | null; blocks: boolean },
  uptime: number,
): Event | null {
  switch (mode.kind) {
    case 'off':
      return null;
    case 'on':
      return fingerprint === null || fingerprint !== mode.fingerprint ? { kind: 'damaged' } : null;
    case 'trying':
      if (mode.trial.until <= uptime) return { kind: 'revert' };
      // a table before the deadline: systemd's timer has already restored the rules
      if (mode.trial.wanted === null) return fingerprint !== null ? { kind: 'revert' } : null;
      return fingerprint === null || fingerprint !== mode.fingerprint ? { kind: 'damaged' } : null;
    case 'fail-closed':
      return blocks ? null : { kind: 'damaged' };
  }
}

/** The files before a change; null for a missing or unreadable one. */
interface FilesBefore {
  rules: string | null;
  trial: string | null;
}

/** Effects that restore the state before a failed change. */
export function undo(before: Mode, event: Event, { rules, trial }: FilesBefore): Transition {
  const isFirstTrial = event.kind === 'try' && trial === null;
  // first: whatever fails after this, the next start does not begin the failed change
  const effects: Effect[] = isFirstTrial ? [FORGET_TRIAL] : [];
  if (rules !== null) effects.push({ do: 'restore-rules', text: rules });
  if (trial !== null) effects.push({ do: 'restore-trial', text: trial });
  if (isFirstTrial) effects.push(DISARM);
  const wasOff = before.kind === 'off' || (before.kind === 'trying' && before.previous === null);
  if (rules === null && wasOff && event.kind !== 'disable') effects.push({ do: 'forget-rules' });
  if (before.kind !== 'off') {
    if (event.kind !== 'enable' || before.kind === 'trying') effects.push({ do: 'watch', on: true });
  } else if (event.kind !== 'disable') effects.push({ do: 'watch', on: false }, { do: 'open' });
  return { mode: before, effects };
}

interface Measurement {
  /** True while the kernel blocks; null when it did not answer. */
  active: boolean | null;
  protection: Protection;
  /** True while the boot guard is installed and not masked. */
  bootGuard: boolean;
  backend: string | null;
  /** Why the last attempt to bring kernel and disk in step failed. */
  trouble: Message[] | null;
  /** True while a helper may send outside the tunnel, so that a user can sign in to a network. */
  isSigningIn: boolean;
  /** When a foreign change was last repaired, in milliseconds since the epoch. */
  repairedAt: number | null;
  /** End of a pause or of an unconfirmed change, in milliseconds since the epoch. */
  ends: number;
}

export function describeState(mode: Mode, measured: Measurement): Report {
  const { active, protection, bootGuard, backend, repairedAt, ends } = measured;
  const wanted = wantedOf(mode);
  return {
    enabled: wanted !== null || mode.kind === 'fail-closed',
    allowLan: wanted?.allowLan ?? false,
    active,
    protection,
    bootGuard: returnsAtBoot(mode) && bootGuard,
    backend,
    ...explained(wordingFor(mode, measured)),
    pausedUntil: isPaused(mode) ? toIso(ends) : null,
    repairedAt: repairedAt === null ? null : toIso(repairedAt),
    confirmable: true,
    unconfirmed: mode.kind === 'trying' && !isPaused(mode) ? unconfirmed(mode, ends) : null,
  };
}

function isPaused(mode: Mode): boolean {
  return mode.kind === 'trying' && isPause(mode.trial);
}

/** The value that the user set, even during a pause; null: off or unknown. */
function wantedOf(mode: Mode): Wanted | null {
  if (mode.kind === 'trying') return isPaused(mode) ? mode.previous : mode.trial.wanted;
  return mode.kind === 'on' ? mode.wanted : null;
}

/** True if the kill switch is on after a reboot, which reverts an unconfirmed change. */
function returnsAtBoot(mode: Mode): boolean {
  return mode.kind === 'trying' ? mode.previous !== null : mode.kind !== 'off';
}

function unconfirmed({ trial, previous }: Extract<Mode, { kind: 'trying' }>, ends: number): Unconfirmed {
  return {
    setAt: toIso(trial.setAt),
    confirmBy: toIso(ends),
    previous: { enabled: previous !== null, allowLan: previous?.allowLan ?? false },
  };
}

function wordingFor(mode: Mode, { active, trouble, isSigningIn, repairedAt }: Measurement): Message[] {
  if (trouble) return trouble;
  if (mode.kind === 'fail-closed')
    return [
      mode.why,
      message('Everything outside the tunnel stays blocked until the kill switch is turned on or off again.'),
    ];
  if (isPaused(mode)) return [message('Paused.')];
  if (!wantedOf(mode) && active)
    return [message('Rules are in force although the kill switch is off. Turn it off again to remove them.')];
  if (isSigningIn)
    return [message('A user is signing in to this network: only the browser of the sign-in may send outside WARP.')];
  if (repairedAt === null) return [];
  return [message('Another program changed the rules at %s; they were put back.', { time: toIso(repairedAt) })];
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}
