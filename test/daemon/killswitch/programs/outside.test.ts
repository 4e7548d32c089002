// Programs outside the tunnel: `culvert run --outside`, the real root service, ip and nft, an uplink and a tunnel whose every packet is
// counted, and WARP's rule and firewall.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isStarted } from '../../../../daemon/apps/escapes.ts';
import { addressesOf, MAX_LINKS_OF_USER, numberOf } from '../../../../daemon/killswitch/rules/place.ts';
import { attachLoop, LOOP, line } from '../../../support/killswitch/loops.ts';
import {
  ASK,
  ASK_UDP,
  checkAsAlone,
  DAEMON,
  FAR,
  FORWARDS_6,
  finish,
  IPV4,
  IPV6,
  type Machine,
  setMachine,
  TUNNEL,
  UPLINK,
  WARP,
} from '../../../support/killswitch/programs.ts';
import { missing, shippedAnd, which } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';
import { until } from '../../../support/until.ts';

const skip = missing || (which('ip') ? false : 'needs ip');
const later = skip || (!FULL && 'only with --full');

/** Answers every question for an IPv4 address with 192.0.2.7, and others with nothing. */
const DNS = `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.9.0.2", 53))
print("ready", flush=True)
while True:
    q, peer = s.recvfrom(512)
    end = q.index(0, 12) + 5
    is_a = q[end - 3] == 1
    head = q[:2] + b"\\x81\\x80\\0\\1" + (b"\\0\\1" if is_a else b"\\0\\0") + b"\\0\\0\\0\\0"
    s.sendto(head + q[12:end] + (b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4\\xc0\\0\\2\\7" if is_a else b""), peer)`;
const LOOK_UP = ['/usr/bin/python3', '-c', 'import socket; print(socket.gethostbyname("name.example"))'];

/** Packets by each way, and those that came from no address of this machine. What the kernel makes for a link itself has no counter. */
const SEEN = `nft 'table inet sent {
  counter uplink { }
  counter tunnel { }
  counter strange { }
  chain i { type filter hook prerouting priority -300;
    meta l4proto igmp return; icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert } return;
    icmpv6 type { mld-listener-report, mld-listener-done, mld2-listener-report } return;
    iifname "up1" counter name uplink; iifname "far0" counter name tunnel;
    iifname "up1" ip saddr != ${UPLINK} counter name strange;
  }
}'`;

let machine: Machine;
before(async () => {
  if (skip) return;
  machine = await setMachine();
  machine.allow('outside', 'tunnel-only');
  writeFileSync(machine.path('resolv.conf'), 'nameserver 127.0.2.2\n');
  await machine.script(`mount --bind ${machine.path('resolv.conf')} "$(readlink -f /etc/resolv.conf)"`);
  await machine.script(WARP);
  await machine.scriptFar(SEEN);
  await machine.serve();
  await machine.tunnelUp();
});
const running = new Set<ChildProcess>();
after(async () => {
  // each is in its own network
  for (const child of running) child.kill('SIGKILL');
  await machine?.end();
});

