// A machine with the systemd of a Debian release as process 1 and our packages, on a network with a login page and a tunnel.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { type Ended, finish } from '../killswitch/programs.ts';
import { CGROUPS, removeCgroup } from '../killswitch/stage.ts';
import { signal } from '../signal.ts';
import { type Ends, removeTree } from '../temporary.ts';
import { firstOutput, until } from '../until.ts';
import { bootableRoot, ROOT_PROGRAM } from './root.ts';

const exec = promisify(execFile);
const players = join(import.meta.dirname, '../killswitch');

/** A person at this machine, whom a rule of polkit lets use the kill switch, and a user who has no such rule. */
export type User = 'ann' | 'ben';
const USERS: Record<User, number> = { ann: 1000, ben: 1001 };
const POLKIT_RULE = `polkit.addRule(function (action, subject) {
  if (subject.user == "ann" && action.id.indexOf("org.culvert.killswitch.") == 0) return polkit.Result.YES;
});
`;

const ROUTER = '10.9.0.2';
/** A host of the internet, which answers on port 8080. */
const FAR = '203.0.113.20';
const TUNNEL = '172.16.0.2';
const UPLINK_UP = `
ip link set lo up
ip link add up0 type veth peer name up1 netns $FAR
ip addr add 10.9.0.1/24 dev up0
ip link set up0 up
ip route add default via ${ROUTER}
ip rule add pref 20 not fwmark 0x100cf lookup 65743
ip rule add pref 10 lookup main suppress_prefixlength 0`;
/** Counts what is sent to the host, by its way. */
const FAR_UP = `
ip link set lo up
for last in 11 12 13 20; do ip addr add 203.0.113.$last/32 dev lo; done
ip addr add ${ROUTER}/24 dev up1
ip link set up1 up
nft 'table inet seen { chain i { type filter hook prerouting priority -300;
  ip daddr ${FAR} iifname "up1" counter; ip daddr ${FAR} iifname "far0" counter; }; }'`;
const TUNNEL_UP = `
ip link set far0 netns $FAR
ip addr add ${TUNNEL}/32 dev CloudflareWARP
ip link set CloudflareWARP up
ip route add default dev CloudflareWARP table 65743`;
const FAR_TUNNEL_UP = `
ip link set far0 up
ip route add ${TUNNEL}/32 dev far0`;

/** Prints "reached", or the name of the error; by UDP "sent". */
const ask = (kind: 'STREAM' | 'DGRAM') => `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_${kind})
s.settimeout(5)
try:
    s.connect(("${FAR}", 8080))
    s.send(b"x")
    print(s.recv(100).decode().strip() if s.type == socket.SOCK_STREAM else "sent")
except OSError as error:
    print(type(error).__name__)
`;
const PYTHON = '/usr/bin/python3';
export const ASK = [PYTHON, '-c', ask('STREAM')];
export const ASK_UDP = [PYTHON, '-c', ask('DGRAM')];

const RUN = 'systemd-run --user --quiet --pipe --wait --collect --'.split(' ');
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const ENTER = `--all --root --wd -- env -i PATH=${PATH} LANG=C.UTF-8 HOME=/root`.split(' ');
const PIPES = 'exec "$@" < <(cat) > >(cat) 2> >(cat >&2)';

/** Why nothing can be booted here, or false. */
export const cannotBoot: string | false = (() => {
  if (process.getuid?.() !== 0) return 'needs root, for namespaces';
  if (!CGROUPS) return 'needs control groups of version 2';
  return fs.existsSync('/dev/net/tun') ? false : 'needs /dev/net/tun';
})();

export type Machine = ReturnType<typeof createMachine>;

/**
 * Boots the machine and installs packages under the running systemd.
 * @param debs their paths
 * @returns false if there can be no root of this release
 */
export async function setUp(machine: Machine, release: string, debs: readonly string[]): Promise<boolean> {
  const root = bootableRoot(release, machine.path('.'));
  if (!root) return false;
  await machine.boot();
  for (const deb of debs) fs.copyFileSync(deb, join(root, 'root', basename(deb)));
  await machine.script(`
    dpkg ${release === 'bookworm' ? '--force-depends' : ''} -i /root/*.deb
    printf '#!/bin/sh\nexport HOME="\${HOME:-/tmp}"\nexec culvert-emulator "$@"\n' >/usr/bin/warp-cli
    chmod 755 /usr/bin/warp-cli
    mkdir -p /etc/polkit-1/rules.d
    printf %s '${POLKIT_RULE}' >/etc/polkit-1/rules.d/40-culvert.rules
    echo nameserver ${ROUTER} >/etc/resolv.conf
    for user in ann:1000 ben:1001; do
      useradd --create-home --uid "\${user#*:}" "\${user%:*}"
      loginctl enable-linger "\${user%:*}"
    done`);
  for (const user of ['ann', 'ben'] as const)
    await until(async () => (await machine.runAs(user, 'true')).code === 0, `the systemd of ${user}`);
  return true;
}

