// Pure: the published report on the kill switch.
import type { Protection, Report, Unconfirmed } from './report.ts';
import { isPause } from './rules/persisted-rules.ts';
import type { Wanted } from './rules/request.ts';
import type { Mode } from './transition.ts';
import { explained, type Message, message } from './wording.ts';

export interface Measurement {
  /** True while the kernel blocks; null when it did not answer. */
  active: boolean | null;
  protection: Protection;
  /** True while the boot guard is installed and not masked. */
  bootGuard: boolean;
  backend: string | null;
  /** Why the last attempt to bring kernel and disk in step failed. */
  trouble: Message[] | null;
  /** A helper may send outside the tunnel, so that a user can sign in to a network. */
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

/** The value that the user set, also during a pause; null: off, or it can't be known. */
function wantedOf(mode: Mode): Wanted | null {
  if (mode.kind === 'trying') return isPaused(mode) ? mode.previous : mode.trial.wanted;
  return mode.kind === 'on' ? mode.wanted : null;
}

/** An unconfirmed change does not outlive a reboot. */
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
