// A small machine with an uplink, a tunnel as WARP routes it, and the root service: for programs that are kept in the tunnel.
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before } from 'node:test';
import { promisify } from 'node:util';
import { cgroupOf } from '../../../daemon/killswitch/rules/place.ts';
import { bundledOnce } from '../built.ts';
import { firstOutput, until } from '../until.ts';
import { setStage } from './stage.ts';

const root = resolve(import.meta.dirname, '../../..');
const here = import.meta.dirname;
const exec = promisify(execFile);

/** Types steps at a shell, and waits for what it shows. */
export const TERMINAL = join(here, 'terminal.py');
/** A user without a session. */
export const DAEMON = 1;
export interface Family {
  name: 'IPv4' | 'IPv6';
  /** As Python's `socket` has it. */
  af: string;
  far: string;
  /** Sources of packets: the uplink's address, and the tunnel's. */
  uplink: string;
  tunnel: string;
  router: string;
  /** An address on the uplink that no machine has. */
  nobody: string;
}
export const IPV4: Family = {
  name: 'IPv4',
  af: 'AF_INET',
  far: '203.0.113.5',
  uplink: '10.9.0.1',
  tunnel: '172.16.0.2',
  router: '10.9.0.2',
  nobody: '10.9.0.9',
};
export const IPV6: Family = {
  name: 'IPv6',
  af: 'AF_INET6',
  far: '2001:db8:5::5',
  uplink: '2001:db8:9::1',
  tunnel: '2001:db8:16::2',
  router: '2001:db8:9::2',
  nobody: '2001:db8:9::9',
};
/** Address to which IPv6 sends its questions for another one. */
export const questionsFor = (address: string) => `ff02::1:ff00:${address.split(':').at(-1)}`;
export const FAMILIES = [IPV4, IPV6];
/** Linux forwards IPv6 for single links (6.17), so that a program outside has it. */
export const FORWARDS_6 = existsSync('/proc/sys/net/ipv6/conf/all/force_forwarding');
export const FAR = { address: IPV4.far, port: 8080 };
export const UPLINK = IPV4.uplink;
export const TUNNEL = IPV4.tunnel;

/**
 * Command that prints the address which the internet saw, or the name of an error. With TCP it ends after the other side has
 * ended, so that no packet of its connection is counted later.
 */
export const ask = (kind: 'STREAM' | 'DGRAM', { af, far } = IPV4) => [
  '/usr/bin/python3',
  '-c',
  `
import socket
s = socket.socket(socket.${af}, socket.SOCK_${kind})
s.settimeout(5)
try:
    s.connect(("${far}", ${FAR.port}))
    s.send(b"x")
    print(s.recv(100).decode().split()[0])
    if s.type == socket.SOCK_STREAM:
        s.shutdown(socket.SHUT_WR)
        while s.recv(100): pass
except OSError as error:
    print(type(error).__name__)
`,
];
export const ASK = ask('STREAM');
export const ASK_UDP = ask('DGRAM');

const UPLINK_UP = `
ip link set lo up
ip link add up0 type veth peer name up1 netns $FAR
ip addr add ${UPLINK}/24 dev up0
ip addr add ${IPV6.uplink}/64 dev up0 nodad
ip link set up0 up
ip route add default via ${IPV4.router}
ip -6 route add default via ${IPV6.router}
for family in -4 -6; do
  ip $family rule add pref 20 not fwmark 0x100cf lookup 65743
  ip $family rule add pref 10 lookup main suppress_prefixlength 0
done
mkdir -p /run/dbus
ln -s "$BUS" /run/dbus/system_bus_socket
mkdir -p /usr/local/share/dbus-1/system-services
: >/usr/local/share/dbus-1/system-services/org.culvert.KillSwitch1.service`;
const TUNNEL_UP = `
ip link set far0 netns $FAR
ip addr add ${TUNNEL}/32 dev CloudflareWARP
ip addr add ${IPV6.tunnel}/128 dev CloudflareWARP nodad
ip link set CloudflareWARP up
ip route add default dev CloudflareWARP table 65743
ip -6 route add default dev CloudflareWARP table 65743`;
/**
 * `up1` is the wire of the uplink: every packet on it is counted. Packets that the kernel itself makes have other counters: reports of
 * multicast membership, and what looks for routers and neighbors that exist. On `far0`, the far end of the tunnel, these are not counted.
 */
