// Chooses the changes that deserve a notification, and words the notifications for the tray and the bridge.
import type { Change } from '../../api/changes.ts';
import type { NetworkLink } from '../../api/networks.ts';
import type { Config, Snapshot } from '../../api/schema.ts';
import type { State } from '../../api/states.ts';
import { type ClientState, current } from '../client/client-state.ts';
import { actionCommand, type Button, goTo } from '../form.ts';
import { fill, type Translator } from '../translator.ts';
import { isTurnedOff, lostRegistration } from './causes.ts';
import { describeUnconfirmed, isPause, unconfirmedText } from './changes.ts';
import { allowQuestion, decisionText, effectText, loginLink, networksCommand, networkTitle } from './networks.ts';
import { demoText } from './state-table.ts';
import { isConnectIgnored, stateOf, wantsSignIn } from './summary.ts';
import { describeTimed } from './timed.ts';
import { describeTunnel } from './tunnel.ts';
import { sourceWarning } from './updates.ts';

/** Subjects. Each has at most one notification, which is replaced or withdrawn when the subject changes. */
export const SLOTS = ['state', 'network', 'reminder', 'certificate', 'update', 'keep'] as const;
export type Slot = (typeof SLOTS)[number];

export interface Notification {
  slot: Slot;
  /** Code of the signal `Notice` (org.culvert.Client1(5)). */
  code: 'connection' | 'blocked' | 'sign-in' | 'setup' | 'reminder' | 'update' | 'keep' | 'network';
  /** The state that the icon shows. */
  state: State;
  summary: string;
  body: string;
  action: Button | null;
  /** The second button. */
  other?: Button;
}

type Level = Config['notifications']['level'];
/** A notification with the levels at which clients show it. */
type Draft = Omit<Notification, 'slot' | 'state'> & { levels: readonly Level[] };
const NEEDED: readonly Level[] = ['everything', 'needs-me'];
const NEWS: readonly Level[] = ['everything'];

/** Returns the present notification of a slot at the user's level, or null. */
export function presentNotification(slot: Slot, client: ClientState, tr: Translator): Notification | null {
  const drafts: Record<Slot, typeof stateDraft> = {
    state: stateDraft,
    network: networkDraft,
    reminder: reminderDraft,
    certificate: certificateDraft,
    update: updateDraft,
    keep: keepDraft,
  };
  const draft = current(client) && drafts[slot](client, tr);
  if (!draft) return null;
  const { levels, ...words } = draft;
  // an older daemon has no level
  const level = client.config?.config.notifications.level ?? 'everything';
  return levels.includes(level) ? { slot, state: stateOf(client), ...words } : null;
}

/** True if the user caused the state. A state that needs the user counts only if the user deleted the registration. */
function isByUser(state: State, status: Snapshot['status']): boolean {
  const code = status.reason?.code;
  if (code === 'ManualDeletion') return true;
  // changed settings are the user's act only if the user turned WARP off: a policy changes them too
  return state !== 'needs-you' && (code === 'Manual' || code === 'ConnectAccepted' || isTurnedOff(status));
}

/** Returns the pause whose end failed, or null. */
function failedPause(client: ClientState): Change | null {
  return current(client)?.changes.find(change => isPause(change) && change.problem !== null) ?? null;
}

function stateDraft(client: ClientState, tr: Translator): Draft | null {
  const { state, label, sentence, remedy, other } = describeTunnel(client, tr);
  const { status, tunnelCli } = current(client)!;
  const failed = failedPause(client);
  if (failed && state === 'paused') {
    const summary = tr._('WARP could not be turned on again');
    return {
      code: 'connection',
      levels: NEEDED,
      summary: tunnelCli.emulated ? demoText(summary, tr) : summary,
      body: sentence,
      action: describeTimed(client, tr).find(({ change }) => change.subject === failed.subject)!.end,
    };
  }
  // the sentence of a block says that the pause before it could not end
  const isNews = failed !== null && state === 'blocked';
  if (state !== 'connected' && !isNews && isByUser(state, status)) return null;
  const words = { summary: label, body: sentence };
  const lost = lostRegistration(status, tr);
  const isNew =
    (status.blocked === 'not-registered' && (!lost || lost.offer === 'register')) ||
    status.blocked === 'terms-not-accepted';
  const setUp = isNew ? tr._('Set Up') : tr._('Open Culvert');
  const reconnect = { label: tr._('Reconnect'), command: actionCommand({ action: 'connect' }) };
  switch (state) {
    case 'needs-you':
      return wantsSignIn(status) && status.blocked === null
        ? { ...words, code: 'sign-in', levels: NEEDED, action: remedy }
        : { ...words, code: 'setup', levels: NEEDED, action: { label: setUp, command: goTo('connection') } };
    case 'blocked':
      return { ...words, code: 'blocked', levels: NEEDED, action: remedy ?? reconnect, ...(other ? { other } : {}) };
    case 'disconnected':
      // a cause with a remedy, such as a trusted network, also turns WARP on again
      return {
        ...words,
        code: 'connection',
        levels: status.reason && remedy ? NEWS : NEEDED,
        action: remedy ?? reconnect,
      };
    case 'unable':
      return { ...words, code: 'connection', levels: NEWS, action: remedy ?? reconnect };
    case 'connected':
      return { ...words, code: 'connection', levels: NEWS, action: null };
    default:
      return null;
  }
}

