// Programs outside the tunnel while the kill switch is on: those that an administrator allowed, and no others.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { attachLoop, LOOP, line } from '../../../support/killswitch/loops.ts';
import { DAEMON, type Ended, install, type Machine, setMachine, UPLINK } from '../../../support/killswitch/programs.ts';
import { missing, shippedAnd, which } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';
import { until } from '../../../support/until.ts';

const skip = missing || (which('ip') ? false : 'needs ip');
const later = skip || (!FULL && 'only with --full');
const ALLOWLIST = '/etc/culvert/outside-programs';
const PYTHON = skip ? '' : realpathSync('/usr/bin/python3');
/** A loop whose parent stays, and becomes another program at SIGUSR1. */
const FORKED = `import os, signal, sys
if os.fork():
    signal.signal(signal.SIGUSR1, lambda *_: os.execv("/opt/copy", ["copy", "-c", "import time; time.sleep(60)"]))
    while True: signal.pause()
${LOOP[2]}`;
/** A child that sends without end, and says so. */
const LEFT_BEHIND = `import os, socket, time
if os.fork(): time.sleep(60)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    s.sendto(b"x", ("203.0.113.5", 8080))
    print(os.getpid(), flush=True)
    time.sleep(0.05)`;

/** Sends a packet each 10 ms, and says with each which process it is. */
const SEND = `import os, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    s.sendto(b"x", ("203.0.113.5", 8080))
    print(os.getpid(), file=sys.stderr, flush=True)
    time.sleep(0.01)`;
/** Prints each frame that arrives on the uplink's wire. */
const WIRE = `import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind(("up1", 0))
print("ready", flush=True)
while True:
    frame, (*_, kind, _, _) = s.recvfrom(100)
    if kind != socket.PACKET_OUTGOING: print(frame.hex(), flush=True)`;
/**
 * Ways by which a program that is not listed gets into the network of a listed one: code of the listed one before it asks the far end,
 * and a command of the same user that enters from elsewhere.
 */
const STRANGERS: Record<string, { code?: string; enter?: (pid: number) => string[] }> = {
  'its child': { code: 'import subprocess, sys; subprocess.Popen(["/opt/copy", "-c", sys.argv[1]], stdin=-3)' },
  'a child whose parent has ended': {
    code: `import os, sys
if not os.fork():
    if not os.fork(): os.execv("/opt/copy", ["copy", "-c", sys.argv[1]])
    os._exit(0)
os.wait()`,
  },
  'a program that entered': {
    enter: pid => ['nsenter', '--preserve-credentials', '-U', '-n', '-t', `${pid}`, '/opt/copy', '-c', SEND],
  },
};

let machine: Machine;
const frames: string[] = [];
const running = new Set<ChildProcess>();
before(async () => {
  if (skip) return;
  machine = await setMachine();
  machine.allow('outside');
  // a copy of /etc, and a place that root alone can change
  await machine.script(`mount -t tmpfs -o mode=755 none /opt
    mkdir /opt/etc && cp -a /etc/. /opt/etc && mount --bind /opt/etc /etc && mkdir -p /etc/culvert
    for name in copy writable own; do cp ${PYTHON} /opt/$name; done
    chmod 775 /opt/writable && chown ${DAEMON} /opt/own && ln -s ${PYTHON} /opt/link
    mkdir -m 777 /opt/open && cp ${PYTHON} /opt/open/python`);
  machine.startFar(WIRE).stdout!.on('data', data => frames.push(String(data)));
  await until(() => frames.shift() === 'ready\n');
  await machine.serve();
  await machine.tunnelUp();
  assert.ok((await machine.call('Enable', shippedAnd())).ok);
});
after(async () => {
  for (const child of running) child.kill('SIGKILL');
  await machine?.end();
});

/** Writes the administrator's list. */
const allow = (text: string, mode = '644') =>
  machine.script(`rm -f ${ALLOWLIST}; printf '%s\n' '${text}' >${ALLOWLIST}; chmod ${mode} ${ALLOWLIST}`);