const FAR_UP = `
ip link set lo up
ip addr add ${FAR.address}/32 dev lo
ip addr add ${IPV6.far}/128 dev lo
ip addr add ${IPV4.router}/24 dev up1
ip addr add ${IPV6.router}/64 dev up1 nodad
ip link set up1 up
nft 'table inet seen {
  counter seen_uplink { }
  counter seen_tunnel { }
  counter seen_reports { }
  counter seen_neighbors { }
  chain i {
    type filter hook prerouting priority -300;
    iifname "up1" meta l4proto igmp counter name seen_reports return
    iifname "up1" icmpv6 type { mld-listener-report, mld-listener-done, mld2-listener-report } counter name seen_reports return
    iifname "up1" icmpv6 type nd-neighbor-solicit ip6 daddr != ${questionsFor(IPV6.nobody)} counter name seen_neighbors return
    iifname "up1" icmpv6 type { nd-router-solicit, nd-neighbor-advert } counter name seen_neighbors return
    iifname "up1" counter name seen_uplink
    iifname "far0" meta l4proto igmp return
    iifname "far0" icmpv6 type { nd-router-solicit, mld-listener-report, mld-listener-done, mld2-listener-report } return
    iifname "far0" counter name seen_tunnel
  }
}
table arp seen {
  counter seen_question { }
  chain i { type filter hook input priority 0; arp daddr ip ${IPV4.nobody} counter name seen_question; }
}'`;
const FAR_TUNNEL_UP = `
ip link set far0 up
ip route add ${TUNNEL}/32 dev far0
ip route add ${IPV6.tunnel}/128 dev far0`;

/** As WARP's firewall: what leaves by another device than the tunnel is dropped, also with WARP's mark. */
export const WARP = `nft 'table inet cloudflare-warp {
  chain input { type filter hook input priority 0; policy drop; iifname { "lo", "CloudflareWARP" } accept; ct state established accept; meta l4proto ipv6-icmp accept; }
  chain output { type filter hook output priority 0; policy drop; oifname { "lo", "CloudflareWARP" } accept; meta l4proto ipv6-icmp accept; ip daddr 10.9.0.0/24 accept; }
}'`;

export interface Ended {
  code: number | string;
  out: string;
  err: string;
}

export type Machine = Awaited<ReturnType<typeof setMachine>>;

