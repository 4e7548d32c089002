// The networks of the leak test: a client with a real WireGuard tunnel, and everything around it.
//
//   container ── client ──┬─ uplink ── bridge ── router, the internet's hosts, and the tunnel's other end
//                         │               └── neighbor on the local network
//                         └─ second uplink, better, which comes and goes ── another router
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/until.ts';
import { HOSTS, UPLINK, WARP_MARK, WIREGUARD_PORT } from './classes.ts';
import type { Ground, Machine, Program } from './machine.ts';
import { listenOn } from './traffic.ts';
import { openWire, type Wire } from './wire.ts';

/** As warp-svc names it, and as the rules expect it. */
export const TUNNEL = 'CloudflareWARP';
/** warp-svc's routing table. */
const TABLE = 65743;

export interface Rig {
  client: Machine;
  container: Machine;
  neighbor: Machine;
  router: Machine;
  second: Machine;
  /** Every frame that leaves the client's uplink. */
  uplink: Wire;
  /** Every frame that leaves the client's second uplink. */
  better: Wire;
  /** Every packet that comes out of the tunnel at its other end. */
  inside: Wire;
  tunnel: {
    up(): Promise<void>;
    down(): Promise<void>;
    /** SIGKILL for its process; the device goes with it. */
    kill(): Promise<void>;
    /** Until its first handshake. */
    start(): Promise<void>;
    /** Waits until a packet of a sender came through. */
    carries(): Promise<void>;
  };
  uplinkUp(): Promise<void>;
  uplinkDown(): Promise<void>;
  /** A device with a better default route appears. */
  plug(): Promise<void>;
  unplug(): Promise<void>;
  /** Masquerading of what the container sends, which a foreign flush takes away. */
  masquerade(nft?: string): Promise<void>;
}

export async function createRig(ground: Ground): Promise<Rig> {
  const { client, router, container, neighbor, second } = await connectMachines(ground);
  const uplinkUp = () =>
    client.ip(
      `link set ${UPLINK} up`,
      `route replace default via ${HOSTS.router4} metric 100`,
      `route replace default via ${HOSTS.router6} metric 100`,
    );
  await uplinkUp();
  const masquerade = (nft?: string) => client.nft(MASQUERADE, nft);
  await masquerade();

  const keys = await Promise.all(['client', 'router'].map(name => keyPair(client, join(ground.directory, name))));
  const [own, peer] = keys as [KeyPair, KeyPair];
  await startWireguard(router, 'edge0');
  await router.run([
    'wg',
    'set',
    'edge0',
    'private-key',
    peer.file,
    'listen-port',
    String(WIREGUARD_PORT),
    'peer',
    own.public,
    'allowed-ips',
    `${HOSTS.tunnel4}/32,${HOSTS.tunnel6}/128`,
  ]);
  await router.ip(
    'link set edge0 mtu 1380 up',
    // it answers from the address that it was asked at; wireguard-go of 2023 leaves that to the route
    `rule add ipproto udp sport ${WIREGUARD_PORT} table ${TABLE}`,
    `route add ${HOSTS.client4}/32 dev lan0 src ${HOSTS.wireguard4} table ${TABLE}`,
    // hosts of the internet know nothing of the tunnel's MTU
    `route add ${HOSTS.tunnel4}/32 dev edge0 advmss 1460`,
    `route add ${HOSTS.tunnel6}/128 dev edge0 advmss 1440`,
  );
  const inside = await openWire(router, 'edge0');
  const tunnel = tunnelOf(client, own, peer, inside);
  await client.ip(
    `rule add not fwmark ${WARP_MARK} table ${TABLE}`,
    `-6 rule add not fwmark ${WARP_MARK} table ${TABLE}`,
    'rule add table main suppress_prefixlength 0',
    '-6 rule add table main suppress_prefixlength 0',
  );
  await tunnel.start();
  await listenOn(router, join(ground.directory, 'sites'), [7701, 7702, 7703, 7704, 7705, 53]);
  await listenOn(neighbor, join(ground.directory, 'neighbor'), [8080]);
  await listenOn(client, join(ground.directory, 'listener'), [8080]);

  return {
    client,
    container,
    neighbor,
    router,
    second,
    uplink: await openWire(router, 'wan0', { machine: client, device: UPLINK }),
    better: await openWire(second, '*'),
    inside,
    tunnel,
    uplinkUp,
    uplinkDown: () => client.ip(`link set ${UPLINK} down`),
    masquerade,
    async plug() {
      await client.ip(`link add name eth1 type veth peer name wan1 netns ${second.pid}`);
      await second.ip(
        'address add 192.168.60.1/24 dev wan1',
        'address add fd60::1/64 dev wan1 nodad',
        'link set wan1 up',
      );
      await client.ip(
        'address add 192.168.60.2/24 dev eth1',
        'address add fd60::2/64 dev eth1 nodad',
        'link set eth1 up',
        'route replace default via 192.168.60.1 metric 10',
        'route replace default via fd60::1 metric 10',
      );
      await until(
        async () => (await client.run(['ip', '-j', 'link', 'show', 'eth1'])).includes('"operstate":"UP"'),
        'the second uplink',
      );
    },
    unplug: () => client.ip('link del eth1'),
  };
}

