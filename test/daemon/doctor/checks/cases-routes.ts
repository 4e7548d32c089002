// Proofs of the checks of routes and packet sizes, in network namespaces.
import { bridgeMtu, pathMtu } from '../../../../daemon/doctor/checks/mtu.ts';
import {
  containerDns,
  containerRanges,
  duplicateRules,
  ipv6Beside,
  routeOwners,
} from '../../../../daemon/doctor/checks/routes.ts';
import type { World } from '../../../../daemon/doctor/world/world.ts';
import { SERVER, twoHosts } from '../../../support/doctor/two-hosts.ts';
import { namespace, snapshot, tree, world } from '../../../support/doctor/world.ts';
import type { Ends } from '../../../support/temporary.ts';
import { type Case, proofs } from './cases.ts';

const TUNNEL = 'ip tuntap add CloudflareWARP mode tun; ip link set CloudflareWARP mtu 1280 up;';
const bridge = (name: string, address: string, mtu = 1500) =>
  `ip link add ${name} type bridge; ip link set ${name} mtu ${mtu} up; ip addr add ${address} dev ${name};`;
const other = (name: string) => `ip tuntap add ${name} mode tun; ip link set ${name} up;`;
const TABLE = 'ip route add default dev CloudflareWARP table 65743;';
const RULE = 'ip rule add not fwmark 0x100cf table 65743;';

async function inside(t: Ends, setUp: string, options: Partial<Parameters<typeof world>[1]> = {}): Promise<World> {
  const { prefix } = await namespace(t, setUp);
  return world(t, { prefix, ...options });
}

export async function between(t: Ends, setUp: string): Promise<World> {
  const { prefix, network } = await twoHosts(t, setUp);
  const targets = { tunnel: SERVER, portal: 'http://127.0.0.1:9/', trace: 'http://127.0.0.1:9/' };
  return { ...world(t, { prefix, online: true, targets }), network };
}

const DOCKER = bridge('docker0', '172.17.0.1/16');
const WARP_ONLY = 'nameserver 127.0.2.2\nnameserver 127.0.2.3\n';
const CONTAINERS: Case[] = [
  ...proofs(containerDns, 'namespace', [
    {
      title: 'the default network of Docker with the server of the tunnel only',
      verdict: 'notice',
      shows:
        /resolv\.conf names loopback addresses only: 127\.0\.2\.2, 127\.0\.2\.3[\s\S]*docker0 ask 8\.8\.8\.8[\s\S]*network create/,
      fix: null,
      world: t => inside(t, DOCKER, { root: tree(t, { '/etc/resolv.conf': WARP_ONLY }) }),
    },
    {
      title: 'systemd-resolved that knows the server of the tunnel only',
      verdict: 'notice',
      shows: /systemd\/resolve\/resolv\.conf names loopback/,
      world: t =>
        inside(t, DOCKER, {
          root: tree(t, {
            '/etc/resolv.conf': 'nameserver 127.0.0.53\n',
            '/run/systemd/resolve/resolv.conf': WARP_ONLY,
          }),
        }),
    },
    {
      title: 'a server of the network beside that of the tunnel',
      verdict: 'ok',
      shows: /gives containers these servers: 192\.0\.2\.1/,
      world: t => inside(t, DOCKER, { root: tree(t, { '/etc/resolv.conf': `${WARP_ONLY}nameserver 192.0.2.1\n` }) }),
    },
    {
      title: 'Docker with its own servers',
      verdict: 'ok',
      shows: /daemon\.json gives containers these servers: 192\.0\.2\.53(?!, canary)/,
      world: t =>
        inside(t, DOCKER, {
          root: tree(t, {
            '/etc/resolv.conf': WARP_ONLY,
            '/etc/docker/daemon.json': '{ "dns": ["192.0.2.53", "canary"] }',
          }),
        }),
    },
    {
      title: 'a configuration of Docker that is not understood',
      verdict: 'unknown',
      shows: /daemon\.json is not understood/,
      world: t =>
        inside(t, DOCKER, {
          root: tree(t, { '/etc/resolv.conf': WARP_ONLY, '/etc/docker/daemon.json': '{ "dns": "192.0.2.53"' }),
        }),
    },
    {
      title: 'no network of Docker',
      verdict: 'not-applicable',
      world: t => inside(t, bridge('virbr0', '192.168.122.1/24'), { root: tree(t, { '/etc/resolv.conf': WARP_ONLY }) }),
    },
  ]),
];

