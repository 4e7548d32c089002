// Traffic that the kill switch allows: every class must get an answer.
import { until } from '../../support/until.ts';
import { HOSTS, UPLINK, WARP_MARK } from '../classes.ts';
import type { Machine, Program } from '../machine.ts';
import { TUNNEL } from '../rig.ts';
import { enable, type Outcome, remove, type Scenario, type Stage } from '../stage.ts';

interface Ask {
  name: string;
  from: 'user' | 'root' | 'system' | 'container' | 'neighbor' | 'site';
  how: 'tcp' | 'udp' | 'ping';
  to: string;
  port?: number;
  /** Local address and port to send from. */
  source?: [string, number];
  device?: string;
  mark?: number;
  bytes?: number;
  broadcast?: boolean;
  /** Answered only where the local network is allowed; `never`: not even there. */
  needs?: 'lan' | 'never';
}

const { site4, site6, resolver4, resolver6, neighbor4, neighbor6, client4, client6, tunnel4, tunnel6 } = HOSTS;
const PORT = 7800;
/** Seconds to wait for an answer on a busy machine, and for the absence of one. */
const SECONDS = { answered: 20, silent: 2 };
const UIDS = { user: 54321, root: 0, system: 998, container: 0, neighbor: 0, site: 0 } as const;

/** The same for IPv4 and IPv6, by each protocol. */
function everyProtocol(name: string, from: Ask['from'], to: readonly [string, string], needs?: Ask['needs']): Ask[] {
  return (['tcp', 'udp', 'ping'] as const).flatMap(how =>
    to.map((address, i) => ({
      name: `${name}, ${how}${i ? 6 : 4}`,
      from,
      how,
      to: address,
      ...(how === 'ping' ? {} : { port: PORT }),
      ...(needs ? { needs } : {}),
    })),
  );
}

const SITES = [site4, site6] as const;
const THROUGH: readonly Ask[] = [
  ...everyProtocol('user through the tunnel', 'user', SITES),
  ...everyProtocol('root through the tunnel', 'root', SITES),
  ...everyProtocol('container through the tunnel', 'container', SITES),
  ...everyProtocol('local client through the tunnel', 'neighbor', SITES),
  ...everyProtocol('to this machine through the tunnel', 'site', [tunnel4, tunnel6]),
  // larger than the tunnel's MTU: the sender needs "packet too large"
  { name: 'upload of a container, tcp4', from: 'container', how: 'tcp', to: site4, port: PORT, bytes: 60_000 },
  { name: 'upload of a container, tcp6', from: 'container', how: 'tcp', to: site6, port: PORT, bytes: 60_000 },
  { name: 'upload of a local client, tcp4', from: 'neighbor', how: 'tcp', to: site4, port: PORT, bytes: 60_000 },
  { name: 'upload of a local client, tcp6', from: 'neighbor', how: 'tcp', to: site6, port: PORT, bytes: 60_000 },
  { name: 'DNS through the tunnel, udp4', from: 'user', how: 'udp', to: resolver4, port: 53 },
  { name: 'DNS through the tunnel, udp6', from: 'user', how: 'udp', to: resolver6, port: 53 },
  { name: 'DNS through the tunnel, tcp4', from: 'user', how: 'tcp', to: resolver4, port: 853 },
  { name: 'DNS of a container through the tunnel', from: 'container', how: 'udp', to: resolver4, port: 53 },
];

/** Traffic that works while the tunnel is down. */
const BESIDE: readonly Ask[] = [
  ...everyProtocol('loopback', 'user', ['127.0.0.1', '::1']),
  ...everyProtocol('its own address', 'user', [client4, client6]),
  { name: 'endpoint, udp4', from: 'root', how: 'udp', to: HOSTS.masque4, port: 443, mark: WARP_MARK },
  { name: 'endpoint, tcp4', from: 'root', how: 'tcp', to: HOSTS.api4, port: 443, mark: WARP_MARK },
  { name: 'endpoint, udp6', from: 'root', how: 'udp', to: HOSTS.wireguard6, port: 4500, mark: WARP_MARK },
  { name: 'endpoint, tcp6', from: 'root', how: 'tcp', to: HOSTS.api6, port: 443, mark: WARP_MARK },
  ...(['root', 'system', 'user'] as const).map(
    (from): Ask => ({
      name: `DHCP of ${from}`,
      from,
      how: 'udp',
      to: '255.255.255.255',
      port: 67,
      bytes: 300,
      source: ['0.0.0.0', 68],
      device: UPLINK,
      broadcast: true,
      ...(from === 'user' ? { needs: 'lan' } : {}),
    }),
  ),
  ...(['root', 'system', 'user'] as const).map(
    (from): Ask => ({
      name: `DHCPv6 of ${from}`,
      from,
      how: 'udp',
      to: 'ff02::1:2',
      port: 547,
      device: UPLINK,
      source: ['::', 546],
      ...(from === 'user' ? { needs: 'lan' } : {}),
    }),
  ),
];

