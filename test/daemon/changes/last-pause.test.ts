// The length of the last pause is published, and survives the daemon.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { boot } from '../../support/changes/machine.ts';
import { temporary } from '../../support/temporary.ts';

const pause = (forSeconds: number) => ({ action: 'disconnect', forSeconds }) as const;

test('a pause is remembered across restarts, and the next one takes its place', async t => {
  const home = temporary(t, 'last-pause');
  const first = boot(home);
  t.after(() => first.changes.stop());
  assert.equal(first.memory.state.snapshot().lastPause, null);
  await first.changes.runWithLimit(pause(1800));
  assert.deepEqual(first.memory.state.snapshot().lastPause, { seconds: 1800 });
  await first.changes.runWithLimit({ action: 'connect' });
  await first.changes.runWithLimit({ action: 'disconnect' });
  await first.changes.runWithLimit({ action: 'setMode', value: 'doh', forSeconds: 600 });
  await first.changes.runWithLimit(pause(4321));
  assert.deepEqual(
    first.memory.state.snapshot().lastPause,
    { seconds: 1800 },
    'not by other actions, nor until a time',
  );
  await first.changes.stop();
  const second = boot(home);
  t.after(() => second.changes.stop());
  assert.deepEqual(second.memory.state.snapshot().lastPause, { seconds: 1800 });
  await second.changes.runWithLimit(pause(60));
  assert.deepEqual(JSON.parse(readFileSync(second.paths.lastPause, 'utf8')), { seconds: 60 });
});

test('a pause that fails is not remembered', async t => {
  const { changes, memory } = boot(temporary(t, 'last-pause'));
  t.after(() => changes.stop());
  memory.tunnel.runAction = async () => {
    throw new Error('no');
  };
  await assert.rejects(changes.runWithLimit(pause(1800)));
  assert.equal(memory.state.snapshot().lastPause, null);
});

test('a file that is damaged, or says too much, is as good as none', t => {
  for (const text of ['', '{', '{"seconds":604860}', '{"seconds":90}', '{"seconds":-60}', '[]', '{"seconds":"900"}']) {
    const home = temporary(t, 'last-pause');
    const { paths, changes } = boot(home);
    void changes.stop();
    writeFileSync(paths.lastPause, text);
    const { memory, changes: next } = boot(home);
    assert.equal(memory.state.snapshot().lastPause, null, text);
    void next.stop();
  }
});
