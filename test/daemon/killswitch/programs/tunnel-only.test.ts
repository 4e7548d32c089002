// Programs that use the tunnel only: `culvert run`, the real root service and nft, an uplink whose every packet is counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ASK,
  ASK_UDP,
  checkAsAlone,
  DAEMON,
  finish,
  machineFor,
  TERMINAL,
  TUNNEL,
  UPLINK,
} from '../../../support/killswitch/programs.ts';
import { missing } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';
import { until } from '../../../support/until.ts';

const later = missing || (!FULL && 'only with --full');

const machine = machineFor(missing);

test('its packets use the tunnel, and without one it is refused immediately', { skip: missing }, async () => {
  await machine.tunnelUp();
  for (const ask of [ASK, ASK_UDP]) {
    const { out, err } = await machine.run(machine.kept(...ask));
    assert.equal(out, `${TUNNEL}\n`, err);
  }
  await machine.tunnelDown();
  // the control: any other program leaves by the uplink now
  assert.equal((await machine.run(ASK)).out, `${UPLINK}\n`);
  const before = await machine.seen();
  // not TimeoutError, with which it ends after 5 s
  assert.equal((await machine.run(machine.kept(...ASK))).out, 'ConnectionRefusedError\n');
  assert.equal((await machine.run(machine.kept(...ASK_UDP))).out, 'PermissionError\n');
  assert.deepEqual(await machine.seen(), before);
});

test('it has the terminal, words, environment, directory, input and exit status that it would have alone', {
  skip: later,
}, async () => {
  await checkAsAlone(machine, machine.kept);
});

test('a cgroup that was removed and made again has rules again before a program starts', {
  skip: later,
}, async () => {
  for (let i = 0; i < 2; i++) {
    await machine.run(machine.kept('true'));
    machine.removePlace();
    assert.equal((await machine.run(machine.kept(...ASK))).out, 'ConnectionRefusedError\n');
  }
});

test('a flush is repaired, and a killed service adopts the programs that run', { skip: later }, async () => {
  const child = machine.start(machine.kept('sh', '-c', 'echo ready; read -r _; exec "$@"', 'sh', ...ASK));
  await new Promise(done => child.stdout!.once('data', done));
  const table = () => machine.nft('list', 'table', 'inet', 'culvert_programs').catch(() => null);
  const before = await table();
  assert.match(before!, /user-1-culvert\.slice/);
  await machine.kill();
  await machine.clear();
  assert.equal(await table(), null);
  await machine.serve();
  await until(async () => (await table()) !== null);
  await machine.nft('flush', 'ruleset').catch(() => {});
  await until(async () => /user-1-culvert\.slice/.test((await table()) ?? ''));
  const ended = finish(child, '\n');
  assert.match((await ended).out, /ConnectionRefusedError/);
});

test('only a process of the caller is put into a place, with permission, and it says what is wrong', {
  skip: later,
}, async () => {
  // its parent is this test, which belongs to root
  assert.match((await machine.call('KeepInTunnel', [], DAEMON)).text, /InvalidArgument: Only a process of your own/);
  // its parent is a separate shell, whose parent is this test
  const busctl = `busctl call org.culvert.KillSwitch1 /org/culvert/KillSwitch1 org.culvert.KillSwitch1 KeepInTunnel`;
  const shell = await machine.run(['sh', '-c', `${busctl}; cat /proc/$$/cgroup`]);
  assert.match(shell.err, /InvalidArgument: Only a process of your own/);
  assert.doesNotMatch(shell.out, /culvert\.slice/);
  machine.allow();
  assert.match((await machine.run(machine.kept('true'))).err, /needs the permission of an administrator/);
  machine.allow('tunnel-only');
  const refused = async (command: string[], pattern: RegExp) => {
    const { code, out, err } = await machine.run([machine.program, 'run', ...command]);
    assert.match(err, pattern, `${command}`);
    assert.notEqual(code, 0);
    assert.equal(out, '');
  };
  await refused(['echo', 'x'], /How the program may use the network is missing/);
  await refused(['--tunnel-only'], /command/);
  await refused(['--tunnel-only', '--', '-x'], /begins like an option/);
  await refused(['--tunnel-only', '--bogus', 'echo', 'x'], /bogus/);
  await refused(['--tunnel-only', 'flatpak', 'run', 'x'], /flatpak can't be kept in the tunnel/);
  assert.match((await machine.run([machine.program, 'run', '--help', '--tunnel-only', 'echo', 'x'])).out, /^Usage: /);
});

test('without systemd, cgroups of version 2 or the root service it refuses, and says what to do', {
  skip: later,
}, async () => {
  const without = async (break_: string, restore: string, pattern: RegExp) => {
    await machine.script(break_);
    const { code, out, err } = await machine.run(machine.kept('echo', 'started'));
    await machine.script(restore);
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, pattern);
  };
  const service = '/usr/local/share/dbus-1/system-services/org.culvert.KillSwitch1.service';
  await without(`rm ${service}`, `: >${service}`, /is not installed\.\nInstall it with: .*killswitch installer/);
  await without('rmdir /run/systemd/system', 'mkdir /run/systemd/system', /needs systemd/);
  await without('mount -t tmpfs none /sys/fs/cgroup', 'umount /sys/fs/cgroup', /version 2 of control groups/);
  // the root service as well, whatever asks it
  const busctl = `busctl call org.culvert.KillSwitch1 /org/culvert/KillSwitch1 org.culvert.KillSwitch1 KeepInTunnel`;
  await machine.script('mount -t tmpfs none /sys/fs/cgroup');
  const { err } = await machine.run(['sh', '-c', `sh -c '${busctl}; exit 1'; exit 1`]);
  await machine.script('umount /sys/fs/cgroup');
  assert.match(err, /Failed: This needs systemd and version 2 of control groups/);
});

