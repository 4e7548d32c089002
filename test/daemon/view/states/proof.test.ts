// Words of the proof that requests come through the tunnel, and when it is offered.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Proof } from '../../../../daemon/api/schema.ts';
import { connectionOf } from '../../../../daemon/view/client/client-state.ts';
import { message } from '../../../../daemon/view/message.ts';
import { describeProof } from '../../../../daemon/view/states/proof.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

const AT = Date.parse('2026-01-01T10:00:00.000Z');

function proven(part: Partial<Proof> | null) {
  const client = clientState({ status: { state: 'connected' }, settings: { Mode: 'warp' } });
  const seen = message('%s saw warp=%s', 'https://trace.example', 'off');
  const at = new Date(AT).toISOString();
  const result: Proof = {
    ok: true,
    through: true,
    answered: true,
    seen,
    address: '104.28.0.1',
    dataCenter: 'FRA',
    at,
    ...part,
  };
  return { ...client, proof: { connection: connectionOf(client.snapshot!), result: part && result } };
}

test('the proof names city and address, and when it was made', () => {
  const text = (part: Partial<Proof>, later = 0) => describeProof(proven(part), AT + later, tr)!.text;
  assert.equal(text({}), 'You appear in Frankfurt, 104.28.0.1 — verified just now');
  assert.equal(text({}, 59_999), 'You appear in Frankfurt, 104.28.0.1 — verified just now');
  assert.match(text({}, 60_000)!, /^You appear in Frankfurt, 104\.28\.0\.1 — verified at .*\d\d:\d\d$/);
  assert.equal(text({ address: null }), 'You appear in Frankfurt — verified just now');
  assert.equal(text({ dataCenter: null }), 'You appear as 104.28.0.1 — verified just now');
  assert.equal(text({ dataCenter: 'QQQ' }), 'You appear in QQQ, 104.28.0.1 — verified just now');
  assert.equal(text({ address: null, dataCenter: null }), 'Your requests go through WARP — verified just now');
});

test('a request that bypassed the tunnel is not shown as good', () => {
  const { text, tone } = describeProof(proven({ through: false }), AT, tr)!;
  assert.deepEqual([text, tone], ['Not through WARP: https://trace.example saw warp=off', 'warning']);
});

test('a page without an answer proves neither', () => {
  const seen = message('%s gave no answer within %s s', 'https://trace.example', '15');
  const { text, tone } = describeProof(proven({ through: false, answered: false, seen }), AT, tr)!;
  assert.deepEqual([text, tone], ['Couldn’t check: https://trace.example gave no answer within 15 s', 'neutral']);
});

test('while the page is asked the button waits', () => {
  const { text, button } = describeProof(proven(null), AT, tr)!;
  assert.deepEqual([text, button.label, button.sensitive], [null, 'Checking…', false]);
});

test('a proof is offered only while requests can come through the tunnel', () => {
  const offered = (state: 'connected' | 'connecting' | 'disconnected' | 'unable', Mode?: string) =>
    describeProof(clientState({ status: { state }, settings: Mode ? { Mode } : { Mode: undefined } }), AT, tr) !== null;
  for (const mode of ['warp', 'warp+doh', 'proxy', 'tunnel_only']) assert.ok(offered('connected', mode), mode);
  for (const mode of ['doh', 'dot', undefined]) assert.ok(!offered('connected', mode), mode);
  for (const state of ['connecting', 'disconnected', 'unable'] as const) assert.ok(!offered(state, 'warp'), state);
  const gone = clientState({ status: { state: 'connected' } }, { offline: { code: 'stopped', detail: '' } });
  assert.equal(describeProof(gone, AT, tr), null);
});

test('the demo has no proof, and its button says so', () => {
  const client = proven({ through: false, answered: false, seen: message('Not in the demo') });
  client.snapshot!.tunnelCli.emulated = true;
  const { text, tone } = describeProof(client, AT, tr)!;
  assert.deepEqual([text, tone], ['Not in the demo', 'neutral']);
});
