// Changes that other programs of root make to routes, addresses and devices while the kill switch is on.
import { execFileSync } from 'node:child_process';
import { until } from '../../support/until.ts';
import {
  ADVERTISEMENTS,
  EDGES,
  HOSTS,
  REROUTED,
  REROUTING,
  SENDERS,
  type Sender,
  UNTRACKING,
  UPLINK,
} from '../classes.ts';
import { PATH } from '../machine.ts';
import type { Watch } from '../measure.ts';
import { TUNNEL } from '../rig.ts';
import { control, enable, type Outcome, prove, remove, type Scenario, type Stage } from '../stage.ts';

/** Senders by every protocol, none of them bound to the uplink. */
const UNBOUND = SENDERS.filter(({ name }) => /^(root, )?(tcp|udp|icmp|dns)[46]$/.test(name));

/** Another program's marks and address translation; the tunnel is up, so that packets are first routed to it. */
async function rerouting<T>({ rig: { client } }: Stage, body: () => Promise<T>): Promise<T> {
  const routes = [
    `route replace default via ${HOSTS.router4} dev ${UPLINK} table 100`,
    `-6 route replace default via ${HOSTS.router6} dev ${UPLINK} table 100`,
    'rule add pref 5 fwmark 1 lookup 100',
    '-6 rule add pref 5 fwmark 1 lookup 100',
  ];
  await client.run(['sysctl', '-qw', 'net.ipv4.conf.all.route_localnet=1']);
  await client.ip(...routes);
  await client.nft(REROUTING);
  try {
    return await body();
  } finally {
    for (const table of ['inet foreign_marks', 'ip foreign_nat', 'ip6 foreign_nat'])
      await client.nft(`delete table ${table}`);
    await client.ip('rule del pref 5', '-6 rule del pref 5');
    await client.run(['sysctl', '-qw', 'net.ipv4.conf.all.route_localnet=0']);
  }
}

/** A device that only has the tunnel's name, on top of the uplink; the tunnel's process is dead and the name free. */
async function imposter<T>({ rig }: Stage, type: string, body: () => Promise<T>): Promise<T> {
  const { client } = rig;
  await rig.tunnel.kill();
  await client.ip(
    `link add link ${UPLINK} name ${TUNNEL} type ${type}`,
    `address add 192.168.50.3/24 dev ${TUNNEL}`,
    `address add fd50::3/64 dev ${TUNNEL} nodad`,
    `link set ${TUNNEL} up`,
    `route replace default via ${HOSTS.router4} dev ${TUNNEL} metric 1`,
    `route replace default via ${HOSTS.router6} dev ${TUNNEL} metric 1`,
  );
  try {
    return await body();
  } finally {
    await client.ip(`link del ${TUNNEL}`);
    await rig.tunnel.start();
  }
}

/** The uplink inside its own VRF, to which the senders are bound. */
async function vrf<T>({ rig }: Stage, body: (senders: readonly Sender[]) => Promise<T>): Promise<T> {
  const { client } = rig;
  await client.ip('link add vrf0 type vrf table 101', 'link set vrf0 up', `link set ${UPLINK} master vrf0`);
  await client.ip(
    `route replace default via ${HOSTS.router4} dev ${UPLINK} table 101`,
    `-6 route replace default via ${HOSTS.router6} dev ${UPLINK} table 101`,
  );
  try {
    return await body(UNBOUND.map(sender => ({ ...sender, device: 'vrf0' })));
  } finally {
    await client.ip(`link set ${UPLINK} nomaster`, 'link del vrf0');
    await rig.uplinkUp();
  }
}

/** Another program hands forwarded flows to a flowtable, whose packets bypass the chains. */
const FLOWTABLE = `
table inet foreign_flows {
  flowtable f { hook ingress priority filter; devices = { ${UPLINK}, ctr0 }; }
  chain forward { type filter hook forward priority filter - 10; ct state established flow add @f; }
}
`;
async function flowtable<T>(
  { rig: { client, tunnel } }: Stage,
  body: (senders: readonly Sender[]) => Promise<T>,
): Promise<T> {
  await tunnel.down();
  await client.nft(FLOWTABLE);
  try {
    return await body(SENDERS.filter(({ name }) => /^forwarded, (tcp|udp)[46]$/.test(name)));
  } finally {
    await client.nft('delete table inet foreign_flows');
    await tunnel.up();
  }
}

/** Every user may bind any port, and another program hides DNS from connection tracking. */
async function atTheEdges<T>({ rig: { client, container, tunnel } }: Stage, body: () => Promise<T>): Promise<T> {
  const ports = (from: number) => client.run(['sysctl', '-qw', `net.ipv4.ip_unprivileged_port_start=${from}`]);
  const routed = (accepted: 0 | 1) =>
    client.run(['sysctl', '-qw', ...['all', UPLINK, 'ctr0'].map(on => `net.ipv6.conf.${on}.seg6_enabled=${accepted}`)]);
  await tunnel.down();
  await ports(0);
  await routed(1);
  await client.nft(UNTRACKING);
  await container.ip(`route replace ${HOSTS.router4}/32 via 172.17.0.1`);
  try {
    return await body();
  } finally {
    await client.nft('delete table ip foreign_untracking');
    await ports(1024);
    await routed(0);
    await tunnel.up();
  }
}