const LOCAL: readonly Ask[] = [
  ...everyProtocol('to the local network', 'user', [neighbor4, neighbor6], 'lan'),
  ...everyProtocol('from the local network', 'neighbor', [client4, client6], 'lan'),
  ...everyProtocol('container to the local network', 'container', [neighbor4, neighbor6], 'lan'),
  { name: 'container to this machine', from: 'container', how: 'tcp', to: '172.17.0.1', port: PORT, needs: 'lan' },
  { name: 'to a container', from: 'user', how: 'tcp', to: '172.17.0.2', port: PORT, needs: 'lan' },
  {
    name: 'link-local address',
    from: 'user',
    how: 'udp',
    to: HOSTS.neighborLink,
    port: PORT,
    device: UPLINK,
    needs: 'lan',
  },
  { name: 'mdns4', from: 'user', how: 'udp', to: '224.0.0.251', port: 5353, device: UPLINK, needs: 'lan' },
  { name: 'mdns6', from: 'user', how: 'udp', to: 'ff02::fb', port: 5353, device: UPLINK, needs: 'lan' },
  { name: 'DNS of the router, udp4', from: 'user', how: 'udp', to: HOSTS.router4, port: 53, needs: 'never' },
  { name: 'DNS of the router, tcp4', from: 'user', how: 'tcp', to: HOSTS.router4, port: 853, needs: 'never' },
  { name: 'DNS of the router, udp6', from: 'user', how: 'udp', to: HOSTS.router6, port: 53, needs: 'never' },
];

const listening = (
  machine: 'router' | 'neighbor' | 'client' | 'container',
  how: 'tcp' | 'udp',
  at: string,
  port = PORT,
) => ({
  machine,
  how,
  at,
  port,
});
const both = (machine: 'router' | 'neighbor' | 'client' | 'container', ...addresses: string[]) =>
  addresses.flatMap(at => [listening(machine, 'tcp', at), listening(machine, 'udp', at)]);
const LISTENERS = [
  ...both('router', site4, site6),
  ...both('neighbor', neighbor4, neighbor6),
  ...both('client', client4, client6, tunnel4, tunnel6, '127.0.0.1', '::1', '172.17.0.1'),
  ...both('container', '172.17.0.2'),
  ...[resolver4, resolver6, HOSTS.router4, HOSTS.router6].map(at => listening('router', 'udp', at, 53)),
  ...[resolver4, HOSTS.router4].map(at => listening('router', 'tcp', at, 853)),
  listening('router', 'udp', HOSTS.masque4, 443),
  listening('router', 'tcp', HOSTS.api4, 443),
  listening('router', 'udp', HOSTS.wireguard6, 4500),
  listening('router', 'tcp', HOSTS.api6, 443),
  { ...listening('router', 'udp', '0.0.0.0', 67), device: 'lan0', broadcast: true },
  { ...listening('router', 'udp', 'ff02::1:2', 547), device: 'lan0' },
  { ...listening('neighbor', 'udp', HOSTS.neighborLink), device: UPLINK },
  { ...listening('neighbor', 'udp', '224.0.0.251', 5353), device: UPLINK },
  { ...listening('neighbor', 'udp', 'ff02::fb', 5353), device: UPLINK },
];

/** Addresses by which each family's neighbors find the client: of the link, unique local, and global. */
const GLOBAL = { client: '2001:db8:50::2', router: '2001:db8:50::1' };

const SETUP = {
  client: [`address add ${GLOBAL.client}/64 dev ${UPLINK} nodad`],
  router: [`address add ${GLOBAL.router}/64 dev lan0 nodad`],
  neighbor: [`route add ${site4}/32 via ${client4}`, `-6 route add ${site6}/128 via ${client6}`],
};
const LAN_CLIENTS = `
table inet nat_of_local_clients {
  chain postrouting { type nat hook postrouting priority srcnat; oifname "${TUNNEL}" masquerade; }
}
`;

/** Everything that answers, and a client that is a gateway for its local network. */
async function answering<T>({ rig }: Stage, body: () => Promise<T>): Promise<T> {
  const { client, router, neighbor, container } = rig;
  const machines = { client, router, neighbor, container };
  const programs: Program[] = [];
  for (const machine of [container, neighbor]) await machine.ip('route flush cache', '-6 route flush cache'); // and MTUs
  await client.run(['sysctl', '-qw', 'net.ipv4.ip_unprivileged_port_start=0']);
  await client.nft(LAN_CLIENTS);
  const undone = (command: string) => command.replace(' add ', ' del ').replace(' nodad', '');
  for (const [name, commands] of Object.entries(SETUP)) await machines[name as keyof typeof SETUP].ip(...commands);
  try {
    for (const [name, machine] of Object.entries(machines)) {
      const serve = LISTENERS.filter(listener => listener.machine === name);
      programs.push(await machine.fixture('answers.py', [], `${JSON.stringify({ serve })}\n`));
    }
    return await body();
  } finally {
    for (const program of programs) await program.end();
    for (const [name, commands] of Object.entries(SETUP))
      await machines[name as keyof typeof SETUP].ip(...commands.map(undone));
    await client.nft('delete table inet nat_of_local_clients');
    await client.run(['sysctl', '-qw', 'net.ipv4.ip_unprivileged_port_start=1024']);
  }
}