async function startLoop(command = machine.outside(PYTHON, '-c', LOOP[2]!)) {
  const child = machine.start(command, { stdio: ['pipe', 'pipe', 'pipe'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return attachLoop(child);
}

const links = async () => (await machine.script('ls /sys/class/net')).match(/culv\d+/g) ?? [];
const uplink = async () => (await machine.seen()).uplink;

async function assertSilentSince(before: number): Promise<void> {
  const packets = (await uplink()) - before;
  assert.equal(packets, 0, `${packets} packets left. The last frames:\n${frames.slice(-20).join('')}`);
}

test('an allowed program leaves by the uplink while the kill switch is on, and no other does', { skip }, async () => {
  await allow(`# of the administrator\n${PYTHON}`);
  const program = await startLoop();
  assert.deepEqual([await program.ask(), await program.ask('udp')], [UPLINK, UPLINK]);
  const other = await machine.run(machine.outside('/opt/copy', '-c', 'print("started")'));
  assert.match(other.err, /The kill switch is on, and no administrator has allowed \/opt\/copy outside the tunnel/);
  assert.deepEqual([other.code, other.out], [1, '']);
  // the control of the kill switch
  await machine.tunnelDown();
  const host = await startLoop(LOOP);
  const before = await uplink();
  assert.notEqual(await host.ask(), UPLINK);
  await assertSilentSince(before);
  assert.equal(await program.ask('udp'), UPLINK);
  await host.end();
  await program.end();
  await until(async () => (await links()).length === 0);
  await machine.tunnelUp();
});

/** The command line of a user who has taken its own check out. */
function unchecked(...command: string[]): string[] {
  const program = install(machine.path('unchecked'));
  const code = machine.path('unchecked/share/culvert/cli');
  for (const name of readdirSync(code, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.cjs'))) {
    const text = readFileSync(join(code, name), 'utf8');
    if (text.includes(ALLOWLIST)) writeFileSync(join(code, name), text.replaceAll(ALLOWLIST, machine.path('own-list')));
  }
  writeFileSync(machine.path('own-list'), `${command[0]}\n${PYTHON}\n`);
  return [program, 'run', '--outside', '--', ...command];
}

test('the root service itself knows the program: a copy, and files that others can change, stay without a network', {
  skip: later,
}, async () => {
  const files = ['/opt/copy', '/opt/writable', '/opt/own', '/opt/open/python', '/opt/link'];
  const [, ...listed] = files;
  await allow(['/opt/../opt/copy', 'opt/copy', ...listed].join('\n'));
  const before = await uplink();
  const send = (seconds: number) => `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(${seconds})
s.sendto(b"x", ("203.0.113.5", 8080))
try: print(s.recv(100))
except OSError as error: print("nothing")`;
  for (const file of files) {
    const { out, err }: Ended = await machine.run(unchecked(file, '-c', send(1)));
    assert.equal(out, 'nothing\n', `${file}: ${err}`);
  }
  await assertSilentSince(before);
  await allow('/opt/copy');
  assert.match((await machine.run(unchecked('/opt/copy', '-c', send(30)))).out, /^b/, 'the control');
  await until(async () => (await links()).length === 0);
});

test('a list that others can change, that is a link, or that is gone allows nothing', { skip: later }, async () => {
  const refused = async () => {
    const { code, out, err } = await machine.run(machine.outside(PYTHON, '-c', 'print("started")'));
    assert.match(err, /The kill switch is on, so no program may send outside the tunnel/);
    assert.deepEqual([code, out], [1, '']);
  };
  await allow(PYTHON, '666');
  await refused();
  await machine.script(`chmod 644 ${ALLOWLIST}; chown ${DAEMON} ${ALLOWLIST}`);
  await refused();
  await machine.script(`chown 0 ${ALLOWLIST}; mv ${ALLOWLIST} /opt/list; ln -s /opt/list ${ALLOWLIST}`);
  await refused();
  await allow(`${PYTHON}\n${'#'.repeat(70_000)}`);
  await refused();
  await machine.script(`rm ${ALLOWLIST}`);
  await refused();
});

test('its way is closed when it is taken from the list, becomes another program, or ends before its children', {
  skip: later,
}, async () => {
  await allow(PYTHON);
  const program = await startLoop(machine.outside(PYTHON, '-c', FORKED));
  const isOut = async () => (await program.ask('udp')) === UPLINK;
  const closed = async () => {
    await until(async () => !(await isOut()), 'the way to be closed');
    const before = await uplink();
    await program.ask('udp');
    await assertSilentSince(before);
  };
  assert.ok(await isOut());
  await allow('/opt/own');
  await closed();
  await allow(PYTHON);
  await until(isOut, 'the way to be open again');
  process.kill(program.child.pid!, 'SIGUSR1');
  await closed();
  program.child.kill('SIGKILL');
  await until(async () => (await links()).length === 0);

  const parent = machine.start(machine.outside(PYTHON, '-c', LEFT_BEHIND), { stdio: ['ignore', 'pipe', 'pipe'] });
  const pid = Number(await line(parent));
  const start = await uplink();
  await until(async () => (await uplink()) > start, 'the control');
  parent.kill('SIGKILL');
  await until(async () => !/culv\d/.test(await machine.nft('list', 'set', 'inet', 'culvert', 'exceptions')));
  const before = await uplink();
  for (let i = 0; i < 5; i++) await line(parent);
  await assertSilentSince(before);
  process.kill(pid, 'SIGKILL');
  await until(async () => (await links()).length === 0);
});

for (const [who, { code = '', enter }] of Object.entries(STRANGERS))
  test(`a program that is not listed closes the way of a listed one while it shares its network: ${who}`, {
    skip: enter ? later : skip,
  }, async t => {
    const isThrough = async () => /culv\d/.test(await machine.nft('list', 'set', 'inet', 'culvert', 'exceptions'));
    const program = async () => {
      const listed = await startLoop(machine.outside(PYTHON, '-c', `${code}\n${LOOP[2]}`, SEND));
      const entered = enter && machine.start(enter(listed.child.pid!), { stdio: ['ignore', 'ignore', 'pipe'] });
      const { stderr } = entered ?? listed.child;
      const sent = () => once(stderr!, 'data').then(([data]) => Number(String(data).trim().split('\n')[0]));
      return { listed, sent };
    };
    const end = async ({ listed, sent }: Awaited<ReturnType<typeof program>>) => {
      process.kill(await sent(), 'SIGKILL');
      await listed.end();
      await until(async () => (await links()).length === 0);
    };
    await allow(`${PYTHON}\n/opt/copy`);
    const control = await program();
    const start = await uplink();
    await until(async () => (await uplink()) > start + 200, 'the control');
    assert.equal(await isThrough(), true);

    // from now on it is not listed
    await allow(PYTHON);
    const [from, before] = [performance.now(), await uplink()];
    await until(async () => !(await isThrough()), 'the way to be closed');
    t.diagnostic(`${(await uplink()) - before} packets in ${Math.round(performance.now() - from)} ms`);
    const closed = await uplink();
    for (let i = 0; i < 20; i++) await control.sent();
    assert.notEqual(await control.listed.ask('udp'), UPLINK);
    await assertSilentSince(closed);
    process.kill(await control.sent(), 'SIGKILL');
    await until(async () => (await control.listed.ask('udp')) === UPLINK, 'the way to be open again');
    await control.listed.end();
    await until(async () => (await links()).length === 0);

    // a new one: at most what it sends until the next look
    const later = await program();
    await later.sent();
    await until(async () => !(await isThrough()), 'the way to be closed');
    const now = await uplink();
    for (let i = 0; i < 20; i++) await later.sent();
    await assertSilentSince(now);
    await end(later);
  });

test('the way closes when the root service dies, and a new one opens it again; a program from before is let through too', {
  skip: later,
}, async () => {
  await allow(PYTHON);
  assert.ok((await machine.call('Disable')).ok);
  const program = await startLoop();
  assert.equal(await program.ask('udp'), UPLINK);
  assert.ok((await machine.call('Enable', shippedAnd())).ok);
  const isOut = async () => (await program.ask('udp')) === UPLINK;
  await until(isOut, 'the kill switch to let it through');
  await machine.kill();
  await until(async () => !(await isOut()), 'the kernel to forget it');
  await machine.serve();
  await until(isOut, 'the way to be open again');
  await program.end();
  await until(async () => (await links()).length === 0);
});
