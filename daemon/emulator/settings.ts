// Prints the settings as JSON, or as the text of a generation with the origin of every line.
import type { Context, Operation } from './answer.ts';
import { effectiveMode, effectiveProtocol } from './connection.ts';
import type { Fallback, Route } from './state.ts';

interface Line {
  key: string;
  source: string;
  value: string;
  /** Indented lines below the line. */
  block?: string[];
  /** True if an empty line ends the block. */
  closed?: boolean;
}

export const settings: Operation = context => ({
  kind: 'said',
  text: settingsText(context),
  json: settingsJson(context),
});

function settingsText(context: Context): string {
  const { state } = context;
  const lines = linesOf(context).map(({ key, source, value, block, closed }) => {
    return `(${state.sources[key] ?? source})\t${key}:${value}\n${(block ?? []).map(line => `  ${line}\n`).join('')}${closed ? '\n' : ''}`;
  });
  return `Merged configuration:\n${lines.join('')}`;
}

export const routesOf = ({ state }: Context): Route[] => state.settings.ips ?? DEFAULT_ROUTES;
export const fallbackOf = ({ state }: Context): Fallback[] => state.settings.fallback ?? DEFAULT_FALLBACK;
export const described = ({ value, description }: Route) => (description ? `${value} (${description})` : value);

function fallbackLine({ domain, description, servers }: Fallback): string {
  return described({ value: domain, description }) + (servers.length ? `\t-> [${servers.join(', ')}]` : '');
}

function linesOf(context: Context): Line[] {
  const { state, generation } = context;
  const { settings, policy, registration } = state;
  const ruled = (otherwise: string) => (policy ? 'network policy' : otherwise);
  const line = (key: string, source: string, value: unknown): Line => ({ key, source, value: ` ${value}` });
  const when = (condition: boolean, ...lines: Line[]) => (condition ? lines : []);
  const modern = generation.has('modernSettings');
  const mode = effectiveMode(state);
  const protocol = effectiveProtocol(state, generation);

  return [
    ...when(
      modern,
      line('Compliance Environment', settings.environment ? 'user set' : 'not set', environment(context)),
    ),
    line('Always On', 'derived', settings.alwaysOn),
    line('Switch Locked', ruled('override'), policy?.switchLocked ?? false),
    line(
      'Mode',
      policy?.mode ? 'network policy' : settings.mode ? 'user set' : 'default',
      modeText(mode, settings.proxyPort),
    ),
    line(
      'WARP tunnel protocol',
      settings.protocol ? 'consumer overrides' : registration ? 'network policy' : 'default',
      protocol,
    ),
    ...when(modern && protocol === 'MASQUE', {
      key: 'MASQUE Protocol Settings',
      source: settings.masque ? 'consumer overrides' : 'not set',
      value: ' ',
      block: [`HTTP Version: ${MASQUE_TEXT[settings.masque ?? 'h3-with-h2-fallback']}`],
    }),
    ...when(generation.has('pkixLine'), line('PKIX config', 'not set', 'not set')),
    ...when(
      modern && protocol === 'MASQUE',
      line(
        'Post-quantum support for MASQUE',
        registration ? 'network policy' : 'default',
        'Enabled (downgrades allowed)',
      ),
    ),
    line('Disabled for Wifi', settings.disableForWifi ? 'user set' : 'default', settings.disableForWifi),
    line('Disabled for Ethernet', settings.disableForEthernet ? 'user set' : 'default', settings.disableForEthernet),
    resolveLine(context),
    ...when(!modern && settings.qlog, line('qlog logging', 'user set', 'Enabled')),
    ...when(modern && !policy, line('qlog log until', 'not set', 'FutureSystemTime(None)')),
    line('Onboarding', 'default', true),
    {
      key: `${settings.splitMode === 'exclude' ? 'Exclude' : 'Include'} mode, with hosts/ips`,
      source:
        settings.ips || settings.hosts.length ? ruled('user set') : ruled(registration ? 'api defaults' : 'default'),
      value: '',
      block: [...routesOf(context), ...settings.hosts].map(described),
      closed: true,
    },
    {
      key: 'Fallback domains',
      source: ruled(settings.fallback ? 'user set' : 'default'),
      value: '',
      block: fallbackOf(context).map(fallbackLine),
    },
    line('Daemon Teams Auth', 'not set', false),
    line('Disable Auto Fallback', ruled('default'), policy?.disableAutoFallback ?? false),
    ...organizationLines(context),
    ...when(!policy, line('Allow Updates', 'not set', true)),
    ...when(
      modern && !policy,
      line('Registration Scope', 'not set', 'System'),
      line('Register Tunnel Interface IP', 'not set', false),
      line('Firewall Scope', 'not set', 'All interfaces'),
    ),
  ];
}