/** @returns names of those that got an answer */
async function ask({ rig }: Stage, asks: readonly Ask[], seconds: number): Promise<Set<string>> {
  const { client, container, neighbor, router } = rig;
  const machines: Record<Ask['from'], Machine> = {
    user: client,
    root: client,
    system: client,
    container,
    neighbor,
    site: router,
  };
  const answers = await Promise.all(
    Object.entries(UIDS).map(async ([from, uid]) => {
      const own = asks
        .filter(each => each.from === from)
        .map(each => (from === 'site' ? { ...each, source: [each.to.includes(':') ? site6 : site4, 0] } : each));
      if (!own.length) return [];
      const input = `${JSON.stringify({ uid, asks: own, seconds })}\n`;
      const program = await machines[from as Ask['from']].fixture('answers.py', [], input);
      const { stdout, stderr, code } = await program.ended;
      if (code !== 0) throw new Error(`asking as ${from}: ${stderr}`);
      return JSON.parse(stdout.trim().split('\n').at(-1)!) as string[];
    }),
  );
  return new Set(answers.flat());
}

/** Asks for everything; those that the state allows have to be answered, and no others. */
async function judge(stage: Stage, asks: readonly Ask[], isAllowed: (ask: Ask) => boolean): Promise<Outcome> {
  const [allowed, others] = [true, false].map(wanted => asks.filter(each => isAllowed(each) === wanted)) as [
    Ask[],
    Ask[],
  ];
  const answered = await ask(stage, allowed, SECONDS.answered);
  const intruders = await ask(stage, others, SECONDS.silent);
  const faults = [
    ...allowed.filter(({ name }) => !answered.has(name)).map(({ name }) => `${name}: no answer`),
    ...[...intruders].map(name => `${name}: answered, though it is not allowed`),
  ];
  return { transitions: 1, attempts: asks.length, faults };
}

/** Faults of neighbor discovery from the router and from a neighbor with a global address. */
async function discovered({ rig: { router } }: Stage): Promise<string[]> {
  const addresses = [client4, client6, GLOBAL.client];
  const faults: string[] = [];
  await router.ip('neigh flush dev lan0', '-6 neigh flush dev lan0');
  const asks = addresses.map(to => ({ name: to, how: 'udp', to, port: 9 }));
  await (await router.fixture('answers.py', [], `${JSON.stringify({ uid: 0, asks, seconds: 1 })}\n`)).ended;
  for (const to of addresses) {
    const entry = () => router.run(['ip', 'neigh', 'show', 'to', to, 'dev', 'lan0']);
    await until(async () => /lladdr/.test(await entry()), to, { limitMs: 20_000 }).catch(() =>
      faults.push(`${to} is not found on the link`),
    );
  }
  return faults;
}

const ALL = [...THROUGH, ...BESIDE, ...LOCAL];

export const ALLOWED_SCENARIOS: readonly Scenario[] = [
  {
    name: 'allowed-control',
    title: 'without rules everything that is asked for is answered',
    quick: true,
    async run(stage) {
      await remove(stage);
      return answering(stage, () => judge(stage, ALL, () => true));
    },
  },
  ...[false, true].map(
    (allowLan): Scenario => ({
      name: allowLan ? 'allowed-lan' : 'allowed',
      title: `traffic that is allowed ${allowLan ? 'with' : 'without'} the local network works in both directions`,
      quick: true,
      async run(stage) {
        await enable(stage, { allowLan });
        return answering(stage, async () => {
          const up = await judge(stage, ALL, ({ needs }) => !needs || (needs === 'lan' && allowLan));
          up.faults.push(...(await discovered(stage)));
          await stage.rig.tunnel.down();
          const isBeside = ({ needs }: Ask) => !needs || (needs === 'lan' && allowLan);
          const down = await judge(stage, ALL, each => isBeside(each) && !THROUGH.includes(each));
          await stage.rig.tunnel.up();
          return {
            transitions: 2,
            attempts: up.attempts! + down.attempts!,
            faults: [...up.faults, ...down.faults.map(fault => `tunnel down: ${fault}`)],
          };
        });
      },
    }),
  ),
];
