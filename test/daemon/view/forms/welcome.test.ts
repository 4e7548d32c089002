// The first steps as data.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNKNOWN_DESKTOP } from '../../../../daemon/view/forms/preferences.ts';
import { seenCommand, welcomeStep } from '../../../../daemon/view/forms/welcome.ts';
import { describe } from '../../../../daemon/view/view.ts';
import { initialConfig, KILL_SWITCH } from '../../../support/gnome/initial.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';
import { OFFLINE } from '../../../support/gnome/view/world.ts';

function stepOf(step: number, state: Parameters<typeof clientState>[0] = {}, emulated = false) {
  const client = clientState(state, { config: initialConfig() });
  client.snapshot!.tunnelCli = { ...client.snapshot!.tunnelCli, emulated };
  return welcomeStep(step, describe(client, '1.0.0', tr), UNKNOWN_DESKTOP, tr);
}

test('the second step has what people set on their first day', () => {
  const { form } = stepOf(1, { killSwitch: { ...KILL_SWITCH, installed: true } });
  assert.deepEqual(
    form.groups.flatMap(({ rows }) => rows.map(({ kind, id }) => [kind, id])),
    [
      ['switch', 'killswitch'],
      ['switch', 'tray.autostart'],
      ['select', 'ui.theme'],
      ['select', 'ui.locale'],
      ['select', 'notifications.level'],
    ],
  );
});

test('the last step sets WARP up and offers the demo, whose banner leads back', () => {
  const asks = (step: ReturnType<typeof stepOf>) =>
    step.form.groups.flatMap(({ rows }) =>
      rows.map(row => ('command' in row && row.kind === 'button' ? row.command.ask : null)),
    );
  const fresh = stepOf(2, { status: { blocked: 'terms-not-accepted' } });
  assert.deepEqual([fresh.setup, fresh.form.status?.title], [true, 'Set up WARP']);
  assert.deepEqual(asks(fresh).at(-1), { kind: 'restart', demo: true });
  const demo = stepOf(2, {}, true);
  assert.deepEqual([demo.setup, demo.title, asks(demo).filter(Boolean)], [false, 'The demo is ready', []]);
  assert.ok(
    demo.form.groups[0]!.rows.every(({ kind }) => kind === 'link'),
    'what people do next',
  );
  const missing = stepOf(2, { status: { blocked: 'cli-missing' } });
  assert.ok(
    !missing.form.groups.some(({ rows }) => rows.some(({ id }) => id === 'demo')),
    'the status offers the demo',
  );
});

test('without a daemon, the last step does not claim that WARP is ready', () => {
  const client = { ...clientState(), offline: OFFLINE };
  const step = welcomeStep(2, describe(client, '1.0.0', tr), UNKNOWN_DESKTOP, tr);
  assert.deepEqual([step.title, step.setup, step.form.groups], ['Unavailable', false, []]);
});

test('the first steps are remembered as seen once', () => {
  const config = initialConfig();
  config.config.ui.firstSteps = true;
  const client = clientState({}, { config });
  assert.deepEqual(seenCommand(client)?.ask, { kind: 'config', patch: { ui: { firstSteps: false } } });
  config.config.ui.firstSteps = false;
  assert.equal(seenCommand(client), null);
});
