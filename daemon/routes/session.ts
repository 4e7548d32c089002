// Judges whether an SSH session outlives a change of the tunnel, from its addresses, the mode and the split tunnel. Pure.
import type { Snapshot } from '../api/schema.ts';
import { quoted } from '../view/message.ts';
import { isKnownConnected } from '../view/states/summary.ts';
import { type Asked, forecast, parseTarget } from './why.ts';

/** The addresses of an SSH session, without zone and port. */
interface Session {
  /** The address of the client; null if the server did not know it, for example because the client uses a Unix socket. */
  peer: string | null;
  /** The address of this machine that the session uses; null if it is not known. */
  local: string | null;
}

/** The state of the tunnel after a change. */
export interface After {
  connected: boolean;
  /** The client's mode, a value of setMode; null if it is not known. */
  mode: string | null;
}

export interface Judgment {
  peer: string;
  survives: 'yes' | 'no' | 'unknown';
  /** The reason, a whole English sentence. */
  because: string;
  /** The address to exclude from the tunnel so that the session survives; null if that would not help, or is not possible. */
  exclude: string | null;
  /** Advice if the session ends and excluding the address is not possible. */
  advice: string | null;
}

/** Reads SSH_CONNECTION: address and port of the client, then of the server (ssh(1)). Returns null without a session. */
export function sessionIn({ SSH_CONNECTION: text }: NodeJS.ProcessEnv): Session | null {
  const [peer = '', , local = ''] = text?.trim().split(/\s+/) ?? [];
  const address = addressOf(peer);
  // sshd writes UNKNOWN for a peer without an address (OpenSSH, canohost.c)
  if (address === null && peer !== 'UNKNOWN') return null;
  return { peer: address, local: addressOf(local) };
}

function addressOf(text: string): string | null {
  const target = parseTarget(text);
  return target?.kind === 'ip' ? target.value : null;
}

/** The device of the tunnel client. */
export const TUNNEL_DEVICE = 'CloudflareWARP';
/** Names that VPNs give to their devices. */
export const VPN_DEVICE = /^(tun|tap|wg|ppp|tailscale|nordlynx|proton|mullvad|utun|zt|wt|nebula|gpd|vpn|ipsec)\d*/;
/** Modes that route the traffic of the whole machine. */
const ROUTING = new Set(['warp', 'warp+doh', 'warp+dot', 'tunnel_only']);

const routes = (mode: string | null) => mode !== null && ROUTING.has(mode);

type Known = Parameters<typeof forecast>[2] & Pick<Snapshot, 'account'>;

/**
 * @param devices the devices of this machine's own addresses
 * @returns null if the change does not touch the session
 */
export function judge(
  { peer, local }: Session,
  after: After,
  snapshot: Known,
  devices: ReadonlyMap<string, string>,
): Judgment | null {
  const now = { connected: isKnownConnected(snapshot.status), mode: snapshot.settings.Mode ?? null };
  const device = (local !== null && devices.get(local)) || null;
  const throughTunnel = device === TUNNEL_DEVICE;
  if (!throughTunnel && !after.connected) return null;
  const {
    survives,
    because,
    entry = null,
  } = snapshot.tunnelCli.emulated
    ? yes('The demo routes nothing.')
    : throughTunnel
      ? ofTunnelSession(now, after)
      : peer === null
        ? unknown('sshd does not know its address.')
        : (ofDirectSession(peer, { now, after, device, own: devices.has(peer) }) ?? ofForecast(peer, after, snapshot));
  const { mode: list } = snapshot.splitTunnel;
  const canExclude = survives === 'no' && !throughTunnel && list === 'exclude' && !snapshot.account.managed;
  return {
    peer: peer ?? 'UNKNOWN',
    survives,
    because,
    exclude: canExclude ? peer : null,
    advice:
      survives !== 'no' || throughTunnel || canExclude
        ? null
        : snapshot.account.managed
          ? `Your organization manages the split tunnel. Ask its administrator to keep ${peer} out of the tunnel.`
          : `To keep it, remove ${entry ?? peer} from what uses WARP first: culvert routes edit`,
  };
}

interface Outcome extends Pick<Judgment, 'survives' | 'because'> {
  /** The entry of the split tunnel that decides. */
  entry?: string | null;
}

const yes = (because: string): Outcome => ({ survives: 'yes', because });
const no = (because: string, entry: string | null = null): Outcome => ({ survives: 'no', because, entry });
const unknown = (because: string): Outcome => ({ survives: 'unknown', because });

/** A session to the address that this machine has in the tunnel. */
function ofTunnelSession(now: After, after: After): Outcome {
  if (!after.connected) return no('It comes through the tunnel, which is turned off.');
  if (!routes(after.mode)) return no(`It comes through the tunnel, and the mode ${after.mode ?? ''} has none.`);
  if (now.connected && now.mode === after.mode) return yes('It comes through the tunnel, which is connected already.');
  return unknown('It comes through the tunnel, which reconnects.');
}

interface Facts {
  now: After;
  after: After;
  /** The device that has this machine's end of the session. */
  device: string | null;
  /** True if the peer is an address of this machine. */
  own: boolean;
}

/** Returns the outcome for a session that the split tunnel does not affect; null for others. */
function ofDirectSession(peer: string, { now, after, device, own }: Facts): Outcome | null {
  if (/^127\.|^::1$/.test(peer))
    return unknown(
      'It comes from a program on this machine, such as cloudflared, whose own connection may go into the tunnel.',
    );
  if (own) return yes('It comes from this machine itself.');
  if (after.mode === null) return unknown('The mode of the tunnel is not known.');
  if (!routes(after.mode)) return yes(`The mode ${after.mode} leaves routes as they are.`);
  if (now.connected && routes(now.mode)) return yes('The tunnel is connected already, and its routes stay.');
  if (device !== null && VPN_DEVICE.test(device))
    return unknown(`It comes through ${device}, whose own packets may go into the tunnel.`);
  return null;
}

/** Decides by mode, split tunnel and kill switch. */
function ofForecast(peer: string, { mode }: After, snapshot: Known): Outcome {
  const status = { ...snapshot.status, state: 'connected' as const, blocked: null, lastKnown: undefined };
  const settings = { ...snapshot.settings, ...(mode === null ? {} : { Mode: mode }) };
  const asked: Asked = { address: peer, kernel: { problem: quoted('') } };
  const stale = snapshot.stale?.filter(({ part }) => part !== 'settings'); // only their mode counts, and is given
  const [way] = forecast({ kind: 'ip', value: peer }, [asked], { ...snapshot, status, settings, stale }).addresses;
  const isInclude = snapshot.splitTunnel.mode === 'include';
  if (!way || way.forecast === null || way.forecast === undefined) return unknown('The split tunnel is not known.');
  if (way.forecast)
    return isInclude
      ? no(`Answers go into the tunnel: ${way.entry ?? peer} is listed as using WARP.`, way.entry)
      : no('Answers go into the tunnel, and WARP’s firewall drops what comes from outside it.');
  if (way.blocked) return unknown('It bypasses WARP, which the kill switch blocks.');
  return way.entry === null
    ? yes('It bypasses WARP: only listed addresses use it.')
    : yes(`It bypasses WARP: ${way.entry} is excluded.`);
}