export async function setMachine() {
  const stage = await setStage('played', 'nft', 'cgroups');
  const far = stage.start(['unshare', '-n', '--', 'sh', '-c', 'echo ready; exec sleep infinity']);
  await firstOutput(far);
  const farInside = ['nsenter', `--net=/proc/${far.pid}/ns/net`, '--'];
  const script = async (inside: readonly string[], text: string) => {
    const { stdout } = await exec(inside[0]!, [...inside.slice(1), 'sh', '-ec', text], {
      env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, FAR: String(far.pid), BUS: stage.path('bus') },
    });
    return stdout;
  };
  await script(stage.inside, UPLINK_UP);
  await script(farInside, FAR_UP);
  await firstOutput(stage.start([...farInside, '/usr/bin/python3', join(here, 'far.py')]));
  const program = install(stage.path('prefix'));
  stage.allow('tunnel-only');
  let relay: ChildProcess | null = null;

  function start(argv: readonly string[], { uid = DAEMON, ...options }: SpawnOptions & { uid?: number } = {}) {
    const as = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--'];
    const line = [...stage.inside, ...as, ...argv];
    return spawn(line[0]!, line.slice(1), {
      ...options,
      env: { PATH: process.env.PATH, LANG: 'C.UTF-8', HOME: stage.directory, ...stage.env, ...options.env },
    });
  }

  const machine = {
    ...stage,
    program,
    script: (text: string) => script(stage.inside, text),
    /** Runs a script at the far end. */
    scriptFar: (text: string) => script(farInside, text),
    /** Starts a program of Python at the far end. */
    startFar: (text: string) => stage.start([...farInside, '/usr/bin/python3', '-c', text]),
    /** Starts a program as a user, outside any place. */
    start,
    /** The command that keeps a program in the tunnel. */
    kept: (...command: string[]) => [program, 'run', '--tunnel-only', '--', ...command],
    /** The command that runs a program outside the tunnel. */
    outside: (...command: string[]) => [program, 'run', '--outside', '--', ...command],
    run: (argv: readonly string[], options: SpawnOptions & { uid?: number; input?: string } = {}) =>
      finish(start(argv, options), options.input),
    async tunnelUp() {
      relay = stage.start([...stage.inside, '/usr/bin/python3', join(here, 'relay.py'), 'CloudflareWARP', 'far0']);
      await firstOutput(relay);
      await script(stage.inside, TUNNEL_UP);
      await script(farInside, FAR_TUNNEL_UP);
    },
    /** As a client that disconnects: its device goes. */
    async tunnelDown() {
      const gone = new Promise(done => relay!.once('exit', done));
      relay!.kill('SIGKILL');
      await gone;
      await until(async () => !(await script(stage.inside, 'ip -o link')).includes('CloudflareWARP'));
    },
    /** As a client that leaves its address to the uplink: the answers of old connections would leave by it. */
    async tunnelReplaced() {
      // first: an answer that has no route for a moment is given up
      await script(stage.inside, addresses('add').join('\n'));
      await machine.tunnelDown();
      await script(
        farInside,
        FAMILIES.map(({ tunnel, uplink }) => `ip route replace ${tunnel} via ${uplink} dev up1`).join('\n'),
      );
    },
    async uplinkRestored() {
      await script(stage.inside, addresses('del').join('\n'));
      await script(farInside, FAMILIES.map(({ tunnel }) => `ip route del ${tunnel}`).join('\n'));
    },
    /** Packets that were refused to kept programs since the rules were loaded. */
    async refused(): Promise<number> {
      const text = await stage.nft('list', 'counter', 'inet', 'culvert_programs', 'refused');
      return Number(/packets (\d+)/.exec(text)?.[1]);
    },
    /** Packets that arrived by each way so far. */
    async seen(): Promise<{ uplink: number; tunnel: number }> {
      const text = await script(farInside, 'nft list counters');
      const count = (name: string) => Number(new RegExp(`counter seen_${name} \\{\\s+packets (\\d+)`).exec(text)![1]);
      return { uplink: count('uplink') + count('question'), tunnel: count('tunnel') };
    },
    /** Packets on the uplink that the kernel itself made so far: reports of multicast membership, and neighbor discovery. */
    async seenOfKernel(): Promise<{ reports: number; neighbors: number }> {
      const text = await script(farInside, 'nft list counters table inet seen');
      const count = (name: string) => Number(new RegExp(`counter seen_${name} \\{\\s+packets (\\d+)`).exec(text)![1]);
      return { reports: count('reports'), neighbors: count('neighbors') };
    },
    /** Removes the user's cgroup, as systemd does with a slice whose last program has ended. */
    removePlace(uid = DAEMON) {
      const place = join(stage.cgroup!, cgroupOf(uid));
      for (const entry of readdirSync(place, { withFileTypes: true }))
        if (entry.isDirectory()) rmdirSync(join(place, entry.name));
      rmdirSync(place);
    },
  };
  return machine;
}

/**
 * The machine of a file's tests, which is set up before them unless they are skipped.
 * @param begin the start of the root service, or more
 */