/** The machines, with the network between them. */
async function connectMachines(ground: Ground) {
  const host = {
    'ipv4.ping_group_range': '0 2147483647',
    'ipv4.icmp_ratelimit': 0, // answers are counted: the kernel may not hold them back
    'ipv6.icmp.ratelimit': 0,
    'ipv4.conf.all.rp_filter': 0,
    'ipv4.conf.default.rp_filter': 0,
  };
  const forwards = { 'ipv4.ip_forward': 1, 'ipv6.conf.all.forwarding': 1 };
  const [client, router, container, neighbor, second] = await Promise.all([
    ground.machine({
      ...host,
      ...forwards,
      'ipv4.conf.all.src_valid_mark': 1,
      'ipv6.conf.default.keep_addr_on_down': 1,
    }),
    ground.machine({ ...host, ...forwards }),
    ground.machine(host),
    ground.machine(host),
    ground.machine({ ...host, ...forwards }),
  ]);

  await client.ip(
    `link add name ${UPLINK} type veth peer name wan0 netns ${router.pid}`,
    `link add name ctr0 type veth peer name ${UPLINK} netns ${container.pid}`,
    'address add 172.17.0.1/24 dev ctr0',
    'address add fd17::1/64 dev ctr0 nodad',
    'link set ctr0 up',
    `address add ${HOSTS.client4}/24 brd + dev ${UPLINK}`,
    `address add ${HOSTS.client6}/64 dev ${UPLINK} nodad`,
  );
  await router.ip(
    'link add name lan0 type bridge mcast_snooping 0',
    `link add name lan1 type veth peer name ${UPLINK} netns ${neighbor.pid}`,
    'link set wan0 master lan0',
    'link set lan1 master lan0',
    ...['wan0', 'lan1', 'lan0'].map(device => `link set ${device} up`),
    `address add ${HOSTS.router4}/24 brd + dev lan0`,
    `address add ${HOSTS.router6}/64 dev lan0 nodad`,
    'address add fe80::1/64 dev lan0 nodad',
    ...internet(),
  );
  await container.ip(
    `address add 172.17.0.2/24 dev ${UPLINK}`,
    `address add fd17::2/64 dev ${UPLINK} nodad`,
    `link set ${UPLINK} up`,
    'route add default via 172.17.0.1',
    'route add default via fd17::1',
  );
  await neighbor.ip(
    `address add ${HOSTS.neighbor4}/24 dev ${UPLINK}`,
    `address add ${HOSTS.neighbor6}/64 dev ${UPLINK} nodad`,
    `address add ${HOSTS.neighborLink}/64 dev ${UPLINK} nodad`,
    `link set ${UPLINK} up`,
    `route add ${HOSTS.tunnel4}/32 via ${HOSTS.client4}`,
    `route add ${HOSTS.tunnel6}/128 via ${HOSTS.client6}`,
  );
  await second.ip(...internet());
  return { client, router, container, neighbor, second };
}

