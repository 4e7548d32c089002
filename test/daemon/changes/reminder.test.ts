// A tunnel that was up and has been off for long is worth a reminder.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { followReminder } from '../../../daemon/changes/reminders.ts';
import { loadConfig } from '../../../daemon/config/layers.ts';
import { createState } from '../../../daemon/state/store.ts';
import { temporary } from '../../support/temporary.ts';

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
