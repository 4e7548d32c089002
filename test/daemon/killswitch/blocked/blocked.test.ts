// The list of blocked packets, with the real root service, nft and kernel: program, destination, rule. Recording opens nothing.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after, before, test } from 'node:test';
import { BlockedList } from '../../../../daemon/api/schema.ts';
import {
  ASK_UDP,
  ask,
  DAEMON,
  FAMILIES,
  FAR,
  finish,
  IPV6,
  type Machine,
  setMachine,
} from '../../../support/killswitch/programs.ts';
import { missing } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';
import { until } from '../../../support/until.ts';

const later = missing || (!FULL && 'only with --full');
const FAR6 = IPV6.far;

let machine: Machine;
let service: ChildProcess;
before(async () => {
  if (missing) return;
  machine = await setMachine();
  await machine.script("echo '0 65535' >/proc/sys/net/ipv4/ping_group_range");
  service = await machine.serve();
});
after(() => machine?.end());

async function blocked(uid = DAEMON, seconds = 60) {
  const { ok, text } = await machine.call('Blocked', ['u', String(seconds)], uid);
  assert.ok(ok, text);
  const { entries, ...list } = BlockedList.parse(JSON.parse(text));
  // the kernel may begin a connection a second time
  const lines = entries.map(({ rule, protocol, address, port, packets }) =>
    [rule, protocol, address, port, protocol === 'tcp' ? 'n' : packets].join(' '),
  );
  return { ...list, entries, lines: lines.sort() };
}

const enable = async (method = 'Enable', seconds: string[] = []) => {
  const { ok, text } = await machine.call(method, [`ba(ssaq)${seconds.length ? 'u' : ''}`, 'false', '0', ...seconds]);
  assert.ok(ok, text);
};
const table = () => machine.nft('list', 'table', 'inet', 'culvert_blocked').catch(() => null);
/** Ends the recording and removes its records: the next service removes the leftovers of a killed service. */
async function startAgain(): Promise<void> {
  await machine.kill();
  service = await machine.serve();
  await until(async () => (await table()) === null);
}

const SEND = `
import socket, sys
def send(family, kind, protocol, address, port=0):
    try:
        s = socket.socket(family, kind, protocol)
        s.connect((address, port))
        s.send(b"\\x08\\0\\0\\0\\0\\0\\0\\0" if protocol == socket.IPPROTO_ICMP else b"x")
    except OSError:
        pass
`;
const python = (text: string) => ['/usr/bin/python3', '-c', SEND + text];
const EVERY_KIND = python(`
send(socket.AF_INET, socket.SOCK_STREAM, 0, "${FAR.address}", 443)
send(socket.AF_INET, socket.SOCK_DGRAM, 0, "${FAR.address}", 53)
send(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP, "${FAR.address}")
send(socket.AF_INET6, socket.SOCK_STREAM, 0, "${FAR6}", 443)
send(socket.AF_INET6, socket.SOCK_DGRAM, 0, "${FAR6}", 4433)
send(socket.AF_INET6, socket.SOCK_DGRAM, 0, "${FAR6}", 4433)`);
/** Packets of IPv4 and IPv6 that reached the uplink. */
const seen = async () => (await machine.seen()).uplink;
/** A user's command in a unit of systemd. */
const inUnit = (unit: string, command: string[]) => [
  'sh',
  '-c',
  `p=/sys/fs/cgroup/system.slice/${unit}; mkdir -p $p && echo $$ >$p/cgroup.procs && exec setpriv --reuid=${DAEMON} --regid=${DAEMON} --clear-groups -- "$@"`,
  'sh',
  ...command,
];

test('the kill switch: of IPv4 and IPv6, by the unit or the user, with its rule, and nothing leaves', {
  skip: missing,
}, async () => {
  await enable();
  assert.deepEqual([(await blocked()).lines, await seen()], [[], 0]);
  await machine.run(EVERY_KIND);
  assert.deepEqual((await blocked()).lines, [
    `dns udp ${FAR.address} 53 1`,
    `kill-switch icmp ${FAR.address}  1`,
    `kill-switch tcp ${FAR6} 443 n`,
    `kill-switch tcp ${FAR.address} 443 n`,
    `kill-switch udp ${FAR6} 4433 2`,
  ]);
  const other = machine.start(
    inUnit(
      'mail.service',
      python(`send(socket.AF_INET, socket.SOCK_STREAM, 0, "${FAR.address}", 25); sys.stdin.read()`),
    ),
    { uid: 0 },
  );
  const named = async () => (await blocked()).entries.find(({ port }) => port === 25);
  await until(async () => (await named()) !== undefined);
  const { unit, programs, uid } = (await named())!;
  assert.deepEqual([unit, programs, uid], ['mail.service', ['python3'], DAEMON]);
  await finish(other, '');
  // another user gets nothing but the number of destinations
  const stranger = await blocked(2);
  assert.deepEqual([stranger.entries, stranger.hidden], [[], 6]);
  assert.equal((await blocked(0)).entries.length, 6);
  assert.equal(await seen(), 0);
  assert.equal(machine.state()?.protection === 'none', false);
});

