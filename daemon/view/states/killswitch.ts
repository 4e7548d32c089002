// Describes the state of the kill switch for every client, and builds its rows, buttons and requests.
import type { KillSwitch, KillSwitchPause, KillSwitchRequest, Snapshot } from '../../api/schema.ts';
import type { ClientState } from '../client/client-state.ts';
import type { Look } from '../client/labels.ts';
import {
  type Button,
  CONFIRM_SECONDS,
  type Command,
  clientCommand,
  type MenuButton,
  noteRow,
  type Row,
  type Tone,
} from '../form.ts';
import { formatCount, formatDuration } from '../format.ts';
import { worded } from '../message.ts';
import { fill, type Translator } from '../translator.ts';
import { coverageOf, leavesTraffic } from './coverage.ts';
import { stateName } from './state-table.ts';
import { isBlocking, isOffline, isOnlyTunnelLeft, isUnmeasured } from './summary.ts';

export type KillSwitchLook =
  | 'unavailable'
  /** The demo, which neither installs nor changes the kill switch. */
  | 'demo'
  | 'not-installed'
  | 'off'
  /** Turned off, but the rules still block: a fault that fails closed. */
  | 'stuck'
  | 'blocking'
  | 'unmeasured'
  /** Turned on, but a measurement found no rules. */
  | 'missing'
  | 'paused';

export interface KillSwitchView {
  look: KillSwitchLook;
  /** True if the root service is installed and clients show it. */
  installed: boolean;
  /** The state in one sentence, without values that change with time. */
  sentence: string;
  tone: Tone;
  /** Position of the switch: the wanted state that the daemon last reported. */
  on: boolean;
  /** True if the user can flip this switch and the switch for the local network. */
  sensitive: boolean;
  allowLan: boolean;
  /** True if turning it on reverts unless the user confirms it. */
  confirmable: boolean;
  /** True if a pause can begin. */
  pausable: boolean;
  /** End of a pause in ms since the epoch, or null. */
  pausedUntil: number | null;
  /** Protection against removal by other programs; null while it does not matter. */
  protection: string | null;
  /** Protection while the system starts; null while it does not matter. */
  boot: string | null;
  /** Why it does not block, or why its state could not be read. */
  detail: string | null;
  command: { purpose: string; command: string } | null;
}

/** Lengths of a pause to choose from, in minutes. */
export const PAUSES = [5, 15, 60] as const;

/** Describes the kill switch in the language of `tr`. */
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
    // without internet, the success color would mislead the user
    ...(look === 'blocking' && client.snapshot && (isOffline(client.snapshot) || isOnlyTunnelLeft(client.snapshot))
      ? { tone: 'warning' }
      : {}),
    on: killSwitch?.enabled ?? false,
    sensitive: usable,
    allowLan: killSwitch?.allowLan ?? false,
    confirmable: killSwitch?.confirmable === true && killSwitch.pausedUntil === null,
    pausable:
      usable && killSwitch?.enabled === true && killSwitch.pausedUntil === null && killSwitch.unconfirmed === null,
    pausedUntil: killSwitch?.pausedUntil ? Date.parse(killSwitch.pausedUntil) : null,
    protection: enforced ? protectionText(killSwitch, tr) : null,
    boot: enforced ? bootText(killSwitch, tr) : null,
    /** Worded only when a page shows it: the texts of the browser's first page lack the words of the root service. */
    get detail() {
      // for a pause, the sentence says everything
      const said = look === 'paused' ? null : killSwitch;
      return said && said.detail !== null ? worded(said.detail, said.wording, tr) : null;
    },
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
  if (isUnmeasured(killSwitch)) return 'unmeasured';
  return killSwitch.active ? 'blocking' : 'missing';
}

/** Says that the demo neither changes the kill switch nor installs its root service. */
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

/** Formats the rest of a pause as a clock: `4:32`. */
export function pauseLeft(until: number, now: number, tr: Translator): string {
  return formatDuration(Math.ceil(Math.max(0, until - now) / 1000), tr);
}

/** Returns the rest of a pause in whole minutes, rounded up, for texts that change each minute. */
export function pauseMinutes(until: number, now: number): number {
  return Math.max(1, Math.ceil((until - now) / 60_000));
}

/** Returns the time until `pauseMinutes` next changes, in ms; null if it stays the same until the pause ends. */
export function nextMinute(until: number, now: number): number | null {
  const left = until - now;
  if (left <= 60_000) return null;
  // a timer may fire slightly early, still within the same minute
  return (left % 60_000 || 60_000) + 50;
}

