// Checks routing: ranges and DNS servers of containers, other VPNs with a default route, duplicate rules, and IPv6 outside WARP.
import { isIP } from 'node:net';
import { type ParseError, parse } from 'jsonc-parser';
import * as z from 'zod/mini';
import type { Message } from '../../api/values.ts';
import { TAILSCALE } from '../../routes/surroundings.ts';
import { N_ } from '../../view/translator.ts';
import { type Check, message, NoVerdict, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import { setIpv6Disabled } from '../file-fix.ts';
import {
  adminCommands,
  excludeFix,
  handlesDns,
  INTERNET,
  isConnected,
  isOutsideTunnel,
  modeOf,
  modeWord,
  RECONNECT,
  RESTART_WARP,
  releaseNotes,
  routesTraffic,
  tunnelOf,
  vendorPage,
} from '../world/facts.ts';
import {
  bridges,
  isOtherTunnel,
  type Link,
  links,
  type Route,
  routes,
  rules,
  TUNNEL_LINK,
  TUNNEL_TABLE,
  tunnelLink,
} from '../world/ip.ts';
import { ownerOf, policyRules } from '../world/policy-rules.ts';
import { LOCAL_PROXY, parseResolvConf } from '../world/resolv-conf.ts';
import type { World } from '../world/world.ts';
import { RESOLV_CONF_BYTES, readResolvConf } from './dns.ts';

export const containerRanges: Check = {
  id: 'container-ranges',
  title: N_('Container and VM ranges in the split tunnel'),
  group: 'network',
  source: vendorPage('configure/route-traffic/split-tunnels/'),
  async probe(world) {
    if (!routesTraffic(modeOf(world))) return notApplicable(message('The mode is “%s”.', modeWord(modeOf(world))));
    const names = new Set((await bridges(world)).map(({ ifname }) => ifname));
    const ranges = (await routes(world)).filter(
      ({ dev, dst, type }) => dev && names.has(dev) && dst?.includes('/') && !type && !/^(fe80|ff)/i.test(dst),
    );
    if (ranges.length === 0) return notApplicable(message('There is no network of containers or virtual machines.'));
    const missing = ranges.filter(({ dst }) => !isOutsideTunnel(world, dst ?? ''));
    if (missing.length === 0)
      return ok(...ranges.map(({ dev, dst }) => message('%s: %s is outside the tunnel', dev ?? '', dst ?? '')));
    return problem(
      missing.map(({ dev, dst }) => message('%s: %s goes into the tunnel', dev ?? '', dst ?? '')),
      message(
        'This machine cannot reach these containers or virtual machines while the tunnel is connected. Exclude their ranges.',
      ),
      excludeFix(world, [...new Set(missing.map(({ dst }) => dst ?? ''))], message('Exclude these ranges')),
    );
  },
};

/** Two halves of the Internet, which VPNs use in place of a default route. */
const HALVES = new Set(['0.0.0.0/1', '128.0.0.0/1', '::/1', '8000::/1']);

export const routeOwners: Check = {
  id: 'route-owners',
  title: N_('Other VPNs'),
  group: 'network',
  source: vendorPage('deployment/vpn/'),
  async probe(world) {
    if (!routesTraffic(modeOf(world))) return notApplicable(message('The mode is “%s”.', modeWord(modeOf(world))));
    const [all, table] = await Promise.all([links(world), routes(world)]);
    const others = all.filter(isOtherTunnel);
    if (others.length === 0) return ok(message('There is no interface of another VPN.'));
    const owners = table.filter(route => ownsInternet(route, others));
    const evidence = [
      ...owners.map(({ dev, dst, table: name }) =>
        message('%s owns %s (table %s)', dev ?? '', dst ?? '', String(name ?? 'main')),
      ),
      ...others
        .filter(({ ifname }) => !owners.some(({ dev }) => dev === ifname))
        .map(({ ifname }) => message('%s is there, without a default route', ifname)),
    ];
    if (owners.length > 0 && isConnected(world))
      return problem(
        evidence,
        message(
          'Two VPNs claim all traffic. Only one of them can carry it, and each reconnect may change which one. Disconnect the other VPN, or let it route only its own networks.',
        ),
        leaveExitNode(world, owners),
      );
    return checkTailscale(world, all, evidence);
  },
};

/** Ends the use of an exit node, if Tailscale owns the default route; null for other VPNs. */
function leaveExitNode({ tools }: World, owners: readonly Route[]) {
  if (!owners.some(({ dev }) => /^tailscale\d/.test(dev ?? '')) || !tools.has('tailscale')) return null;
  return adminCommands(message('Stop using the exit node of Tailscale'), [['tailscale', 'set', '--exit-node=']]);
}

function ownsInternet({ dst, dev, type }: Route, others: readonly Link[]): boolean {
  if (type && type !== 'unicast') return false;
  return (dst === 'default' || HALVES.has(dst ?? '')) && others.some(({ ifname }) => ifname === dev);
}

async function checkTailscale(world: World, all: readonly Link[], evidence: Message[]) {
  const tailscale = all.find(({ ifname }) => /^tailscale\d/.test(ifname));
  if (!tailscale) return ok(...evidence);
  const missing = TAILSCALE.filter(range => !isOutsideTunnel(world, range));
  if (missing.length > 0)
    return problem(
      [...evidence, ...missing.map(range => message('%s of Tailscale goes into the tunnel', range))],
      message(
        'Machines of your tailnet cannot be reached while the tunnel is connected. Exclude the ranges of Tailscale.',
      ),
      excludeFix(world, missing, message('Exclude the ranges of Tailscale')),
    );
  const warp = all.find(({ ifname }) => ifname === TUNNEL_LINK);
  const mesh = warp?.addr_info.some(({ local }) => /^100\.(9[6-9]|1[01]\d)\./.test(local ?? ''));
  if (mesh)
    return notice(
      evidence,
      message(
        'Cloudflare and Tailscale both use addresses of 100.64.0.0/10 here, so devices of one of the two cannot be reached.',
      ),
    );
  const before = isConnected(world) ? await rulesBeforeTailscale(world) : [];
  if (before.length > 0)
    return notice(
      [...evidence, ...before],
      [
        message(
          'The packets of Tailscale itself go into the tunnel. In public reports, the firewall of WARP also dropped direct connections of other machines, so that they had relays only, and clients of an exit node had no network.',
        ),
        message('The local proxy of WARP leaves Tailscale alone: %s', 'culvert mode proxy'),
      ],
    );
  return ok(...evidence, message('the ranges of Tailscale are outside the tunnel'));
}

/** Words WARP's rules that come before the rule by which Tailscale's own packets avoid other VPNs (tailscale#15288, 2026-09). */
async function rulesBeforeTailscale(world: World): Promise<Message[]> {
  const all = await policyRules(world);
  return all.flatMap(rule => {
    const own = all.find(each => each.family === rule.family && ownerOf(each) === 'WARP');
    const isBypass = ownerOf(rule) === 'Tailscale' && rule.fwmark !== null && rule.table === 'main';
    if (!own || !isBypass || (own.priority ?? 0) > (rule.priority ?? 0)) return [];
    const numbers = [String(rule.family), String(own.priority), String(rule.priority)];
    return [message('IPv%s: rule %s of WARP comes before rule %s of Tailscale', ...numbers)];
  });
}

export const duplicateRules: Check = {
  id: 'duplicate-rules',
  title: N_('Policy-routing rules of the client'),
  group: 'network',
  source: releaseNotes,
  async probe(world) {
    const all = await rules(world);
    const missing = await missingWays(world, all);
    if (missing.length > 0)
      return problem(
        missing,
        message('WARP reports a connection, but the kernel has no way into the tunnel for this traffic. Reconnect.'),
        RECONNECT,
      );
    const own = all.filter(({ rule }) => String(rule.table) === TUNNEL_TABLE);
    if (own.length === 0) return notApplicable(message('The client has no routing rules now.'));
    const counted = new Map<string, { family: 4 | 6; rule: Record<string, unknown>; count: number }>();
    for (const { family, rule } of own) {
      const { priority: _, ...same } = rule;
      const key = JSON.stringify([family, same]);
      counted.set(key, { family, rule, count: (counted.get(key)?.count ?? 0) + 1 });
    }
    const repeated = [...counted.values()].filter(({ count }) => count > 1);
    if (repeated.length === 0) return ok(message('%d rules, no duplicates', own.length));
    return problem(
      repeated.map(({ family, rule, count }) => quoted(`IPv${family}: ${count} × ${ruleText(rule)}`)),
      message(
        'WARP before version 2026.8.2100.0 adds its rules again at each reconnect. Too many rules slow down every connection. Restart the service to remove them, and update WARP to prevent this.',
      ),
      RESTART_WARP,
    );
  },
};

/** Names what is certainly missing on the way into the tunnel: a rule for WARP's table, or all routes of IPv4. */
async function missingWays(world: World, all: Awaited<ReturnType<typeof rules>>): Promise<Message[]> {
  if (!isConnected(world) || !routesTraffic(modeOf(world)) || !(await tunnelLink(world))) return [];
  const ways = (await routes(world)).filter(
    ({ dev, type, table }) => dev === TUNNEL_LINK && !type && table !== 'local',
  );
  const own = ways.filter(({ table }) => String(table) === TUNNEL_TABLE);
  const unused = own.flatMap(({ dst = '', metric }) => {
    // the default routes of both families look the same, but only that of IPv6 has a metric in any case
    const families = dst.includes(':') ? [6] : dst === 'default' && metric !== undefined ? [4, 6] : [4];
    const isUsed = all.some(({ family, rule }) => families.includes(family) && String(rule.table) === TUNNEL_TABLE);
    return isUsed ? [] : [`IPv${families.join('/')}`];
  });
  if (unused.length > 0)
    return [...new Set(unused)].map(family => message('%s: no rule leads to the table %s', family, TUNNEL_TABLE));
  const hasWay = ways.some(({ dst = '', table }) => !dst.includes(':') && (table !== undefined || !isIP(dst)));
  if (hasWay) return [];
  const isExpected = tunnelOf(world).splitTunnel.mode === 'exclude' && !isOutsideTunnel(world, INTERNET);
  return isExpected ? [message('No route of IPv4 leads to %s.', TUNNEL_LINK)] : [];
}

function ruleText(rule: Record<string, unknown>): string {
  const words = Object.entries(rule).filter(([name]) => name !== 'priority');
  return words.map(([name, value]) => (value === null ? name : `${name} ${String(value)}`)).join(' ');
}

export const ipv6Beside: Check = {
  id: 'ipv6-beside',
  title: N_('IPv6 outside the tunnel'),
  group: 'network',
  source: vendorPage('configure/route-traffic/client-architecture/'),
  async probe(world) {
    if (!routesTraffic(modeOf(world))) return notApplicable(message('The mode is “%s”.', modeWord(modeOf(world))));
    if (!isConnected(world)) return notApplicable(message('The tunnel is not connected.'));
    const [all, table, tunnel] = await Promise.all([links(world), routes(world), tunnelLink(world)]);
    const global = all.filter(
      link => link.ifname !== TUNNEL_LINK && link.addr_info.some(({ local }) => /^[23][0-9a-f]{3}:/i.test(local ?? '')),
    );
    const leads = global.filter(({ ifname }) =>
      table.some(({ dst, dev, gateway }) => dst === 'default' && dev === ifname && gateway?.includes(':')),
    );
    if (leads.length === 0) return ok(message('This machine has no separate IPv6 connection.'));
    const evidence = leads.map(({ ifname }) => message('%s has its own IPv6 connection', ifname));
    const carried = tunnel?.addr_info.some(({ family, scope }) => family === 'inet6' && scope === 'global') ?? false;
    const routed = table.some(
      ({ dst, dev }) => dev === TUNNEL_LINK && (dst === 'default' || HALVES.has(dst ?? '')) && carried,
    );
    if (carried && routed) return ok(...evidence, message('%s carries IPv6', TUNNEL_LINK));
    if (tunnelOf(world).killSwitch.active) return ok(...evidence, message('The kill switch blocks it.'));
    return problem(
      [...evidence, message('%s carries no IPv6', TUNNEL_LINK)],
      message(
        'Connections over IPv6 bypass WARP and show your own address. Turn IPv6 off while the tunnel is in use, or use the kill switch of Culvert.',
      ),
      adminCommands(
        message('Turn IPv6 off on these interfaces'),
        leads.map(({ ifname }) => setIpv6Disabled(ifname, '1')),
        {
          undo: leads.map(({ ifname }) => setIpv6Disabled(ifname, '0')),
          repair: ['ipv6-off', ...leads.map(({ ifname }) => ifname)],
        },
      ),
    );
  },
};

const DEFAULT_NETWORK = /^docker\d+$/;
const CONFIG = '/etc/docker/daemon.json';
const Config = z.object({ dns: z.optional(z.array(z.string())) });
/** systemd-resolved's stub. If it is the only server, Docker reads BEHIND_STUB instead (moby's libnetwork, resolvconf.Path). */
const STUB = '127.0.0.53';
const BEHIND_STUB = '/run/systemd/resolve/resolv.conf';
/** Docker's resolvers on a host with only loopback resolvers (docs.docker.com, "Networking overview"). */
const FALLBACK = ['8.8.8.8', '8.8.4.4'];

export const containerDns: Check = {
  id: 'dns-containers',
  title: N_('Name lookup in containers'),
  group: 'dns',
  source: vendorPage('troubleshooting/known-limitations/'),
  async probe(world) {
    const mode = modeOf(world);
    if (!handlesDns(mode)) return notApplicable(message('The mode is “%s”.', modeWord(mode)));
    if (!isConnected(world)) return notApplicable(message('The tunnel is not connected.'));
    const bridge = (await bridges(world)).find(({ ifname }) => DEFAULT_NETWORK.test(ifname));
    if (!bridge) return notApplicable(message('There is no default network of Docker.'));
    const configured = await configuredServers(world);
    if (configured.length > 0)
      return ok(message('%s gives containers these servers: %s', CONFIG, configured.join(', ')));
    const { file, servers } = await serversOfHost(world);
    const reachable = servers.filter(server => !isLoopback(server) && !LOCAL_PROXY.has(server));
    if (reachable.length > 0) return ok(message('%s gives containers these servers: %s', file, reachable.join(', ')));
    return notice(
      [
        message('%s names loopback addresses only: %s', file, servers.join(', ') || '–'),
        message('Containers in the network of %s ask %s instead.', bridge.ifname, FALLBACK.join(', ')),
      ],
      [
        message('Docker leaves the DNS server of WARP out of its default network.'),
        message(
          'Names of your organization or of the local network fail there. In a separate network, a container asks WARP: %s',
          'docker network create NAME',
        ),
      ],
    );
  },
};

/** Servers that an administrator has set for all containers. @throws NoVerdict */
async function configuredServers({ files }: World): Promise<string[]> {
  const text = await files.readText(CONFIG);
  if (text === null) return [];
  const errors: ParseError[] = [];
  const { data } = z.safeParse(Config, parse(text, errors, { allowTrailingComma: true }));
  if (errors.length > 0 || !data) throw new NoVerdict(message('%s is not understood.', CONFIG));
  // the file may hold secrets, so nothing else from it is shown
  return (data.dns ?? []).filter(server => isIP(server) !== 0);
}

/** The file that Docker takes name servers from, and the servers in it. @throws NoVerdict */
async function serversOfHost(world: World): Promise<{ file: string; servers: string[] }> {
  const own = (await readResolvConf(world))?.nameservers ?? [];
  if (own.join() !== STUB) return { file: '/etc/resolv.conf', servers: own };
  const behind = await world.files.readText(BEHIND_STUB, RESOLV_CONF_BYTES);
  if (behind === null) return { file: '/etc/resolv.conf', servers: own };
  return { file: BEHIND_STUB, servers: parseResolvConf(behind, null).nameservers };
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}
