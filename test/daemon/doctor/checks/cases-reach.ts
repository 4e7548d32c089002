// Proofs of the checks of reachability: two hosts, loopback servers and a private bus.
import type { RequestListener } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { captivePortal, noTraffic, proxyDead, reachability } from '../../../../daemon/doctor/checks/reach.ts';
import {
  BLOCKING,
  KNOWLEDGE,
  NOW,
  onlyPrograms,
  type Parts,
  type Services,
  snapshot,
  world,
} from '../../../support/doctor/world.ts';
import { listen, serve } from '../../../support/listen.ts';
import type { Ends } from '../../../support/temporary.ts';
import { type Case, proofs } from './cases.ts';
import { between } from './cases-routes.ts';

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

const WITHOUT_WARP: Parts = { killSwitch: BLOCKING, status: { state: 'disconnected' } };

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

const NO_UDP = `nft 'add table inet t; add chain inet t i { type filter hook input priority 0; }; add rule inet t i udp sport 443 drop'`;

const ago = (seconds: number) => new Date(NOW - 1000 * seconds).toISOString();

/** A tunnel that looks for a server since this time. */
const looking = (since: string, status: Parts['status'] = {}): Parts => ({
  status: {
    state: 'connecting',
    since,
    reason: { code: 'PerformingHappyEyeballs', text: 'Performing happy eyeballs to 162.159.198.2:443' },
    ...status,
  },
});

