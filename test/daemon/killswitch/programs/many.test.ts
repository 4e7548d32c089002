// As many programs of one user as there can be: every started program stays in its place, and a refused program says why and never runs.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after, before, test } from 'node:test';
import { MAX_LINKS_OF_USER } from '../../../../daemon/killswitch/rules/place.ts';
import { MAX_PROGRAMS } from '../../../../daemon/killswitch/tunnel-only.ts';
import { line } from '../../../support/killswitch/loops.ts';
import { FAR, FORWARDS_6, IPV4, IPV6, type Machine, setMachine } from '../../../support/killswitch/programs.ts';
import { missing, which } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';

const skip = missing || (which('ip') ? false : 'needs ip') || (!FULL && 'only with --full');
/** Programs that start in the same moment: the command line of each takes memory until the root service has answered. */
const AT_ONCE = 64;

/** Sends a packet of each family for each line, and says whether it could. */
const SENDER = [
  'bash',
  '-c',
  `
send() { if (echo x >"/dev/udp/$1/${FAR.port}") 2>/dev/null; then printf 'sent '; else printf 'refused '; fi; }
echo ready
while read -r _; do echo "$(send ${IPV4.far}; send ${IPV6.far})"; done`,
];

let machine: Machine;
const running: ChildProcess[] = [];
before(async () => {
  if (skip) return;
  machine = await setMachine();
  machine.allow('tunnel-only', 'outside');
  await machine.serve();
});
after(async () => {
  for (const child of running) child.kill('SIGKILL');
  await machine?.end();
});

const start = (command: string[]) => machine.start(command, { stdio: ['pipe', 'pipe', 'pipe'] });

async function startKept(): Promise<void> {
  const child = start(machine.kept(...SENDER));
  running.push(child);
  assert.equal(await line(child), 'ready');
}

/**
 * Answers of the programs to a line each, without repetitions. Not all in the same moment: the kernel drops what a thousand of them
 * send while it looks for the neighbor (`unres_qlen_bytes`) or has not taken the packets before (`netdev_max_backlog`).
 */
async function answers(children: readonly ChildProcess[]): Promise<string[]> {
  const all = new Set<string>();
  for (let first = 0; first < children.length; first += AT_ONCE) {
    const each = children.slice(first, first + AT_ONCE).map(child => {
      const answer = line(child);
      child.stdin!.write('\n');
      return answer;
    });
    for (const answer of await Promise.all(each)) all.add(answer);
  }
  return [...all];
}

const uplink = async () => (await machine.seen()).uplink;

for (let number = AT_ONCE; number <= MAX_PROGRAMS; number += AT_ONCE)
  test(`${number} programs that use the tunnel only send nothing by the uplink`, { skip }, async () => {
    await Promise.all(Array.from({ length: AT_ONCE }, startKept));
    assert.deepEqual(await answers(running), ['refused refused']);
    assert.equal(await uplink(), 0);
  });

test('one more is refused with the limit and never runs, and the others stay in their place', { skip }, async () => {
  const refused = await machine.run(machine.kept('echo', 'started'));
  assert.match(refused.err, /A user can have 1,024 programs that use the tunnel only\. End one of them first\./);
  assert.deepEqual([refused.code, refused.out], [1, '']);
  assert.deepEqual(await answers(running), ['refused refused']);
  assert.equal(await uplink(), 0);
  await machine.tunnelUp();
  const { tunnel } = await machine.seen();
  assert.deepEqual(await answers(running), ['sent sent']);
  assert.ok((await machine.seen()).tunnel >= tunnel + 2 * MAX_PROGRAMS);
  assert.equal(await uplink(), 0);
});

test('programs outside beyond the limit, started in the same moment, are refused and never run', {
  skip,
}, async () => {
  const children = Array.from({ length: MAX_LINKS_OF_USER + 4 }, () => start(machine.outside(...SENDER)));
  running.push(...children);
  const outcomes = await Promise.all(children.map(child => line(child).catch(({ message }: Error) => message)));
  const started = children.filter((_, i) => outcomes[i] === 'ready');
  assert.equal(started.length, MAX_LINKS_OF_USER);
  for (const outcome of outcomes.filter(outcome => outcome !== 'ready'))
    assert.match(outcome, /At most 16 programs of a user, and 64 of all users, can be outside the tunnel\. End one/);
  const before = await machine.seen();
  assert.deepEqual(await answers(started), [FORWARDS_6 ? 'sent sent' : 'sent refused']);
  const { uplink, tunnel } = await machine.seen();
  assert.deepEqual([uplink - before.uplink >= MAX_LINKS_OF_USER, tunnel], [true, before.tunnel]);
});
