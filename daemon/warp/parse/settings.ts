// Parses the settings of any version, in JSON or text, into one stable shape, and parses the lists of the split tunnel.
import type { Options, Settings, SplitTunnel } from '../../api/schema.ts';
import { isRecord } from '../../core/shape.ts';
import { type Json, jsonOf, linesOf, stringOf } from './output.ts';

type Route = SplitTunnel['ips'][number];

interface SettingsReading {
  settings: Settings;
  /** Port of the local proxy; null outside proxy mode. */
  proxyPort: number | null;
  /** null if this output says nothing about split tunneling. */
  splitTunnel: SplitTunnel | null;
}

/** Parses settings; null for any other text. Never throws. */
export function parseSettings(text: string): SettingsReading | null {
  const value = jsonOf(text);
  if (isRecord(value)) {
    const settings = isRecord(value.settings) ? value.settings : value;
    return 'operation_mode' in settings || 'always_on' in settings ? parseObject(settings) : null;
  }
  return parseText(linesOf(text));
}

interface ListReading {
  mode: SplitTunnel['mode'];
  routes: Route[];
}

/** Parses the answer of `tunnel ip list` or `tunnel host list`; null for any other text. */
export function parseRoutes(text: string): ListReading | null {
  const value = jsonOf(text);
  if (value !== undefined) {
    const list = Array.isArray(value) ? value : isRecord(value) ? Object.values(value).find(Array.isArray) : undefined;
    return list ? { mode: isRecord(value) ? splitModeOf(value.mode) : null, routes: routesOf(list) } : null;
  }
  const lines = linesOf(text);
  const at = lines.findIndex(line => /^(excluded|included) (routes|hosts|ips):$/i.test(line));
  if (at < 0) return null;
  const entries = lines.slice(at + 1).filter(line => /^\s*[0-9A-Za-z:*]/.test(line) && !/:$/.test(line));
  return { mode: splitModeOf(/^(exclude|include)/i.exec(lines[at] ?? '')?.[1]), routes: entries.map(routeOf) };
}

/** Returns the options that `settings` prints. Separate commands print the remaining options. */
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
    masque:
      isRecord(masque) && 'HTTP Version' in masque ? String(masque['HTTP Version']) : text('MASQUE Protocol Settings'),
    endpoint: text('Custom Endpoint', 'Override WARP endpoint', 'override_warp_endpoint'),
    environment: text('Compliance Environment'),
    localNetwork: text('LAN Access Settings'),
  };
}

/** Default port of proxy mode (documented: "Local proxy mode"). */
const DEFAULT_PROXY_PORT = 40_000;

/** Modes of setMode by the names in settings (documented table), in text and in JSON. */
export const MODES = new Map<string, string>(
  Object.entries({
    warp: 'warp',
    dnsoverhttps: 'doh',
    doh: 'doh',
    warpwithdnsoverhttps: 'warp+doh',
    'warp+doh': 'warp+doh',
    warp_doh: 'warp+doh',
    dnsovertls: 'dot',
    dot: 'dot',
    warpwithdnsovertls: 'warp+dot',
    'warp+dot': 'warp+dot',
    warp_dot: 'warp+dot',
    warpproxy: 'proxy',
    proxy: 'proxy',
    warp_proxy: 'proxy',
    tunnelonly: 'tunnel_only',
    tunnel_only: 'tunnel_only',
  }),
);

export const PROTOCOLS = new Map<string, string>(
  Object.entries({ masque: 'MASQUE', wireguard: 'WireGuard', wire_guard: 'WireGuard' }),
);

/** Text names of JSON keys; a key without an entry stays unchanged. */
export const KEYS = new Map<string, string>(
  Object.entries({
    always_on: 'Always On',
    switch_locked: 'Switch Locked',
    operation_mode: 'Mode',
    warp_tunnel_protocol: 'WARP tunnel protocol',
    post_quantum_config: 'Post-quantum support for MASQUE',
    disable_for_wifi: 'Disabled for Wifi',
    disable_for_ethernet: 'Disabled for Ethernet',
    onboarding: 'Onboarding',
    disable_auto_fallback: 'Disable Auto Fallback',
    fallback_domains: 'Fallback domains',
    organization: 'Organization',
    allow_mode_switch: 'Allow Mode Switch',
    allow_updates: 'Allow Updates',
    profile_id: 'Profile ID',
    support_url: 'Support URL',
    captive_portal: 'Captive Portal',
  }),
);

