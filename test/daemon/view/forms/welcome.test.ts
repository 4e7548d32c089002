// The first steps as data.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Form } from '../../../../daemon/view/form.ts';
import { UNKNOWN_DESKTOP } from '../../../../daemon/view/forms/preferences.ts';
import { seenCommand, welcomeStep } from '../../../../daemon/view/forms/welcome.ts';
import { FORM_PAGES } from '../../../../daemon/view/pages/all.ts';
import { describe } from '../../../../daemon/view/view.ts';
import { initialConfig, KILL_SWITCH } from '../../../support/gnome/initial.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';
import { client, OFFLINE, opened } from '../../../support/gnome/view/world.ts';

function stepOf(step: number, state: Parameters<typeof clientState>[0] = {}, emulated = false) {
  const client = clientState(state, { config: initialConfig() });
  client.snapshot!.tunnelCli = { ...client.snapshot!.tunnelCli, emulated };
  return welcomeStep(step, describe(client, '1.0.0', tr), UNKNOWN_DESKTOP, tr);
}

test('the second step has what people set on their first day', () => {
  const { groups } = stepOf(1, { killSwitch: { ...KILL_SWITCH, installed: true } });
  assert.deepEqual(
    groups.flatMap(({ rows }) => rows.map(({ kind, id }) => [kind, id])),
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
  const asks = ({ groups }: Form) =>
    groups.flatMap(({ rows }) => rows.map(row => ('command' in row && row.kind === 'button' ? row.command.ask : null)));
  const fresh = stepOf(2, { status: { blocked: 'terms-not-accepted' } });
  assert.equal(fresh.status?.title, 'Set up WARP');
  assert.deepEqual(asks(fresh).at(-1), { kind: 'restart', demo: true });
  const demo = stepOf(2, {}, true);
  assert.deepEqual([demo.status?.title, asks(demo).filter(Boolean)], ['The demo is ready', []]);
  assert.ok(
    demo.groups[0]!.rows.every(({ kind }) => kind === 'link'),
    'what people do next',
  );
  const missing = stepOf(2, { status: { blocked: 'cli-missing' } });
  assert.ok(!missing.groups.some(({ rows }) => rows.some(({ id }) => id === 'demo')), 'the status offers the demo');
});

test('without a daemon, the last step does not claim that WARP is ready', () => {
  const client = { ...clientState(), offline: OFFLINE };
  const { status, groups } = welcomeStep(2, describe(client, '1.0.0', tr), UNKNOWN_DESKTOP, tr);
  assert.deepEqual([status?.title, groups], ['Unavailable', []]);
});

test('the steps follow each other, and begin again after they were left; both ends lead to the first page', async () => {
  const world = client();
  const visits: string[] = [];
  world.host.goTo = page => visits.push(page);
  const { shown, form } = opened(FORM_PAGES.welcome.open, world);
  const press = async (button: 'back' | 'next') => {
    const { ask } = form().steps![button].command;
    if (ask.kind === 'work') await ask.work();
    const { place, back, next } = form().steps!;
    return [place, back.label, next.label];
  };
  assert.deepEqual(await press('next'), ['2 of 3', 'Previous', 'Next']);
  assert.deepEqual(await press('next'), ['3 of 3', 'Previous', 'Done']);
  assert.deepEqual(visits, []);
  await press('next');
  shown.left?.();
  assert.deepEqual(await press('back'), ['1 of 3', 'Skip', 'Next']);
  assert.deepEqual(visits, ['connection', 'connection']);
});

test('the first steps are remembered as seen once', () => {
  const config = initialConfig();
  config.config.ui.firstSteps = true;
  const client = clientState({}, { config });
  assert.deepEqual(seenCommand(client)?.ask, { kind: 'config', patch: { ui: { firstSteps: false } } });
  config.config.ui.firstSteps = false;
  assert.equal(seenCommand(client), null);
});
