// The cards of the modes: which there are, which is marked, why they can't be used, and what they ask.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientState } from '../../../../../daemon/view/client/client-state.ts';
import { describeModeChoice, modeLink } from '../../../../../daemon/view/forms/tunnel/choose-mode.ts';
import { modeForm } from '../../../../../daemon/view/forms/tunnel/modes.ts';
import { describeTunnel } from '../../../../../daemon/view/states/tunnel.ts';
import { clientState, tr } from '../../../../support/gnome/view/translator.ts';

const choiceOf = (client: ClientState) => describeModeChoice({ client, tunnel: describeTunnel(client, tr) }, tr);

test('three modes have a card with the words of the page of modes, and the confirmed one is marked', () => {
  const { cards, sensitive, remark } = choiceOf(clientState({ settings: { Mode: 'proxy' } }));
  assert.deepEqual(
    cards.map(({ mode, title, active }) => [mode, title, active]),
    [
      ['warp', 'All traffic', false],
      ['doh', 'DNS only', false],
      ['proxy', 'Chosen apps only', true],
    ],
  );
  assert.deepEqual([sensitive, remark], [true, null]);
});

test('a mode without a card is named, and no card is marked', () => {
  for (const [mode, name] of [
    ['tunnel_only', 'All traffic, your own DNS'],
    ['quantum', 'quantum'],
  ] as const) {
    const { cards, remark } = choiceOf(clientState({ settings: { Mode: mode } }));
    assert.equal(remark, `Mode: ${name}`);
    assert.ok(cards.every(({ active }) => !active));
  }
  assert.equal(choiceOf(clientState({ settings: { Mode: undefined } })).remark, null);
});

test('a card asks for what the row of its mode asks, with the same question', () => {
  for (const state of ['connected', 'disconnected'] as const) {
    const client = clientState({ status: { state }, settings: { Mode: 'warp' } });
    const rows = modeForm(client, true, tr).groups.flatMap(group => group.rows);
    const commands = choiceOf(client).cards.map(({ mode, command }) => {
      const row = rows.find(({ id }) => id === `mode-${mode}`)!;
      assert.deepEqual(command, row.kind === 'radio' && row.command);
      return command;
    });
    assert.deepEqual(
      commands.map(({ confirm }) => confirm !== undefined),
      [false, state === 'connected', state === 'connected'],
    );
  }
});

test('cards that can’t be used say why', () => {
  const remarkOf = (client: ClientState) => {
    const { sensitive, remark } = choiceOf(client);
    assert.equal(sensitive, false);
    return remark;
  };
  assert.equal(remarkOf(clientState({ options: { modeLocked: true } })), 'Your organization decides the mode.');
  assert.equal(remarkOf(clientState({}, { pending: 'setMode' })), 'Waiting for WARP…');
  const blocked = clientState({ status: { state: 'unable', blocked: 'service-stopped' } });
  assert.equal(remarkOf(blocked), 'The WARP service is not running.');
  const offline = clientState({}, { offline: { code: 'stopped', detail: '' } });
  assert.equal(remarkOf(offline), 'Culvert’s background service isn’t running.');
});

test('the row of the mode opens the cards', () => {
  const row = modeLink(describeTunnel(clientState({ settings: { Mode: 'doh' } }), tr), tr);
  assert.deepEqual([row.value, row.task, row.page], ['DNS only', 'choose-mode', 'mode']);
});
