// Kept programs in WARP's other modes: without a device, with destinations that are excluded from the tunnel or not included, and on the
// loopback, where the local proxy is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachLoop, LOOP, line } from '../../../support/killswitch/loops.ts';
import { ask, FAMILIES, FAR, finish, machineFor } from '../../../support/killswitch/programs.ts';
import { missing } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';

const skip = missing || (!FULL && 'only with --full');
const LOOPBACK = ['127.0.0.1', '::1'];
const PORT = 9100;
const PROXY = 40_000;

const machine = machineFor(skip);

const python = (text: string) => ['/usr/bin/python3', '-c', text];
/** Answers TCP and UDP of both families with "reached". */
const LISTENER = python(`
import socket, threading
def tcp(s):
    while True:
        c, _ = s.accept()
        c.sendall(b"reached")
        c.close()
def udp(s):
    while True: s.sendto(b"reached", s.recvfrom(100)[1])
for family in (socket.AF_INET, socket.AF_INET6):
    t = socket.create_server(("", ${PORT}), family=family)
    u = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6: u.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    u.bind(("", ${PORT}))
    for serve, s in ((tcp, t), (udp, u)): threading.Thread(target=serve, args=[s], daemon=True).start()
print("ready", flush=True)
threading.Event().wait()`);
/** As a local proxy: what connects to it is connected to the far end, by TCP. */
const LOCAL_PROXY = python(`
import socket
server = socket.create_server(("127.0.0.1", ${PROXY}))
print("ready", flush=True)
while True:
    c, _ = server.accept()
    far = socket.create_connection(("${FAR.address}", ${FAR.port}), 5)
    c.sendall(far.recv(100))
    c.close()`);

const startLoop = async (command: string[]) => attachLoop(machine.start(command, { stdio: ['pipe', 'pipe', 'pipe'] }));

test('it reaches this machine by TCP and UDP, IPv4 and IPv6, and is reached from here', { skip }, async () => {
  for (const [server, client] of [
    [LISTENER, machine.kept(...LOOP)],
    [machine.kept(...LISTENER), LOOP],
  ]) {
    const listener = machine.start(server!);
    await line(listener);
    const loop = await startLoop(client!);
    for (const address of [...LOOPBACK, ...FAMILIES.map(({ uplink }) => uplink)])
      for (const kind of ['tcp', 'udp'] as const)
        assert.equal(await loop.ask(kind, { address, port: PORT }), 'reached', `${kind} ${address}`);
    await loop.end();
    listener.kill('SIGKILL');
    await finish(listener);
  }
});

test('a program that listens is reached by the tunnel', { skip }, async () => {
  await machine.tunnelUp();
  const listener = machine.start(machine.kept(...LISTENER));
  await line(listener);
  for (const { tunnel, far } of FAMILIES) {
    const { out } = await finish(
      machine.startFar(
        `import socket; print(socket.create_connection(("${tunnel}", ${PORT}), 5, ("${far}", 0)).recv(100).decode())`,
      ),
    );
    assert.equal(out, 'reached\n');
  }
  listener.kill('SIGKILL');
  await finish(listener);
  await machine.tunnelDown();
});

test('without a device, a proxy of this machine is the only way out, no matter which user owns it', {
  skip,
}, async () => {
  const server = machine.start(LOCAL_PROXY, { uid: 0 });
  await line(server);
  const loop = await startLoop(machine.kept(...LOOP));
  const { uplink } = await machine.seen();
  for (const { far } of FAMILIES) {
    assert.equal(await loop.ask('tcp', { address: far }), 'ConnectionRefusedError');
    assert.equal(await loop.ask('udp', { address: far }), 'PermissionError');
  }
  assert.equal((await machine.seen()).uplink, uplink);
  assert.equal(await loop.ask('tcp', { address: '127.0.0.1', port: PROXY }), FAMILIES[0]!.uplink);
  await loop.end();
  server.kill('SIGKILL');
  await finish(server);
});

/** Changes of WARP's routes, by the network of the far end. */
const ROUTES: Readonly<Record<string, (network: string) => string>> = {
  excluded: network => `ip route add throw ${network} table 65743`,
  'not included': network =>
    `ip route del default table 65743; ip route add ${network.includes(':') ? '2001:db8:77::/48' : '198.51.100.0/24'} dev CloudflareWARP table 65743`,
};

for (const net of FAMILIES)
  for (const [how, routes] of Object.entries(ROUTES))
    test(`a destination that is ${how} is refused, and not sent outside the tunnel (${net.name})`, {
      skip,
    }, async () => {
      await machine.tunnelUp();
      const loop = await startLoop(machine.kept(...LOOP));
      const asked = { address: net.far };
      assert.equal(await loop.ask('tcp', asked), net.tunnel);
      const network = net.name === 'IPv4' ? '203.0.113.0/24' : '2001:db8:5::/48';
      await machine.script(routes(network).replaceAll('ip route', net.name === 'IPv4' ? 'ip -4 route' : 'ip -6 route'));
      for (const kind of ['STREAM', 'DGRAM'] as const)
        assert.equal((await machine.run(ask(kind, net))).out, `${net.uplink}\n`, 'the control');
      const { uplink } = await machine.seen();
      assert.equal(await loop.ask('tcp', asked), 'ConnectionRefusedError');
      assert.equal(await loop.ask('udp', asked), 'PermissionError');
      assert.equal((await machine.seen()).uplink, uplink);
      await loop.end();
      // the device goes, and its routes with it
      await machine.tunnelDown();
      await machine.script(`ip ${net.name === 'IPv4' ? '-4' : '-6'} route flush table 65743`);
    });
