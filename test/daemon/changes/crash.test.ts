// Killed before each file operation of applying a document, limiting a change, and taking one back: after the next start
// there is the old state or the new one, and what was to return returns.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { type Act, boot, DOCUMENT, OLD } from '../../support/changes/machine.ts';
import { FILE_CALLS, fileOperations } from '../../support/file-operations.ts';
import { bundleScript } from '../../support/script.ts';
import { temporary } from '../../support/temporary.ts';
import { sample } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const NEW = DOCUMENT.trim().split('\n').sort();
const skip = spawnSync('strace', ['-V']).status === 0 ? false : 'needs strace';
const program = bundleScript(join(import.meta.dirname, '../../support/changes/act.ts'), temporary({ after }));

function run(home: string, act: Act, prefix: string[] = []) {
  return spawnSync(
    prefix[0] ?? process.execPath,
    [...prefix.slice(1), ...(prefix.length ? [process.execPath] : []), program, home, act],
    {
      env: { PATH: process.env.PATH, HOME: home },
      timeout: 60_000,
    },
  );
}

/** Runs an act on copies of a machine, once for each of its file operations, and is killed before that. */
function killed(t: TestContext, original: string, act: Act, check: (home: string, call: string) => Promise<void>) {
  const copy = () => {
    const home = temporary(t, 'crash');
    cpSync(original, home, { recursive: true });
    return home;
  };
  const traced = copy();
  const log = join(temporary(t, 'trace'), 'log');
  const { status, stderr } = run(traced, act, ['strace', '-y', '-o', log, '-e', `trace=${FILE_CALLS}`]);
  assert.equal(status, 0, String(stderr));
  const operations = fileOperations(log, traced, 'changes');
  assert.ok(operations.length > 5, `${operations.length} operations`);
  t.diagnostic(`${act}: ${operations.length} file operations`);
  return (async () => {
    for (const { call, ordinal } of sample(operations, 8)) {
      const home = copy();
      const name = `${act}, ${call} ${ordinal}`;
      run(home, act, ['strace', '-o', '/dev/null', '-e', `inject=${call}:signal=KILL:when=${ordinal}`]);
      await check(home, name);
      const files = readdirSync(join(home, '.local/state/culvert'));
      assert.deepEqual(
        files.filter(file => file.endsWith('.broken')),
        [],
        name,
      );
    }
  })();
}

const settled = (home: string) => {
  const machine = boot(home);
  return until(() => machine.memory.state.snapshot().changes.length === 0 && !existsSync(machine.paths.changes)).then(
    () => machine,
  );
};

test('a document that is applied', { skip }, async t => {
  const seen = new Set<string>();
  await killed(t, temporary(t, 'machine'), 'apply', async (home, name) => {
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
    await killed(t, temporary(t, 'machine'), act, async (home, name) => {
      const machine = boot(home);
      const { state } = machine.memory;
      // what was being made returns at once, what was made is still limited
      await until(
        () => !existsSync(machine.paths.changes) || state.snapshot().changes.some(each => each.problem === null),
      );
      if (existsSync(machine.paths.changes)) await machine.changes.revert({});
      assert.deepEqual([machine.list(), machine.memory.values.mode], [OLD, 'warp'], name);
      await machine.changes.stop();
    });
  });

test('a change that is taken back', { skip }, async t => {
  const original = temporary(t, 'machine');
  assert.equal(run(original, 'limited').status, 0);
  const file = join(original, '.local/state/culvert/changes.json');
  // as after a reboot
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/"bootId":"[^"]*"/g, '"bootId":"another"'));
  await killed(t, original, 'settle', async (home, name) => {
    const machine = await settled(home);
    assert.deepEqual(machine.list(), OLD, name);
    await machine.changes.stop();
  });
});