async function seen(): Promise<{ uplink: number; tunnel: number; strange: number }> {
  const text = await machine.scriptFar('nft list counters table inet sent');
  const counts = [...text.matchAll(/counter (\w+) \{\s+packets (\d+)/g)].map(([, name, count]) => [
    name,
    Number(count),
  ]);
  return Object.fromEntries(counts);
}

const state = async () => ({
  rules: (await machine.script('ip -4 rule; ip -6 rule')).match(/culv|10\.99\.117|fd63:756c/g),
  links: (await machine.script('ls /sys/class/net')).split('\n').filter(name => numberOf(name) !== null),
  table: await machine.nft('list', 'table', 'inet', 'culvert_outside').catch(() => null),
  forwarding: await machine.script('cat /proc/sys/net/ipv4/conf/up0/forwarding /proc/sys/net/ipv6/conf/all/forwarding'),
  list: existsSync(machine.path('run/forwarding')),
});
const NOTHING = { rules: null, links: [], table: null, forwarding: '0\n0\n', list: false };
const nothingLeft = () =>
  until(async () => JSON.stringify(await state()) === JSON.stringify(NOTHING), 'everything to be removed');

test('its packets leave by the uplink alone, its names are asked there, and nothing is left behind', {
  skip,
}, async () => {
  const dns = machine.startFar(DNS);
  await line(dns);
  // the control: any other program
  assert.equal((await machine.run(ASK)).out, `${TUNNEL}\n`);
  const before = await seen();
  for (const ask of [ASK, ASK_UDP]) {
    const { out, err } = await machine.run(machine.outside(...ask));
    assert.equal(out, `${UPLINK}\n`, err);
  }
  assert.equal((await machine.run(machine.outside(...LOOK_UP))).out, '192.0.2.7\n');
  const { uplink, tunnel } = await seen();
  assert.equal(tunnel, before.tunnel);
  assert.ok(uplink > before.uplink);
  await nothingLeft();
  dns.kill('SIGKILL');
});

test('SSSD, which asks through the tunnel, is not asked for names of hosts', { skip: later }, async () => {
  const file = machine.path('nsswitch.conf');
  writeFileSync(file, 'passwd: files sss\nhosts: sss files dns\n');
  await machine.script(`mount --bind ${file} /etc/nsswitch.conf`);
  const { out, err } = await machine.run(machine.outside('cat', '/etc/nsswitch.conf'));
  await machine.script('umount /etc/nsswitch.conf');
  assert.equal(out, 'passwd: files sss\nhosts: files dns\n', err);
  await nothingLeft();
});

function start(command: string[], options: Parameters<Machine['start']>[1] = {}): ChildProcess {
  const child = machine.start(command, options);
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** A program outside that asks on demand. */
const startLoop = (options: { uid?: number } = {}, command = machine.outside(...LOOP)) =>
  attachLoop(start(command, { ...options, stdio: ['pipe', 'pipe', 'pipe'] }));

const device = async () => (await state()).links[0]!;

test('it has the words, environment, directory, input and exit status that it would have alone', {
  skip: later,
}, async () => {
  await checkAsAlone(machine, machine.outside);
  // as before Linux 6.17, which has no such key
  const keys = '/proc/sys/net/ipv6/conf/up0';
  await machine.script(`mount -t tmpfs none ${keys}`);
  assert.deepEqual(await machine.run(machine.outside('true')), { code: 0, out: '', err: '' });
  const { err } = await machine.run([machine.program, 'run', '--json', '--outside', '--', 'true']);
  await machine.script(`umount ${keys}`);
  assert.match(err, /^\{"limits":\[\{"text":"The program has no IPv6: [^"]*","values":\[\]\}\]\}\n$/);
});

test('it keeps its way while WARP sets its rule before all others, the link changes, and the tunnel goes', {
  skip: later,
}, async () => {
  const program = await startLoop();
  const before = await seen();
  assert.equal(await program.ask(), UPLINK);
  assert.equal(isStarted(program.child.pid!, 'outside', machine.program), true);
  for (let i = 0; i < 3; i++) {
    // without a priority the kernel puts it before ours
    await machine.script(
      'ip rule del pref 20 2>/dev/null || ip rule del not fwmark 0x100cf lookup 65743; ip rule add not fwmark 0x100cf lookup 65743',
    );
    await program.ask('udp'); // refused at the most, and never sent into the tunnel
    await until(async () => (await program.ask()) === UPLINK, 'the rules to be before that of WARP');
  }
  assert.equal((await seen()).tunnel, before.tunnel);
  // another default route
  await machine.script(
    'ip link add up2 type veth peer name up3; ip link set up2 up; ip link set up3 up; ip addr add 10.8.0.1/24 dev up2; ip route add default via 10.8.0.2 dev up2 metric 5; ip route del default via 10.9.0.2',
  );
  await until(async () => /oifname "up2"/.test((await state()).table ?? ''));
  await until(async () => (await state()).forwarding === '0\n0\n', 'the former link to be as before');
  await program.ask('udp');
  await machine.script('ip route add default via 10.9.0.2 dev up0; ip link del up2');
  await until(async () => (await program.ask()) === UPLINK);
  await machine.tunnelDown();
  assert.equal(await program.ask('udp'), UPLINK);
  await machine.tunnelUp();
  assert.equal(await program.ask(), UPLINK);
  const after = await seen();
  assert.deepEqual([after.tunnel, after.strange], [before.tunnel, before.strange]);
  await program.end();
  await nothingLeft();
});

test('the kill switch refuses it, and blocks the programs that run', { skip: later }, async () => {
  const program = await startLoop();
  assert.equal(await program.ask(), UPLINK);
  assert.ok((await machine.call('Enable', shippedAnd())).ok);
  const before = await seen();
  assert.notEqual(await program.ask(), UPLINK);
  assert.notEqual(await program.ask('udp'), UPLINK);
  const refused = await machine.run(machine.outside('echo', 'started'));
  assert.match(refused.err, /The kill switch is on, so no program may send outside the tunnel/);
  assert.deepEqual([refused.code, refused.out], [1, '']);
  assert.equal((await seen()).uplink, before.uplink);
  // also while it is paused or on trial
  const [types, ...enabling] = shippedAnd();
  const trial = ['TryEnable', [`${types}u`, ...enabling, '60'], 'Revert'] as const;
  for (const [method, args, end] of [['Pause', ['u', '60'], 'Disable'] as const, trial]) {
    assert.ok((await machine.call(method, args)).ok, method);
    const { code, err } = await machine.run(machine.outside('true'));
    assert.match(err, /The kill switch is on, so no program may send outside the tunnel/, method);
    assert.equal(code, 1);
    assert.ok((await machine.call(end)).ok, end);
  }
  assert.equal(await program.ask(), UPLINK);
  await program.end();
  await nothingLeft();
});

test('it is refused where an organization manages WARP, where WARP does not say, without permission, and from a kept program', {
  skip: later,
}, async () => {
  const refused = async (command: string[], pattern: RegExp, options: { env?: NodeJS.ProcessEnv } = {}) => {
    const { code, out, err } = await machine.run(command, options);
    assert.match(err, pattern, command.join(' '));
    assert.notEqual(code, 0);
    assert.equal(out, '');
  };
  const echo = machine.outside('echo', 'started');
  const warpSays = (text: string) =>
    writeFileSync(machine.path('warp-cli'), `#!/bin/sh\ncat <<'E'\n${text}\nE\n`, { mode: 0o755 });
  warpSays('{"device_id":"1","account":{"id":"2","type":"team"},"managed":true}');
  await refused(echo, /An organization manages WARP/);
  warpSays('Account type: Team\nOrganization: example');
  await refused(echo, /An organization manages WARP/);
  warpSays('error');
  await refused(echo, /did not say whether an organization manages it/);
  warpSays('{"device_id":"1","account":{"id":"2","type":"free"},"managed":false}');
  assert.equal((await machine.run(echo)).out, 'started\n');
  rmSync(machine.path('warp-cli'));
  const parameters = '/var/lib/cloudflare-warp';
  await machine.script(`mount -t tmpfs none /var/lib; mkdir ${parameters}; : >${parameters}/mdm.xml`);
  await refused(echo, /An organization manages WARP/);
  await machine.script('umount /var/lib; rmdir /run/systemd/system');
  await refused(echo, /needs systemd, which does not run here/);
  await machine.script('mkdir /run/systemd/system');

  machine.allow('tunnel-only');
  await refused(echo, /needs the permission of an administrator/);
  machine.allow('tunnel-only', 'outside');
  await refused(machine.kept(...echo), /uses the tunnel only can.t start one outside/);
  await refused([machine.program, 'run', '--outside', '--tunnel-only', 'echo', 'x'], /do not go together/);
  await refused([machine.program, 'run', '--outside'], /missing required argument 'command'/);
  await refused([machine.program, 'run', '--outside', '--', '-x'], /begins like an option/);
  await refused([machine.program, 'run', 'run', '--outside'], /How the program may use the network is missing/);
  await refused(machine.outside('flatpak', 'run', 'x'), /flatpak can't run outside the tunnel/);
  // a caller can't name a process: its parent is this test, which belongs to root, or has no separate network
  assert.match((await machine.call('LeadOutside', [], DAEMON)).text, /Refused: Only a process of your own/);
  const busctl = 'busctl call org.culvert.KillSwitch1 /org/culvert/KillSwitch1 org.culvert.KillSwitch1 LeadOutside';
  // and no device of this machine comes and goes with the call: the kernel numbers them one after another
  const nextDevice = async () =>
    Number(
      await machine.script('ip link add q0 type veth peer name q1; cat /sys/class/net/q0/ifindex; ip link del q0'),
    );
  const next = await nextDevice();
  const script = join(machine.path('asks'), 'culvert');
  mkdirSync(machine.path('asks'));
  writeFileSync(script, `sh -c '${busctl}; exit 1'; exit 1`);
  await refused(['/bin/sh', script, 'run'], /no network of its own/);
  assert.equal(await nextDevice(), next + 2);
  // from its namespace the kernel shows only the words of other processes
  copyFileSync('/usr/bin/sleep', machine.path('firefox'));
  chmodSync(machine.path('firefox'), 0o755);
  const browser = start([machine.path('firefox'), '60']);
  await until(() => readFileSync(`/proc/${browser.pid}/cmdline`, 'utf8').startsWith(machine.path('firefox')));
  await refused(machine.outside('firefox'), /firefox runs already, and would open the window there/);
  browser.kill('SIGKILL');
  // without a terminal, the refusal goes to a file
  const reports = machine.path('reports');
  mkdirSync(reports);
  chownSync(reports, DAEMON, DAEMON);
  const report = join(reports, 'refusal');
  machine.allow('tunnel-only');
  await refused([machine.program, 'run', '--json', '--outside', 'echo', 'x'], /^$/, {
    env: { CULVERT_REPORT: report },
  });
  assert.equal(JSON.parse(readFileSync(report, 'utf8')).code, 'killswitch-denied');
  machine.allow('tunnel-only', 'outside');
  const bin = machine.path('bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'unshare'), '#!/bin/sh\necho "Operation not permitted" >&2\nexit 1\n', { mode: 0o755 });
  await refused(echo, /lets users make no network namespaces: Operation not permitted/, {
    env: { PATH: `${bin}:${process.env.PATH}` },
  });
  await refused(echo, /^$/, { env: { PATH: `${bin}:${process.env.PATH}`, CULVERT_REPORT: report } });
  assert.match(readFileSync(report, 'utf8'), /^culvert: This system lets users make no network namespaces/);
  await machine.script('ip route del default; ip -6 route del default');
  await refused(echo, /no network outside the tunnel/);
  await machine.script(
    `ip route add default via ${IPV4.router} dev up0; ip -6 route add default via ${IPV6.router} dev up0`,
  );
  await nothingLeft();
});

test('a new service adopts what a killed one left, and removes it when the program has ended', {
  skip: later,
}, async () => {
  const program = await startLoop();
  await machine.kill();
  assert.equal(await program.ask(), UPLINK);
  await machine.serve();
  const name = await device();
  await machine.script(`ip rule del iif ${name}; nft flush ruleset 2>/dev/null || :`);
  await machine.script(WARP);
  await until(async () => (await program.ask()) === UPLINK, 'rules and table to be back');
  await machine.kill();
  await program.end();
  await until(async () => (await state()).links.length === 0, 'the link to go with its program');
  assert.notEqual((await state()).rules, null);
  await machine.serve();
  await nothingLeft();
});

test('culvert-killswitch-remove leaves nothing behind', { skip: later }, async () => {
  const program = await startLoop();
  await machine.kill();
  const text = readFileSync(
    new URL('../../../../data/killswitch/culvert-killswitch-remove.in', import.meta.url),
    'utf8',
  )
    .replaceAll('/run/culvert-killswitch', machine.path('run'))
    .replaceAll('/var/lib/culvert-killswitch', machine.path('state'))
    .replaceAll('@FILES@', '');
  // an owner that was just killed
  await until(async () =>
    machine.script(`sh -c ${quote(text)}`).then(
      () => true,
      () => false,
    ),
  );
  assert.deepEqual(await state(), NOTHING);
  assert.notEqual(await program.ask('udp'), UPLINK);
  await program.end();
  mkdirSync(machine.path('run'));
  mkdirSync(machine.path('state'), { mode: 0o700 });
  await machine.serve();
});

test('children in the background stay outside, and programs do not reach each other or this machine, nor are reached', {
  skip: later,
}, async () => {
  const listen = `import socket
s = socket.create_server(("0.0.0.0", 9000))
print("ready", flush=True)
while True:
    c, _ = s.accept()
    c.sendall(b"reached")`;
  const first = start(machine.outside('/usr/bin/python3', '-c', listen));
  await line(first);
  const inside = addressesOf(numberOf(await device())!);
  const local = start(['/usr/bin/python3', '-c', listen], { uid: 0 });
  await line(local);
  const second = await startLoop();
  const { out } = await machine.run(machine.outside('sh', '-c', 'sleep 300 >/dev/null 2>&1 & echo $!'));
  assert.equal((await state()).links.length, 3);
  process.kill(Number(out), 'SIGKILL');
  const to = (address: string) => ({ address, port: 9000 });
  for (const address of [inside.address, inside.gateway, UPLINK, TUNNEL, '127.0.0.1'])
    assert.notEqual(await second.ask('tcp', to(address)), 'reached', address);
  const host = await startLoop({}, LOOP);
  assert.equal(await host.ask('tcp', to('127.0.0.1')), 'reached', 'the control');
  assert.notEqual(await host.ask('tcp', to(inside.address)), 'reached');
  await host.end();
  assert.equal(await second.ask(), UPLINK);
  await second.end();
  first.kill();
  await finish(first);
  local.kill('SIGKILL');
  await nothingLeft();
});

test('a user with every right in the namespace sends nothing that has another address, or that goes elsewhere', {
  skip: later,
}, async () => {
  // it keeps its rights, as a user's own `setpriv` may let it
  const bin = machine.path('rights');
  mkdirSync(bin);
  writeFileSync(join(bin, 'setpriv'), '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n', {
    mode: 0o755,
  });
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const send = `
import socket
def udp(source):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((source, 0))
    for to in ("${FAR.address}", "10.9.0.2", "10.8.0.9", "${TUNNEL}"):
        try: s.sendto(b"x", (to, ${FAR.port}))
        except OSError: pass
udp("10.99.117.77")
udp("${UPLINK}")
r = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
# a segment of no connection, which is not translated
r.sendto(bytes.fromhex("1f901f90000000010000000150120000") + bytes(4), ("${FAR.address}", 0))`;
  const before = await seen();
  const strays = `ip address add 10.99.117.77/32 dev eth0 && ip address add ${UPLINK}/32 dev eth0 && /usr/bin/python3 -c "$1" && echo sent && read -r _`;
  const program = start(machine.outside('sh', '-c', strays, 'sh', send), { env });
  assert.equal(await line(program), 'sent');
  const refused = async () => Number(/refused \{\s+packets (\d+)/.exec((await state()).table ?? '')?.[1]);
  await until(async () => (await refused()) > 4);
  assert.deepEqual(await seen(), before);
  await finish(program, '\n');
  await nothingLeft();
});

test('no other host is forwarded because of it, and one user has a limited number', { skip: later }, async () => {
  const program = await startLoop();
  // a neighbor that takes this machine for a router, into the tunnel
  const before = await seen();
  await machine.scriptFar(`ip route add 198.51.100.0/24 via ${UPLINK}`);
  const neighbor = 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("198.51.100.1", 9))';
  await finish(machine.startFar(neighbor));
  assert.equal((await seen()).tunnel, before.tunnel);
  const more = await Promise.all(Array.from({ length: 3 }, () => startLoop()));
  for (let number = 4; number < MAX_LINKS_OF_USER; number++)
    await machine.script(
      `ip link add made type veth peer name other${number} && ip link set made alias "culvert: program of user ${DAEMON}, process 1 since 0" && ip link set made name culv${number}`,
    );
  assert.match(
    (await machine.run(machine.outside('echo', 'x'))).err,
    /At most 16 programs of a user, and 64 of all users, can be outside the tunnel/,
  );
  for (let number = 4; number < MAX_LINKS_OF_USER; number++) await machine.script(`ip link del culv${number}`);
  for (const { end } of [program, ...more]) await end();
  await nothingLeft();
});

test('IPv6 leaves by the uplink as well, where the kernel forwards it for one link alone', {
  skip: later || (FORWARDS_6 ? false : 'needs Linux 6.17'),
}, async () => {
  const program = await startLoop();
  const { tunnel } = await seen();
  for (const kind of ['tcp', 'udp'] as const)
    assert.equal(await program.ask(kind, { address: IPV6.far, port: FAR.port }), IPV6.uplink);
  assert.equal(await program.ask(), UPLINK);
  assert.equal((await seen()).tunnel, tunnel);
  await program.end();
  await nothingLeft();
});

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