/** A machine that is not booted yet; it ends with the test. */
export function createMachine(t: Ends) {
  const place = fs.mkdtempSync(join(tmpdir(), 'culvert-booted-'));
  const cgroup = join(CGROUPS!, basename(place));
  const children = new Set<ChildProcess>();
  /** Process 1 and the far end, as this machine numbers them. */
  let init = 0;
  let far = 0;
  let outer: ChildProcess | null = null;
  let relay: ChildProcess | null = null;

  /** Starts a process that ends with this one. */
  function hold(...argv: string[]): ChildProcess {
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...argv], { stdio: ['pipe', 'pipe', 'pipe'] });
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  }
  const inNetwork = (pid: number) => ['nsenter', `--net=/proc/${pid}/ns/net`, '--'];
  const setNetwork = (pid: number, text: string) =>
    exec('nsenter', [`--net=/proc/${pid}/ns/net`, '--', 'sh', '-ec', text], {
      env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, FAR: String(far) },
    });
  const inside = (...argv: string[]) => ['nsenter', `--target=${init}`, ...ENTER, ...argv];

  const machine = {
    /** Path of a file of the login page: see login-page.py. */
    path: (name: string) => join(place, name),
    /** Starts a program as root. It has pipes, for a socket of this network would be a connection from outside. */
    start: (...argv: string[]) => hold('bash', '-c', PIPES, 'bash', ...inside(...argv)),
    run: (...argv: string[]): Promise<Ended> => finish(machine.start(...argv)),
    /** @throws Error unless it succeeds */
    async script(text: string): Promise<string> {
      const { code, out, err } = await machine.run('sh', '-ec', text);
      if (code !== 0) throw new Error(`${text}: ${out}${err}`);
      return out;
    },
    /** Starts a program as the systemd of a user does. */
    startAs(user: User, ...argv: string[]) {
      const uid = USERS[user];
      const as = `setpriv --reuid=${uid} --regid=${uid} --clear-groups env HOME=/home/${user} XDG_RUNTIME_DIR=/run/user/${uid}`;
      return machine.start(...as.split(' '), ...RUN, ...argv);
    },
    runAs: (user: User, ...argv: string[]): Promise<Ended> => finish(machine.startAs(user, ...argv)),
    async boot(): Promise<void> {
      fs.mkdirSync(cgroup);
      outer = hold(ROOT_PROGRAM, 'boot', join(place, 'root'), cgroup);
      const said = finish(outer);
      const isUp = async () => {
        if (outer!.exitCode !== null) throw new Error(`it did not boot: ${(await said).err}`);
        init = Number(fs.readFileSync(`/proc/${outer!.pid}/task/${outer!.pid}/children`, 'utf8')) || 0;
        return init > 0 && /running|degraded/.test((await machine.run('systemctl', 'is-system-running')).out);
      };
      await until(isUp, 'systemd to start');
      const holder = hold('unshare', '-n', '--', 'sh', '-c', 'echo ready; exec sleep infinity');
      await firstOutput(holder);
      far = holder.pid!;
      await setNetwork(init, UPLINK_UP);
      await setNetwork(far, FAR_UP);
      fs.writeFileSync(machine.path('mode'), 'open');
      await firstOutput(hold(...inNetwork(far), 'python3', join(players, 'login-page.py'), place));
    },
    async tunnelUp(): Promise<void> {
      relay = hold(...inNetwork(init), 'python3', join(players, 'relay.py'), 'CloudflareWARP', 'far0');
      await firstOutput(relay);
      await setNetwork(init, TUNNEL_UP);
      await setNetwork(far, FAR_TUNNEL_UP);
    },
    async tunnelDown(): Promise<void> {
      await killed(relay!);
      await until(async () => !(await machine.script('ip -o link')).includes('CloudflareWARP'));
    },
    /** Packets that arrived at the host by each way so far. */
    async seen(): Promise<{ uplink: number; tunnel: number }> {
      const { stdout } = await exec('nsenter', [
        `--net=/proc/${far}/ns/net`,
        '--',
        'nft',
        'list',
        'table',
        'inet',
        'seen',
      ]);
      const [uplink = 0, tunnel = 0] = [...stdout.matchAll(/packets (\d+)/g)].map(([, count]) => Number(count));
      return { uplink, tunnel };
    },
    /** As a power failure: process 1 ends, and with it all others. */
    async end(): Promise<void> {
      if (outer && init > 0) {
        // its parent ends when the last of its processes has
        const gone = new Promise(done => outer!.once('exit', done));
        signal(init, 'SIGKILL');
        await gone;
      }
      outer = null;
      await Promise.all([...children].map(killed));
      if (fs.existsSync(cgroup)) removeCgroup(cgroup);
    },
  };
  t.after(async () => {
    await machine.end();
    removeTree(place);
  });
  return machine;
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise(done => child.once('exit', done));
  child.kill('SIGKILL');
  await gone;
}
