// Real races at the start of kept programs: rules, cgroup or service go between the move, the test inside the place, and the program.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ASK_UDP,
  type Ended,
  finish,
  install,
  type Machine,
  setMachine,
  UPLINK,
} from '../../../support/killswitch/programs.ts';
import { missing } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';
import { until } from '../../../support/until.ts';

const skip = missing || (!FULL && 'only with --full');
/** Programs whose start is disturbed at a random moment. */
const ROUNDS = 40;
const MOST_ROUNDS = 4 * ROUNDS;
const AT_ONCE = 3;
/** About what a start takes. */
const START_MS = 500;

/** Stops the command line before a step, until a test writes to `go`. */
const PAUSE = (directory: string) => `
const fs = require('node:fs');
const pause = () => { fs.writeFileSync('${directory}/reached', 'x'); fs.readFileSync('${directory}/go'); };
const once = (object, name) => {
  const own = object[name];
  object[name] = (...given) => { object[name] = own; pause(); return own(...given); };
};
if (process.env.PAUSE_BEFORE === 'move') once(require('node:child_process'), 'execFile');
if (process.env.PAUSE_BEFORE === 'test') once(require('node:dgram'), 'createSocket');
if (process.env.PAUSE_BEFORE === 'program') process.on('exit', pause);`;

let machine: Machine;
/** A command line that can be stopped. */
let program: string;
before(async () => {
  if (skip) return;
  machine = await setMachine();
  await machine.serve();
  // the script around the command line lets no options of Node through
  program = install(machine.path('paused'));
  const main = machine.path('paused/share/culvert/cli/main.cjs');
  const text = readFileSync(main, 'utf8');
  writeFileSync(main, `{${PAUSE(machine.directory)}}\n${text}`);
  for (const name of ['reached', 'go']) {
    execFileSync('mkfifo', [machine.path(name)]);
    chmodSync(machine.path(name), 0o666);
  }
});
after(() => machine?.end());

const table = () => machine.nft('list', 'table', 'inet', 'culvert_programs').catch(() => '');
const flush = () => machine.nft('flush', 'ruleset').catch(() => {});

/** Starts a program that asks the far end, and changes something before a step. */
async function startDisturbed(step: 'move' | 'test' | 'program', change: () => Promise<unknown>): Promise<Ended> {
  const command = [program, 'run', '--tunnel-only', '--', ...ASK_UDP];
  const ended = finish(machine.start(command, { env: { PAUSE_BEFORE: step } }));
  await readFile(machine.path('reached'));
  await change();
  await writeFile(machine.path('go'), 'x');
  return ended;
}

/** Either it did not start, or it is refused. */
function checkKept({ code, out, err }: Ended, what: string): void {
  const outcome = out === '' && code === 1 && err !== '' ? 'not started' : out;
  assert.match(outcome, /^(?:not started|PermissionError\n)$/, `${what}: ${code} ${err}`);
}

const CHANGES: readonly [
  step: 'move' | 'test' | 'program',
  name: string,
  change: () => Promise<unknown>,
  out: RegExp,
][] = [
  ['move', 'the rules are flushed', flush, /^PermissionError$/],
  ['move', 'the cgroup is removed', async () => machine.removePlace(), /^PermissionError$/],
  ['move', 'the service is killed', () => machine.kill(), /^$/],
  ['test', 'the rules are flushed', flush, /^(?:PermissionError)?$/],
  ['test', 'the service is killed', () => machine.kill(), /^PermissionError$/],
  ['test', 'the service is killed and the rules are gone', () => machine.kill().then(() => machine.clear()), /^$/],
  ['program', 'the service is killed', () => machine.kill(), /^PermissionError$/],
  [
    'program',
    'the rules are flushed and repaired',
    () => flush().then(() => until(async () => (await table()).includes('cgroupv2'))),
    /^PermissionError$/,
  ],
];

for (const [step, name, change, expected] of CHANGES)
  test(`before the ${step}, ${name}: the program never starts without protection`, { skip }, async () => {
    // so that there are a cgroup and rules
    await machine.run(machine.kept('true'));
    const { uplink } = await machine.seen();
    const ended = await startDisturbed(step, change);
    checkKept(ended, name);
    assert.match(ended.out.trim(), expected, ended.err);
    assert.equal((await machine.seen()).uplink, uplink);
    await machine.kill();
    await machine.serve();
  });

test(`${ROUNDS * AT_ONCE} programs or more start while the service is killed and cgroups are removed at random: 0 packets`, {
  skip,
}, async t => {
  assert.equal((await machine.run(ASK_UDP)).out, `${UPLINK}\n`, 'the control');
  const { uplink } = await machine.seen();
  let programs = 0;
  let refused = 0;
  // a machine that is busy may need longer until some programs start and some do not
  const isMixed = () => refused > 0 && refused < programs;
  for (let round = 0; round < ROUNDS || (!isMixed() && round < MOST_ROUNDS); round++) {
    let running = true;
    const removing = (async () => {
      while (running) {
        try {
          machine.removePlace();
        } catch {
          // a program is there, or there is no cgroup
        }
        await delay(1);
      }
    })();
    const started = Array.from({ length: AT_ONCE }, () => machine.run(machine.kept(...ASK_UDP)));
    await delay(Math.random() * START_MS * Math.ceil((round + 1) / ROUNDS));
    await machine.kill();
    await machine.serve();
    for (const ended of await Promise.all(started)) {
      checkKept(ended, `round ${round}`);
      programs++;
      if (ended.out) refused++;
    }
    running = false;
    await removing;
    assert.equal((await machine.seen()).uplink, uplink, `round ${round}`);
  }
  t.diagnostic(`${refused} of ${programs} programs ran, each of them refused`);
  assert.ok(isMixed(), `${refused} of ${programs} programs ran`);
});
