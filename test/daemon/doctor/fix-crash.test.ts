// Kills a fix, and its undo, before each file operation: the file stays whole, and a change can still be undone.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { undoable } from '../../../daemon/doctor/fixes.ts';
import { type Act, act } from '../../support/doctor/act.ts';
import { moments } from '../../support/moments.ts';
import { bundleScript } from '../../support/script.ts';
import { temporary } from '../../support/temporary.ts';

const skip = spawnSync('strace', ['-V']).status === 0 ? false : 'needs strace';
const acting = join(import.meta.dirname, '../../support/doctor/act.ts');
const source = `import { act } from ${JSON.stringify(acting)}; await act(process.argv[2], process.argv[3]);`;
const program = bundleScript({ text: source }, temporary({ after }, 'act'));

const text = (home: string) => readFileSync(join(home, 'file'), 'utf8');
const listed = (home: string) => undoable(join(home, 'state/undo.json')).length;

/** Kills an act before each of its operations. @param check has to leave the machine as it was before the act */
async function kill(t: TestContext, home: string, what: Act, check: (name: string) => Promise<void>): Promise<void> {
  const all = await moments(t, home, [process.execPath, program, home, what], { env: { HOME: home } });
  assert.ok(all.length > 5, `${all.length} moments`);
  t.diagnostic(`${what}: ${all.length} moments`);
  for (const { after, restore } of all) {
    restore();
    const name = `${what}, after ${after}`;
    await check(name);
    assert.deepEqual([text(home), listed(home)], ['old\n', 0], name);
    const left = readdirSync(home).filter(
      file => file !== 'file' && file !== 'state' && !file.endsWith('.culvert-new'),
    );
    assert.deepEqual(left, [], name);
  }
}

function machine(t: TestContext): string {
  const home = temporary(t, 'fix');
  mkdirSync(join(home, 'state'));
  writeFileSync(join(home, 'file'), 'old\n');
  return home;
}

test('a killed fix has changed nothing, or can be undone', { skip }, async t => {
  const seen = new Set<string>();
  const home = machine(t);
  await kill(t, home, 'apply', async name => {
    const changed = text(home) === 'new\n';
    assert.ok(changed || text(home) === 'old\n', name);
    assert.equal(listed(home), changed ? 1 : 0, `${name}: ${text(home)}`);
    seen.add(text(home));
    // a fix that did not happen can be applied as if nothing had been
    if (!changed) await act(home, 'apply');
    assert.deepEqual([text(home), listed(home)], ['new\n', 1], name);
    await act(home, 'undo');
  });
  assert.deepEqual([...seen].sort(), ['new\n', 'old\n'], 'it was killed before and after the change');
});

test('an undo can be killed and repeated', { skip }, async t => {
  const home = machine(t);
  await act(home, 'apply');
  await kill(t, home, 'undo', async name => {
    assert.ok(['old\n', 'new\n'].includes(text(home)), name);
    if (listed(home) > 0) await act(home, 'undo');
  });
});
