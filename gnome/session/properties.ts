// Converts a client's state to the properties of org.culvert.Client1 (data/org.culvert.Client1.xml); pure.
import type { Mode, Snapshot } from '../../daemon/api/schema.ts';
import type { State } from '../../daemon/api/states.ts';
import { type ClientState, current } from '../../daemon/view/client/client-state.ts';
import { modeName } from '../../daemon/view/client/labels.ts';
import { placeName } from '../../daemon/view/places.ts';
import { describeUnconfirmed, isPause, MAIN_MODES } from '../../daemon/view/states/changes.ts';
import { describeKillSwitch, type KillSwitchLook } from '../../daemon/view/states/killswitch.ts';
import { describeTunnel, type TunnelView } from '../../daemon/view/states/tunnel.ts';
import { figuresOf } from '../../daemon/view/states/words.ts';
import type { Translator } from '../../daemon/view/translator.ts';

/** Values of `KillSwitch`. */
type KillSwitchState = Exclude<KillSwitchLook, 'unavailable' | 'demo' | 'blocking'> | 'unknown' | 'on';

/** Properties by their D-Bus names. Times are in µs since the epoch, or 0 for none; a missing text is empty. */
export interface Properties {
  Version: string;
  State: State;
  Reason: string;
  StatusText: string;
  Icon: string;
  Since: number;
  PauseEnds: number;
  /** True while the emulator is in use, which tunnels nothing. */
  Demo: boolean;
  ToggleAction: 'connect' | 'disconnect' | '';
  ToggleText: string;
  CanToggle: boolean;
  /** Label of the remedy. */
  RemedyText: string;
  Mode: string;
  ModeText: string;
  /** ID and title of each mode, and true if the mode can be set now. */
  Modes: [string, string, boolean][];
  KillSwitch: KillSwitchState;
  KillSwitchText: string;
  KillSwitchPauseEnds: number;
  CanSetKillSwitch: boolean;
  /** A change that reverts at `until` unless it is kept; null without such a change. */
  Pending: { what: string[]; text: string; until: number } | null;
  /** Lengths of a pause to offer, in seconds. */
  Pauses: number[];
  Account: string;
  /** Latency in ms; 0 if unknown. */
  Latency: number;
  Location: string;
  LocationCode: string;
}

/** @param version version of this program */
export function propertiesOf(client: ClientState, version: string, tr: Translator): Properties {
  // a state that is out of date counts as unknown
  const snapshot = current(client);
  const tunnel = describeTunnel(client, tr);
  const pause = snapshot?.changes.find(isPause);
  const { state } = tunnel;
  const { action, label, sensitive } = tunnel.toggle;
  return {
    Version: version,
    State: state,
    Reason: reasonOf(client),
    StatusText: tunnel.stateText,
    Icon: tunnel.icon,
    Since: snapshot && state !== 'unknown' ? micro(snapshot.status.since) : 0,
    PauseEnds: pause?.endsAt && state === 'paused' ? micro(pause.endsAt) : 0,
    Demo: snapshot?.tunnelCli.emulated ?? false,
    ToggleAction: (snapshot && action) ?? '',
    ToggleText: snapshot && action ? label : '',
    CanToggle: snapshot !== null && sensitive,
    RemedyText: tunnel.remedy?.label ?? '',
    ...modes(snapshot, tunnel, tr),
    ...killSwitch(client, tr),
    Pending: pendingOf(client, tr),
    Pauses: tunnel.pauses.map(minutes => 60 * minutes),
    Account: accountOf(snapshot),
    ...figures(snapshot, tunnel),
  };
}

/** Returns the code of the blocked state, of the tunnel CLI's reason, or of the daemon's absence. */
function reasonOf({ snapshot, offline }: ClientState): string {
  if (offline || !snapshot) return offline?.code ?? '';
  return snapshot.status.blocked ?? snapshot.status.reason?.code ?? '';
}

function modes(snapshot: Snapshot | null, { settable, lock }: TunnelView, tr: Translator) {
  const mode = snapshot?.settings.Mode;
  if (mode === undefined) return { Mode: '', ModeText: '', Modes: [] };
  const names = MAIN_MODES.includes(mode as Mode) ? MAIN_MODES : [...MAIN_MODES, mode];
  const usable = settable && lock === null;
  return {
    Mode: mode,
    ModeText: modeName(mode, tr).title,
    Modes: names.map((name): [string, string, boolean] => [name, modeName(name, tr).title, usable]),
  };
}

function killSwitch(client: ClientState, tr: Translator) {
  const { look, sentence, sensitive, pausedUntil } = describeKillSwitch(client, tr);
  const names = { unavailable: 'unknown', demo: 'not-installed', blocking: 'on' } as const;
  const value: KillSwitchState = Object.hasOwn(names, look)
    ? names[look as keyof typeof names]
    : (look as KillSwitchState);
  return {
    KillSwitch: value,
    KillSwitchText: value === 'unknown' ? '' : sentence,
    KillSwitchPauseEnds: value === 'paused' && pausedUntil !== null ? pausedUntil * 1000 : 0,
    CanSetKillSwitch: sensitive,
  };
}

function pendingOf(client: ClientState, tr: Translator): Properties['Pending'] {
  const unconfirmed = describeUnconfirmed(client, tr);
  if (!unconfirmed) return null;
  const { publicText, until, subjects } = unconfirmed;
  return { what: [...subjects], text: publicText, until: until * 1000 };
}

/** Returns WARP's name for the kind of account, such as `free`; never an ID. */
function accountOf(snapshot: Snapshot | null): string {
  if (!snapshot) return '';
  const { registered, type } = snapshot.account;
  return registered === false ? 'none' : (type ?? '').toLowerCase();
}

function figures(snapshot: Snapshot | null, { live }: TunnelView) {
  const colo = (live && snapshot?.tunnel.colo) || null;
  const { latencyMs } = live && snapshot ? figuresOf(snapshot) : { latencyMs: null };
  return {
    Latency: latencyMs ?? 0,
    Location: colo === null ? '' : placeName(colo),
    LocationCode: colo ?? '',
  };
}

/** Returns a time in µs since the epoch, the unit that shells use. */
function micro(iso: string): number {
  return Date.parse(iso) * 1000;
}

/** Returns the changed properties with their new values; null if no property changed. */
export function changesBetween(before: Properties, after: Properties): Partial<Properties> | null {
  const names = Object.keys(after) as (keyof Properties)[];
  const changed = names.filter(name => {
    const [then, now] = [before[name], after[name]];
    return now !== then && (typeof now !== 'object' || JSON.stringify(now) !== JSON.stringify(then));
  });
  return changed.length ? Object.fromEntries(changed.map(name => [name, after[name]])) : null;
}
