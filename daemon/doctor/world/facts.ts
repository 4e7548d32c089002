// Provides facts about the tunnel and the network, and fixes, that several checks share.
import { BlockList, isIPv4, isIPv6 } from 'node:net';
import * as z from 'zod/mini';
import type { Fix } from '../../api/doctor.ts';
import type { Snapshot } from '../../api/schema.ts';
import type { Message } from '../../api/values.ts';
import { modeName } from '../../view/client/labels.ts';
import { message } from '../../view/message.ts';
import { english } from '../../view/translator.ts';
import { POLICY_FILE, type PolicyFile } from '../../warp/parse/policy-file.ts';
import { NoVerdict } from '../errors.ts';
import { labeled } from '../file-fix.ts';
import { as } from './bus.ts';
import type { World } from './world.ts';

/** State of the tunnel. @throws NoVerdict if there is no snapshot */
export function tunnelOf({ tunnel }: World): Snapshot {
  if (tunnel) return tunnel;
  throw new NoVerdict(
    message('The state of the tunnel is not known: no Culvert daemon runs, and the tunnel CLI was not asked.'),
  );
}

/** The mode. @throws NoVerdict while the client reports no settings, or when they could not be read */
export function modeOf(world: World): string {
  const { settings, status, tunnelCli } = tunnelOf(world);
  if (tunnelCli.emulated)
    throw new NoVerdict(message('The embedded emulator tunnels nothing.'), undefined, 'not-applicable');
  if (settings.Mode !== undefined) return settings.Mode;
  if (!tunnelCli.available)
    throw new NoVerdict(message('The tunnel CLI is not installed.'), undefined, 'not-applicable');
  if (status.blocked)
    throw new NoVerdict(
      message('The client has to be set up first: see the check "service".'),
      undefined,
      'not-applicable',
    );
  throw new NoVerdict(message('The mode of the tunnel is not known: its settings could not be read.'));
}

/** Name of a mode, as a value for a message. */
export const modeWord = (mode: string) => ({ word: modeName(mode, english).title });

const DNS_MODES = new Set(['warp', 'doh', 'warp+doh', 'dot', 'warp+dot']);
const TUNNEL_MODES = new Set(['warp', 'warp+doh', 'warp+dot', 'tunnel_only']);

/** True if the client answers the whole machine's name lookups in this mode. */
export const handlesDns = (mode: string) => DNS_MODES.has(mode);
/** True if the client routes the whole machine's traffic in this mode. */
export const routesTraffic = (mode: string) => TUNNEL_MODES.has(mode);

/** Reports whether the tunnel claims to carry traffic; the emulator never does. */
export function isConnected({ tunnel }: World): boolean {
  return tunnel?.status.state === 'connected' && !tunnel.tunnelCli.emulated;
}

/** Entries of the list of fallback domains, as they are printed: `wikipedia.org -> [8.8.8.8]`. */
export function fallbackDomains({ settings }: Snapshot): string[] {
  const list = settings['Fallback domains'];
  return Array.isArray(list) ? list.map(String) : [];
}

/** `MASQUE`, `WireGuard`, or null if neither settings nor statistics name it. */
export function protocolOf({ settings, tunnel }: Snapshot): 'MASQUE' | 'WireGuard' | null {
  const text = String(settings['WARP tunnel protocol'] ?? tunnel.protocol ?? '');
  if (/^masque/i.test(text)) return 'MASQUE';
  return /^wireguard/i.test(text) ? 'WireGuard' : null;
}

/** `10.0.0.0/8` as address and prefix; a bare address counts as one host. null for anything else. */
function rangeOf(text: string): { address: string; prefix: number; family: 'ipv4' | 'ipv6' } | null {
  const [, address = '', prefix] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? [];
  const family = isIPv6(address) ? 'ipv6' : isIPv4(address) ? 'ipv4' : null;
  if (!family) return null;
  const bits = family === 'ipv6' ? 128 : 32;
  const length = prefix === undefined ? bits : Number(prefix);
  return length <= bits ? { address, prefix: length, family } : null;
}

/** Reports whether one of `ranges` contains all of `inner` (an address or a range). Other text never matches. */
export function covers(ranges: readonly string[], inner: string): boolean {
  const innerRange = rangeOf(inner);
  if (!innerRange) return false;
  return ranges.some(text => {
    const range = rangeOf(text);
    if (!range || range.family !== innerRange.family || range.prefix > innerRange.prefix) return false;
    const list = new BlockList();
    list.addSubnet(range.address, range.prefix, range.family);
    return list.check(innerRange.address, innerRange.family);
  });
}