test('a change that is not confirmed blocks and is recorded; in a pause nothing is', { skip: later }, async () => {
  await startAgain();
  await machine.call('Disable');
  await blocked();
  await enable('TryEnable', ['60']);
  await machine.run(ASK_UDP);
  const once = [`kill-switch udp ${FAR.address} ${FAR.port} 1`];
  assert.deepEqual((await blocked()).lines, once);
  assert.ok((await machine.call('Confirm')).ok);
  assert.ok((await machine.call('Pause', ['u', '60'])).ok);
  const before = await seen();
  for (const family of FAMILIES) assert.equal((await machine.run(ask('DGRAM', family))).out, `${family.uplink}\n`);
  assert.deepEqual((await blocked()).lines, once);
  assert.equal((await seen()) - before, 2, 'the control');
  assert.ok((await machine.call('Pause', ['u', '0'])).ok);
  await machine.run(ASK_UDP);
  assert.deepEqual((await blocked()).lines, [`kill-switch udp ${FAR.address} ${FAR.port} 2`]);
});

test('a program that uses the tunnel only has its own rule, with and without the kill switch', {
  skip: later,
}, async () => {
  await startAgain();
  const uplink = await seen();
  const kept = [
    `tunnel-only icmp ${FAR.address}  1`,
    `tunnel-only tcp ${FAR6} 443 n`,
    `tunnel-only tcp ${FAR.address} 443 n`,
    `tunnel-only udp ${FAR6} 4433 2`,
    `tunnel-only udp ${FAR.address} 53 1`,
  ];
  for (const isOn of [false, true]) {
    if (isOn) await enable();
    else await machine.call('Disable');
    await blocked();
    await machine.run(machine.kept(...EVERY_KIND));
    assert.deepEqual((await blocked()).lines, kept);
    await startAgain();
  }
  // other programs are not blocked by that rule
  await machine.call('Disable');
  await blocked();
  const program = machine.start(machine.kept('sleep', '60'));
  await until(async () => /goto leave/.test((await table()) ?? ''));
  await machine.run(ASK_UDP);
  assert.deepEqual((await blocked()).lines, []);
  assert.equal((await seen()) - uplink, 1);
  program.kill();
  await finish(program);
});

test('more destinations than the sets have room for are counted, and still blocked', { skip: later }, async () => {
  await startAgain();
  await enable();
  await blocked();
  const before = await seen();
  const flood = (family: string, address: string) =>
    python(`for port in range(1000, 1600): send(socket.${family}, socket.SOCK_DGRAM, 0, "${address}", port)`);
  await machine.run(inUnit('flood.service', flood('AF_INET', FAR.address)), { uid: 0 });
  await machine.run(flood('AF_INET6', FAR6));
  const list = await blocked();
  assert.equal(list.entries.length, 256);
  // 256 by the unit, then 256 by the user alone, for IPv4; 256 by the user for IPv6, which has no unit here
  assert.deepEqual([list.hidden, list.missed], [2 * 256, 600 - 512 + 600 - 256]);
  assert.equal(await seen(), before);
});

test('packets of a machine behind this one are recorded, and root sees them', { skip: later }, async () => {
  await startAgain();
  await enable();
  await blocked();
  await machine.script(`
unshare -n sleep 60 & p=$!
trap "kill $p" EXIT
until [ "$(readlink /proc/$p/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do :; done
ip link add c0 type veth peer name c1 netns $p
ip addr add 172.17.0.1/24 dev c0 && ip link set c0 up && echo 1 >/proc/sys/net/ipv4/ip_forward
nsenter --net=/proc/$p/ns/net sh -ec '
  ip addr add 172.17.0.2/24 dev c1 && ip link set c1 up && ip route add default via 172.17.0.1
  python3 -c "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\\"x\\", (\\"${FAR.address}\\", 80))"'`);
  await until(async () => (await blocked(0)).entries.length > 0);
  const { entries } = await blocked(0);
  assert.deepEqual(
    entries.map(({ rule, source, uid, address, port }) => [rule, source, uid, address, port]),
    [['forwarded', '172.17.0.2', null, FAR.address, 80]],
  );
  const own = await blocked();
  assert.deepEqual([own.entries, own.hidden], [[], 1]);
});

test('it ends without a reader, also where another program emptied the packet filter', { skip: later }, async () => {
  await startAgain();
  await enable();
  await blocked();
  await machine.nft('flush', 'ruleset').catch(() => {});
  await until(async () => (await machine.table()) !== null);
  await machine.run(ASK_UDP);
  await blocked();
  await machine.run(ASK_UDP);
  assert.deepEqual((await blocked(DAEMON, 60)).lines, [`kill-switch udp ${FAR.address} ${FAR.port} 1`]);
  await startAgain();
  await blocked(DAEMON, 1);
  await until(async () => (await table()) === null);
  assert.notEqual(await machine.table(), null);
  for (const seconds of ['0', '901'])
    assert.match((await machine.call('Blocked', ['u', seconds], DAEMON)).text, /InvalidArgument/);
  // a service that ends in order removes it
  await blocked();
  const gone = new Promise(done => service.once('exit', done));
  service.kill('SIGTERM');
  await gone;
  assert.equal(await table(), null);
  assert.notEqual(await machine.table(), null);
  await machine.serve();
});
