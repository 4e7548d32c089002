// A small machine with an uplink, a tunnel as WARP routes it, and the root service: for programs that are kept in the tunnel.
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { cgroupOf } from '../../../daemon/killswitch/rules/place.ts';
import { bundledOnce } from '../built.ts';
import { until } from '../until.ts';
import { setStage } from './stage.ts';

const root = resolve(import.meta.dirname, '../../..');
const here = import.meta.dirname;
const exec = promisify(execFile);

/** A user without a session. */
export const DAEMON = 1;
export const FAR = { address: '203.0.113.5', port: 8080 };
/** Sources of packets: the uplink's address, and the tunnel's. */
export const UPLINK = '10.9.0.1';
export const TUNNEL = '172.16.0.2';

const ask = (kind: 'STREAM' | 'DGRAM') => `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_${kind})
s.settimeout(5)
try:
    s.connect(("${FAR.address}", ${FAR.port}))
    s.send(b"x")
    print(s.recv(100).decode().split()[0])
except OSError as error:
    print(type(error).__name__)
`;
/** Commands that print the address which the internet saw, or the name of an error. */
export const ASK = ['/usr/bin/python3', '-c', ask('STREAM')];
export const ASK_UDP = ['/usr/bin/python3', '-c', ask('DGRAM')];

const UPLINK_UP = `
ip link set lo up
ip link add up0 type veth peer name up1 netns $FAR
ip addr add ${UPLINK}/24 dev up0
ip link set up0 up
ip route add default via 10.9.0.2
ip rule add pref 20 not fwmark 0x100cf lookup 65743
ip rule add pref 10 lookup main suppress_prefixlength 0
mkdir -p /run/dbus
ln -s "$BUS" /run/dbus/system_bus_socket
mkdir -p /usr/local/share/dbus-1/system-services
: >/usr/local/share/dbus-1/system-services/org.culvert.KillSwitch1.service`;
const TUNNEL_UP = `
ip link set far0 netns $FAR
ip addr add ${TUNNEL}/32 dev CloudflareWARP
ip link set CloudflareWARP up
ip route add default dev CloudflareWARP table 65743`;
/** `up1` is the wire of the uplink: every packet on it is counted, but for those that look for neighbors. */
const FAR_UP = `
ip link set lo up
ip addr add ${FAR.address}/32 dev lo
ip addr add 10.9.0.2/24 dev up1
ip link set up1 up
nft 'table inet seen { chain i { type filter hook prerouting priority -300; ip daddr 224.0.0.0/4 return; ip6 daddr ff00::/8 return; meta l4proto ipv6-icmp return; iifname "up1" counter; iifname "far0" counter; }; }'`;
const FAR_TUNNEL_UP = `
ip link set far0 up
ip route add ${TUNNEL}/32 dev far0`;

export interface Ended {
  code: number | string;
  out: string;
  err: string;
}

export type Machine = Awaited<ReturnType<typeof setMachine>>;

export async function setMachine() {
  const stage = await setStage('played', 'nft', 'cgroups');
  const far = stage.start(['unshare', '-n', '--', 'sh', '-c', 'echo ready; exec sleep infinity']);
  await first(far);
  const farInside = ['nsenter', `--net=/proc/${far.pid}/ns/net`, '--'];
  const script = async (inside: readonly string[], text: string) => {
    const { stdout } = await exec(inside[0]!, [...inside.slice(1), 'sh', '-ec', text], {
      env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, FAR: String(far.pid), BUS: stage.path('bus') },
    });
    return stdout;
  };
  await script(stage.inside, UPLINK_UP);
  await script(farInside, FAR_UP);
  await first(stage.start([...farInside, '/usr/bin/python3', join(here, 'far.py')]));
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
      await first(relay);
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
      await script(stage.inside, `ip addr add ${TUNNEL}/32 dev up0`);
      await machine.tunnelDown();
      await script(farInside, `ip route replace ${TUNNEL}/32 via ${UPLINK} dev up1`);
    },
    async uplinkRestored() {
      await script(stage.inside, `ip addr del ${TUNNEL}/32 dev up0`);
      await script(farInside, `ip route del ${TUNNEL}/32`);
    },
    /** Packets that were refused to kept programs since the rules were loaded. */
    async refused(): Promise<number> {
      const text = await stage.nft('list', 'counter', 'inet', 'culvert_programs', 'refused');
      return Number(/packets (\d+)/.exec(text)?.[1]);
    },
    /** Packets that arrived by each way so far. */
    async seen(): Promise<{ uplink: number; tunnel: number }> {
      const text = await script(farInside, 'nft list table inet seen');
      const [uplink = 0, tunnel = 0] = [...text.matchAll(/packets (\d+)/g)].map(([, count]) => Number(count));
      return { uplink, tunnel };
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

/** Checks that a program finds everything as if its command had been typed alone. @param inPlace the command that starts it in its place */
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

export function finish(child: ChildProcess, input?: string): Promise<Ended> {
  let out = '';
  let err = '';
  child.stdout?.on('data', data => (out += data));
  child.stderr?.on('data', data => (err += data));
  child.stdin?.end(input);
  return new Promise(done => child.once('close', (code, signal) => done({ code: code ?? signal!, out, err })));
}

function first(child: ChildProcess): Promise<void> {
  return new Promise((done, fail) => {
    let errors = '';
    child.stderr?.on('data', data => (errors += data));
    child.stdout?.once('data', () => done());
    child.once('exit', code => fail(new Error(`${child.spawnargs.join(' ')} ended with ${code}: ${errors}`)));
  });
}
