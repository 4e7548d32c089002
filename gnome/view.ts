// Pure: what is known of the tunnel -> what panel and tray show of it.
import type {
  ActionName,
  Blocked,
  ConfigResponse,
  ConnectionState,
  Mode,
  Protocol,
  Snapshot,
} from '../daemon/api/schema.ts';
import type { Facts, Loss } from './model.ts';
import { fill, type Words } from './words.ts';

/** One icon, one colour and one set of words each. */
export type Look = ConnectionState | 'blocked' | 'unavailable';
export type Tone = 'success' | 'accent' | 'warning' | 'error' | 'neutral';

export interface View {
  look: Look;
  /** The state in words. */
  label: string;
  /** What that means for the user. */
  sentence: string;
  /** The tunnel CLI's own words: the reason, or what was not understood. */
  reason: string | null;
  icon: string;
  tone: Tone;
  toggle: Toggle;
  /** What the user must do first, while the daemon can be asked for it. */
  blocked: Blocked | null;
  emulated: boolean;
  mode: string | null;
  protocol: Protocol | null;
  /** Mode, protocol and every other action can be asked for. */
  settable: boolean;
  /** Figures of the running tunnel mean something. */
  live: boolean;
}

export interface Toggle {
  /** Position of a switch: what is confirmed, never what is wished. */
  on: boolean;
  sensitive: boolean;
  /** What flipping it asks for; null where the state is not known, and flipping could mean either. */
  action: 'connect' | 'disconnect' | null;
  label: string;
}

const ON: ConnectionState[] = ['connected', 'connecting', 'unable'];
const TONES: Record<Look, Tone> = {
  connected: 'success',
  connecting: 'accent',
  disconnecting: 'accent',
  disconnected: 'neutral',
  unable: 'error',
  unknown: 'warning',
  blocked: 'warning',
  unavailable: 'neutral',
};

/** Everything that panel and tray show of `facts`, in the language of `words`. */
export function describe(facts: Facts, words: Words): View {
  const { snapshot, loss, pending } = facts;
  const look = lookOf(facts);
  const known = look === 'unavailable' || !snapshot ? null : snapshot;
  const state = known && !known.status.blocked ? known.status.state : null;
  const first = known?.status.state === 'unknown' && known.status.raw === null;
  return {
    look,
    ...describeState(look, known, loss, words),
    icon: iconName(look),
    tone: look === 'connected' && known?.status.network === 'unstable' ? 'warning' : TONES[look],
    toggle: toggleOf(state, !pending && !first, words),
    blocked: known?.status.blocked ?? null,
    emulated: snapshot?.tunnelCli.emulated ?? false,
    mode: snapshot?.settings.Mode ?? null,
    protocol: snapshot ? protocolOf(snapshot) : null,
    settable: state !== null && !pending && !first,
    live: state === 'connected',
  };
}

/** Name of the symbolic icon of a look. */
export function iconName(look: Look): string {
  return `org.culvert.Culvert-${look}-symbolic`;
}

/** A mode as people know it, with what it does. Other modes than the known show as they are. */
export function modeName(mode: string, { _ }: Words): { title: string; subtitle: string } {
  const names: Record<Mode, { title: string; subtitle: string }> = {
    warp: { title: _('WARP'), subtitle: _('All traffic and DNS go through the tunnel') },
    'warp+doh': { title: _('WARP with DNS over HTTPS'), subtitle: _('All traffic through the tunnel, DNS over HTTPS') },
    'warp+dot': { title: _('WARP with DNS over TLS'), subtitle: _('All traffic through the tunnel, DNS over TLS') },
    doh: { title: _('DNS over HTTPS only'), subtitle: _('Only DNS is encrypted, no tunnel') },
    dot: { title: _('DNS over TLS only'), subtitle: _('Only DNS is encrypted, no tunnel') },
    proxy: { title: _('Local proxy'), subtitle: _('Only apps that use the proxy go through the tunnel') },
    tunnel_only: { title: _('Tunnel only'), subtitle: _('Traffic goes through the tunnel, DNS does not') },
  };
  return names[mode as Mode] ?? { title: mode, subtitle: '' };
}

function lookOf({ snapshot, loss }: Facts): Look {
  if (loss || !snapshot) return 'unavailable';
  return snapshot.status.blocked ? 'blocked' : snapshot.status.state;
}

function describeState(
  look: Look,
  known: Snapshot | null,
  loss: Loss | null,
  words: Words,
): Pick<View, 'label' | 'sentence' | 'reason'> {
  const { _ } = words;
  if (look === 'unavailable' || !known) return describeLoss(loss, words);
  const reason = known.status.reason?.text ?? null;
  switch (look) {
    case 'connected':
      return {
        label: _('Connected'),
        sentence: known.tunnelCli.emulated ? _('This is a demo: nothing is protected.') : coverage(known, words),
        reason: known.status.network === 'unstable' ? (reason ?? _('The network is unstable.')) : null,
      };
    case 'connecting':
      return { label: _('Connecting…'), sentence: _('The tunnel is being set up.'), reason };
    case 'disconnecting':
      return { label: _('Disconnecting…'), sentence: _('The tunnel is being taken down.'), reason };
    case 'disconnected':
      return { label: _('Disconnected'), sentence: _('Your traffic does not go through WARP.'), reason };
    case 'unable':
      return {
        label: _('Unable to connect'),
        sentence: _('WARP keeps trying. Traffic may not pass until then.'),
        reason,
      };
    case 'blocked':
      return { label: _('Not ready'), sentence: blockedWord(known.status.blocked!, words), reason };
    default:
      if (known.status.raw === null)
        return {
          label: _('Reading the state…'),
          sentence: _('Waiting for the first word of the tunnel.'),
          reason: null,
        };
      return {
        label: _('State not recognised'),
        sentence: _('WARP reports something that Culvert does not understand:'),
        reason: known.status.raw,
      };
  }
}

