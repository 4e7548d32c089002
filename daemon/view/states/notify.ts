// Decides which change is worth a notification: the only place that does, for the tray and for the bridge.
import { type ClientState, current } from '../client/client-state.ts';
import type { Translator } from '../translator.ts';
import {
  askingRule,
  isRemovalDue,
  loginOf,
  type Notification,
  presentNotification,
  SLOTS,
  type Slot,
  unknownWifi,
} from './notification.ts';
import { isConnectIgnored, stateOf } from './summary/state.ts';

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
  if (!before || !current(before) || !current(after)) return null;
  const changed: Record<Exclude<Slot, 'keep'>, boolean> = {
    state: isTrouble(before, after, wanted),
    network: hasNetworkNews(before, after),
    reminder: hasReminder(before, after),
    certificate: isRemovalDue(after) && !isRemovalDue(before),
    update: hasUpdateNews(before, after),
  };
  for (const slot of SLOTS) {
    const news = slot !== 'keep' && changed[slot] ? presentNotification(slot, after, tr) : null;
    if (news) return news;
  }
  return null;
}

/**
 * The state to compare the next one with. While the state is not known, the last one that was known counts: a tunnel that was up
 * and is then found to be down was lost.
 */
export function toCompare(before: ClientState | null, after: ClientState): ClientState {
  const known = before && current(before);
  const snapshot = current(after);
  if (!known || !snapshot || stateOf(after) !== 'unknown') return after;
  return { ...after, snapshot: { ...snapshot, status: known.status } };
}

/** The tunnel was lost, or did not come up, or something has to be done, and the user did not bring it about. */
function isTrouble(before: ClientState, after: ClientState, wanted: string | null): boolean {
  const [then, now] = [stateOf(before), stateOf(after)];
  const isNew = isConnectIgnored(current(after)!) && !isConnectIgnored(current(before)!);
  if (then === 'unknown' || (then === now && !isNew)) return false;
  if (now === 'needs-you') return true;
  if (wanted === 'disconnect') return false;
  if (isNew) return true;
  return now === 'blocked' || (then === 'connected' && (now === 'disconnected' || now === 'unable'));
}

/** Between two states, what is shown of the tunnel stays. */
export function isBetweenStates(client: ClientState): boolean {
  return ['connecting', 'disconnecting', 'unknown'].includes(stateOf(client));
}

function hasReminder(before: ClientState, after: ClientState): boolean {
  const [then, now] = [current(before)!, current(after)!];
  const soon = now.changes.filter(({ endingSoon }) => endingSoon);
  return (
    soon.some(({ subject }) => !then.changes.some(each => each.subject === subject && each.endingSoon)) ||
    (now.reminder !== null && then.reminder === null)
  );
}

function hasNetworkNews(before: ClientState, after: ClientState): boolean {
  const [then, now] = [current(before)!.networks, current(after)!.networks];
  if (!now) return false;
  const asked = askingRule(now);
  return (
    (asked !== null && asked !== askingRule(then)) ||
    (now.acted !== null && now.acted.at !== then?.acted?.at) ||
    (loginOf(after) !== null && loginOf(before) === null) ||
    // a client that begins to follow the networks has not changed them
    (then !== null && unknownWifi(now) !== null && unknownWifi(now)?.name !== unknownWifi(then)?.name)
  );
}

function hasUpdateNews(before: ClientState, after: ClientState): boolean {
  const [then, now] = [before.update, after.update];
  if (!now) return false;
  const failed = now.source.state !== 'ok' && now.source.state !== (then?.source.state ?? 'ok');
  return failed || (now.updateAvailable && now.latest !== then?.latest);
}
