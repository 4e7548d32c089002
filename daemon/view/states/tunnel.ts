// Describes the state of the tunnel for every client.
import type { ConfigResponse, ConnectionState, Protocol, Blocked as Setup, Snapshot } from '../../api/schema.ts';
import type { State } from '../../api/states.ts';
import type { ClientState } from '../client/client-state.ts';
import { type Look, lookOf, modeName } from '../client/labels.ts';
import { formatCount, formatElapsed, timeOfDay } from '../format.ts';
import { worded } from '../message.ts';
import { fill, type Translator } from '../translator.ts';
import { type LostRegistration, lostRegistration } from './causes.ts';
import { pauseLengths } from './changes.ts';
import { describeState, type StateWords } from './words.ts';

export interface TunnelView extends StateWords {
  look: Look;
  toggle: Toggle;
  /** Text while the tunnel CLI takes longer than usual; else null. */
  waiting: string | null;
  /** The setup step that the user must take first; null without a daemon. */
  setup: Setup | null;
  /** Why the device lost its registration, or null. */
  lost: LostRegistration | null;
  emulated: boolean;
  mode: string | null;
  /** Name of the mode for users. */
  modeTitle: string;
  protocol: Protocol | null;
  /** True if the user can change the mode, the protocol and other settings. */
  settable: boolean;
  /** Says what the organization has locked, or null. */
  lock: string | null;
  /** Lengths of a pause to offer, in minutes, the last used first. */
  pauses: readonly number[];
  /** True while the statistics of the tunnel are meaningful. */
  live: boolean;
}

interface Toggle {
  /** The confirmed state, never the requested one. */
  on: boolean;
  sensitive: boolean;
  /** True if an organization does not allow the user to turn WARP off now. */
  locked: boolean;
  /** The action of the toggle; null if the state is unknown and it could mean either. */
  action: 'connect' | 'disconnect' | null;
  label: string;
}

const ON: ConnectionState[] = ['connected', 'connecting', 'unable'];

/** Describes the tunnel in the language of `tr`. */
export function describeTunnel(client: ClientState, tr: Translator): TunnelView {
  const { snapshot, offline, pending } = client;
  const look = offline || !snapshot ? 'unavailable' : lookOf(snapshot);
  const current = look === 'unavailable' || !snapshot ? null : snapshot;
  const connection = current && !current.status.blocked ? current.status.state : null;
  const words = describeState(client, tr);
  const isUnread = current?.status.state === 'unknown' && current.status.raw === null;
  const locked = current?.options.switchLocked === true;
  return {
    ...words,
    look,
    toggle: toggleOf(connection, words.state, { free: !pending && !isUnread, locked }, tr),
    waiting: pending && client.slow ? tr._('Waiting for WARP…') : null,
    setup: current?.status.blocked ?? null,
    lost: current && lostRegistration(current.status, tr),
    emulated: snapshot?.tunnelCli.emulated ?? false,
    mode: snapshot?.settings.Mode ?? null,
    modeTitle: snapshot?.settings.Mode ? modeName(snapshot.settings.Mode, tr).title : '',
    protocol: snapshot ? protocolOf(snapshot) : null,
    settable: connection !== null && !pending && !isUnread,
    lock: current ? lockText(current, tr) : null,
    pauses: pauseLengths(snapshot),
    live: connection === 'connected',
  };
}

function lockText(snapshot: Snapshot, { _ }: Translator): string | null {
  const { switchLocked, modeLocked } = snapshot.options;
  const organization = snapshot.account.organization ?? snapshot.options.organization;
  if (!switchLocked && !modeLocked) return null;
  // Translators: %s is the name of an organization
  const by = organization ? fill(_('Managed by %s'), organization) : _('Managed by your organization');
  const what = switchLocked ? _('WARP can’t be turned off here.') : _('The mode can’t be changed here.');
  return `${by} · ${what}`;
}

function toggleOf(
  connection: ConnectionState | null,
  state: State,
  { free, locked }: { free: boolean; locked: boolean },
  tr: Translator,
): Toggle {
  const on = connection !== null && ON.includes(connection);
  const either = connection === null || connection === 'unknown';
  return {
    on,
    sensitive: free && !either && connection !== 'disconnecting' && !(on && locked),
    locked: on && locked,
    action: either ? null : on ? 'disconnect' : 'connect',
    label: toggleLabel(on ? connection : null, state, tr),
  };
}

/** @param on the connection of a tunnel that is on, or null */
function toggleLabel(on: ConnectionState | null, state: State, { _ }: Translator): string {
  if (on === 'connecting') return _('Cancel');
  // there is no connection to disconnect
  if (on === 'unable') return _('Stop Trying');
  if (on) return _('Disconnect');
  return state === 'paused' ? _('Connect Now') : _('Connect');
}

/** Returns the protocol; null for old tunnel CLIs, which do not report it. Spellings differ between text and JSON. */
function protocolOf({ settings, tunnel }: Snapshot): Protocol | null {
  const named = Object.entries(settings).find(([key]) => /^warp[ _]tunnel[ _]protocol$/i.test(key))?.[1];
  const text = typeof named === 'string' ? named : (tunnel.protocol ?? '');
  if (/^masque/i.test(text)) return 'MASQUE';
  return /^wireguard/i.test(text) ? 'WireGuard' : null;
}

/**
 * Words the duration of the state; null for a transition, and for a pause, which has a countdown.
 * @param since time when the state began
 * @param now in ms since the epoch
 */
export function durationText(
  { look, state }: Pick<TunnelView, 'look' | 'state'>,
  since: string,
  now: number,
  tr: Translator,
): string | null {
  const { _ } = tr;
  if (state === 'paused') return null;
  // Translators: %s is a time of day; when the state began
  if (look === 'disconnected') return fill(_('Since %s'), timeOfDay(since, false, new Date(now)));
  // Translators: %s is a duration such as 12 min; how long the state has lasted
  const says: Partial<Record<Look, string>> = {
    connected: _('Connected for %s'),
    connecting: _('Trying for %s'),
    unable: _('Trying for %s'),
  };
  const text = says[look];
  return text ? fill(text, formatElapsed((now - Date.parse(since)) / 1000, tr)) : null;
}

/** Words the first problem in the configuration files: file, line and reason; null without a problem. */
export function configProblemText(config: ConfigResponse | null, tr: Translator): string | null {
  const [first, ...rest] = config?.problems ?? [];
  if (!first) return null;
  const place = [first.file, first.line].filter(part => part !== null).join(':');
  const text = `${place}: ${first.key ? `${first.key}: ` : ''}${worded(first.message, first.wording && [first.wording], tr)}`;
  // Translators: %s is a problem in a configuration file, %d how many more there are
  const more = tr.ngettext('%s (and %d more)', '%s (and %d more)', rest.length);
  return rest.length ? fill(more, text, formatCount(rest.length, tr)) : text;
}