function internet(): string[] {
  const { site4, resolver4, wireguard4, masque4, api4, doh4, site6, resolver6, wireguard6, api6 } = HOSTS;
  const ipv4 = [site4, resolver4, '8.8.4.4', wireguard4, masque4, api4, '162.159.138.105', doh4];
  return [
    ...ipv4.map(address => `address add ${address}/32 dev lo`),
    ...[site6, resolver6, wireguard6, api6].map(address => `address add ${address}/128 dev lo`),
  ];
}

const MASQUERADE = `
table ip nat_of_containers {
  chain postrouting { type nat hook postrouting priority srcnat; ip saddr 172.17.0.0/24 oifname != "ctr0" masquerade; }
}
table ip6 nat_of_containers {
  chain postrouting { type nat hook postrouting priority srcnat; ip6 saddr fd17::/64 oifname != "ctr0" masquerade; }
}
`;

function tunnelOf(client: Machine, own: KeyPair, peer: KeyPair, inside: Wire): Rig['tunnel'] {
  let running: Program;
  const routes = [
    `route replace default dev ${TUNNEL} table ${TABLE}`,
    `-6 route replace default dev ${TUNNEL} table ${TABLE}`,
  ];
  return {
    up: () => client.ip(`link set ${TUNNEL} up`, ...routes),
    down: () => client.ip(`link set ${TUNNEL} down`),
    async kill() {
      running.child.kill('SIGKILL');
      await running.ended;
    },
    async start() {
      running = await startWireguard(client, TUNNEL);
      await client.run([
        'wg',
        'set',
        TUNNEL,
        'private-key',
        own.file,
        'fwmark',
        String(WARP_MARK),
        'peer',
        peer.public,
        'endpoint',
        `${HOSTS.wireguard4}:${WIREGUARD_PORT}`,
        'allowed-ips',
        '0.0.0.0/0,::/0',
        'persistent-keepalive',
        '1',
      ]);
      await client.ip(
        `address add ${HOSTS.tunnel4}/32 dev ${TUNNEL}`,
        `address add ${HOSTS.tunnel6}/128 dev ${TUNNEL} nodad`,
        `link set ${TUNNEL} mtu 1380 up`,
        ...routes,
      );
      await until(
        async () => /\t[1-9]\d*$/m.test(await client.run(['wg', 'show', TUNNEL, 'latest-handshakes'])),
        'a handshake',
      );
    },
    async carries() {
      const before = (await inside.report()).frames;
      await until(async () => (await inside.report()).frames > before, 'a packet through the tunnel');
    },
  };
}

interface KeyPair {
  file: string;
  public: string;
}

async function keyPair(machine: Machine, file: string): Promise<KeyPair> {
  const key = await machine.run(['wg', 'genkey']);
  writeFileSync(file, key, { mode: 0o600 });
  chmodSync(file, 0o600);
  return { file, public: (await machine.run(['wg', 'pubkey'], key)).trim() };
}

/** The user-space implementation: not every kernel has the other, and this one is a process that can be killed. */
async function startWireguard(machine: Machine, device: string): Promise<Program> {
  const socket = `/run/wireguard/${device}.sock`;
  await machine.run(['rm', '-f', socket]); // left by a killed one
  const started = machine.start(['wireguard-go', '-f', device], {
    env: { LOG_LEVEL: 'error', WG_I_PREFER_BUGGY_USERSPACE_TO_POLISHED_KMOD: '1' },
  });
  let ended = '';
  void started.ended.then(({ stderr, code }) => (ended = `wireguard-go ended (${code}): ${stderr}`));
  await until(async () => {
    if (ended) throw new Error(ended);
    return (
      (await machine.attempt(['test', '-S', socket])).code === 0 &&
      (await machine.attempt(['wg', 'show', device])).code === 0
    );
  }, `wireguard-go with ${device}`);
  return started;
}
