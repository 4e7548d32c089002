// Pure: turns the state of the kill switch into what panel, page and tray show of it.

import type { KillSwitch, KillSwitchPause, KillSwitchRequest } from '../../api/schema.ts';
import type { ClientState } from '../client/client-state.ts';
import type { Look } from '../client/labels.ts';
import { type Button, CONFIRM_SECONDS, type Command, clientCommand, noteRow, type Row, type Tone } from '../form.ts';
import { formatCount, formatDuration } from '../format.ts';
import { worded } from '../message.ts';
import { fill, type Translator } from '../translator.ts';
import { stateName } from './state-table.ts';
import { isBlocking, isOffline } from './summary.ts';

export type KillSwitchLook =
  | 'unavailable'
  /** The demo neither installs nor changes it. */
  | 'demo'
  | 'not-installed'
  | 'off'
  /** Not wanted, but the rules are in force: a fault that fails closed. */
  | 'stuck'
  | 'blocking'
  | 'unmeasured'
  /** Wanted, and measured not to be there. */
  | 'missing'
  | 'paused';

export interface KillSwitchView {
  look: KillSwitchLook;
  /** Its root service is there and part of what is shown. */
  installed: boolean;
  /** The state in tr, without what time changes. */
  sentence: string;
  tone: Tone;
  /** Position of the switch: what is wanted, as last confirmed. */
  on: boolean;
  /** The switch, and the one for the local network, can be flipped. */
  sensitive: boolean;
  allowLan: boolean;
  /** Turning it on reverts unless it is confirmed. */
  confirmable: boolean;
  /** A pause can be begun. */
  pausable: boolean;
  /** End of a pause in ms since the epoch, or null. */
  pausedUntil: number | null;
  /** Protection against a foreign flush and at boot; null while it does not matter. */
  protection: string | null;
  boot: string | null;
  /** Why it does not block, or what could not be read. */
  detail: string | null;
  command: { purpose: string; command: string } | null;
}

/** Choices of a pause, in minutes. */
export const PAUSES = [5, 15, 60] as const;

/** Everything that panel and tray show of the kill switch, in the language of `tr`. */
export function describeKillSwitch(client: ClientState, tr: Translator): KillSwitchView {
  const killSwitch = client.snapshot?.killSwitch ?? null;
  const demo = client.snapshot?.tunnelCli.emulated === true;
  const look = client.offline ? 'unavailable' : lookOf(killSwitch, demo);
  const installed = look !== 'unavailable' && look !== 'demo' && look !== 'not-installed';
  const usable = installed && !demo && !client.killSwitchPending;
  const enforced =
    !client.offline && killSwitch?.installed === true && (killSwitch.enabled || killSwitch.active === true);
  return {
    look,
    installed,
    ...describeLook(look, tr),
    // a person without internet is not to see it in green
    ...(look === 'blocking' && client.snapshot && isOffline(client.snapshot) ? { tone: 'warning' } : {}),
    on: killSwitch?.enabled ?? false,
    sensitive: usable,
    allowLan: killSwitch?.allowLan ?? false,
    confirmable: killSwitch?.confirmable === true && killSwitch.pausedUntil === null,
    pausable:
      usable && killSwitch?.enabled === true && killSwitch.pausedUntil === null && killSwitch.unconfirmed === null,
    pausedUntil: killSwitch?.pausedUntil ? Date.parse(killSwitch.pausedUntil) : null,
    protection: enforced ? protectionText(killSwitch, tr) : null,
    boot: enforced ? bootText(killSwitch, tr) : null,
    // the sentence says everything about a pause, in the reader's language
    detail:
      look === 'paused' || !killSwitch || killSwitch.detail === null
        ? null
        : worded(killSwitch.detail, killSwitch.wording, tr),
    command: demo ? null : commandOf(killSwitch, tr),
  };
}

function lookOf(killSwitch: KillSwitch | null, demo: boolean): KillSwitchLook {
  if (!killSwitch) return 'unavailable';
  // a kill switch that blocks during the demo is shown as it is
  if (demo && !killSwitch.active) return 'demo';
  if (!killSwitch.installed) return 'not-installed';
  if (killSwitch.pausedUntil !== null) return 'paused';
  if (!killSwitch.enabled) return killSwitch.active ? 'stuck' : 'off';
  if (killSwitch.active === null) return 'unmeasured';
  return killSwitch.active ? 'blocking' : 'missing';
}

