// Ways out of the place of a kept program: by each, another program leaks, and a kept program sends 0 packets.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { cgroupOf } from '../../../../daemon/killswitch/rules/place.ts';
import { line } from '../../../support/killswitch/loops.ts';
import { ask, DAEMON, FAMILIES, FAR, type Family, finish, machineFor } from '../../../support/killswitch/programs.ts';
import { missing } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';
import { until } from '../../../support/until.ts';

const skip = missing || (!FULL && 'only with --full');

const machine = machineFor(skip);

/** Reports of one membership: two when a program joins a group, and two when it leaves (the kernel's robustness variable). */
const REPORTS = 4;

const python = (text: string) => ['/usr/bin/python3', '-c', text];
/** Ends a connection of the far end with its program: a later test would answer the repeats of a leftover connection. */
const NO_LINGER = 'connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))';

/** A test with the addresses of IPv4, and one with those of IPv6. */
function inBoth(title: string, act: (net: Family, t: TestContext) => Promise<void>): void {
  for (const net of FAMILIES) test(`${title} (${net.name})`, { skip }, t => act(net, t));
}

/** Packets on the uplink while something runs. */
async function leaked(run: () => Promise<unknown>): Promise<number> {
  const { uplink } = await machine.seen();
  await run();
  return (await machine.seen()).uplink - uplink;
}

inBoth('a connection that was opened before the start is not given to a program', async net => {
  // opens the socket, then becomes the command, which sends by it
  const opened = (command: string[]) =>
    python(`
import os, socket, sys
s = socket.socket(socket.${net.af}, socket.SOCK_DGRAM)
s.connect(("${net.far}", ${FAR.port}))
os.dup2(s.fileno(), 7, inheritable=True)
os.execv(sys.argv[1], sys.argv[1:])`).concat(command);
  const send = python('import socket; socket.socket(fileno=7).send(b"x")');
  assert.ok((await leaked(() => machine.run(opened(send)))) > 0, 'the control');
  const packets = await leaked(async () => {
    const { code, err } = await machine.run(opened(machine.kept(...send)));
    assert.match(err, /connection that was opened outside the tunnel.*file descriptor 7/s);
    assert.equal(code, 1);
  });
  assert.equal(packets, 0);
  // Unix sockets, such as the input of a program that Node starts, let nothing out
  assert.equal((await machine.run(machine.kept('cat'), { input: 'typed' })).out, 'typed');
});

inBoth('a socket that a program hands over to one outside stays in the place', async net => {
  const give = python(`
import array, socket
s = socket.socket(socket.${net.af}, socket.SOCK_DGRAM)
socket.socket(fileno=7).sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])`);
  const take = (command: string[]) =>
    python(`
import array, os, socket, subprocess, sys
ours, theirs = socket.socketpair()
os.dup2(theirs.fileno(), 7, inheritable=True)
subprocess.run(sys.argv[1:], pass_fds=[7], check=True)
_, ((_, _, data),), _, _ = ours.recvmsg(1, socket.CMSG_SPACE(4))
s = socket.socket(fileno=array.array("i", data)[0])
try:
    s.sendto(b"x", ("${net.far}", ${FAR.port}))
    print("sent")
except OSError as error:
    print(type(error).__name__)`).concat(command);
  assert.ok((await leaked(async () => assert.equal((await machine.run(take(give))).out, 'sent\n'))) > 0, 'the control');
  const packets = await leaked(async () => {
    const { out, err } = await machine.run(take(machine.kept(...give)));
    assert.equal(out, 'PermissionError\n', err);
  });
  assert.equal(packets, 0);
});

inBoth('a program that has ended answers nothing outside the tunnel (TIME_WAIT)', async net => {
  const late = `
import signal, socket
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
server = socket.create_server(("${net.far}", 8081), family=socket.${net.af})
print("ready", flush=True)
connection, _ = server.accept()
${NO_LINGER}
while connection.recv(100):
    pass
print("ended", flush=True)
signal.sigwait([signal.SIGUSR1])
connection.send(b"late")
signal.sigwait([signal.SIGUSR1])`;
  const close = python(`
import socket
socket.create_connection(("${net.far}", 8081), 5).close()`);
  const lateAnswers = async (command: string[], answered: (before: number) => Promise<boolean>) => {
    await machine.tunnelUp();
    const server = machine.startFar(late);
    await line(server);
    const ended = line(server);
    const { code, err } = await machine.run(command);
    assert.equal(code, 0, err);
    await ended;
    await machine.tunnelReplaced();
    const refused = await machine.refused();
    const packets = await leaked(async () => {
      const { uplink } = await machine.seen();
      server.kill('SIGUSR1');
      await until(async () => (await answered(refused)) || (await machine.seen()).uplink > uplink);
    });
    server.kill('SIGKILL');
    await machine.uplinkRestored();
    return packets;
  };
  // the rules stay while a program runs
  const other = machine.start(machine.kept('sleep', 'infinity'));
  await until(() =>
    machine.refused().then(
      () => true,
      () => false,
    ),
  );
  assert.ok((await lateAnswers(close, async () => false)) > 0, 'the control');
  assert.equal(await lateAnswers(machine.kept(...close), async before => (await machine.refused()) > before), 0);
  other.kill();
  await finish(other);
});