test('its names go to the resolver of WARP alone, whatever resolver of the machine it asks', {
  skip: later,
}, async () => {
  const resolver = (address: string) => {
    const serve = `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("${address}", 53))
# IP_PKTINFO: it answers from the address that was asked
s.setsockopt(socket.IPPROTO_IP, 8, 1)
print("ready", flush=True)
while True:
    _, ((_, _, info),), _, peer = s.recvmsg(512, socket.CMSG_SPACE(12))
    s.sendmsg([b"${address}"], [(socket.IPPROTO_IP, 8, bytes(4) + info[8:] + bytes(4))], 0, peer)`;
    return machine.start(['/usr/bin/python3', '-c', serve], { uid: 0 });
  };
  const askAt = (address: string) => [
    '/usr/bin/python3',
    '-c',
    `
import socket
s = socket.socket(socket.AF_INET6 if ":" in "${address}" else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
try:
    s.connect(("${address}", 53))
    s.send(b"x")
    print(s.recv(100).decode())
except OSError as error:
    print(type(error).__name__)`,
  ];
  const servers = [resolver('127.0.0.53'), resolver('127.0.2.2')];
  for (const server of servers) await new Promise(done => server.stdout!.once('data', done));
  assert.equal((await machine.run(askAt('127.0.0.53'))).out, '127.0.0.53\n');
  assert.equal((await machine.run(machine.kept(...askAt('127.0.0.53')))).out, '127.0.2.2\n');
  servers[1]!.kill('SIGKILL');
  await finish(servers[1]!);
  assert.equal((await machine.run(machine.kept(...askAt('127.0.0.53')))).out, 'ConnectionRefusedError\n');
  assert.equal((await machine.run(machine.kept(...askAt('::1')))).out, 'PermissionError\n');
  servers[0]!.kill('SIGKILL');
  await finish(servers[0]!);
  // one for all addresses would answer at each
  const all = resolver('0.0.0.0');
  await new Promise(done => all.stdout!.once('data', done));
  for (const address of ['127.0.0.53', '127.0.2.2'] as const) {
    assert.equal((await machine.run(askAt(address))).out, '0.0.0.0\n', 'the control');
    assert.equal((await machine.run(machine.kept(...askAt(address)))).out, 'ConnectionRefusedError\n');
  }
  const warp = resolver('127.0.2.2');
  await new Promise(done => warp.stdout!.once('data', done));
  assert.equal((await machine.run(machine.kept(...askAt('127.0.0.53')))).out, '127.0.2.2\n');
  for (const server of [all, warp]) server.kill('SIGKILL');
});

test('it says which program looks names up outside the tunnel at a terminal, and with --json alone elsewhere', {
  skip: later,
}, async () => {
  await machine.script('mkdir -p /run/nscd; : >/run/nscd/socket');
  const said = 'Names are looked up by nscd, which is not kept in the tunnel.';
  const steps = [
    ['type', `${machine.kept('echo', 'sta""rted').join(' ')}\n`],
    ['see', `culvert: ${said}\r\n`],
    ['see', 'started\r\n'],
  ];
  const shown = await machine.run(['/usr/bin/python3', TERMINAL, JSON.stringify(steps)], { env: { TERM: 'xterm' } });
  assert.equal(shown.code, 0, shown.err);
  assert.deepEqual(await machine.run(machine.kept('true')), { code: 0, out: '', err: '' });
  const { err } = await machine.run([machine.program, 'run', '--json', '--tunnel-only', '--', 'true']);
  assert.deepEqual(JSON.parse(err), { limits: [{ text: said.replace('nscd', '%s'), values: ['nscd'] }] });
  await machine.script('rm -r /run/nscd');
});