const endingOf = (client: ClientState, tr: Translator) =>
  describeTimed(client, tr).find(({ change }) => change.endingSoon);

function reminderDraft(client: ClientState, tr: Translator): Draft | null {
  const { _ } = tr;
  const ending = endingOf(client, tr);
  const named = (summary: string) => (current(client)!.tunnelCli.emulated ? demoText(summary, tr) : summary);
  if (ending)
    return {
      code: 'reminder',
      levels: NEEDED,
      summary: named(isPause(ending.change) ? _('WARP is back on in a minute') : _('Ends in a minute')),
      body: ending.text,
      action: ending.extend,
      other: ending.end,
    };
  if (!current(client)!.reminder) return null;
  const { state, label, sentence } = describeTunnel(client, tr);
  return {
    code: 'reminder',
    levels: NEEDED,
    summary: state === 'disconnected' ? named(_('WARP is still off')) : label,
    body: sentence,
    action: { label: _('Reconnect'), command: actionCommand({ action: 'connect' }) },
  };
}

const isRemovalDue = (client: ClientState) => current(client)?.trust?.removalDue === true;

function certificateDraft(client: ClientState, { _ }: Translator): Draft | null {
  if (!isRemovalDue(client)) return null;
  return {
    code: 'setup',
    levels: NEEDED,
    summary: _('Tools still trust a certificate that is no longer valid'),
    body: _('It has expired, or your organization withdrew it.'),
    action: { label: _('Show'), command: goTo('certificate') },
  };
}

/** Returns the network with a login page, unless WARP is connected: a network still reports the page after the login. */
function loginOf(client: ClientState): NetworkLink | null {
  const { networks, status } = current(client)!;
  return status.state === 'connected' ? null : loginLink(networks);
}

/** Returns the first named Wi-Fi network without its own rule, or null. */
function unknownWifi(networks: Snapshot['networks']): NetworkLink | null {
  if (!networks) return null;
  const { links, rules, decision } = networks;
  const isUnknown = ({ kind, name }: NetworkLink, at: number) => {
    const own = rules.find(rule => rule.name === decision.links[at]?.rule);
    return kind === 'wifi' && name !== null && (!own || own.match.any !== undefined);
  };
  return links.find(isUnknown) ?? null;
}

/** Returns the name of the rule that waits for the user's permission, or null. */
function askingRule(networks: Snapshot['networks']): string | null {
  return networks?.decision.effects.find(({ state }) => state === 'asks')?.rule ?? null;
}

/** Notifies if a rule asks for permission or changed settings, or if the network is unknown or has a login page. */
function networkDraft(client: ClientState, tr: Translator): Draft | null {
  const { _ } = tr;
  const { networks } = current(client)!;
  if (!networks) return null;
  const { acted, reverted } = networks;
  const unconfirmed = acted && !reverted ? keepDraft(client, tr) : null;
  if (acted && unconfirmed) {
    // comes first, because the change reverts after two minutes
    const { summary, body, action: revert } = actedWords(networks, acted.rule, tr);
    const lines = [body, unconfirmed.body].filter(Boolean).join('\n');
    return { code: 'network', levels: NEEDED, summary, body: lines, action: unconfirmed.action, other: revert };
  }
  const rule = askingRule(networks);
  if (rule !== null) {
    const { heading, body } = allowQuestion(rule, tr);
    const answer = (answer: 'once' | 'always') => networksCommand({ do: 'answer', rule, answer });
    return {
      code: 'network',
      levels: NEEDED,
      summary: heading,
      body,
      action: { label: _('Allow Once'), command: answer('once') },
      other: { label: _('Always Allow'), command: answer('always') },
    };
  }
  const login = loginOf(client);
  if (login)
    return {
      code: 'network',
      levels: NEEDED,
      summary: _('This network has a login page'),
      body: networkTitle(login, tr),
      action: { label: _('Sign In…'), command: goTo('networks') },
    };
  if (!acted) return unknownDraft(networks, tr);
  return reverted ? null : { code: 'network', levels: NEWS, ...actedWords(networks, acted.rule, tr) };
}