/** Text forms of JSON values. */
export const VALUES = new Map<string, string>(
  Object.entries({ enabled_with_downgrades: 'Enabled (downgrades allowed)' }),
);

/** Keys with free text, which may look like a number. */
const TEXT_KEYS = new Set(['Organization', 'Profile ID', 'Support URL']);

function parseObject(source: Json): SettingsReading {
  const settings: Settings = {};
  let proxyPort = typeof source.proxy_port === 'number' ? source.proxy_port : null;
  for (const [name, value] of Object.entries(source)) {
    const key = KEYS.get(name) ?? name;
    if (name === 'split_tunnel_mode' ? splitModeOf(value) : UNLISTED.test(name)) continue;
    if (key === 'Mode') {
      const mode = modeOf(value);
      settings.Mode = mode.name;
      proxyPort = mode.port ?? proxyPort;
    } else if (key === 'WARP tunnel protocol') settings[key] = protocolOf(String(value));
    else if (key === 'Fallback domains' && Array.isArray(value)) settings[key] = value.map(fallbackDomain);
    else settings[key] = typeof value === 'string' ? (VALUES.get(value) ?? value) : (value as Settings[string]);
  }
  const splitTunnel = splitOf(source.split_tunnel_mode, source.split_tunnel_ips, source.split_tunnel_hosts);
  if (splitTunnel?.mode) settings[SPLIT_KEYS[splitTunnel.mode]] = printedRoutes(splitTunnel);
  return finish(settings, proxyPort, splitTunnel);
}

/** JSON keys that are no settings: `SplitTunnel` has the lists. */
const UNLISTED = /^(split_tunnel_(ips|hosts)|sources|__proto__)$/;

const SPLIT_KEYS = { exclude: 'Exclude mode, with hosts/ips', include: 'Include mode, with hosts/ips' } as const;

function parseText(lines: string[]): SettingsReading | null {
  const settings: Settings = {};
  let proxyPort: number | null = null;
  let splitTunnel: SplitTunnel | null = null;
  let recognized = false;

  for (let at = 0; at < lines.length; at++) {
    // removes the source of the value at the start of a line: `(network policy)<TAB>`
    const line = (lines[at] ?? '').replace(/^\([^)]*\)\s+/, '');
    const [, key, value = ''] = /^(\S[^:]*):(?:\s+(.*))?$/.exec(line) ?? [];
    if (!key || key === '__proto__') continue;
    const block = value === '' ? indentedAfter(lines, at) : [];
    at += block.length;
    if (key === 'Merged configuration' || key === 'Mode' || key === 'Always On') recognized = true;
    if (key === 'Merged configuration' && block.length === 0) continue;

    const split = /^(exclude|include) mode\b/i.exec(key)?.[1]?.toLowerCase() as 'exclude' | 'include' | undefined;
    if (split) {
      const routes = block.map(routeOf);
      const hosts = routes.filter(route => !isAddress(route));
      splitTunnel = splitOf(split, routes.filter(isAddress), hosts);
      settings[SPLIT_KEYS[split]] = block;
    } else if (key === 'Mode') {
      const mode = modeOf(value);
      settings.Mode = mode.name;
      proxyPort = mode.port;
    } else if (key === 'WARP tunnel protocol') settings[key] = protocolOf(value);
    else settings[key] = block.length > 0 ? blockValue(key, block) : typed(key, value);
  }
  return recognized ? finish(settings, proxyPort, splitTunnel) : null;
}

function finish(settings: Settings, port: number | null, splitTunnel: SplitTunnel | null): SettingsReading {
  return { settings, proxyPort: settings.Mode === 'proxy' ? (port ?? DEFAULT_PROXY_PORT) : null, splitTunnel };
}

function indentedAfter(lines: string[], at: number): string[] {
  let end = at + 1;
  while (end < lines.length && /^[ \t]+\S/.test(lines[end] ?? '')) end++;
  return lines.slice(at + 1, end).map(line => line.trim());
}

/** Returns an object for a block of `key: value` lines, else the list of its lines. */
function blockValue(key: string, block: string[]): Settings[string] {
  const pairs = block.map(line => /^([^:]+):\s+(.+)$/.exec(line));
  if (key !== 'Fallback domains' && pairs.every(pair => pair !== null)) {
    return Object.fromEntries(pairs.map(pair => [pair[1], typed(pair[1] ?? '', pair[2] ?? '')]));
  }
  return block.map(line => line.replace(/\s+/g, ' '));
}

