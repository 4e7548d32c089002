// A client shows the daemon's status file before its first answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatStatusFile, lookInStatusFile } from '../../../../daemon/view/client/status-file.ts';
import { describeTunnel } from '../../../../daemon/view/states/tunnel.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

/** A status file whose JSON holds `status`. */
const file = (status: unknown, warning: string | null = null) =>
  formatStatusFile({
    owner: '1 1',
    port: 4173,
    state: 'connected',
    line: 'line',
    coloredLine: 'color',
    json: { ok: true, status },
    warning,
  });

test('each value of the status file has its line', () => {
  const json = '{"ok":true,"status":null}';
  assert.equal(file(null), `1 1\n4173\nconnected\nline\ncolor\n${json}\n`);
  assert.equal(file(null, 'Attention'), `1 1\n4173\nconnected\nline\ncolor\n${json}\nAttention\n`);
});

test('the look is read from a status file, and not from any other file', () => {
  assert.equal(lookInStatusFile(file({ state: 'connected', blocked: null })), 'connected');
  assert.equal(lookInStatusFile(file({ state: 'unable', blocked: 'terms-not-accepted' })), 'setup');
  for (const text of ['', 'a\nb', file({ state: 'frobnicated', blocked: null }), file(null), file([]), '\n\n\n\n\n{'])
    assert.equal(lookInStatusFile(text), null, text);
});

test('the last look is shown only until the first answer, and nothing can be requested from it', () => {
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
