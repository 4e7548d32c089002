// Proofs of the checks of routes, packet sizes and reachability: real namespaces, loopback servers and a private bus.
import type { RequestListener } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { bridgeMtu, pathMtu } from '../../../../daemon/doctor/checks/mtu.ts';
import { captivePortal, noTraffic, proxyDead, reachability } from '../../../../daemon/doctor/checks/reach.ts';
import {
  containerDns,
  containerRanges,
  duplicateRules,
  ipv6Beside,
  routeOwners,
} from '../../../../daemon/doctor/checks/routes.ts';
import type { World } from '../../../../daemon/doctor/world/world.ts';
import { SERVER, twoHosts } from '../../../support/doctor/two-hosts.ts';
import {
  BLOCKING,
  KNOWLEDGE,
  namespace,
  onlyPrograms,
  type Services,
  snapshot,
  startBus,
  tree,
  world,
} from '../../../support/doctor/world.ts';
import { listen, serve } from '../../../support/listen.ts';
import type { Ends } from '../../../support/temporary.ts';
import type { Case } from './cases.ts';

const TUNNEL = 'ip tuntap add CloudflareWARP mode tun; ip link set CloudflareWARP mtu 1280 up;';
const bridge = (name: string, address: string, mtu = 1500) =>
  `ip link add ${name} type bridge; ip link set ${name} mtu ${mtu} up; ip addr add ${address} dev ${name};`;
const other = (name: string) => `ip tuntap add ${name} mode tun; ip link set ${name} up;`;
const RULE = 'ip rule add not fwmark 0x100cf table 65743;';

async function inside(t: Ends, setUp: string, options: Partial<Parameters<typeof world>[1]> = {}): Promise<World> {
  const { prefix } = await namespace(t, setUp);
  return world(t, { prefix, ...options });
}

async function between(t: Ends, setUp: string): Promise<World> {
  const { prefix, network } = await twoHosts(t, setUp);
  const targets = { tunnel: SERVER, portal: 'http://127.0.0.1:9/', trace: 'http://127.0.0.1:9/' };
  return { ...world(t, { prefix, online: true, targets }), network };
}

const networkManager = (connectivity: number): Services => ({
  'org.freedesktop.NetworkManager': {
    '/org/freedesktop/NetworkManager': {
      'org.freedesktop.NetworkManager': { Connectivity: ['u', String(connectivity)] },
    },
  },
});

/** NetworkManager whose lease of eth0 has DHCP option 114, and whose own test is blocked. */
const namingManager: Services = {
  'org.freedesktop.NetworkManager': {
    ...networkManager(3)['org.freedesktop.NetworkManager'],
    '/org/freedesktop': {
      'org.freedesktop.DBus.ObjectManager': {
        GetManagedObjects: [
          '()a{oa{sa{sv}}}',
          `{'/d': {'org.freedesktop.NetworkManager.Device': {'Interface': <'eth0'>, 'DeviceType': <uint32 1>, 'State': <uint32 100>,
            'ActiveConnection': <objectpath '/a'>, 'Dhcp4Config': <objectpath '/l'>, 'Ip4Connectivity': <uint32 3>}},
          '/a': {'org.freedesktop.NetworkManager.Connection.Active': {'Uuid': <'e0d2b7a4'>}},
          '/l': {'org.freedesktop.NetworkManager.DHCP4Config': {'Options': <{'default_url': <'https://portal.example/'>}>}}}`,
        ],
      },
    },
  },
};

const namingNetworkd: Services = {
  'org.freedesktop.network1': {
    '/org/freedesktop/network1': {
      'org.freedesktop.network1.Manager': {
        Describe: [
          '()s',
          `'{"Interfaces": [{"Name": "wlan0", "Type": "wlan", "OperationalState": "routable", "CaptivePortal": "https://portal.example/"}]}'`,
        ],
      },
    },
  },
};

const WITHOUT_WARP = snapshot({ killSwitch: BLOCKING, status: { state: 'disconnected' } });

const web = async (t: Ends, answer: RequestListener) => `${await serve(t, answer)}/`;

/** A server that does this with each connection. */
function localProxy(t: Ends, answer: (socket: Socket) => void): Promise<number> {
  const open = new Set<Socket>();
  t.after(() => open.forEach(socket => void socket.destroy()));
  const server = createServer(socket => {
    open.add(socket.on('error', () => {}));
    answer(socket);
  });
  return listen(t, server);
}

const proxyMode = (proxyPort: number) => snapshot({ settings: { Mode: 'proxy' }, tunnel: { proxyPort } });

const statistics = (sent: number, received: number) => ({
  '/sys/class/net/CloudflareWARP/statistics/tx_bytes': `${sent}\n`,
  '/sys/class/net/CloudflareWARP/statistics/rx_bytes': `${received}\n`,
});