export function machineFor(
  skip: string | false,
  begin = (machine: Machine): Promise<unknown> => machine.serve(),
): Machine {
  const machine = {} as Machine;
  before(async () => {
    if (!skip) await begin(Object.assign(machine, await setMachine()));
  });
  after(() => machine.end?.());
  return machine;
}

/** Commands that give the tunnel's addresses to the uplink, or take them from it. */
const addresses = (how: 'add' | 'del') => [
  `ip addr ${how} ${IPV4.tunnel}/32 dev up0`,
  `ip addr ${how} ${IPV6.tunnel}/128 dev up0 ${how === 'add' ? 'nodad' : ''}`,
];

/** Checks that a program finds everything as if its command had been typed alone. @param inPlace the command that starts it */
export async function checkAsAlone(machine: Machine, inPlace: (...command: string[]) => string[]): Promise<void> {
  const odd = ['--help', '-x', '', 'two words', '$HOME', 'a\nb'];
  const text = `printf "[%s]" "$@"; pwd; cat; id; grep flags /proc/self/fdinfo/[012]; env | sort
    grep -E "^(Cap(Inh|Prm|Eff|Amb)|NoNew)" /proc/self/status`;
  const show = ['sh', '-c', text, 'sh', ...odd];
  const options = { cwd: '/usr', input: 'typed\n', env: { A_VALUE: 'x y', NODE_EXTRA_CA_CERTS: '/none' } };
  const alone = await machine.run(show, options);
  const placed = await machine.run(inPlace(...show), options);
  const same = (output: string) => output.replace(/^(_|PWD|OLDPWD|SHLVL)=.*\n/gm, '');
  assert.equal(same(placed.out), same(alone.out));
  assert.deepEqual([placed.code, placed.err], [0, '']);
  assert.equal((await machine.run(inPlace('sh', '-c', 'exit 7'))).code, 7);
  assert.equal((await machine.run(inPlace('sh', '-c', 'kill -TERM $$'))).code, 'SIGTERM');
  assert.equal((await machine.run(inPlace('/usr/none/command'))).code, 127);
  // one process: what a shell signals, stops and continues is the program itself
  const child = machine.start(inPlace('sh', '-c', 'echo $$; exec sleep 60'), { stdio: ['ignore', 'pipe', 'inherit'] });
  const pid = await new Promise<string>(done => child.stdout!.once('data', data => done(String(data).trim())));
  assert.equal(Number(pid), child.pid);
  child.kill('SIGINT');
  assert.equal((await finish(child)).code, 'SIGINT');
}

/** The command line as it is installed, without the rest. */
export function install(prefix: string): string {
  mkdirSync(join(prefix, 'bin'), { recursive: true });
  mkdirSync(join(prefix, 'share/culvert'), { recursive: true });
  cpSync(bundledOnce('cli'), join(prefix, 'share/culvert/cli'), { recursive: true });
  const program = join(prefix, 'bin/culvert');
  const text = readFileSync(join(root, 'data/bin/culvert.in'), 'utf8')
    .replaceAll('@NODE@', process.execPath)
    .replaceAll('@NAME@', 'culvert')
    .replaceAll('@VERSION@', '0');
  writeFileSync(program, text);
  chmodSync(program, 0o755);
  return program;
}

/** Waits for a child to end. The output is what it prints from now on: empty for a child that has ended before. */
export function finish(child: ChildProcess, input?: string): Promise<Ended> {
  let out = '';
  let err = '';
  child.stdout?.on('data', data => (out += data));
  child.stderr?.on('data', data => (err += data));
  child.stdin?.end(input);
  return new Promise(done => {
    const end = () => done({ code: child.exitCode ?? child.signalCode!, out, err });
    const isClosed = [child.stdout, child.stderr].every(stream => stream?.closed ?? true);
    if (isClosed && (child.exitCode !== null || child.signalCode !== null)) end();
    else child.once('close', end);
  });
}
