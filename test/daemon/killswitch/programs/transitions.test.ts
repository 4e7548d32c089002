// Programs in the tunnel only and outside it, sending without a break through transitions of tunnel, rules, cgroups and service: none of
// their packets goes the other way.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after, before, test } from 'node:test';
import { line } from '../../../support/killswitch/loops.ts';
import { FAR, type Machine, setMachine } from '../../../support/killswitch/programs.ts';
import { missing, which } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';
import { until } from '../../../support/until.ts';

const skip = missing || (which('ip') ? false : 'needs ip');
const TRANSITIONS = 42;
/** With `--full`, 1,008 transitions. */
const ROUNDS = FULL ? 24 : 1;
/** Ports tell the programs' packets apart. The last one's program is placed nowhere: the control. */
const PORTS = { kept: 9001, outside: 9002, plain: 9003 } as const;
/** Another user, whose place comes and goes. */
const OTHER = 2;

/** Sends UDP and begins TCP connections all the time, and answers each line after some more of them. */
const sender = (port: number) => [
  '/usr/bin/python3',
  '-c',
  `
import socket, sys, threading, time
sent = 0
def send():
    global sent
    to = ("${FAR.address}", ${port})
    while True:
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            s = socket.socket(socket.AF_INET, kind)
            s.setblocking(False)
            try: s.connect(to); s.send(b"x")
            except OSError: pass
            s.close()
        sent += 1
        time.sleep(0.002)
threading.Thread(target=send, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    goal = sent + 10
    while sent < goal: time.sleep(0.002)
    print(sent, flush=True)`,
];

const COUNTERS = `nft 'table inet ways {
  ${Object.keys(PORTS)
    .flatMap(name => [`counter ${name}_uplink { }`, `counter ${name}_tunnel { }`])
    .join('\n  ')}
  chain i { type filter hook prerouting priority -300; meta l4proto != { 6, 17 } return;
    ${Object.entries(PORTS)
      .flatMap(([name, port]) => [
        `iifname "up1" th dport ${port} counter name ${name}_uplink;`,
        `iifname "far0" th dport ${port} counter name ${name}_tunnel;`,
      ])
      .join('\n    ')}
  }
}'`;

let machine: Machine;
let isUp = false;
const senders: ChildProcess[] = [];
before(async () => {
  if (skip) return;
  machine = await setMachine();
  machine.allow('tunnel-only', 'outside');
  await machine.scriptFar(COUNTERS);
  await machine.serve();
  for (const command of [
    machine.kept(...sender(PORTS.kept)),
    machine.outside(...sender(PORTS.outside)),
    sender(PORTS.plain),
  ]) {
    const child = machine.start(command, { stdio: ['pipe', 'pipe', 'pipe'] });
    senders.push(child);
    assert.equal(await line(child), 'ready');
  }
});
after(async () => {
  for (const child of senders) child.kill('SIGKILL');
  await machine?.end();
});

async function up(): Promise<void> {
  if (!isUp) await machine.tunnelUp();
  isUp = true;
}

async function down(): Promise<void> {
  if (isUp) await machine.tunnelDown();
  isUp = false;
}

const table = () => machine.nft('list', 'table', 'inet', 'culvert_programs').catch(() => '');

const STEPS: readonly [name: string, make: () => Promise<unknown>][] = [
  ['connect', up],
  // an owned table stays; another one is repaired, and meanwhile the tunnel takes the packets
  [
    'rules flushed',
    async () => {
      await machine.nft('flush', 'ruleset').catch(() => {});
      await until(async () => (await table()).includes('socket cgroupv2'), 'the rules to be back');
    },
  ],
  [
    'interface replaced',
    async () => {
      await down();
      await up();
    },
  ],
  [
    'disconnect',
    async () => {
      await machine.script('ip link set CloudflareWARP down');
      await down();
    },
  ],
  [
    'service killed',
    async () => {
      await machine.kill();
      await burst();
      await machine.serve();
    },
  ],
  [
    'cgroup made again',
    async () => {
      await machine.run(machine.kept('true'), { uid: OTHER });
      machine.removePlace(OTHER);
      const once = `import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("${FAR.address}", ${PORTS.kept}))`;
      const { err } = await machine.run(machine.kept('/usr/bin/python3', '-c', once), { uid: OTHER });
      assert.match(err, /PermissionError/);
    },
  ],
  [
    'crash of the client',
    async () => {
      await up();
      await down();
    },
  ],
];

/** Waits until each program has sent some packets. */
async function burst(): Promise<void> {
  await Promise.all(
    senders.map(child => {
      const answer = line(child);
      child.stdin!.write('\n');
      return answer;
    }),
  );
}

async function counted(): Promise<Record<string, number>> {
  const text = await machine.scriptFar('nft list counters table inet ways');
  const found = [...text.matchAll(/counter (\w+) \{\s+packets (\d+)/g)];
  return Object.fromEntries(found.map(([, name, count]) => [name, Number(count)]));
}

for (let round = 1; round <= ROUNDS; round++)
  test(
    `0 packets of a kept program leave by the uplink, and 0 of one outside enter the tunnel: round ${round}`,
    {
      skip,
    },
    transitions,
  );

async function transitions(): Promise<void> {
  for (let i = 0; i < TRANSITIONS; i++) {
    const [name, make] = STEPS[i % STEPS.length]!;
    await make();
    await burst();
    const { kept_uplink, outside_tunnel } = await counted();
    assert.deepEqual([kept_uplink, outside_tunnel], [0, 0], `${name}, transition ${i + 1}`);
  }
  const { kept_tunnel, outside_uplink, plain_uplink, plain_tunnel } = await counted();
  for (const count of [kept_tunnel, outside_uplink, plain_uplink, plain_tunnel])
    assert.ok(count! > TRANSITIONS, `the controls: ${JSON.stringify(await counted())}`);
}
