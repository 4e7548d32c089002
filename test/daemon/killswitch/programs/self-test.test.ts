// The self-test of a kept program's place: if it fails, the program does not start. Each case breaks the place while no service
// runs that would repair it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { line } from '../../../support/killswitch/loops.ts';
import { ask, type Ended, FAMILIES, finish, IPV6, machineFor } from '../../../support/killswitch/programs.ts';
import { missing } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';

const later = missing || (!FULL && 'only with --full');

const machine = machineFor(missing);

/** Starts kept shells, kills the service, makes a change, and runs a command in each shell, one after another. */
async function startAfter(change: string, ...commands: string[][]): Promise<Ended[]> {
  const shells = commands.map(command =>
    machine.start(machine.kept('sh', '-c', 'echo ready; read -r _; exec "$@"', 'sh', ...command)),
  );
  await Promise.all(shells.map(line));
  await machine.kill();
  await machine.script(change);
  const ended: Ended[] = [];
  for (const shell of shells) ended.push(await finish(shell, '\n'));
  await machine.serve();
  return ended;
}

/** Checks that after a change, a kept shell can't start a kept program. */
async function checkRefused(change: string, why: string): Promise<void> {
  const { uplink } = await machine.seen();
  const [{ code, out, err } = assert.fail()] = await startAfter(change, machine.kept('echo', 'started'));
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /^culvert: The program was not started: the test inside its place failed\.\n/);
  assert.ok(err.includes(why), err);
  assert.equal((await machine.seen()).uplink, uplink);
}

const rule = (text: string) => `nft insert rule inet culvert_programs leave ${text}`;

test('a program does not start where the packet filter does not know its place', { skip: missing }, async () => {
  await checkRefused('nft delete table inet culvert_programs', 'The packet filter does not know it.');
});

for (const net of FAMILIES) {
  const protocol = net.name.toLowerCase();

  test(`a program does not start where ${net.name} could leave by a link`, { skip: later }, async () => {
    const open = rule(`meta nfproto ${protocol} oifname "up0" accept`);
    const { uplink } = await machine.seen();
    await startAfter(open, ask('DGRAM', net));
    assert.ok((await machine.seen()).uplink > uplink, 'the control');
    await checkRefused(open, 'A packet could leave by up0.');
  });

  test(`a program does not start where ${net.name} could not use the tunnel`, { skip: later }, async () => {
    await machine.tunnelUp();
    const [{ out } = assert.fail()] = await startAfter(':', machine.kept(...ask('DGRAM', net)));
    assert.equal(out, `${net.tunnel}\n`, 'the control');
    await checkRefused(
      rule(`meta nfproto ${protocol} oifname "CloudflareWARP" reject`),
      'A packet could not leave by CloudflareWARP.',
    );
    await machine.tunnelDown();
  });
}

test('nor where another link has the name of the tunnel', { skip: later }, async () => {
  const link =
    'ip link add CloudflareWARP type veth peer name other; ip addr add 10.7.0.1/24 dev CloudflareWARP; ip link set other up; ip link set CloudflareWARP up';
  await checkRefused(link, 'A packet could not leave by CloudflareWARP.');
  await machine.script('ip link del CloudflareWARP');
});

test('a link that the self-test cannot use does not prevent a start, and stays closed', { skip: later }, async () => {
  const multicast = 'multicast ff00::/8 dev up0 table local metric 256';
  await machine.script(`ip -6 route del ${multicast}; ip -6 rule add pref 1 to ff01::/16 unreachable`);
  const all = [
    '/usr/bin/python3',
    '-c',
    'import socket; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"", ("ff01::1%up0", 9))',
  ];
  assert.match((await machine.run(all)).err, /unreachable|No route to host/);
  assert.equal((await machine.run(ask('DGRAM', IPV6))).out, `${IPV6.uplink}\n`, 'the control');
  const { uplink } = await machine.seen();
  assert.equal((await machine.run(machine.kept(...ask('DGRAM', IPV6)))).out, 'PermissionError\n');
  assert.equal((await machine.seen()).uplink, uplink);
  await machine.script(`ip -6 route add ${multicast}; ip -6 rule del pref 1`);
});