/** Words the effects of a rule, with a button to revert them. */
function actedWords({ decision }: NonNullable<Snapshot['networks']>, rule: string, tr: Translator) {
  const effects = decision.effects.filter(({ state }) => state === 'holds').map(effect => effectText(effect, tr));
  return {
    // Translators: %s is the name of a rule
    summary: fill(tr._('The rule “%s” changed settings here'), rule),
    body: effects.join('\n'),
    action: { label: tr._('Revert'), command: networksCommand({ do: 'revert' }) },
  };
}

function unknownDraft(networks: NonNullable<Snapshot['networks']>, tr: Translator): Draft | null {
  const { _ } = tr;
  const link = unknownWifi(networks);
  if (!link) return null;
  return {
    code: 'network',
    levels: NEWS,
    // Translators: %s is the name of a Wi-Fi network
    summary: fill(_('Unknown Wi-Fi “%s”'), link.name!),
    body: decisionText(networks.decision, tr).join('\n'),
    action: { label: _('Show'), command: goTo('networks') },
  };
}

function updateDraft({ update }: ClientState, tr: Translator): Draft | null {
  const { _ } = tr;
  if (!update) return null;
  const shared = { code: 'update' as const, action: { label: _('Show'), command: goTo('updates') } };
  const warning = sourceWarning(update, tr);
  if (warning !== null) return { ...shared, levels: NEEDED, summary: _('The update failed.'), body: warning };
  if (!update.updateAvailable || update.latest === null || update.progress) return null;
  return {
    ...shared,
    levels: NEWS,
    // Translators: %s is a version
    summary: fill(_('Culvert %s is available'), update.latest),
    body: _('Open Culvert to install it.'),
  };
}

/** Asks whether to keep an unconfirmed change. */
function keepDraft(client: ClientState, tr: Translator): Draft | null {
  const unconfirmed = describeUnconfirmed(client, tr);
  if (!unconfirmed) return null;
  const { keep } = unconfirmed;
  return {
    code: 'keep',
    levels: NEEDED,
    summary: tr._('Keep this change?'),
    body: unconfirmedText(unconfirmed, tr),
    action: { label: tr._('Keep'), command: keep },
  };
}

/**
 * Returns the notification about a change, or null.
 * @param before null at the start, which deserves no notification
 * @param wanted the user's last action; its effect needs no notification
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
 * Returns the state to compare the next state with. An unknown state keeps the last known status, to notice a tunnel that
 * was up before and is down afterwards.
 */
export function toCompare(before: ClientState | null, after: ClientState): ClientState {
  const known = before && current(before);
  const snapshot = current(after);
  if (!known || !snapshot || stateOf(after) !== 'unknown') return after;
  return { ...after, snapshot: { ...snapshot, status: known.status } };
}

/** True if the tunnel was lost, did not come up or stays off after a pause, or if the user must act, and the user did not cause this. */
function isTrouble(before: ClientState, after: ClientState, wanted: string | null): boolean {
  const [then, now] = [stateOf(before), stateOf(after)];
  const isNew = isConnectIgnored(current(after)!) && !isConnectIgnored(current(before)!);
  const hasFailed = failedPause(after) !== null && failedPause(before) === null;
  if (hasFailed && (now === 'paused' || now === 'blocked')) return true;
  if (then === 'unknown' || (then === now && !isNew)) return false;
  if (now === 'needs-you') return true;
  if (wanted === 'disconnect') return false;
  if (isNew) return true;
  if (then === 'paused' && now === 'unable') return true;
  return now === 'blocked' || (then === 'connected' && (now === 'disconnected' || now === 'unable'));
}

/** True in a state of transition, in which a shown notification stays. */
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
    // the first report of networks is no change of network
    (then !== null && unknownWifi(now) !== null && unknownWifi(now)?.name !== unknownWifi(then)?.name)
  );
}

function hasUpdateNews(before: ClientState, after: ClientState): boolean {
  const [then, now] = [before.update, after.update];
  if (!now) return false;
  const failed = now.source.state !== 'ok' && now.source.state !== (then?.source.state ?? 'ok');
  return failed || (now.updateAvailable && now.latest !== then?.latest);
}
