// Pure: what is known of the kill switch -> what panel and tray show of it.
import type { KillSwitch } from '../daemon/api/schema.ts';
import { formatDuration } from './format.ts';
import type { Facts } from './model.ts';
import type { Look, Tone } from './view.ts';
import { fill, type Words } from './words.ts';

export type KillSwitchLook =
  | 'unavailable'
  | 'not-installed'
  | 'off'
  /** Not wanted, and the rules stand: a fault that fails closed. */
  | 'stuck'
  | 'blocking'
  | 'unmeasured'
  /** Wanted, and measured not to be there. */
  | 'missing'
  | 'paused';

export interface KillSwitchView {
  look: KillSwitchLook;
  /** The state in words, without what time changes. */
  sentence: string;
  tone: Tone;
  /** Position of the switch: what is wanted, as confirmed. */
  on: boolean;
  /** The switch, and the one for the local network, can be flipped. */
  sensitive: boolean;
  allowLan: boolean;
  /** A pause can be begun. */
  pausable: boolean;
  /** End of a pause in ms since the epoch, or null. */
  pausedUntil: number | null;
  /** What answers a foreign flush, and what happens at boot; null while it does not matter. */
  protection: string | null;
  boot: string | null;
  /** The daemon's own words. */
  detail: string | null;
  command: { purpose: string; command: string } | null;
}

/** Choices of a pause, in minutes. */
export const PAUSES = [5, 15, 60] as const;

/** Everything that panel and tray show of the kill switch, in the language of `words`. */
export function describeKillSwitch({ snapshot, loss, killSwitchPending }: Facts, words: Words): KillSwitchView {
  const known = loss || !snapshot ? null : snapshot.killSwitch;
  const look = lookOf(known);
  const usable = look !== 'unavailable' && look !== 'not-installed' && !killSwitchPending;
  const enforced = known?.installed === true && (known.enabled || known.active === true);
  return {
    look,
    ...describeLook(look, words),
    on: known?.enabled ?? false,
    sensitive: usable,
    allowLan: known?.allowLan ?? false,
    pausable: usable && known?.enabled === true && known.pausedUntil === null,
    pausedUntil: known?.pausedUntil ? Date.parse(known.pausedUntil) : null,
    protection: enforced ? protectionWord(known, words) : null,
    boot: enforced ? bootWord(known, words) : null,
    detail: known?.detail ?? null,
    command: commandOf(known, words),
  };
}

function lookOf(known: KillSwitch | null): KillSwitchLook {
  if (!known) return 'unavailable';
  if (!known.installed) return 'not-installed';
  if (known.pausedUntil !== null) return 'paused';
  if (!known.enabled) return known.active ? 'stuck' : 'off';
  if (known.active === null) return 'unmeasured';
  return known.active ? 'blocking' : 'missing';
}

function describeLook(look: KillSwitchLook, { _ }: Words): Pick<KillSwitchView, 'sentence' | 'tone'> {
  switch (look) {
    case 'unavailable':
      return { sentence: _('Not known without the daemon.'), tone: 'neutral' };
    case 'not-installed':
      return { sentence: _('Its service is not installed.'), tone: 'neutral' };
    case 'off':
      return { sentence: _('Off: without the tunnel, traffic takes the ordinary way.'), tone: 'neutral' };
    case 'stuck':
      return { sentence: _('Off, but its rules still block traffic outside the tunnel.'), tone: 'error' };
    case 'blocking':
      return { sentence: _('On: traffic outside the tunnel is blocked.'), tone: 'success' };
    case 'unmeasured':
      return { sentence: _('On, but whether it blocks could not be measured.'), tone: 'warning' };
    case 'missing':
      return { sentence: _('On, but its rules are not in place: nothing is blocked.'), tone: 'error' };
    case 'paused':
      return { sentence: _('Paused: nothing is blocked until the pause ends.'), tone: 'warning' };
  }
}

function protectionWord({ protection }: KillSwitch, { _ }: Words): string {
  const says: Record<KillSwitch['protection'], string> = {
    'owner-persist': _('The kernel lets no other program remove the rules'),
    watchdog: _('A watchdog restores the rules when another program removes them'),
    none: _('Another program with administrator rights could remove the rules'),
  };
  return says[protection];
}

function bootWord({ bootGuard }: KillSwitch, { _ }: Words): string {
  return bootGuard
    ? _('The rules are in place before the network is')
    : _('Nothing is blocked until the kill switch is turned on again');
}

function commandOf(known: KillSwitch | null, { _ }: Words): KillSwitchView['command'] {
  if (!known?.command) return null;
  return {
    purpose: known.installed ? _('This helps, in a terminal:') : _('Install it once, in a terminal:'),
    command: known.command,
  };
}

/** What is left of a pause as a clock: `4:32`. */
export function pauseLeft(until: number, now: number, words: Words): string {
  return formatDuration(Math.ceil(Math.max(0, until - now) / 1000), words);
}

/** What is left of a pause in whole minutes, rounded up, for what is updated each minute. */
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
export function pauseName(minutes: number, { _, ngettext }: Words): string {
  return minutes === 60 ? _('1 hour') : fill(ngettext('%d minute', '%d minutes', minutes), minutes);
}

export interface KillSwitchBanner {
  title: string;
  button: { label: string; asks: 'connect' | 'off' } | null;
}

/** Modes whose traffic has no tunnel device to leave through, so that the kill switch stops all of it. */
const TUNNELLESS = ['doh', 'dot', 'proxy'];

/** The banner over everything while the kill switch stops traffic that the user may miss; else null. */
export function killSwitchBanner(facts: Facts, look: Look, words: Words): KillSwitchBanner | null {
  const { _ } = words;
  const { snapshot, pending, killSwitchPending } = facts;
  if (!snapshot || look === 'unavailable' || !snapshot.killSwitch.active || snapshot.killSwitch.pausedUntil !== null)
    return null;
  const off = killSwitchPending ? null : ({ label: _('Turn Off'), asks: 'off' } as const);
  if (look === 'connected')
    return TUNNELLESS.includes(snapshot.settings.Mode ?? '')
      ? { title: _('The kill switch blocks all other traffic: this mode does not tunnel it'), button: off }
      : null;
  const title = _('Traffic is blocked by the kill switch');
  if (look === 'disconnected') return { title, button: pending ? null : { label: _('Connect'), asks: 'connect' } };
  // what must be done first may itself need the network
  return { title, button: look === 'blocked' || look === 'unable' || look === 'unknown' ? off : null };
}