/** A gateway with a global address, as hosters have them: the way to the internet then has a next hop of another kind. */
async function globalGateway<T>({ rig }: Stage, body: () => Promise<T>): Promise<T> {
  await rig.tunnel.down();
  await rig.router.ip('address add 2001:db8:50::1/64 dev lan0 nodad');
  await rig.client.ip(
    `address add 2001:db8:50::2/64 dev ${UPLINK} nodad`,
    `-6 route replace default via 2001:db8:50::1 dev ${UPLINK} metric 100`,
  );
  try {
    return await body();
  } finally {
    await rig.client.ip(`-6 route del default via 2001:db8:50::1`, `address del 2001:db8:50::2/64 dev ${UPLINK}`);
    await rig.router.ip('address del 2001:db8:50::1/64 dev lan0');
    await rig.uplinkUp();
    await rig.tunnel.up();
  }
}

const rounds = async (watch: Watch, count: number) => {
  for (let i = 0; i < count; i++) await watch.round();
};

/** Rounds until every class was seen, or for a minute. */
async function seen(watch: Watch, senders: readonly Sender[]): Promise<number> {
  await until(async () => {
    await watch.round();
    const leaks = await watch.leaks();
    return senders.every(({ name }) => leaks.has(name));
  }, 'every class on the wire').catch(() => {}); // control() names the missing ones
  return 1;
}

type Body = (senders: readonly Sender[]) => Promise<Outcome>;

/** A scenario and its control: the same without rules, which must leak in every class. */
function pair(
  name: string,
  title: string,
  { missing, within }: { missing?: Scenario['missing']; within(stage: Stage, body: Body): Promise<Outcome> },
): Scenario[] {
  return [
    {
      name: `${name}-control`,
      title: `without rules every class leaks: ${title}`,
      control: true,
      quick: true,
      ...(missing ? { missing } : {}),
      async run(stage) {
        await remove(stage);
        return within(stage, senders => control(stage, { senders }, watch => seen(watch, senders)));
      },
    },
    {
      name,
      title: `nothing leaks: ${title}`,
      quick: true,
      ...(missing ? { missing } : {}),
      async run(stage) {
        await enable(stage);
        return within(stage, senders =>
          prove(stage, { tunnel: false, senders }, async watch => {
            await rounds(watch, stage.quick ? 4 : 300);
            return { transitions: 1 };
          }),
        );
      },
    },
  ];
}

/** A scenario for kernels in which a command succeeds, in a network with a device `a0`. */
const needsKernel = (what: string, command: string) => () => {
  try {
    const probe = `ip link add name a0 type veth peer name b0; ${command}`;
    execFileSync('unshare', ['--net', 'sh', '-euc', probe], { stdio: 'pipe', env: { PATH } });
    return false;
  } catch {
    return `needs a kernel with ${what}`;
  }
};
const needs = (type: string, words = `type ${type}`) =>
  needsKernel(`${type} devices`, `ip link add link a0 name c0 ${words}`);
const HAS_FLOWTABLES =
  "nft 'table inet x { flowtable f { hook ingress priority 0; devices = { a0 }; }; " +
  "chain c { type filter hook forward priority 0; flow add @f; }; }'";

export const FOREIGN_SCENARIOS: readonly Scenario[] = [
  ...pair('reroute', 'another program marks or translates packets that were routed to the tunnel', {
    within: (stage, body) => rerouting(stage, () => body(REROUTED)),
  }),
  {
    name: 'reroute-lan',
    title: 'no DNS leaks where it is rerouted or translated and the local network is allowed',
    quick: true,
    async run(stage) {
      await enable(stage, { allowLan: true });
      const senders = REROUTED.filter(({ how }) => how === 'udp' || how === 'tcp');
      return rerouting(stage, () =>
        prove(stage, { tunnel: false, allowLan: true, senders }, async watch => {
          await rounds(watch, stage.quick ? 4 : 300);
          return { transitions: 1 };
        }),
      );
    },
  },
  ...pair('imposter', "a macvlan on the uplink has the tunnel's name", {
    within: (stage, body) => imposter(stage, 'macvlan mode bridge', () => body(UNBOUND)),
  }),
  ...pair('imposter-ipvlan', "an ipvlan on the uplink has the tunnel's name", {
    missing: needs('ipvlan'),
    within: (stage, body) => imposter(stage, 'ipvlan', () => body(UNBOUND)),
  }),
  ...pair('vrf', 'senders are bound to a VRF that holds the uplink', {
    missing: needs('vrf', 'type vrf table 101'),
    within: (stage, body) => vrf(stage, body),
  }),
  ...pair('flowtable', 'another program hands forwarded flows to a flowtable', {
    missing: needsKernel('flowtables', HAS_FLOWTABLES),
    within: (stage, body) => flowtable(stage, body),
  }),
  ...pair('advertisement', 'root sends neighbor advertisements off the link, or long ones', {
    within: async (stage, body) => {
      await stage.rig.tunnel.down();
      try {
        return await body(ADVERTISEMENTS);
      } finally {
        await stage.rig.tunnel.up();
      }
    },
  }),
  ...pair('advertisement-global', 'the same where the gateway has a global address', {
    within: (stage, body) =>
      globalGateway(stage, () => body(ADVERTISEMENTS.filter(({ to }) => to !== HOSTS.neighbor6))),
  }),
  ...pair('edges', 'packets at the edges of what is allowed, and around it', {
    within: (stage, body) => atTheEdges(stage, () => body(EDGES)),
  }),
  {
    name: 'edges-lan',
    title: 'nothing but what is for the local network leaks at the edges where that is allowed',
    quick: true,
    async run(stage) {
      await enable(stage, { allowLan: true });
      return atTheEdges(stage, () =>
        prove(stage, { tunnel: false, allowLan: true, senders: EDGES }, async watch => {
          await rounds(watch, stage.quick ? 4 : 300);
          return { transitions: 1 };
        }),
      );
    },
  },
];
