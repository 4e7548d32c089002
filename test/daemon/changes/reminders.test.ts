// The length of the last pause survives the daemon, and a tunnel that has been off for long is worth a reminder.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { followReminder } from '../../../daemon/changes/reminders.ts';
import { loadConfig } from '../../../daemon/config/layers.ts';
import { createState } from '../../../daemon/state/store.ts';
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

async function setUp(t: TestContext) {
  const home = temporary(t, 'reminder');
  const settings = await loadConfig({ system: join(home, 'system.json'), user: join(home, 'user.json') }, {});
  const state = createState({ available: true, path: '/usr/bin/warp-cli', version: '2026.7.1377.0', emulated: false });
  t.after(followReminder({ state, settings }));
  const status = (value: 'connected' | 'disconnected', minutesAgo: number) =>
    state.set('status', {
      ...state.snapshot().status,
      state: value,
      since: new Date(Date.now() - minutesAgo * 60_000).toISOString(),
    });
  const reminded = () => state.snapshot().reminder !== null;
  const configure = (offMinutes: number) => {
    settings.setSession({ reminders: { offMinutes } });
    state.publish('config', settings.response());
  };
  return { state, status, reminded, configure };
}

test('reminds after two hours, and no longer once it is connected', async t => {
  const { state, status, reminded } = await setUp(t);
  status('connected', 300);
  status('disconnected', 119);
  assert.equal(reminded(), false);
  status('connected', 0);
  status('disconnected', 121);
  const { since } = state.snapshot().status;
  assert.deepEqual(state.snapshot().reminder, { offSince: since });
  status('connected', 0);
  assert.equal(reminded(), false);
});

test('does not remind of a tunnel that never was up, that returns automatically, or where it is turned off', async t => {
  const { state, status, reminded, configure } = await setUp(t);
  status('disconnected', 500);
  assert.equal(reminded(), false);
  status('connected', 400);
  state.set('changes', [
    {
      subject: 'connection',
      value: 'off',
      previous: 'on',
      setAt: new Date().toISOString(),
      confirmBy: null,
      endsAt: new Date(Date.now() + 60_000).toISOString(),
      endingSoon: true,
      problem: null,
    },
  ]);
  status('disconnected', 300);
  assert.equal(reminded(), false);
  state.set('changes', []);
  assert.equal(reminded(), true);
  configure(0);
  assert.equal(reminded(), false);
  configure(60);
  assert.equal(reminded(), true);
});
