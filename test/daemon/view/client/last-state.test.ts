// A client shows the daemon's status file before its first answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastLook } from '../../../../daemon/view/client/last-state.ts';
import { describeTunnel } from '../../../../daemon/view/states/tunnel.ts';
import { clientState, tr } from '../../../support/gnome/translator.ts';

const file = (status: unknown) => `1 1\n4173\nx\nline\ncolor\n${JSON.stringify({ ok: true, status })}\n`;

test('the last state is read from the status file, and nothing from what is none', () => {
  assert.equal(lastLook(file({ state: 'connected', blocked: null })), 'connected');
  assert.equal(lastLook(file({ state: 'unable', blocked: 'terms-not-accepted' })), 'setup');
  for (const text of ['', 'a\nb', file({ state: 'frobnicated', blocked: null }), file(null), file([]), '\n\n\n\n\n{'])
    assert.equal(lastLook(text), null, text);
});

test('it is shown only until the first answer, as a state that nothing can be asked of', () => {
  const shown = (code: 'starting' | 'not-running') =>
    describeTunnel(clientState({}, { snapshot: null, offline: { code, detail: '' }, last: 'connected' }), tr);
  const starting = shown('starting');
  assert.deepEqual(
    [starting.label, starting.icon, starting.look, starting.toggle.sensitive],
    ['Connected', 'org.culvert.Culvert-connected-symbolic', 'unavailable', false],
  );
  assert.match(starting.sentence, /^Looking for/);
  assert.equal(shown('not-running').label, 'Unavailable');
});