/** Words the length of a pause: 15 -> `15 minutes`, 60 -> `1 hour`. */
export function pauseName(minutes: number, tr: Translator): string {
  const { _, ngettext } = tr;
  return minutes === 60 ? _('1 hour') : fill(ngettext('%d minute', '%d minutes', minutes), formatCount(minutes, tr));
}

interface KillSwitchBanner {
  title: string;
  button: Button | null;
}

/** Returns the banner while the kill switch blocks traffic that the user may miss; else null. */
export function killSwitchBanner(client: ClientState, look: Look, tr: Translator): KillSwitchBanner | null {
  const { _ } = tr;
  const { snapshot } = client;
  if (!snapshot || look === 'unavailable') return null;
  // the banner is the same in every state
  const isOnlyTunnel = isOnlyTunnelLeft(snapshot);
  if (isOnlyTunnel || isOffline(snapshot)) {
    return {
      title: isOnlyTunnel ? onlyTunnelText(tr) : stateName('blocked', false, tr),
      button: snapshot.tunnelCli.emulated ? leaveDemo(tr) : wayOut(client, tr),
    };
  }
  const isPartial = look === 'connected' && leavesTraffic(coverageOf(snapshot));
  const title = isPartial ? blockedRest(snapshot, tr) : null;
  return title === null ? null : { title, button: off(client, tr) };
}

/** Says that the kill switch waits for WARP, where the state already says that it blocks. */
export function blockedSentence({ _ }: Translator): string {
  return _('The kill switch waits for WARP.');
}

/** Says that internet is blocked and that the kill switch waits for WARP. */
export function blockedText({ _ }: Translator): string {
  return _('Internet is blocked. The kill switch waits for WARP.');
}

/** Says that the kill switch blocks what WARP does not tunnel; null if it does not, and in the demo. */
export function blockedRest(
  snapshot: Pick<Snapshot, 'killSwitch' | 'tunnelCli'> | null,
  tr: Translator,
): string | null {
  return snapshot && isBlocking(snapshot.killSwitch) && !snapshot.tunnelCli.emulated ? onlyTunnelText(tr) : null;
}

/** Says what the kill switch blocks, where WARP does not tunnel everything or it is not known whether there is a tunnel. */
export function onlyTunnelText({ _ }: Translator): string {
  return _('Traffic outside the tunnel is blocked.');
}

/** Returns the button that ends a block without a tunnel: pauses the kill switch or, if it can't pause, turns it off. */
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

/** Returns the button that ends the demo. */
export function leaveDemo({ _ }: Translator): Button {
  return { label: _('Use Real WARP'), command: { ask: { kind: 'restart', demo: false } } };
}

/** Returns the command for a change. @param change `seconds` is the length of a pause; 0 ends it */
export function killSwitchCommand(change: KillSwitchRequest | KillSwitchPause): Command {
  return { ask: { kind: 'kill-switch', change } };
}

/** Returns the request for a change. Turning it on can cut the user off, so it reverts unless the user confirms it. */
export function killSwitchRequest({ confirmable }: KillSwitchView, value: KillSwitchRequest): KillSwitchRequest {
  return { ...value, ...(confirmable && value.enabled ? { confirmWithin: CONFIRM_SECONDS } : {}) };
}

/** Returns the command that sets a value. */
export function setKillSwitch(view: KillSwitchView, value: KillSwitchRequest): Command {
  return killSwitchCommand(killSwitchRequest(view, value));
}

/** Returns the row with the switch; the kill switch page has everything else. */
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

/** Returns the row among other settings, which opens the kill switch page; a link without its helper or a daemon. */
export function killSwitchSummary(view: KillSwitchView, tr: Translator): Row {
  const { _ } = tr;
  if (view.installed || view.look === 'demo') {
    const row = killSwitchRow(view, tr);
    return row.kind === 'switch' ? { ...row, page: 'killswitch' } : row;
  }
  const [id, title, subtitle] = ['killswitch', _('Kill Switch'), view.sentence];
  // without a daemon, the value is unknown
  const value = view.look === 'unavailable' ? {} : { value: _('Off') };
  return { kind: 'link', id, title, page: 'killswitch', ...value, subtitle };
}

/** Returns the button that installs the root service through polkit. */
export function installButton({ _ }: Translator) {
  return {
    label: _('Install…'),
    style: 'suggested',
    command: clientCommand('install-killswitch'),
  } as const satisfies MenuButton;
}

/** Returns the row that installs the root service; empty if it is installed, and in the demo. */
export function installRows({ look }: KillSwitchView, tr: Translator): Row[] {
  const { _ } = tr;
  if (look !== 'not-installed') return [];
  return [
    {
      kind: 'button',
      id: 'install',
      title: _('Kill Switch helper'),
      subtitle: _('A small system service; asks for an administrator’s password'),
      ...installButton(tr),
    },
  ];
}
