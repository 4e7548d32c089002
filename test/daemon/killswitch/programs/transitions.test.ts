// Programs in the tunnel only and outside it, sending without a break through transitions of tunnel, rules, cgroups and service: none of
// their packets goes the other way.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after, before, type TestContext, test } from 'node:test';
import { line } from '../../../support/killswitch/loops.ts';
import {
  FORWARDS_6,
  IPV4,
  IPV6,
  type Machine,
  questionsFor,
  setMachine,
  WARP,
} from '../../../support/killswitch/programs.ts';
import { missing, which } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';
import { until } from '../../../support/until.ts';

const skip = missing || (which('ip') ? false : 'needs ip');
/** Each kind of them once, or five times. */
const TRANSITIONS = FULL ? 45 : 9;
/** With `--full`, 1,035 transitions. */
const ROUNDS = FULL ? 23 : 1;
/** Ports tell the programs' packets apart. The last one's program is placed nowhere: the control. */
const PORTS = { kept: 9001, outside: 9002, plain: 9003 } as const;
/** Another user, whose place comes and goes. */
const OTHER = 2;

/** Seconds between two rounds of a program's packets. */
const PAUSE = FULL ? 0.002 : 0.01;

const neighborOf = (port: number) => `2001:db8:9::${port}`;

/** Sends UDP and begins TCP connections all the time, and answers each line after some more of them. */
const sender = (port: number) => [
  '/usr/bin/python3',
  '-c',
  `
import socket, sys, threading, time
sent = 0
def send():
    global sent
    to = ("${IPV4.far}", "${IPV6.far}", "${neighborOf(port)}")
    while True:
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            for address in to:
                s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
                s.setblocking(False)
                try: s.connect((address, ${port})); s.send(b"x")
                except OSError: pass
                s.close()
        sent += 1
        time.sleep(${PAUSE})
threading.Thread(target=send, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    goal = sent + 10
    while sent < goal: time.sleep(0.002)
    print(sent, flush=True)`,
];

/** Sends a packet of each family, and prints what kept it from that. */
const ONCE = [
  '/usr/bin/python3',
  '-c',
  `
import socket
for family, to in ((socket.AF_INET, "${IPV4.far}"), (socket.AF_INET6, "${IPV6.far}")):
    try: socket.socket(family, socket.SOCK_DGRAM).sendto(b"x", (to, ${PORTS.kept}))
    except OSError as error: print(type(error).__name__)`,
];

const WAYS = { uplink: 'up1', tunnel: 'far0' } as const;
/** Counters of packets by program, family and way, and of questions for the neighbor that a program sends to; with what they count. */
const COUNTERS = Object.entries(PORTS).flatMap(([name, port]) => [
  ...Object.entries(WAYS).flatMap(([way, device]) =>
    [4, 6].map(
      family => [`${name}_${way}${family}`, `iifname "${device}" meta nfproto ipv${family} th dport ${port}`] as const,
    ),
  ),
  [`${name}_neighbor`, `icmpv6 type nd-neighbor-solicit ip6 daddr ${questionsFor(neighborOf(port))}`] as const,
]);
const TABLE = `nft 'table inet ways {
  ${COUNTERS.map(([name]) => `counter ${name} { }`).join('\n  ')}
  chain i { type filter hook prerouting priority -300; meta l4proto != { 6, 17, 58 } return;
    ${COUNTERS.map(([name, what]) => `${what} counter name ${name};`).join('\n    ')}
  }
}'`;
/** True for a counter that must stay at 0. */
const isLeak = (name: string) => /^(?:kept_(?:uplink|neighbor)|outside_tunnel)/.test(name);
const isImpossible = (name: string) => !FORWARDS_6 && /^outside_(?:uplink6|neighbor)$/.test(name);

let machine: Machine;
let isUp = false;
const senders: ChildProcess[] = [];
before(async () => {
  if (skip) return;
  machine = await setMachine();
  machine.allow('tunnel-only', 'outside');
  await machine.scriptFar(TABLE);
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

/** An owned table stays. Another one is repaired. */
async function flush(): Promise<void> {
  await machine.nft('flush', 'ruleset').catch(() => {});
  await until(async () => (await table()).includes('socket cgroupv2'), 'the rules to be back');
  // the kernel repeats its questions
  await machine.script('ip -6 neighbor flush dev up0 nud incomplete');
}

/** Changes, each with the counters of packets that may leave of a kept program in the meantime where the table has no owner. */
const STEPS: readonly [name: string, make: () => Promise<unknown>, mayLeave?: RegExp][] = [
  ['connect', up],
  // the tunnel takes the packets, but for those to the local network
  ['rules flushed', flush, /^kept_neighbor$/],
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
  ['rules flushed while disconnected', flush, /^kept_/],
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
      const { out } = await machine.run(machine.kept(...ONCE), { uid: OTHER });
      assert.equal(out, 'PermissionError\nPermissionError\n');
    },
  ],
  [
    'crash of the client',
    async () => {
      await up();
      await down();
    },
  ],
  [
    'crash of the client, whose rules stay',
    async () => {
      await up();
      await machine.script(WARP);
      await down();
      await burst();
      await machine.script('nft delete table inet cloudflare-warp');
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

async function counted(): Promise<Map<string, number>> {
  const text = await machine.scriptFar('nft list counters table inet ways');
  const found = [...text.matchAll(/counter (\w+) \{\s+packets (\d+)/g)];
  return new Map(found.map(([, name, count]) => [name!, Number(count)]));
}

/** Counters that must stay at 0 and did not. */
async function leaked(before: ReadonlyMap<string, number>): Promise<[counter: string, packets: number][]> {
  const since = [...(await counted())].map(([name, count]) => [name, count - before.get(name)!] as [string, number]);
  return since.filter(([name, count]) => isLeak(name) && count > 0);
}

for (let round = 1; round <= ROUNDS; round++)
  test(
    `0 packets of a kept program leave by the uplink, and 0 of one outside enter the tunnel: round ${round}`,
    {
      skip,
    },
    transitions,
  );

async function transitions(t: TestContext): Promise<void> {
  const isOwned = /^\tflags .*owner/m.test(await table());
  const left = new Map<string, number>();
  for (let i = 0; i < TRANSITIONS; i++) {
    const [name, make, mayLeave] = STEPS[i % STEPS.length]!;
    let before = await counted();
    await make();
    if (mayLeave && !isOwned) {
      const during = await leaked(before);
      assert.deepEqual(
        during.filter(([counter]) => !mayLeave.test(counter)),
        [],
        name,
      );
      for (const [, packets] of during) left.set(name, (left.get(name) ?? 0) + packets);
      before = await counted();
    }
    await burst();
    assert.deepEqual(await leaked(before), [], `${name}, transition ${i + 1}`);
  }
  for (const [name, packets] of left)
    t.diagnostic(`${name}: ${packets} packets of a kept program left before the repair`);
  for (const [counter, count] of await counted())
    if (!isLeak(counter) && !isImpossible(counter))
      assert.ok(count > (counter.endsWith('_neighbor') ? 0 : TRANSITIONS), `the control: ${counter} ${count}`);
}
