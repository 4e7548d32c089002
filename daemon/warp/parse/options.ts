// Reads what can be set out of the settings that the tunnel CLI prints, whose keys and values differ by version.
import type { LocalNetworkAccess, Options, Settings, VirtualNetworks } from '../../api/schema.ts';
import { isObject, jsonOf, linesOf, stringOf } from './output.ts';

/** The options that `settings` prints. The others have their own commands. */
export function optionsOf(
  settings: Settings,
): Omit<Options, 'trustedSsids' | 'virtualNetworks' | 'localNetworkAccess'> {
  const get = (...names: string[]) => {
    const entry = Object.entries(settings).find(([key]) =>
      names.some(name => name.toLowerCase() === key.toLowerCase()),
    );
    return entry?.[1];
  };
  const text = (...names: string[]) => {
    const value = get(...names);
    return typeof value === 'string' && !/^(not set|none)?$/i.test(value) ? value : null;
  };
  const truth = (name: string) => {
    const value = get(name);
    return typeof value === 'boolean' ? value : null;
  };
  const mayChangeMode = truth('Allow Mode Switch');
  const masque = get('MASQUE Protocol Settings');
  const fallback = get('Fallback domains');
  return {
    switchLocked: truth('Switch Locked'),
    modeLocked: mayChangeMode === null ? null : !mayChangeMode,
    organization: text('Organization'),
    families: familiesOf(text('Cloudflare for Families', 'families'), get('Resolve via')),
    gatewayId: text('Gateway ID', 'gateway_id') ?? gatewayOf(get('Resolve via')),
    fallbackDomains: (Array.isArray(fallback) ? fallback.map(String) : []).map(line => {
      const [, domain = line, note = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
      return { domain, note: note.replace(/^\((.*)\)$/, '$1') || null };
    }),
    wifiTrusted: truth('Disabled for Wifi'),
    ethernetTrusted: truth('Disabled for Ethernet'),
    masque: isObject(masque) && 'HTTP Version' in masque ? String(masque['HTTP Version']) : null,
    endpoint: text('Custom Endpoint', 'Override WARP endpoint', 'override_warp_endpoint'),
    environment: text('Compliance Environment'),
    localNetwork: text('LAN Access Settings'),
  };
}

/**
 * The names of `trusted ssid list`: a JSON list, or a heading that ends with a colon and one indented name per line. No
 * output of the real CLI is known.
 * @returns null for any other text
 */
export function parseSsids(text: string): string[] | null {
  const value = jsonOf(text);
  const list = isObject(value) ? Object.values(value).find(Array.isArray) : value;
  if (Array.isArray(list)) return list.every(name => typeof name === 'string') ? list : null;
  const [heading, ...names] = linesOf(text);
  if (heading === undefined || !/ssid|wi-?fi/i.test(heading)) return null;
  return heading.endsWith(':') ? names.map(name => name.trim()).filter(Boolean) : [];
}

/** `vnet`: as JSON, or `Currently selected: <ID>` and a block of `ID`, `Name` and `Default` for each network. */
export function parseVirtualNetworks(text: string): VirtualNetworks | null {
  const value = jsonOf(text);
  if (isObject(value) && Array.isArray(value.virtual_networks))
    return {
      active: stringOf(value.active_vnet_id) || null,
      networks: value.virtual_networks.filter(isObject).map(each => ({
        id: stringOf(each.id) ?? '',
        name: stringOf(each.name) ?? '',
        default: each.default === true,
      })),
    };
  const selected = /^Currently selected:\s*(.*)$/m.exec(text)?.[1]?.trim();
  if (selected === undefined) return null;
  const networks: VirtualNetworks['networks'] = [];
  for (const line of linesOf(text)) {
    const [, key, value = ''] = /^\s+(ID|Name|Default):\s*(.*)$/.exec(line) ?? [];
    if (key === 'ID') networks.push({ id: value, name: '', default: false });
    const last = networks.at(-1);
    if (last && key === 'Name') last.name = value;
    if (last && key === 'Default') last.default = value === 'true';
  }
  return { active: selected === '' || selected === 'None' ? null : selected, networks };
}

/** Two readings of one end differ by this much, in ms: the seconds that are left are rounded. */
const SAME_END_MS = 3000;

/**
 * `override local-network show`: `{"allowed":true,"ends_in_secs":900}`, where 0 seconds stand for no set time. The text form
 * is not documented anywhere.
 * @param at when it was printed, in ms
 * @param before the reading before, whose end is kept where this one is the same
 * @returns null for any other text
 */
export function parseLocalNetworkAccess(
  text: string,
  at: number,
  before: LocalNetworkAccess | null,
): LocalNetworkAccess | null {
  const value = jsonOf(text);
  if (!isObject(value) || typeof value.allowed !== 'boolean') return null;
  const { allowed, ends_in_secs: seconds } = value;
  if (!allowed || typeof seconds !== 'number' || seconds <= 0) return { allowed, endsAt: null };
  const end = at + seconds * 1000;
  if (before?.endsAt && Math.abs(Date.parse(before.endsAt) - end) < SAME_END_MS) return before;
  return { allowed, endsAt: new Date(end).toISOString() };
}

function familiesOf(named: string | null, resolver: unknown): Options['families'] {
  const text = named?.toLowerCase() ?? '';
  if (text === 'off' || text === 'malware' || text === 'full') return text;
  const host = resolverHost(resolver);
  if (host === 'family.cloudflare-dns.com') return 'full';
  if (host === 'security.cloudflare-dns.com') return 'malware';
  return host === 'cloudflare-dns.com' ? 'off' : null;
}

/** `1a2b3c.cloudflare-gateway.com` is the resolver of the location `1a2b3c`. */
function gatewayOf(resolver: unknown): string | null {
  return /^([^.]+)\.cloudflare-gateway\.com$/.exec(resolverHost(resolver))?.[1] ?? null;
}

/** The host in `security.cloudflare-dns.com @ [1.1.1.2]`, or in a URL. */
function resolverHost(resolver: unknown): string {
  const text = typeof resolver === 'string' ? resolver.toLowerCase() : '';
  return text.split(/[^\w.-]+/).find(host => /(?:^|\.)cloudflare-(?:dns|gateway)\.com$/.test(host)) ?? '';
}