const listen = ({ af }: Family) =>
  python(`
import socket, time
server = socket.create_server(("", 9000), family=socket.${af})
print("ready", flush=True)
server.accept()
time.sleep(3600)`);
/** A program of the far end that begins a connection. */
const knock = ({ af, far }: Family, address: string) => `
import socket
s = socket.socket(socket.${af})
s.bind(("${far}", 0))
s.settimeout(0.3)
s.connect_ex(("${address}", 9000))`;

/** Packets on the uplink while a program listens. */
async function answers(command: string[], run: () => Promise<unknown>): Promise<number> {
  const server = machine.start(command);
  await line(server);
  const packets = await leaked(run);
  server.kill('SIGKILL');
  await finish(server);
  return packets;
}

inBoth('a program that listens answers by no other link', async net => {
  const byUplink = () => finish(machine.startFar(knock(net, net.uplink)));
  assert.ok((await answers(listen(net), byUplink)) > 0, 'the control');
  assert.equal(await answers(machine.kept(...listen(net)), byUplink), 0);
});

inBoth('an answer that began in the tunnel is not repeated by another link', async net => {
  // the far end never hears the answer
  await machine.scriptFar(
    `nft 'table inet deaf { chain i { type filter hook prerouting priority 0; iifname "far0" tcp sport 9000 drop; }; }'`,
  );
  const halfOpen = (isKept: boolean) => async () => {
    await machine.tunnelUp();
    await finish(machine.startFar(knock(net, net.tunnel)));
    const refused = await machine.refused().catch(() => 0);
    const { uplink } = await machine.seen();
    await machine.tunnelReplaced();
    await until(
      async () => (isKept && (await machine.refused()) > refused) || (await machine.seen()).uplink > uplink,
      'the answer to be repeated',
    );
    await machine.uplinkRestored();
  };
  assert.ok((await answers(listen(net), halfOpen(false))) > 0, 'the control');
  assert.equal(await answers(machine.kept(...listen(net)), halfOpen(true)), 0);
});

inBoth('data that a program left unsent is not repeated outside after its end, also with a new service', async net => {
  const accept = `
import socket
server = socket.create_server(("${net.far}", 8082), family=socket.${net.af})
print("ready", flush=True)
connection, _ = server.accept()
${NO_LINGER}
print("accepted", flush=True)
connection.recv(1)
server.accept()`;
  // writes when its input ends
  const write = python(`
import socket, sys
s = socket.create_connection(("${net.far}", 8082), 5)
sys.stdin.read()
s.send(b"x" * 1000)`);
  const left = async (command: string[], then: () => Promise<unknown>) => {
    await machine.tunnelUp();
    const server = machine.startFar(accept);
    await line(server);
    const program = machine.start(command);
    await line(server);
    await machine.tunnelReplaced();
    const packets = await leaked(async () => {
      await finish(program, '');
      await then();
    });
    server.kill('SIGKILL');
    await machine.uplinkRestored();
    return packets;
  };
  const { uplink } = await machine.seen();
  const repeated = () => until(async () => (await machine.seen()).uplink > uplink);
  assert.ok((await left(write, repeated)) > 0, 'the control');
  const refusedAgain = async () => {
    await machine.kill();
    await machine.serve();
    const refused = await machine.refused();
    await until(async () => (await machine.refused()) > refused, 'the repeated packets');
  };
  assert.equal(await left(machine.kept(...write), refusedAgain), 0);
});

inBoth('not even a neighbor is asked for', async net => {
  const call = python(`
import socket
s = socket.socket(socket.${net.af}, socket.SOCK_DGRAM)
s.connect(("${net.nobody}", 9))
s.send(b"x")`);
  // the kernel asks before it sends
  assert.ok((await leaked(() => machine.run(call))) > 0, 'the control');
  await machine.script('ip neighbor flush dev up0 nud failed nud incomplete');
  assert.equal(
    await leaked(async () => assert.match((await machine.run(machine.kept(...call))).err, /PermissionError/)),
    0,
  );
});