function typed(key: string, value: string): string | number | boolean | [] {
  if (key === 'Fallback domains' && value === '') return [];
  if (TEXT_KEYS.has(key)) return value;
  if (value === 'true' || value === 'false') return value === 'true';
  return /^(0|[1-9]\d{0,14})$/.test(value) ? Number(value) : value;
}

/** Parses a mode: `WarpProxy on port 40000`, `warp_doh`, or a JSON object with a single key and the port inside. */
function modeOf(value: unknown): { name: string; port: number | null } {
  if (isRecord(value)) {
    const [name = '', inner] = Object.entries(value)[0] ?? [];
    const port = isRecord(inner) ? inner.port : inner;
    return { name: modeOf(name).name, port: typeof port === 'number' ? port : null };
  }
  const text = String(value).trim();
  const [, name = text, port] = /^(.*?) on port (\d{1,5})$/i.exec(text) ?? [];
  return { name: MODES.get(name.toLowerCase()) ?? text, port: port ? Number(port) : null };
}

function protocolOf(value: string): string {
  return PROTOCOLS.get(value.toLowerCase()) ?? value;
}

/** Formats a domain like the text form: `wikipedia.org -> [8.8.8.8]`, `bytedns3.com (CLI add)`. */
function fallbackDomain(value: unknown): string {
  if (!isRecord(value)) return String(value);
  const servers = Array.isArray(value.dns_servers) ? value.dns_servers : [];
  const description = stringOf(value.description);
  return [
    String(value.domain ?? value.suffix ?? ''),
    ...(description ? [`(${description})`] : []),
    ...(servers.length > 0 ? [`-> [${servers.join(', ')}]`] : []),
  ].join(' ');
}

function printedRoutes(split: SplitTunnel): string[] {
  return [...split.ips, ...split.hosts].map(({ value, description }) =>
    description ? `${value} (${description})` : value,
  );
}

function isAddress(route: Route): boolean {
  return route.value.includes('/') || /^[\d.]+$/.test(route.value) || route.value.includes(':');
}

/** Builds the split tunnel from three values of JSON settings; null without either list. */
export function splitOf(mode: unknown, ips: unknown, hosts: unknown): SplitTunnel | null {
  if (!Array.isArray(ips) && !Array.isArray(hosts)) return null;
  return { mode: splitModeOf(mode), ips: routesOf(ips), hosts: routesOf(hosts) };
}

/** Parses an entry such as `10.0.0.0/8 (DHCP Unspecified)`. */
function routeOf(line: string): Route {
  const [, value = line.trim(), description] = /^\s*(\S+)(?:\s+\((.*)\))?\s*$/.exec(line) ?? [];
  return { value, description: description ?? null };
}

function routesOf(list: unknown): Route[] {
  return (Array.isArray(list) ? list : []).flatMap(item => {
    if (typeof item === 'string') return [routeOf(item)];
    if (!isRecord(item)) return [];
    const value = stringOf(item.value ?? item.address ?? item.ip ?? item.host ?? item.domain);
    return value ? [{ value, description: stringOf(item.description) }] : [];
  });
}

export function splitModeOf(value: unknown): SplitTunnel['mode'] {
  const text = String(value ?? '').toLowerCase();
  return text.startsWith('exclude') ? 'exclude' : text.startsWith('include') ? 'include' : null;
}

function familiesOf(named: string | null, resolver: unknown): Options['families'] {
  const text = named?.toLowerCase() ?? '';
  if (text === 'off' || text === 'malware' || text === 'full') return text;
  const host = resolverHost(resolver);
  if (host === 'family.cloudflare-dns.com') return 'full';
  if (host === 'security.cloudflare-dns.com') return 'malware';
  return host === 'cloudflare-dns.com' ? 'off' : null;
}

/** Returns the location in the name of its resolver: `1a2b3c` in `1a2b3c.cloudflare-gateway.com`. */
function gatewayOf(resolver: unknown): string | null {
  return /^([^.]+)\.cloudflare-gateway\.com$/.exec(resolverHost(resolver))?.[1] ?? null;
}

/** Returns Cloudflare's host in `security.cloudflare-dns.com @ [1.1.1.2]` or in a URL. */
function resolverHost(resolver: unknown): string {
  const text = typeof resolver === 'string' ? resolver.toLowerCase() : '';
  return text.split(/[^\w.-]+/).find(host => /(?:^|\.)cloudflare-(?:dns|gateway)\.com$/.test(host)) ?? '';
}