function describeLoss(loss: Loss | null, { _ }: Words): Pick<View, 'label' | 'sentence' | 'reason'> {
  const label = _('Unavailable');
  switch (loss?.code) {
    case 'not-running':
      return { label, sentence: _('The Culvert daemon is not running.'), reason: null };
    case 'stopped':
      return { label, sentence: _('The Culvert daemon has stopped.'), reason: null };
    case 'silent':
      return { label, sentence: _('The Culvert daemon does not answer.'), reason: loss.detail };
    case 'refused':
      return { label, sentence: _('The Culvert daemon refuses this window.'), reason: loss.detail };
    default:
      return { label: _('Starting…'), sentence: _('Looking for the Culvert daemon.'), reason: null };
  }
}

function blockedWord(blocked: Blocked, { _ }: Words): string {
  const says: Record<Blocked, string> = {
    'cli-missing': _('Cloudflare WARP is not installed.'),
    'service-stopped': _('The WARP service is not running.'),
    'terms-not-accepted': _('The terms of service have not been accepted.'),
    'not-registered': _('This device is not registered.'),
    'not-authorized': _('WARP does not authorise this.'),
  };
  return says[blocked];
}

/** What a connection covers, which the mode decides. */
function coverage({ settings, tunnel }: Snapshot, { _ }: Words): string {
  switch (settings.Mode) {
    case 'doh':
    case 'dot':
      return _('DNS queries are encrypted; other traffic is not tunnelled.');
    case 'proxy':
      return tunnel.proxyPort === null
        ? _('Apps that use the local proxy are tunnelled.')
        : // Translators: %s is an address such as 127.0.0.1:40000
          fill(_('Apps that use the proxy at %s are tunnelled.'), `127.0.0.1:${tunnel.proxyPort}`);
    case 'tunnel_only':
      return _('Your traffic is tunnelled; DNS is not.');
    default:
      return _('Your traffic goes through Cloudflare.');
  }
}

function toggleOf(state: ConnectionState | null, free: boolean, { _ }: Words): Toggle {
  const on = state !== null && ON.includes(state);
  const either = state === null || state === 'unknown';
  return {
    on,
    sensitive: free && !either && state !== 'disconnecting',
    action: either ? null : on ? 'disconnect' : 'connect',
    label: on ? (state === 'connecting' ? _('Cancel') : _('Disconnect')) : _('Connect'),
  };
}

/** Old tunnel CLIs do not name it, and spellings differ between text and JSON. */
function protocolOf({ settings, tunnel }: Snapshot): Protocol | null {
  const named = Object.entries(settings).find(([key]) => /^warp[ _]tunnel[ _]protocol$/i.test(key))?.[1];
  const text = typeof named === 'string' ? named : (tunnel.protocol ?? '');
  if (/^masque/i.test(text)) return 'MASQUE';
  return /^wireguard/i.test(text) ? 'WireGuard' : null;
}

/** What a clock that runs since the state began is called, or null where none makes sense. */
export function durationTitle(look: Look, { _ }: Words): string | null {
  const says: Partial<Record<Look, string>> = {
    connected: _('Connected for'),
    connecting: _('Connecting for'),
    disconnecting: _('Disconnecting for'),
    disconnected: _('Disconnected for'),
    unable: _('Failing for'),
    unknown: _('Not recognised for'),
  };
  return says[look] ?? null;
}

/** Words for an action that has been done, where its effect is not already in plain sight. */
export function doneWord(action: ActionName, { _ }: Words): string | null {
  const says: Partial<Record<ActionName, string>> = {
    acceptTerms: _('Terms accepted'),
    register: _('This device is registered'),
    setMode: _('Mode changed'),
    setProtocol: _('Protocol changed'),
  };
  return says[action] ?? null;
}

/** Words for the banner over a lost stream; null while nothing is lost, or before the first attempt has failed. */
export function lossWord(loss: Loss | null, words: Words): string | null {
  return loss && loss.code !== 'starting' ? describeLoss(loss, words).sentence : null;
}

/** The first thing wrong in the configuration files: file, line and reason. */
export function configWord(config: ConfigResponse | null, { ngettext }: Words): string | null {
  const [first, ...rest] = config?.problems ?? [];
  if (!first) return null;
  const place = [first.file, first.line].filter(part => part !== null).join(':');
  const text = `${place}: ${first.key ? `${first.key}: ` : ''}${first.message}`;
  // Translators: %s is a problem in a configuration file, %d how many more there are
  return rest.length ? fill(ngettext('%s (and %d more)', '%s (and %d more)', rest.length), text, rest.length) : text;
}
