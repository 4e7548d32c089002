// Decides which change of the state is worth a notification, and what it offers.
import type { Config } from '../../api/schema.ts';
import { type ClientState, current } from '../client/client-state.ts';
import { actionCommand, type Command } from '../form.ts';
import { timeOfDay } from '../time-of-day.ts';
import { fill, type Translator } from '../translator.ts';
import { isPause, type Unconfirmed } from './changes.ts';
import { explainedCause } from './diagnosis.ts';
import { wantsSignIn } from './summary/state.ts';
import { describeTimed } from './timed.ts';

export interface Notification {
  /** One of a kind is shown at a time: the next one replaces it. */
  kind: keyof Config['notifications'];
  summary: string;
  body: string;
  action: { label: string; command: Command } | null;
  /** A second button. */
  other?: { label: string; command: Command };
}

/**
 * The notification about a change, or null.
 * @param before null at the start, which is not worth a notification.
 * @param wanted the user's last action, whose effect needs no notification
 */
export function notificationOf(
  before: ClientState | null,
  after: ClientState,
  wanted: string | null,
  tr: Translator,
): Notification | null {
  const { _ } = tr;
  const then = before && current(before);
  const now = current(after);
  if (!then || !now) return null;
  const on = after.config?.config.notifications;
  if (on?.signIn !== false && wantsSignIn(now.status) && !wantsSignIn(then.status)) {
    const cause = explainedCause(now, tr);
    if (cause) return { kind: 'signIn', summary: cause.title, body: cause.sentence, action: cause.remedy };
  }
  const ending = describeTimed(after, tr).find(
    ({ change: { subject, endingSoon } }) =>
      endingSoon && !then.changes.some(each => each.subject === subject && each.endingSoon),
  );
  if (on?.reminders !== false && ending)
    return {
      kind: 'reminders',
      summary: isPause(ending.change) ? _('WARP is back on in a minute') : _('Ends in a minute'),
      body: ending.text,
      action: ending.extend,
      other: ending.end,
    };
  if (on?.reminders !== false && now.reminder && !then.reminder)
    return {
      kind: 'reminders',
      summary: _('WARP is still off'),
      body: _('You are not protected. Your traffic bypasses WARP.'),
      action: { label: _('Reconnect'), command: actionCommand({ action: 'connect' }) },
    };
  const offForAWhile = now.changes.some(isPause);
  const lost = then.status.state === 'connected' && ['unable', 'disconnected'].includes(now.status.state);
  if (
    on?.connection !== false &&
    lost &&
    !offForAWhile &&
    wanted !== 'disconnect' &&
    now.status.reason?.code !== 'Manual'
  ) {
    const cause = explainedCause(now, tr);
    return {
      kind: 'connection',
      summary: cause?.title ?? _('Disconnected'),
      body: cause?.sentence ?? _('You are not protected. Your traffic bypasses WARP.'),
      action: cause?.remedy ?? { label: _('Reconnect'), command: actionCommand({ action: 'connect' }) },
    };
  }
  const { update } = after;
  const newer = update?.updateAvailable && update.latest !== before?.update?.latest ? update.latest : null;
  if (on?.updates !== false && newer)
    return {
      kind: 'updates',
      // Translators: %s is a version
      summary: fill(_('Culvert %s is available'), newer),
      body: _('Open Culvert to install it.'),
      action: { label: _('Show'), command: { ask: { kind: 'page', page: 'updates' } } },
    };
  return null;
}

/** Asks about a change that was made where no bar with a countdown is seen. */
export function keepNotification({ text, until, keep }: Unconfirmed, { _ }: Translator): Omit<Notification, 'kind'> {
  return {
    summary: _('Keep this change?'),
    // Translators: the first %s is a setting such as Mode: DNS only, the second one a time of day
    body: fill(_('%s. Reverts at %s.'), text, timeOfDay(new Date(until).toISOString(), true)),
    action: { label: _('Keep'), command: keep },
  };
}