/** A group of this test alone, and what matches the first group of a report (RFC 3376, 4.2, and RFC 3810, 5.2). */
const GROUPS = {
  IPv4: { group: '239.83.69.67', names: 'meta l4proto igmp @th,96,32 0xef534543' },
  IPv6: {
    group: 'ff0e::5345:4352:4554',
    names: 'icmpv6 type mld2-listener-report @th,96,128 0xff0e0000000000000000534543524554',
  },
} as const;

// the kernel makes these packets: they belong to no socket, and the packet filter can't tell whose they are
inBoth('joining a multicast group leaves reports of membership on the uplink, and nothing else', async (net, t) => {
  const { group, names } = GROUPS[net.name];
  const table = `groups_${net.name}`;
  await machine.scriptFar(
    `nft 'table inet ${table} { counter named { }; chain i { type filter hook prerouting priority -400; iifname "up1" ${names} counter name named; }; }'`,
  );
  const named = async () =>
    Number(/packets (\d+)/.exec(await machine.scriptFar(`nft list counter inet ${table} named`))![1]);
  const join = python(`
import socket, struct
s = socket.socket(socket.${net.af}, socket.SOCK_DGRAM)
link = socket.if_nametoindex("up0")
to = socket.inet_pton(socket.${net.af}, "${group}")
if s.family == socket.AF_INET: s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, to + struct.pack("=4xi", link))
else: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, to + struct.pack("=I", link))
try: s.sendto(b"x", ("${group}", 5353))
except OSError as error: print(type(error).__name__, flush=True)
input()`);
  const reports = async (command: string[]) => {
    const before = await named();
    const program = machine.start(command);
    await until(async () => (await named()) >= before + REPORTS / 2, 'the reports that it joins');
    const { out } = await finish(program, '\n');
    await until(async () => (await named()) >= before + REPORTS, 'the reports that it leaves');
    return { out, reports: (await named()) - before };
  };
  assert.deepEqual(await reports(join), { out: '', reports: REPORTS }, 'the control');
  const [before, kernel] = [await machine.seen(), await machine.seenOfKernel()];
  assert.deepEqual(await reports(machine.kept(...join)), { out: 'PermissionError\n', reports: REPORTS });
  assert.deepEqual(await machine.seen(), before);
  const { reports: all } = await machine.seenOfKernel();
  t.diagnostic(`${all - kernel.reports} reports, ${REPORTS} of them with the group`);
  await machine.scriptFar(`nft delete table inet ${table}`);
});

inBoth('a cgroup that was made again is unknown to the old rules, and known when a program starts', async net => {
  await machine.run(machine.kept('true'));
  machine.removePlace();
  // the control: by hand, past the service
  const place = `/sys/fs/cgroup/${cgroupOf(DAEMON)}`;
  const byHand = [
    'sh',
    '-c',
    `mkdir -p ${place} && echo $$ >${place}/cgroup.procs && exec "$@"`,
    'sh',
    ...ask('DGRAM', net),
  ];
  const control = async () => assert.equal((await machine.run(byHand, { uid: 0 })).out, `${net.uplink}\n`);
  assert.ok((await leaked(control)) > 0, 'the control');
  assert.equal(await leaked(() => machine.run(machine.kept(...ask('STREAM', net)))), 0);
});

inBoth('after a foreign flush the rules are back, and from then on nothing leaves', async (net, t) => {
  const flood = python(`
import socket, time
s = socket.socket(socket.${net.af}, socket.SOCK_DGRAM)
print("ready", flush=True)
while True:
    try:
        s.sendto(b"x", ("${net.far}", ${FAR.port}))
    except OSError:
        pass
    time.sleep(0.001)`);
  const program = machine.start(machine.kept(...flood));
  await line(program);
  const before = (await machine.seen()).uplink;
  for (let i = 0; i < 10; i++) {
    await machine.nft('flush', 'ruleset').catch(() => {});
    await until(async () => (await machine.refused().catch(() => 0)) > 0);
    const refused = await machine.refused();
    assert.equal(await leaked(() => until(async () => (await machine.refused()) > refused + 20)), 0);
  }
  const packets = (await machine.seen()).uplink - before;
  t.diagnostic(`${packets} of a packet each millisecond left during 10 flushes`);
  program.kill('SIGKILL');
  await finish(program);
  // a table with an owner can't be flushed
  const owned = /^\tflags .*owner/m.test(
    await machine.nft('list', 'table', 'inet', 'culvert_programs').catch(() => ''),
  );
  if (owned) assert.equal(packets, 0);
});