const DOCKER = bridge('docker0', '172.17.0.1/16');
const WARP_ONLY = 'nameserver 127.0.2.2\nnameserver 127.0.2.3\n';
const CONTAINERS: Case[] = [
  {
    check: containerDns,
    how: 'namespace',
    title: 'the default network of Docker with the server of the tunnel only',
    verdict: 'notice',
    shows:
      /resolv\.conf names loopback addresses only: 127\.0\.2\.2, 127\.0\.2\.3[\s\S]*docker0 ask 8\.8\.8\.8[\s\S]*network create/,
    fix: null,
    world: t => inside(t, DOCKER, { root: tree(t, { '/etc/resolv.conf': WARP_ONLY }) }),
  },
  {
    check: containerDns,
    how: 'namespace',
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
    check: containerDns,
    how: 'namespace',
    title: 'a server of the network beside that of the tunnel',
    verdict: 'ok',
    shows: /gives containers these servers: 192\.0\.2\.1/,
    world: t => inside(t, DOCKER, { root: tree(t, { '/etc/resolv.conf': `${WARP_ONLY}nameserver 192.0.2.1\n` }) }),
  },
  {
    check: containerDns,
    how: 'namespace',
    title: 'Docker with servers of its own',
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
    check: containerDns,
    how: 'namespace',
    title: 'a configuration of Docker that is not understood',
    verdict: 'unknown',
    shows: /daemon\.json is not understood/,
    world: t =>
      inside(t, DOCKER, {
        root: tree(t, { '/etc/resolv.conf': WARP_ONLY, '/etc/docker/daemon.json': '{ "dns": "192.0.2.53"' }),
      }),
  },
  {
    check: containerDns,
    how: 'namespace',
    title: 'no network of Docker',
    verdict: 'not-applicable',
    world: t => inside(t, bridge('virbr0', '192.168.122.1/24'), { root: tree(t, { '/etc/resolv.conf': WARP_ONLY }) }),
  },
];

