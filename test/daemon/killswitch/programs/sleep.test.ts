// Programs through a sleep of the machine: it wakes up with another uplink, of a smaller MTU, and the service learns of it afterwards.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { attachLoop, LOOP, line } from '../../../support/killswitch/loops.ts';
import {
  FAMILIES,
  FAR,
  FORWARDS_6,
  finish,
  type Machine,
  setMachine,
  TUNNEL,
  WARP,
} from '../../../support/killswitch/programs.ts';
import { missing, which } from '../../../support/killswitch/stage.ts';
import { suspend } from '../../../support/signal.ts';
import { FULL } from '../../../support/thoroughness.ts';
import { until } from '../../../support/until.ts';

const skip = missing || (which('ip') ? false : 'needs ip') || (!FULL && 'only with --full');
const MTU = 1400;
const BYTES = 100_000;
/** Addresses of the new uplink, in the order of `FAMILIES`. */
const NEW = ['10.8.0.1', '2001:db8:8::1'];

/** For each line, sends bytes over a new connection to an address that returns them. Prints how many came back. */
const ECHO = [
  '/usr/bin/python3',
  '-c',
  `
import socket, sys, threading
print("ready", flush=True)
for address in sys.stdin:
    s = socket.create_connection((address.strip(), ${FAR.port}), 5)
    s.recv(100)
    threading.Thread(target=lambda: (s.sendall(bytes(${BYTES})), s.shutdown(socket.SHUT_WR)), daemon=True).start()
    count = 0
    try:
        while data := s.recv(65536): count += len(data)
    except OSError as error: count = type(error).__name__
    print(count, flush=True)`,
];

let machine: Machine;
const running: ChildProcess[] = [];
before(async () => {
  if (skip) return;
  machine = await setMachine();
  machine.allow('outside', 'tunnel-only');
  await machine.script(WARP);
  await machine.tunnelUp();
});
after(async () => {
  for (const child of running) child.kill('SIGKILL');
  await machine?.end();
});

function start(command: string[]): ChildProcess {
  const child = machine.start(command, { stdio: ['pipe', 'pipe', 'pipe'] });
  running.push(child);
  return child;
}

test('a program outside goes on by the new uplink, and a kept one has no way out until the tunnel is back', {
  skip,
}, async () => {
  const service = await machine.serve();
  const outside = await attachLoop(start(machine.outside(...LOOP)));
  const echo = start(machine.outside(...ECHO));
  const kept = await attachLoop(start(machine.kept(...LOOP)));
  await line(echo);
  assert.equal(await kept.ask(), TUNNEL);

  // nothing runs in a sleep
  const asleep = execFileSync('ps', ['-o', 'pid=', '--ppid', String(service.pid)], { encoding: 'utf8' })
    .split('\n')
    .map(Number)
    .concat(service.pid!)
    .filter(pid => pid > 0);
  for (const pid of asleep) await suspend(pid);
  await machine.tunnelDown();
  await machine.script(`ip link set up0 down; ip link add up2 mtu ${MTU} type veth peer name up3 mtu ${MTU} netns $FAR
ip addr add ${NEW[0]}/24 dev up2; ip addr add ${NEW[1]}/64 dev up2 nodad; ip link set up2 up`);
  // as a server behind that link, which knows nothing of its MTU
  await machine.scriptFar(`ip addr add 10.8.0.2/24 dev up3; ip addr add 2001:db8:8::2/64 dev up3 nodad; ip link set up3 up
ip route replace 10.8.0.0/24 dev up3 advmss 1460; ip -6 route add 2001:db8:8::/64 dev up3 metric 1 advmss 1440`);
  await machine.script('ip route add default via 10.8.0.2; ip -6 route add default via 2001:db8:8::2');
  for (const pid of asleep) process.kill(pid, 'SIGCONT');

  assert.equal(await kept.ask(), 'ConnectionRefusedError');
  for (const [i, { far, name }] of FAMILIES.entries()) {
    if (name === 'IPv6' && !FORWARDS_6) continue;
    await until(async () => (await outside.ask('tcp', { address: far })) === NEW[i]!, `the new uplink, ${name}`);
    const answer = line(echo);
    echo.stdin!.write(`${far}\n`);
    assert.equal(await answer, String(BYTES), name);
  }
  await machine.tunnelUp();
  assert.equal(await kept.ask(), TUNNEL);
  assert.equal(await outside.ask(), NEW[0]);
  for (const loop of [outside, kept]) await loop.end();
  const ended = finish(echo);
  echo.stdin!.end();
  await ended;
});
