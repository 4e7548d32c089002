// A small machine on a network with a login page: the root service with the kill switch on, and the helper of a sign-in.
import { execFile } from 'node:child_process';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openWindow } from '../../../daemon/networks/portal/sign-in-window.ts';
import { firstOutput } from '../until.ts';
import { SIGN_IN_USER, setStage, shippedAnd } from './stage.ts';

const exec = promisify(execFile);
const here = import.meta.dirname;

export type Mode = 'redirect' | 'form' | '511' | 'lies' | 'https' | 'allows-one' | 'silent' | 'open';

export const NAME_SERVER = '10.9.0.2';
/** An address of the internet that only a leaking program contacts. */
export const LEAK_TARGET = '203.0.113.99';

const UPLINK_UP = `
ip link set lo up
ip link add up0 type veth peer name up1 netns $FAR
ip addr add 10.9.0.1/24 dev up0
ip link set up0 up
ip route add default via ${NAME_SERVER} dev up0
mkdir -p /run/systemd/netif/leases
echo DNS=${NAME_SERVER} >/run/systemd/netif/leases/$(cat /sys/class/net/up0/ifindex)
sysctl -qw net.ipv4.ping_group_range="0 2147483647"`;
const FAR_UP = `
ip link set lo up
for last in 11 12 13 20 99; do ip addr add 203.0.113.$last/32 dev lo; done
ip addr add ${NAME_SERVER}/24 dev up1
ip link set up1 up
nft 'table inet seen { chain i { type filter hook prerouting priority -300; ip daddr ${LEAK_TARGET} counter; }; }'`;

export type LoginPageStage = Awaited<ReturnType<typeof setLoginPage>>;

/** @param certificate of the network's TLS server: certificate and key */
export async function setLoginPage(mode: Mode, certificate?: string) {
  const stage = await setStage('played', 'nft', 'cgroups');
  const far = stage.start(['unshare', '-n', '--', 'sh', '-c', 'echo ready; exec sleep infinity']);
  await firstOutput(far);
  const farInside = ['nsenter', `--net=/proc/${far.pid}/ns/net`, '--'];
  const script = async (inside: readonly string[], text: string) => {
    const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, FAR: String(far.pid) };
    return (await exec(inside[0]!, [...inside.slice(1), 'sh', '-ec', text], { env })).stdout;
  };
  await script(stage.inside, UPLINK_UP);
  await script(farInside, FAR_UP);
  const setMode = (next: Mode) => writeFileSync(stage.path('mode'), next);
  setMode(mode);
  writeFileSync(stage.path('names'), '');
  if (certificate !== undefined) writeFileSync(stage.path('certificate.pem'), certificate);
  await firstOutput(stage.start([...farInside, '/usr/bin/python3', join(here, 'login-page.py'), stage.directory]));
  await stage.serve();
  const on = await stage.call('Enable', shippedAnd());
  if (!on.ok) throw new Error(on.text);

  const service = {
    run: stage.path('run'),
    activation: [here],
    units: [],
    busctl: 'busctl',
    bus: stage.env.DBUS_SYSTEM_BUS_ADDRESS,
    install: 'true',
    systemd: '/',
  };
  const as = (uid: number) => ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--'];
  return {
    ...stage,
    service,
    setMode,
    script: (text: string) => script(stage.inside, text),
    /** Opens the window for root, the user of the test. */
    open: (seconds = 300) => openWindow(seconds, { service, directory: stage.path('own') }),
    /** Opens the window as a user, and holds it with a program that can be killed. */
    async hold(uid = 0) {
      const opened = await stage.call('SignIn', ['u', '300'], uid);
      if (!opened.ok) throw new Error(opened.text);
      const program = `
import socket, time
s = socket.socket(socket.AF_UNIX)
while s.connect_ex("${stage.path('own')}/socket"):
    time.sleep(0.05)
s.send(b"H")
print(s.recv(100).decode(), flush=True)
s.settimeout(0.5)
while True:
    s.send(b".")
    try:
        s.recv(100)
        break
    except TimeoutError:
        pass`;
      const holder = stage.start([...as(uid), '/usr/bin/python3', '-c', program]);
      await firstOutput(holder);
      return holder;
    },
    /** True where the helper takes the first words of SOCKS5 from a user. */
    async greets(uid: number): Promise<boolean> {
      const program = `
import socket
s = socket.socket(socket.AF_UNIX)
s.connect("${stage.path('own')}/socket")
s.send(bytes([5, 1, 0]))
print(s.recv(2))`;
      const words = [...as(uid), '/usr/bin/python3', '-c', program];
      return exec(words[0]!, words.slice(1)).then(
        ({ stdout }) => stdout.includes('\\x05'),
        () => false, // it ended the connection
      );
    },
    /** Elements of the set that lets the helper out. */
    async isOpen(): Promise<boolean> {
      return /elements/.test(await stage.nft('list', 'set', 'inet', 'culvert', 'sign_in_helpers'));
    },
    /** True where a program of this user gets an answer from the internet. */
    async reaches(uid = SIGN_IN_USER): Promise<boolean> {
      const program = `import socket; print(socket.create_connection(("203.0.113.20", 8080), 0.5).recv(20))`;
      const words = [...stage.inside, ...as(uid), '/usr/bin/python3', '-c', program];
      return exec(words[0]!, words.slice(1)).then(
        () => true,
        () => false,
      );
    },
    /** Tries every way out as a user. */
    async tryAll(uid: number, ...options: string[]): Promise<void> {
      const words = [
        ...stage.inside,
        ...as(uid),
        '/usr/bin/python3',
        join(here, 'try-all.py'),
        LEAK_TARGET,
        NAME_SERVER,
      ];
      await exec(words[0]!, [...words.slice(1), ...options]);
    },
    /** Packets to the address of leaks, and questions for the name of leaks. */
    async leaked(): Promise<{ packets: number; questions: number }> {
      const text = await script(farInside, 'nft list table inet seen');
      const questions = readFileSync(stage.path('names'), 'utf8').split('leak.example').length - 1;
      return { packets: Number(/packets (\d+)/.exec(text)?.[1]), questions };
    },
    /** Plays logind from now on. @returns a function that has it say that the screen is locked, that the user logged out, or that the machine goes to sleep */
    async playLogin(): Promise<(what: 'lock' | 'logout' | 'sleep') => void> {
      const command = `exec /usr/bin/python3 ${join(here, 'login1.py')} <${stage.path('login')}`;
      await exec('mkfifo', [stage.path('login')]);
      const player = stage.start(['sh', '-c', command], stage.env);
      const pipe = createWriteStream(stage.path('login'));
      await firstOutput(player);
      return what => void pipe.write(`${what}\n`);
    },
    /** The network answers nothing anymore, and refuses nothing. */
    swallow: () => script(farInside, "nft 'add rule inet seen i drop'"),
    helperPid: () => Number(readFileSync(stage.path('helpers'), 'utf8').trim().split('\n').at(-1)),
  };
}