/** The demo never changes the kill switch of the machine, and does not offer to install its root service. */
export function demoSentence({ _ }: Pick<Translator, '_'>): string {
  return _('The kill switch is not part of the demo.');
}

function describeLook(look: KillSwitchLook, tr: Translator): Pick<KillSwitchView, 'sentence' | 'tone'> {
  const { _ } = tr;
  switch (look) {
    case 'unavailable':
      return { sentence: _('Culvert’s background service isn’t running.'), tone: 'neutral' };
    case 'demo':
      return { sentence: demoSentence(tr), tone: 'neutral' };
    case 'not-installed':
      return { sentence: _('Not installed. An administrator installs it once.'), tone: 'neutral' };
    case 'off':
      return { sentence: _('Off: if the tunnel drops, traffic continues unprotected.'), tone: 'neutral' };
    case 'stuck':
      return { sentence: _('Off, but traffic outside the tunnel is still blocked.'), tone: 'error' };
    case 'blocking':
      return { sentence: _('On: traffic outside the tunnel is blocked.'), tone: 'success' };
    case 'unmeasured':
      return { sentence: _('On, but Culvert couldn’t check that it works.'), tone: 'warning' };
    case 'missing':
      return { sentence: _('On, but its rules are missing: nothing is blocked.'), tone: 'error' };
    case 'paused':
      return { sentence: _('Paused: nothing is blocked until the pause ends.'), tone: 'warning' };
  }
}

function protectionText({ protection }: KillSwitch, { _ }: Translator): string {
  const says: Record<KillSwitch['protection'], string> = {
    'owner-persist': _('Other programs can’t turn it off'),
    watchdog: _('The block is restored immediately if another program removes it'),
    none: _('Another program with administrator rights could remove the block'),
  };
  return says[protection];
}

function bootText({ bootGuard }: KillSwitch, { _ }: Translator): string {
  return bootGuard
    ? _('Traffic is blocked before the network is up')
    : _('Nothing is blocked until the kill switch is turned on again');
}

function commandOf(killSwitch: KillSwitch | null, { _ }: Translator): KillSwitchView['command'] {
  if (!killSwitch?.command) return null;
  return {
    purpose: killSwitch.installed ? _('To fix it, in a terminal:') : _('Install it once, in a terminal:'),
    command: killSwitch.command,
  };
}

/** The rest of a pause as a clock: `4:32`. */
export function pauseLeft(until: number, now: number, tr: Translator): string {
  return formatDuration(Math.ceil(Math.max(0, until - now) / 1000), tr);
}

/** The rest of a pause in whole minutes, rounded up, for texts that change each minute. */
export function pauseMinutes(until: number, now: number): number {
  return Math.max(1, Math.ceil((until - now) / 60_000));
}

/** When `pauseMinutes` says something else next, in ms from `now`; null when it won't before the pause ends. */
export function nextMinute(until: number, now: number): number | null {
  const left = until - now;
  if (left <= 60_000) return null;
  // a timer may be early by a little, and would then find the same minute
  return (left % 60_000 || 60_000) + 50;
}

/** 15 -> `15 minutes`, 60 -> `1 hour`. */
export function pauseName(minutes: number, tr: Translator): string {
  const { _, ngettext } = tr;
  return minutes === 60 ? _('1 hour') : fill(ngettext('%d minute', '%d minutes', minutes), formatCount(minutes, tr));
}

interface KillSwitchBanner {
  title: string;
  button: Button | null;
}

/** Modes whose traffic has no tunnel device to leave through, so that the kill switch stops all of it. */
const TUNNELLESS = ['doh', 'dot', 'proxy'];

