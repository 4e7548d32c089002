// Words the changes that revert automatically, and describes the countdown of unconfirmed changes.
import type { Change, ChangeOptions, Subject } from '../../api/changes.ts';
import type { Mode, Snapshot } from '../../api/schema.ts';
import { type ClientState, current } from '../client/client-state.ts';
import { modeName } from '../client/labels.ts';
import { CONFIRM_SECONDS, type Command, type Span } from '../form.ts';
import { formatDuration, timeOfDay } from '../format.ts';
import { fill, type Translator } from '../translator.ts';
import { problemText } from './problems.ts';

/** Names the subject of a change, for the start of a sentence. */
export function subjectLabel(subject: Subject, { _ }: Translator): string {
  const labels: Record<Subject, string> = {
    connection: _('Connection'),
    mode: _('Mode'),
    protocol: _('Protocol'),
    endpoint: _('Endpoint'),
    masque: 'MASQUE',
    proxyPort: _('Local proxy'),
    families: _('Filter'),
    gatewayId: _('Gateway DNS location'),
    fallback: _('Domains for your own DNS'),
    routes: _('Routes'),
    killSwitch: _('Kill Switch'),
  };
  // a newer daemon may send further subjects
  return labels[subject] ?? subject;
}

/** True for a pause of the tunnel; false for an unconfirmed change that turned it off without an end. */
export function isPause({ subject, value, confirmBy, endsAt }: Change): boolean {
  return subject === 'connection' && value === 'off' && (endsAt !== null || confirmBy === null);
}

/** Lengths of a pause that clients always offer, in minutes. */
const OFF_MINUTES: readonly number[] = [15, 60];

/** Returns the lengths of a pause to offer, in minutes, the last used first. */
export function pauseLengths(snapshot: Snapshot | null): readonly number[] {
  // an older daemon does not remember the last pause
  const seconds = snapshot?.lastPause?.seconds;
  return seconds === undefined ? OFF_MINUTES : [...new Set([seconds / 60, ...OFF_MINUTES])];
}

/** Words a change, with the time when it ends or the reason why it could not: `Back on at 18:00`. */
export function changeText(change: Change, tr: Translator): string {
  const { _ } = tr;
  const { subject, value, confirmBy, endsAt, problem, problemCode = '', wording } = change;
  const label = subjectLabel(subject, tr);
  // Translators: the first %s is such as Mode, the second one a reason
  if (problem !== null) {
    const why = problemText({ code: problemCode, detail: problem, ...(wording ? { wording } : {}) }, tr);
    return fill(_('%s could not be reverted yet: %s'), label, why);
  }
  // Translators: the first %s is such as Mode, the second one a time of day
  if (confirmBy !== null)
    return fill(_('%s: changed, not confirmed; reverts at %s'), label, timeOfDay(confirmBy, true));
  if (endsAt === null) return label;
  const time = timeOfDay(endsAt, false);
  // Translators: %s is a time of day
  if (subject === 'connection') return fill(value === 'off' ? _('Back on at %s') : _('On until %s'), time);
  // Translators: a setting with its value, and a time of day, such as: Mode: DNS only until 18:00
  return fill(_('%s until %s'), settingText(change, tr), time);
}

/** Words the report that the file with pending changes was lost. */
export function lostChangesText({ _ }: Translator): string {
  return _('Changes that should have reverted are still in effect. Check the mode and the connection.');
}

/** Returns the fraction of a span that is left: 1 at its beginning, 0 after its end. */
export function fractionLeft({ from, until }: Span, now: number): number {
  return until > from ? Math.min(1, Math.max(0, (until - now) / (until - from))) : 0;
}

/** The changes that revert unless the user confirms them. */
export interface Unconfirmed extends Span {
  /** The present values: `Mode: DNS only`, one line for each change. */
  text: string;
  /** The same without free values such as an address, because all programs of the session can read it. */
  publicText: string;
  subjects: readonly Subject[];
  keep: Command;
  revert: Command;
}

/** Describes the changes that wait for confirmation; null if no change waits. */
export function describeUnconfirmed(client: ClientState, tr: Translator): Unconfirmed | null {
  const pending = (current(client)?.changes ?? []).filter(({ confirmBy, problem }) => confirmBy && problem === null);
  if (!pending.length) return null;
  const subjects = pending.map(({ subject }) => subject);
  // the change that reverts first
  const first = pending.reduce((a, b) => (Date.parse(b.confirmBy!) < Date.parse(a.confirmBy!) ? b : a));
  return {
    text: pending.map(change => settingText(change, tr)).join('\n'),
    publicText: pending
      .map(change => settingText(change, tr, PUBLIC.includes(change.subject) ? change.value : null))
      .join('\n'),
    subjects,
    from: Date.parse(first.setAt),
    until: Date.parse(first.confirmBy!),
    keep: { ask: { kind: 'change', what: 'confirm', subjects } },
    revert: { ask: { kind: 'change', what: 'revert', subjects } },
  };
}

/** Says when the changes revert: `Mode: DNS only. Reverts at 15:35:20.` */
export function unconfirmedText({ text, until }: Unconfirmed, { _ }: Translator): string {
  // Translators: the first %s is a setting such as Mode: DNS only, the second one a time of day
  return fill(_('%s. Reverts at %s.'), text, timeOfDay(new Date(until).toISOString(), true));
}

/** Words the time left: `Reverting in 0:25`. @param now in ms since the epoch */
export function countdownText({ until }: Unconfirmed, now: number, tr: Translator): string {
  const left = Math.round((until - now) / 1000);
  // Translators: %s is a clock such as 0:25
  return left > 0 ? fill(tr._('Reverting in %s'), formatDuration(left, tr)) : tr._('Reverting…');
}

/** Subjects with a fixed list of values. */
const PUBLIC: readonly Subject[] = ['connection', 'killSwitch', 'mode', 'protocol'];

/** Words the value that a change set: `Mode: DNS only`. */
function settingText({ subject, ...change }: Change, tr: Translator, value = change.value): string {
  const label = subjectLabel(subject, tr);
  if (value === null) return label;
  const onOff: Record<string, string> = {
    on: tr._('On'),
    off: tr._('Off'),
    'on-lan': tr._('On, local network allowed'),
  };
  const names = {
    connection: onOff[value],
    killSwitch: onOff[value],
    mode: modeName(value, tr).title,
  } as Partial<Record<Subject, string>>;
  // Translators: a setting and its value, such as: Mode: DNS only
  return fill(tr._('%s: %s'), label, names[subject] ?? value);
}

/** The most common modes, in display order; all other modes are in `VARIANTS`. */
export const MAIN_MODES: readonly Mode[] = ['warp', 'doh', 'proxy', 'tunnel_only'];
export const VARIANTS: readonly Mode[] = ['warp+doh', 'warp+dot', 'dot'];

/**
 * Returns the options of a change that may break a connected tunnel: it reverts unless the user confirms it, but only if
 * the present mode can be set again.
 */
export function toBeConfirmed(snapshot: Snapshot | null): ChangeOptions {
  const returns = [...MAIN_MODES, ...VARIANTS].some(mode => mode === snapshot?.settings.Mode);
  return snapshot?.status.state === 'connected' && returns ? { confirmWithin: CONFIRM_SECONDS } : {};
}
