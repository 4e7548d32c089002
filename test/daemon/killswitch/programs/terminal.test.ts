// Programs at a terminal, as if typed alone: a pager, Ctrl+C, Ctrl+Z, a new size, and exit statuses.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { machineFor, TERMINAL } from '../../../support/killswitch/programs.ts';
import { missing, which } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';

const skip =
  missing || (['ip', 'less', 'bash'].every(which) ? false : 'needs ip, less and bash') || (!FULL && 'only with --full');

type Step = ['type' | 'see', string] | ['resize', number, number];

/** The typed words have quotes within those that are then looked for, since the terminal shows both. */
const STATUS: Step = ['type', 'echo sta""tus=$?\n'];

/** @param run the start of a command line, up to the command */
const CASES: Readonly<Record<string, (run: string) => Step[]>> = {
  'a pager shows the first and the last page': run => [
    ['type', `${run} less ${machine.path('lines')}\n`],
    ['see', 'line 1\r\n'],
    ['type', 'G'],
    ['see', 'line 999'],
    ['type', 'q'],
    STATUS,
    ['see', 'status=0'],
  ],
  'Ctrl+C ends it': run => [
    ['type', `${run} sh -c 'echo be""gun; exec sleep 300'\n`],
    ['see', 'begun'],
    ['type', '\x03'],
    STATUS,
    ['see', 'status=130'],
  ],
  'Ctrl+Z stops it, and fg continues it': run => [
    ['type', `${run} sh -c 'echo be""gun; read -r word; echo "got $word"'\n`],
    ['see', 'begun'],
    ['type', '\x1a'],
    ['see', 'Stopped'],
    STATUS,
    ['see', 'status=148'],
    ['type', 'fg\n'],
    ['see', 'be""gun'],
    ['type', 'this\n'],
    ['see', 'got this'],
    STATUS,
    ['see', 'status=0'],
  ],
  'it knows the size, and hears of a new one': run => [
    ['resize', 30, 90],
    ['type', `${run} bash -c 'trap "stty size; exit" WINCH; stty size; while :; do sleep 0.05; done'\n`],
    ['see', '30 90'],
    ['resize', 41, 101],
    ['see', '41 101'],
    STATUS,
    ['see', 'status=0'],
  ],
  'its exit status and its signal arrive': run => [
    ['type', `${run} sh -c 'exit 7'\n`],
    STATUS,
    ['see', 'status=7'],
    ['type', `${run} sh -c 'kill -TERM $$'\n`],
    ['see', 'Terminated'],
    STATUS,
    ['see', 'status=143'],
  ],
};

const machine = machineFor(skip, async each => {
  each.allow('tunnel-only', 'outside');
  await each.serve();
  writeFileSync(each.path('lines'), Array.from({ length: 999 }, (_, i) => `line ${i + 1}\n`).join(''));
});

for (const [title, steps] of Object.entries(CASES))
  test(`at a terminal: ${title}`, { skip }, async () => {
    for (const run of ['', machine.kept().join(' '), machine.outside().join(' ')]) {
      const { code, err } = await machine.run(['/usr/bin/python3', TERMINAL, JSON.stringify(steps(run))], {
        env: { TERM: 'xterm' },
      });
      assert.equal(code, 0, `${run}: ${err}`);
    }
  });