/** An address of documentation (RFC 5737), which the default split tunnel leaves in the tunnel. It stands for the Internet. */
export const INTERNET = '203.0.113.1';

/** Reports whether traffic to an address or a range bypasses the tunnel. @throws NoVerdict when the split tunnel is not known */
export function isOutsideTunnel(world: World, range: string): boolean {
  const { mode, ips } = tunnelOf(world).splitTunnel;
  if (mode === null) throw new NoVerdict(message('The split tunnel is not known: its lists could not be read.'));
  const listed = covers(
    ips.map(({ value }) => value),
    range,
  );
  return mode === 'exclude' ? listed : !listed;
}

/** A fix that takes ranges or addresses out of the tunnel; null if the user can't change the list. */
export function excludeFix(world: World, ranges: readonly string[], label: Message): Fix | null {
  const { splitTunnel, account } = tunnelOf(world);
  if (account.managed || ranges.length === 0) return null; // the organization's administrator manages the list
  const steps = (verb: 'add' | 'remove') =>
    ranges.map(value => ({ action: `${verb}Split${value.includes('/') ? 'Range' : 'Ip'}` as const, value }));
  const [there, back] = splitTunnel.mode === 'exclude' ? (['add', 'remove'] as const) : (['remove', 'add'] as const);
  return { kind: 'action', ...labeled(label), actions: steps(there), undo: steps(back) };
}

/** Returns the organization's policy file as it lies there, or null. */
export function policyFileOf({ files }: Pick<World, 'files'>): PolicyFile | null {
  return files.policyFile(POLICY_FILE);
}

/** Makes the client set up everything again. */
export const RECONNECT: Fix = {
  kind: 'action',
  ...labeled(message('Reconnect')),
  actions: [{ action: 'disconnect' }, { action: 'connect' }],
  undo: [],
};

/** @param repair arguments of `culvert-repair fix`, if it has the same fix (daemon/doctor/repair/repairs.ts) */
export function adminCommands(
  label: Message,
  commands: string[][],
  { undo = [], repair }: { undo?: string[][]; repair?: string[] } = {},
): Fix {
  return { kind: 'commands', ...labeled(label), commands, undo, privileged: true, ...(repair ? { repair } : {}) };
}

/** Restarts the tunnel service. */
export const RESTART_WARP = adminCommands(message('Restart the WARP service'), [['systemctl', 'restart', 'warp-svc']], {
  repair: ['restart-warp'],
});

const DOCS = 'https://developers.cloudflare.com/cloudflare-one/team-and-resources/devices/cloudflare-one-client/';
/** A page of the vendor's documentation. */
export const vendorPage = (path: string) => `${DOCS}${path}`;
export const releaseNotes = 'https://developers.cloudflare.com/changelog/product/cloudflare-one-client/';

/** NMConnectivityState. */
const Connectivity = z.int().check(z.gte(0), z.lte(4));
const CONNECTIVITY = ['unknown', 'none', 'portal', 'limited', 'full'] as const;

/** NetworkManager's view of the network, or null if it does not run. @throws NoVerdict */
export function connectivity(world: World): Promise<(typeof CONNECTIVITY)[number] | null> {
  return world.once('connectivity', async () => {
    const target = {
      service: 'org.freedesktop.NetworkManager',
      path: '/org/freedesktop/NetworkManager',
      interface: 'org.freedesktop.NetworkManager',
    };
    const [value] = (await world.bus.properties(target, ['Connectivity'])) ?? [];
    const state = as(Connectivity, value);
    return state === null ? null : (CONNECTIVITY[state] ?? null);
  });
}

/**
 * The service and device of a link with a login page, or null. The network may have announced the page (DHCP option 114),
 * and still announces it after the login.
 */
export async function linkWithLogin(world: World): Promise<{ service: string; device: string } | null> {
  const links = await world.networkLinks().catch(() => []); // the state of NetworkManager still counts
  const link = links.find(each => each.connectivity === 'portal');
  // only connections of NetworkManager have a UUID
  return link ? { service: link.uuid === null ? 'systemd-networkd' : 'NetworkManager', device: link.device } : null;
}
