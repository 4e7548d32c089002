// Kills the daemon before each file operation of applying a document, limiting a change, and reverting one: the next start
// finds the old state or the new one, and completes a pending revert.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { type Act, boot, DOCUMENT, OLD } from '../../support/changes/machine.ts';
import { moments } from '../../support/moments.ts';
import { bundleScript } from '../../support/script.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

const NEW = DOCUMENT.trim().split('\n').sort();
const skip = spawnSync('strace', ['-V']).status === 0 ? false : 'needs strace';
const program = bundleScript(join(import.meta.dirname, '../../support/changes/act.ts'), temporary({ after }));

const acting = (home: string, act: Act) => [process.execPath, program, home, act];
const environment = (home: string) => ({ PATH: process.env.PATH, HOME: home });

/** Checks what an act leaves that is killed between its file operations. */
async function killed(t: TestContext, home: string, act: Act, check: (call: string) => Promise<void>) {
  const all = await moments(t, home, acting(home, act), { env: environment(home) });
  assert.ok(all.length > 5, `${all.length} moments`);
  t.diagnostic(`${act}: ${all.length} moments`);
  for (const { after, restore } of all) {
    restore();
    const name = `${act}, after ${after}`;
    await check(name);
    const files = readdirSync(join(home, '.local/state/culvert'));
    assert.deepEqual(
      files.filter(file => file.endsWith('.broken')),
      [],
      name,
    );
  }
}

const settled = (home: string) => {
  const machine = boot(home);
  return until(() => machine.memory.state.snapshot().changes.length === 0 && !existsSync(machine.paths.changes)).then(
    () => machine,
  );
};

test('a document that is applied', { skip }, async t => {
  const seen = new Set<string>();
  const home = temporary(t, 'machine');
  await killed(t, home, 'apply', async name => {
    const machine = await settled(home);
    const list = machine.list().join();
    assert.ok(list === OLD.join() || list === NEW.join(), `${name}: ${list}`);
    seen.add(list);
    // and the next change goes through as if nothing had been
    await machine.routes.apply({ document: DOCUMENT });
    await machine.routes.undo({});
    assert.deepEqual(machine.list(), OLD, name);
    await machine.changes.stop();
  });
  assert.ok(seen.has(OLD.join()));
});

for (const act of ['limited', 'timed'] as const)
  test(`a change that is ${act === 'limited' ? 'not confirmed' : 'made for a while'}`, { skip }, async t => {
    const home = temporary(t, 'machine');
    await killed(t, home, act, async name => {
      const machine = boot(home);
      const { state } = machine.memory;
      // an unfinished change returns immediately, a finished one is still limited
      await until(
        () => !existsSync(machine.paths.changes) || state.snapshot().changes.some(each => each.problem === null),
      );
      if (existsSync(machine.paths.changes)) await machine.changes.revert({});
      assert.deepEqual([machine.list(), machine.memory.values.mode], [OLD, 'warp'], name);
      await machine.changes.stop();
    });
  });

test('a change that is reverted', { skip }, async t => {
  const home = temporary(t, 'machine');
  const [node, ...words] = acting(home, 'limited');
  assert.equal(spawnSync(node!, words, { env: environment(home) }).status, 0);
  const file = join(home, '.local/state/culvert/changes.json');
  // as after a reboot
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/"bootId":"[^"]*"/g, '"bootId":"another"'));
  await killed(t, home, 'settle', async name => {
    const machine = await settled(home);
    assert.deepEqual(machine.list(), OLD, name);
    await machine.changes.stop();
  });
});