export const REACH_CASES: Case[] = [
  {
    check: reachability,
    how: 'snapshot',
    title: 'a tunnel that looks for a server for long, without --online',
    verdict: 'notice',
    shows: /for \d+ s[\s\S]*A network that blocks UDP[\s\S]*culvert doctor --online/,
    fix: /h2-only/,
    tunnel: looking(ago(40)),
  },
  {
    check: reachability,
    how: 'snapshot',
    title: 'a tunnel over TCP that looks for a server for long, without --online',
    verdict: 'notice',
    shows: /A network that blocks TCP 443/,
    fix: /resetMasqueOptions[\s\S]*h2-only/,
    tunnel: { ...looking(ago(40)), options: { masque: 'MASQUE (HTTP/2)' } },
  },
  {
    check: reachability,
    how: 'snapshot',
    title: 'a tunnel that looks for a server since a moment',
    verdict: 'not-applicable',
    tunnel: looking(ago(5)),
  },
  {
    check: reachability,
    how: 'snapshot',
    title: 'a tunnel that failed for another reason',
    verdict: 'not-applicable',
    tunnel: looking(ago(40), { state: 'unable', reason: { code: 'NoNetwork', text: 'No Network' } }),
  },
  ...proofs(reachability, 'namespace', [
    {
      title: 'a network that drops UDP',
      verdict: 'problem',
      shows: /UDP 443: no answer\nTCP 443: open[\s\S]*blocks UDP/,
      fix: /h2-only[\s\S]*resetMasqueOptions/,
      world: t => between(t, NO_UDP),
    },
    {
      title: 'a network that drops UDP, below WireGuard',
      verdict: 'problem',
      fix: /h2-only[\s\S]*"setProtocol","value":"MASQUE"[\s\S]*"setProtocol","value":"WireGuard"/,
      world: async t => ({
        ...(await between(t, NO_UDP)),
        tunnel: snapshot({ settings: { Mode: 'warp', 'WARP tunnel protocol': 'WireGuard' } }),
      }),
    },
    {
      title: 'a network that drops UDP, and a release without HTTP/2',
      verdict: 'problem',
      shows: /Update WARP: from version 2025\.4\.929 on/,
      world: async t => ({
        ...(await between(t, NO_UDP)),
        tunnel: snapshot({ tunnelCli: { version: '2025.2.664.0' } }),
      }),
    },
    {
      title: 'a network that drops UDP, and a device of an organization',
      verdict: 'problem',
      shows: /its administrator decides that/,
      world: async t => ({ ...(await between(t, NO_UDP)), tunnel: snapshot({ account: { organization: 'acme' } }) }),
    },
    {
      title: 'a network that drops UDP, and MASQUE over HTTP/2',
      verdict: 'ok',
      shows: /MASQUE uses HTTP\/2 over TCP/,
      world: async t => ({
        ...(await between(t, NO_UDP)),
        tunnel: snapshot({ tunnel: { protocol: 'MASQUE (HTTPS via TCP)' } }),
      }),
    },
    {
      title: 'a network that drops TCP 443, and MASQUE over HTTP/2',
      verdict: 'problem',
      shows: /UDP 443: open\nTCP 443: no answer[\s\S]*uses TCP 443, over which/,
      fix: /resetMasqueOptions/,
      world: async t => ({
        ...(await between(t, NO_UDP.replace('udp', 'tcp'))),
        tunnel: snapshot({ options: { masque: 'MASQUE (HTTP/2)' }, status: { state: 'connecting' } }),
      }),
    },
    {
      title: 'a network that drops TCP 443 to one server, and a tunnel over HTTP/2 that is connected',
      verdict: 'ok',
      shows: /TCP 443: no answer/,
      world: async t => ({
        ...(await between(t, NO_UDP.replace('udp', 'tcp'))),
        tunnel: snapshot({ options: { masque: 'MASQUE (HTTP/2)' } }),
      }),
    },
    {
      title: 'a server that can be reached',
      verdict: 'ok',
      shows: /UDP 443: open\nTCP 443: open/,
      world: t => between(t, ''),
    },
  ]),
  {
    check: captivePortal,
    how: 'bus',
    title: 'NetworkManager with a login page',
    verdict: 'problem',
    fix: /"--user".*"portal"/,
    bus: networkManager(2),
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
  ...proofs(captivePortal, 'bus', [
    {
      title: 'NetworkManager whose own test the kill switch blocks',
      verdict: 'notice',
      shows: /limited[\s\S]*kill switch blocks the test/,
      fix: /"--user".*"portal"/,
      bus: networkManager(3),
      tunnel: { killSwitch: BLOCKING },
    },
    {
      title: 'NetworkManager with a login page, while the kill switch blocks',
      verdict: 'problem',
      fix: /"--user".*"portal"/,
      bus: networkManager(2),
      tunnel: { killSwitch: BLOCKING },
    },
    {
      title: 'NetworkManager whose full connection is from before the kill switch',
      verdict: 'notice',
      shows: /full[\s\S]*kill switch blocks the test/,
      bus: networkManager(4),
      tunnel: WITHOUT_WARP,
    },
  ]),
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
      bus: services,
      tunnel: WITHOUT_WARP,
    }),
  ),
  ...proofs(captivePortal, 'bus', [
    {
      title: 'a login page that the network named, online, while the kill switch blocks',
      verdict: 'notice',
      shows: /systemd-networkd: wlan0 portal\n.*that the kill switch lets out/,
      fix: /"--user".*"portal"/,
      bus: namingNetworkd,
      tunnel: WITHOUT_WARP,
      online: true,
    },
    {
      title: 'a login page that the network named, without NetworkManager and kill switch,',
      verdict: 'notice',
      shows: /systemd-networkd: wlan0 portal\n.*Disconnect, log in/,
      fix: /"--user".*"portal"/,
      bus: namingNetworkd,
      tunnel: { status: { state: 'disconnected' } },
    },
    {
      title: 'a network that still names its login page while WARP is connected',
      verdict: 'not-applicable',
      bus: namingNetworkd,
    },
  ]),
  {
    check: captivePortal,
    how: 'bus',
    title: 'NetworkManager that reaches the Internet through the tunnel, beside the kill switch',
    verdict: 'ok',
    bus: networkManager(4),
    tunnel: { killSwitch: BLOCKING },
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
    bus: networkManager(4),
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
    files: statistics(5_000, 0),
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
    files: statistics(5_000, 90_000),
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
  ...proofs(proxyDead, 'socket', [
    {
      title: 'a proxy that accepts and does not answer',
      verdict: 'problem',
      shows: /accepts connections, but does not answer/,
      world: async t => world(t, { tunnel: proxyMode(await localProxy(t, () => {})) }),
    },
    {
      title: 'a proxy that speaks SOCKS5',
      verdict: 'ok',
      world: async t =>
        world(t, {
          tunnel: proxyMode(
            await localProxy(t, socket => socket.once('data', () => socket.write(Buffer.from([5, 0])))),
          ),
        }),
    },
  ]),
];