const ROUTING: Case[] = [
  ...proofs(bridgeMtu, 'namespace', [
    {
      title: 'docker0 with 1500 bytes over a tunnel of 1280',
      verdict: 'problem',
      shows: /docker0: MTU 1500; the tunnel has 1280/,
      fix: /"path":"\/etc\/docker\/daemon\.json"[\s\S]*\+ {2}\\"mtu\\": 1280/,
      world: t => inside(t, `${TUNNEL} ${bridge('docker0', '172.17.0.1/16')}`),
    },
    {
      title: 'docker0 with 1500 bytes, where the configuration of Docker may hold a secret',
      verdict: 'problem',
      shows: /"mtu": 1280 in \/etc\/docker\/daemon\.json/,
      fix: null,
      world: t =>
        inside(t, `${TUNNEL} ${bridge('docker0', '172.17.0.1/16')}`, {
          root: tree(t, {
            '/etc/docker/daemon.json': '{ "log-driver": "splunk", "log-opts": { "splunk-token": "x" } }',
          }),
        }),
    },
    {
      title: 'docker0 with the size of the tunnel',
      verdict: 'ok',
      world: t => inside(t, `${TUNNEL} ${bridge('docker0', '172.17.0.1/16', 1280)}`),
    },
  ]),
  ...proofs(containerRanges, 'namespace', [
    {
      title: 'a network of Docker that is not excluded',
      verdict: 'problem',
      shows: /br-0123456789ab: 203\.0\.113\.0\/24 goes into the tunnel/,
      fix: /"addSplitRange","value":"203\.0\.113\.0\/24"[\s\S]*"removeSplitRange"/,
      world: t => inside(t, bridge('br-0123456789ab', '203.0.113.1/24')),
    },
    {
      title: 'a network of Docker within the excluded ranges',
      verdict: 'ok',
      world: t => inside(t, bridge('docker0', '172.17.0.1/16')),
    },
  ]),
  ...proofs(routeOwners, 'namespace', [
    {
      title: 'a second VPN with a default route',
      verdict: 'problem',
      shows: /wg0 owns default \(table 52\)/,
      world: t => inside(t, `${TUNNEL} ${other('wg0')} ip route add default dev wg0 table 52`),
    },
    {
      title: 'a second VPN with two halves of the Internet',
      verdict: 'problem',
      shows: /tun0 owns 0\.0\.0\.0\/1/,
      world: t => inside(t, `${other('tun0')} ip route add 0.0.0.0/1 dev tun0; ip route add 128.0.0.0/1 dev tun0`),
    },
    {
      title: 'Tailscale whose ranges go into the tunnel',
      verdict: 'problem',
      shows: /100\.64\.0\.0\/10 of Tailscale/,
      fix: /"addSplitRange","value":"100\.64\.0\.0\/10"/,
      world: t =>
        inside(t, other('tailscale0'), {
          tunnel: snapshot({ splitTunnel: { ips: [{ value: 'fd00::/8', description: null }] } }),
        }),
    },
    {
      title: 'the tunnel alone',
      verdict: 'ok',
      world: t => inside(t, `${TUNNEL} ip route add default dev CloudflareWARP table 65743`),
    },
  ]),
  ...proofs(duplicateRules, 'namespace', [
    {
      title: 'a rule that was added at each reconnect',
      verdict: 'problem',
      shows: /IPv4: 3 × not src all fwmark 0x100cf table 65743/,
      fix: /"restart","warp-svc"/,
      world: t => inside(t, RULE.repeat(3)),
    },
    { title: 'the rule once', verdict: 'ok', world: t => inside(t, RULE) },
    {
      title: 'a rule of WARP that another program removed',
      verdict: 'problem',
      shows: /IPv4: no rule leads to the table 65743/,
      fix: /"action":"connect"/,
      world: t => inside(t, `${TUNNEL} ${TABLE} ip -6 rule add not fwmark 0x100cf table 65743`),
    },
    {
      title: 'a rule of WARP for IPv6 that another program removed',
      verdict: 'problem',
      shows: /IPv6: no rule leads to the table 65743/,
      world: t => inside(t, `${TUNNEL} ${TABLE} ${RULE} ip -6 route add 2000::/4 dev CloudflareWARP table 65743`),
    },
    {
      title: 'a table of WARP that another program emptied',
      verdict: 'problem',
      shows: /No route of IPv4 leads to CloudflareWARP/,
      world: t => inside(t, `${TUNNEL} ${RULE} ip addr add 172.16.0.2/32 dev CloudflareWARP`),
    },
    {
      title: 'an empty table while only chosen networks use the tunnel',
      verdict: 'ok',
      world: t => inside(t, `${TUNNEL} ${RULE}`, { tunnel: snapshot({ splitTunnel: { mode: 'include', ips: [] } }) }),
    },
    {
      title: 'an empty table while the split tunnel is not known',
      verdict: 'ok',
      world: t => inside(t, `${TUNNEL} ${RULE}`, { tunnel: snapshot({ splitTunnel: { mode: null, ips: [] } }) }),
    },
    {
      title: 'a table of the user that no rule leads to',
      verdict: 'ok',
      world: t => inside(t, `${TUNNEL} ${TABLE} ${RULE} ip route add 10.0.0.0/8 dev CloudflareWARP table 100`),
    },
    {
      title: 'a rule and routes with the default route of IPv6 only in the table of WARP',
      verdict: 'ok',
      world: t =>
        inside(
          t,
          `${TUNNEL} ${TABLE} ${RULE} ip -6 route add default dev CloudflareWARP table 65743; ip -6 rule add not fwmark 0x100cf table 65743`,
        ),
    },
    ...(['disconnected', 'proxy'] as const).map(
      (title): Omit<Case, 'check' | 'how'> => ({
        title: `a table without a rule: ${title}`,
        verdict: 'not-applicable',
        world: t =>
          inside(t, `${TUNNEL} ${TABLE}`, {
            tunnel: snapshot(
              title === 'proxy' ? { settings: { Mode: 'proxy' } } : { status: { state: 'disconnected' } },
            ),
          }),
      }),
    ),
  ]),
  ...proofs(ipv6Beside, 'namespace', [
    {
      title: 'IPv6 of the provider beside a tunnel without it',
      verdict: 'problem',
      shows: /uplink has its own IPv6 connection/,
      fix: /net\.ipv6\.conf\.uplink\.disable_ipv6=1/,
      world: t =>
        inside(t, `${TUNNEL} ${bridge('uplink', '2001:db8::5/64')} ip -6 route add default via 2001:db8::1 dev uplink`),
    },
    {
      title: 'IPv6 of the provider inside the tunnel',
      verdict: 'ok',
      shows: /CloudflareWARP carries IPv6/,
      world: t =>
        inside(
          t,
          `${TUNNEL} ${bridge('uplink', '2001:db8::5/64')} ip -6 route add default via 2001:db8::1 dev uplink;
        ip -6 addr add 2606:4700:110::2/128 dev CloudflareWARP; ip -6 route add default dev CloudflareWARP table 65743`,
        ),
    },
  ]),
  ...proofs(pathMtu, 'namespace', [
    {
      title: 'a link of 1300 bytes',
      verdict: 'notice',
      shows: /uplink: MTU 1300/,
      world: t => inside(t, `${bridge('uplink', '10.98.0.1/24', 1300)} ip route add default via 10.98.0.2`),
    },
    {
      title: 'a path that loses packets of more than 1340 bytes',
      verdict: 'notice',
      shows: /packets of 13[34]\d bytes reach 10\.99\.0\.2/,
      world: t =>
        between(
          t,
          `nft 'add table inet t; add chain inet t o { type filter hook output priority 0; }; add rule inet t o ip length > 1340 drop'`,
        ),
    },
    {
      title: 'a path of 1500 bytes',
      verdict: 'ok',
      shows: /packets of 1500 bytes reach 10\.99\.0\.2/,
      world: t => between(t, ''),
    },
  ]),
];

export const ROUTES_CASES: Case[] = [...CONTAINERS, ...ROUTING];