const ROUTING: Case[] = [
  {
    check: bridgeMtu,
    how: 'namespace',
    title: 'docker0 with 1500 bytes over a tunnel of 1280',
    verdict: 'problem',
    shows: /docker0: MTU 1500; the tunnel has 1280/,
    fix: /"path":"\/etc\/docker\/daemon\.json"[\s\S]*\+ {2}\\"mtu\\": 1280/,
    world: t => inside(t, `${TUNNEL} ${bridge('docker0', '172.17.0.1/16')}`),
  },
  {
    check: bridgeMtu,
    how: 'namespace',
    title: 'docker0 with 1500 bytes, where the configuration of Docker may hold a secret',
    verdict: 'problem',
    shows: /"mtu": 1280 in \/etc\/docker\/daemon\.json/,
    fix: null,
    world: t =>
      inside(t, `${TUNNEL} ${bridge('docker0', '172.17.0.1/16')}`, {
        root: tree(t, { '/etc/docker/daemon.json': '{ "log-driver": "splunk", "log-opts": { "splunk-token": "x" } }' }),
      }),
  },
  {
    check: bridgeMtu,
    how: 'namespace',
    title: 'docker0 with the size of the tunnel',
    verdict: 'ok',
    world: t => inside(t, `${TUNNEL} ${bridge('docker0', '172.17.0.1/16', 1280)}`),
  },
  {
    check: containerRanges,
    how: 'namespace',
    title: 'a network of Docker that is not excluded',
    verdict: 'problem',
    shows: /br-0123456789ab: 203\.0\.113\.0\/24 goes into the tunnel/,
    fix: /"addSplitRange","value":"203\.0\.113\.0\/24"[\s\S]*"removeSplitRange"/,
    world: t => inside(t, bridge('br-0123456789ab', '203.0.113.1/24')),
  },
  {
    check: containerRanges,
    how: 'namespace',
    title: 'a network of Docker within the excluded ranges',
    verdict: 'ok',
    world: t => inside(t, bridge('docker0', '172.17.0.1/16')),
  },
  {
    check: routeOwners,
    how: 'namespace',
    title: 'a second VPN with a default route',
    verdict: 'problem',
    shows: /wg0 owns default \(table 52\)/,
    world: t => inside(t, `${TUNNEL} ${other('wg0')} ip route add default dev wg0 table 52`),
  },
  {
    check: routeOwners,
    how: 'namespace',
    title: 'a second VPN with two halves of the Internet',
    verdict: 'problem',
    shows: /tun0 owns 0\.0\.0\.0\/1/,
    world: t => inside(t, `${other('tun0')} ip route add 0.0.0.0/1 dev tun0; ip route add 128.0.0.0/1 dev tun0`),
  },
  {
    check: routeOwners,
    how: 'namespace',
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
    check: routeOwners,
    how: 'namespace',
    title: 'the tunnel alone',
    verdict: 'ok',
    world: t => inside(t, `${TUNNEL} ip route add default dev CloudflareWARP table 65743`),
  },
  {
    check: duplicateRules,
    how: 'namespace',
    title: 'a rule that was added at each reconnect',
    verdict: 'problem',
    shows: /IPv4: 3 × not src all fwmark 0x100cf table 65743/,
    fix: /"restart","warp-svc"/,
    world: t => inside(t, RULE.repeat(3)),
  },
  {
    check: duplicateRules,
    how: 'namespace',
    title: 'the rule once',
    verdict: 'ok',
    world: t => inside(t, RULE),
  },
  {
    check: ipv6Beside,
    how: 'namespace',
    title: 'IPv6 of the provider beside a tunnel without it',
    verdict: 'problem',
    shows: /uplink has its own IPv6 connection/,
    fix: /net\.ipv6\.conf\.uplink\.disable_ipv6=1/,
    world: t =>
      inside(t, `${TUNNEL} ${bridge('uplink', '2001:db8::5/64')} ip -6 route add default via 2001:db8::1 dev uplink`),
  },
  {
    check: ipv6Beside,
    how: 'namespace',
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
  {
    check: pathMtu,
    how: 'namespace',
    title: 'a link of 1300 bytes',
    verdict: 'notice',
    shows: /uplink: MTU 1300/,
    world: t => inside(t, `${bridge('uplink', '10.98.0.1/24', 1300)} ip route add default via 10.98.0.2`),
  },
  {
    check: pathMtu,
    how: 'namespace',
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
    check: pathMtu,
    how: 'namespace',
    title: 'a path of 1500 bytes',
    verdict: 'ok',
    shows: /packets of 1500 bytes reach 10\.99\.0\.2/,
    world: t => between(t, ''),
  },
];

const REACHING: Case[] = [
  {
    check: reachability,
    how: 'namespace',
    title: 'a network that drops UDP',
    verdict: 'problem',
    shows: /UDP 443: no answer\nTCP 443: open[\s\S]*blocks UDP/,
    fix: /h3-with-h2-fallback[\s\S]*resetMasqueOptions/,
    world: t =>
      between(
        t,
        `nft 'add table inet t; add chain inet t i { type filter hook input priority 0; }; add rule inet t i udp sport 443 drop'`,
      ),
  },
  {
    check: reachability,
    how: 'namespace',
    title: 'a server that can be reached',
    verdict: 'ok',
    shows: /UDP 443: open\nTCP 443: open/,
    world: t => between(t, ''),
  },
  {
    check: captivePortal,
    how: 'bus',
    title: 'NetworkManager with a login page',
    verdict: 'problem',
    fix: /"--user".*"portal"/,
    world: async t => world(t, { bus: await startBus(t, networkManager(2)) }),
  },
  {
    check: captivePortal,
    how: 'HTTP server',
    title: 'a page that leads to a login',
    verdict: 'problem',
    shows: /answered 302 and redirects to http:\/\/login\.example/,
    world: async t =>
      world(t, {
        online: true,
        env: onlyPrograms(t, {}),
        targets: {
          tunnel: '127.0.0.1',
          trace: '',
          portal: await web(t, (_, reply) => reply.writeHead(302, { location: 'http://login.example/' }).end()),
        },
      }),
  },
  {
    check: captivePortal,
    how: 'bus',
    title: 'NetworkManager whose own test the kill switch blocks',
    verdict: 'notice',
    shows: /limited[\s\S]*kill switch blocks the test/,
    fix: /"--user".*"portal"/,
    world: async t =>
      world(t, { bus: await startBus(t, networkManager(3)), tunnel: snapshot({ killSwitch: BLOCKING }) }),
  },
  {
    check: captivePortal,
    how: 'bus',
    title: 'NetworkManager with a login page, while the kill switch blocks',
    verdict: 'problem',
    fix: /"--user".*"portal"/,
    world: async t =>
      world(t, { bus: await startBus(t, networkManager(2)), tunnel: snapshot({ killSwitch: BLOCKING }) }),
  },
  {
    check: captivePortal,
    how: 'bus',
    title: 'NetworkManager whose full connection is from before the kill switch',
    verdict: 'notice',
    shows: /full[\s\S]*kill switch blocks the test/,
    world: async t => world(t, { bus: await startBus(t, networkManager(4)), tunnel: WITHOUT_WARP }),
  },
  ...(
    [
      ['NetworkManager', 'eth0', namingManager],
      ['systemd-networkd', 'wlan0', namingNetworkd],
      ['systemd-networkd', 'wlan0', { ...networkManager(4), ...namingNetworkd }],
    ] as const
  ).map(
    ([service, device, services]): Case => ({
      check: captivePortal,
      how: 'bus',
      title: `a login page that the network named to ${service}, while the kill switch blocks, with ${Object.keys(services)},`,
      verdict: 'notice',
      shows: new RegExp(`${service}: ${device} portal\n.*that the kill switch lets out`),
      fix: /"--user".*"portal"/,
      world: async t => world(t, { bus: await startBus(t, services), tunnel: WITHOUT_WARP }),
    }),
  ),
  {
    check: captivePortal,
    how: 'bus',
    title: 'a login page that the network named, without NetworkManager and kill switch,',
    verdict: 'notice',
    shows: /systemd-networkd: wlan0 portal\n.*Disconnect, log in/,
    fix: /"--user".*"portal"/,
    world: async t =>
      world(t, { bus: await startBus(t, namingNetworkd), tunnel: snapshot({ status: { state: 'disconnected' } }) }),
  },
  {
    check: captivePortal,
    how: 'bus',
    title: 'a network that still names its login page while WARP is connected',
    verdict: 'not-applicable',
    world: async t => world(t, { bus: await startBus(t, namingNetworkd) }),
  },
  {
    check: captivePortal,
    how: 'bus',
    title: 'NetworkManager that reaches the Internet through the tunnel, beside the kill switch',
    verdict: 'ok',
    world: async t =>
      world(t, { bus: await startBus(t, networkManager(4)), tunnel: snapshot({ killSwitch: BLOCKING }) }),
  },
  {
    check: captivePortal,
    how: 'HTTP server',
    title: 'a page that the kill switch blocks',
    verdict: 'notice',
    shows: /kill switch blocks the test/,
    world: t =>
      world(t, {
        online: true,
        env: onlyPrograms(t, {}),
        tunnel: snapshot({ killSwitch: BLOCKING }),
        targets: { tunnel: '127.0.0.1', trace: '', portal: 'http://127.0.0.1:9/' },
      }),
  },
  {
    check: captivePortal,
    how: 'bus',
    title: 'NetworkManager with a full connection',
    verdict: 'ok',
    world: async t => world(t, { bus: await startBus(t, networkManager(4)) }),
  },
  {
    check: captivePortal,
    how: 'HTTP server',
    title: 'a page that answers 204',
    verdict: 'ok',
    world: async t =>
      world(t, {
        online: true,
        env: onlyPrograms(t, {}),
        targets: { tunnel: '127.0.0.1', trace: '', portal: await web(t, (_, reply) => reply.writeHead(204).end()) },
      }),
  },
  {
    check: noTraffic,
    how: 'files',
    title: 'an interface that sends and never receives',
    verdict: 'problem',
    shows: /5000 bytes sent and 0 received/,
    fix: /Reconnect/,
    world: t => world(t, { root: tree(t, statistics(5_000, 0)) }),
  },
  {
    check: noTraffic,
    how: 'HTTP server',
    title: 'a request that does not come through the tunnel',
    verdict: 'problem',
    shows: /saw warp=off/,
    world: async t =>
      world(t, {
        online: true,
        targets: { tunnel: '', portal: '', trace: await web(t, (_, reply) => reply.end('ip=192.0.2.1\nwarp=off\n')) },
      }),
  },
  {
    check: noTraffic,
    how: 'files',
    title: 'an interface that receives',
    verdict: 'ok',
    world: t => world(t, { root: tree(t, statistics(5_000, 90_000)) }),
  },
  {
    check: noTraffic,
    how: 'HTTP server',
    title: 'a request that comes through the tunnel',
    verdict: 'ok',
    shows: /saw warp=on/,
    world: async t =>
      world(t, {
        online: true,
        knowledge: KNOWLEDGE,
        targets: { tunnel: '', portal: '', trace: await web(t, (_, reply) => reply.end('warp=on\n')) },
      }),
  },
  {
    check: proxyDead,
    how: 'socket',
    title: 'a proxy that accepts and does not answer',
    verdict: 'problem',
    shows: /accepts connections, but does not answer/,
    world: async t => world(t, { tunnel: proxyMode(await localProxy(t, () => {})) }),
  },
  {
    check: proxyDead,
    how: 'socket',
    title: 'a proxy that speaks SOCKS5',
    verdict: 'ok',
    world: async t =>
      world(t, {
        tunnel: proxyMode(await localProxy(t, socket => socket.once('data', () => socket.write(Buffer.from([5, 0]))))),
      }),
  },
];

export const NETWORK_CASES: Case[] = [...CONTAINERS, ...ROUTING, ...REACHING];