/** The banner over everything while the kill switch stops traffic that the user may miss; else null. */
export function killSwitchBanner(client: ClientState, look: Look, tr: Translator): KillSwitchBanner | null {
  const { _ } = tr;
  const { snapshot } = client;
  if (!snapshot || look === 'unavailable') return null;
  // the same in every state
  if (isOffline(snapshot)) {
    return {
      title: stateName('blocked', false, tr),
      button: snapshot.tunnelCli.emulated ? leaveDemo(tr) : wayOut(client, tr),
    };
  }
  const isTunnelless = look === 'connected' && TUNNELLESS.includes(snapshot.settings.Mode ?? '');
  return isTunnelless && isBlocking(snapshot.killSwitch) && !snapshot.tunnelCli.emulated
    ? { title: _('The kill switch blocks all other traffic: this mode does not tunnel it'), button: off(client, tr) }
    : null;
}

/** The consequence of a kill switch that blocks all traffic. */
export function blockedSentence({ _ }: Translator): string {
  return _('The kill switch waits for WARP.');
}

/** The same with the state, where that is not said. */
export function blockedText({ _ }: Translator): string {
  return _('Internet is blocked. The kill switch waits for WARP.');
}

/** The way out of a block other than a tunnel: a pause, or where none can begin, turning it off; null for none. */
export function wayOut(client: ClientState, tr: Translator): Button | null {
  const { pausable } = describeKillSwitch(client, tr);
  if (pausable) return { label: tr._('Pause Kill Switch 5 min'), command: killSwitchCommand({ seconds: 300 }) };
  return client.snapshot?.tunnelCli.emulated ? null : off(client, tr);
}

function off({ snapshot, killSwitchPending }: ClientState, { _ }: Translator): Button | null {
  if (killSwitchPending || !snapshot) return null;
  const change = { enabled: false, allowLan: snapshot.killSwitch.allowLan };
  return { label: _('Turn Off Kill Switch'), command: killSwitchCommand(change) };
}

/** Ends the demo. */
export function leaveDemo({ _ }: Translator): Button {
  return { label: _('Use Real WARP'), command: { ask: { kind: 'restart', demo: false } } };
}

/** Asks for a change. @param change `seconds`: a pause; 0 ends one */
export function killSwitchCommand(change: KillSwitchRequest | KillSwitchPause): Command {
  return { ask: { kind: 'kill-switch', change } };
}

/** A change that blocks can cut the user off, so it reverts unless it is confirmed. */
export function killSwitchRequest({ confirmable }: KillSwitchView, value: KillSwitchRequest): KillSwitchRequest {
  return { ...value, ...(confirmable && value.enabled ? { confirmWithin: CONFIRM_SECONDS } : {}) };
}

/** Asks for a value. */
export function setKillSwitch(view: KillSwitchView, value: KillSwitchRequest): Command {
  return killSwitchCommand(killSwitchRequest(view, value));
}

/** The one row of the kill switch that the connection page has; the rest is on its own page. */
export function killSwitchRow(view: KillSwitchView, { _ }: Translator): Row {
  if (view.look === 'demo') return noteRow('killswitch', _('Kill Switch'), view.sentence);
  return {
    kind: 'switch',
    id: 'killswitch',
    title: _('Kill Switch'),
    subtitle: view.sentence,
    tone: view.tone,
    on: view.on,
    sensitive: view.sensitive,
    command: setKillSwitch(view, { enabled: !view.on, allowLan: view.allowLan }),
  };
}

/** The kill switch among other settings: without its helper or a daemon, a link to the page that says more. */
export function killSwitchSummary(view: KillSwitchView, tr: Translator): Row {
  const { _ } = tr;
  if (view.installed || view.look === 'demo') return killSwitchRow(view, tr);
  const [id, title, subtitle] = ['killswitch', _('Kill Switch'), view.sentence];
  // a daemon that is gone says nothing of it
  const value = view.look === 'unavailable' ? {} : { value: _('Off') };
  return { kind: 'link', id, title, page: 'killswitch', ...value, subtitle };
}

/** Installs the root service through polkit; none where it is installed, and in the demo. */
export function installRows({ look }: KillSwitchView, { _ }: Translator): Row[] {
  if (look !== 'not-installed') return [];
  return [
    {
      kind: 'button',
      id: 'install',
      title: _('Kill Switch helper'),
      label: _('Install…'),
      style: 'suggested',
      subtitle: _('A small system service; asks for an administrator’s password'),
      command: clientCommand('install-killswitch'),
    },
  ];
}