function organizationLines({ state }: Context): Line[] {
  const { policy, registration } = state;
  if (!policy) return [];
  const line = (key: string, value: unknown, source = 'network policy'): Line => ({ key, source, value: ` ${value}` });
  return [
    line('Captive Portal', policy.captivePortal),
    line('Support URL', policy.supportUrl),
    line('Organization', registration?.organization ?? '', 'user set'),
    line('Allow Mode Switch', policy.allowModeSwitch),
    line('Allow Updates', policy.allowUpdates),
    line('Allowed to Leave Org', policy.allowLeave),
    line('Known apple connectivity check IPs', `${policy.appleCheckIps}; `, 'api defaults'),
    ...(policy.localNetwork ? [line('LAN Access Settings', 'Allowed until reconnect on a /24 subnet')] : []),
    line('Profile ID', policy.profileId),
  ];
}

function resolveLine({ state }: Context): Line {
  const { settings, policy } = state;
  const line = (source: string, host: string, servers: string[]) => ({
    key: 'Resolve via',
    source,
    value: ` ${host} @ [${servers.join(', ')}]`,
  });
  if (policy) return line('reg defaults', `${policy.gateway.id}.cloudflare-gateway.com`, policy.gateway.servers);
  if (settings.gatewayId) return line('user set', `${settings.gatewayId}.cloudflare-gateway.com`, DOH_SERVERS);
  if (settings.families === 'malware') return line('user set', 'security.cloudflare-dns.com', ['1.1.1.2']);
  if (settings.families === 'full') return line('user set', 'family.cloudflare-dns.com', ['1.1.1.3']);
  return line('not set', 'cloudflare-dns.com', DOH_SERVERS);
}

const DOH_SERVERS = ['162.159.36.1', '162.159.46.1', '2606:4700:4700::1111', '2606:4700:4700::1001'];
export const MODE_NAMES: Record<string, string> = {
  warp: 'Warp',
  doh: 'DnsOverHttps',
  'warp+doh': 'WarpWithDnsOverHttps',
  dot: 'DnsOverTls',
  'warp+dot': 'WarpWithDnsOverTls',
  proxy: 'WarpProxy',
  tunnel_only: 'TunnelOnly',
};

const MASQUE_TEXT = {
  'h3-only': 'MASQUE (HTTP/3)',
  'h2-only': 'MASQUE (HTTP/2)',
  'h3-with-h2-fallback': 'MASQUE (HTTP/3 with HTTP/2 fallback)',
};
const environment = ({ state }: Context) => state.settings.environment ?? 'Normal';
const modeText = (mode: string, port: number) =>
  mode === 'proxy' ? `WarpProxy on port ${port}` : (MODE_NAMES[mode] ?? mode);

/** Returns the keys in the order of 2026.7.1377; keys after `enable_pmtud` are known only from parsers. */
function settingsJson(context: Context): { settings: Record<string, unknown> } {
  const { state, generation } = context;
  const { settings, policy, registration } = state;
  const mode = effectiveMode(state);
  return {
    settings: {
      always_on: settings.alwaysOn,
      switch_locked: policy?.switchLocked ?? false,
      operation_mode: mode,
      disable_for_wifi: settings.disableForWifi,
      disable_for_ethernet: settings.disableForEthernet,
      onboarding: true,
      split_tunnel_mode: settings.splitMode,
      split_tunnel_hosts: settings.hosts,
      split_tunnel_ips: routesOf(context),
      fallback_domains: fallbackOf(context).map(({ domain, description, servers }) => ({
        domain,
        description,
        dns_servers: servers,
      })),
      disable_auto_fallback: policy?.disableAutoFallback ?? false,
      lan_subnet_size: 24,
      warp_tunnel_protocol: effectiveProtocol(state, generation).toLowerCase(),
      post_quantum_config: 'enabled_with_downgrades',
      enable_pmtud: true,
      ...(mode === 'proxy' && { proxy_port: settings.proxyPort }),
      ...(policy && {
        allow_mode_switch: policy.allowModeSwitch,
        organization: registration?.organization ?? null,
        profile_id: policy.profileId,
      }),
    },
  };
}

/** Initial lists of a client, recorded from 2026.3. */
const DEFAULT_ROUTES: Route[] = `
  10.0.0.0/8 100.64.0.0/10 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 224.0.0.0/24 240.0.0.0/4
  239.255.255.250/32 255.255.255.255/32 fe80::/10 fd00::/8 ff01::/16 ff02::/16 ff03::/16 ff04::/16 ff05::/16
  fc00::/7 17.249.0.0/16 17.252.0.0/16 17.57.144.0/22 17.188.128.0/18 17.188.20.0/23 2620:149:a44::/48
  2403:300:a42::/48 2403:300:a51::/48 2a01:b740:a42::/48
`
  .trim()
  .split(/\s+/)
  .map(value => ({ value, description: '' }));
const DEFAULT_FALLBACK: Fallback[] =
  'corp domain home home.arpa host internal intranet invalid lan local localdomain localhost private test'
    .split(' ')
    .map(domain => ({ domain, description: '', servers: [] }));
