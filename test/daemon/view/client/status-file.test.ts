// A client shows the daemon's status file before its first answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatStatusFile, stateInStatusFile } from '../../../../daemon/view/client/status-file.ts';
import { describeTunnel } from '../../../../daemon/view/states/tunnel.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

/** A status file whose JSON holds `status`. */
const file = (status: unknown, warning: string | null = null) =>
  formatStatusFile({ ...FILE, json: { ok: true, status }, warning });
const FILE = {
  owner: '1 1',
  port: 4173,
  state: 'connected',
  line: 'line',
  coloredLine: 'color',
  warning: null,
} as const;

test('each value of the status file has its line', () => {
  const json = '{"ok":true,"status":null}';
  assert.equal(file(null), `1 1\n4173\nconnected\nline\ncolor\n${json}\n`);
  assert.equal(file(null, 'Attention'), `1 1\n4173\nconnected\nline\ncolor\n${json}\nAttention\n`);
});

test('the state is read from a status file, and not from any other file', () => {
  const json = (facts: object | null) => formatStatusFile({ ...FILE, json: facts });
  assert.deepEqual(stateInStatusFile(json({ summary: 'paused' })), { state: 'paused', demo: false });
  assert.deepEqual(stateInStatusFile(json({ summary: 'connected', demo: true })), { state: 'connected', demo: true });
  for (const text of ['', 'a\nb', json({ summary: 'frobnicated' }), json({}), json(null), json([]), '\n\n\n\n\n{'])
    assert.equal(stateInStatusFile(text), null, text);
});

test('the last state is shown only until the first answer, and nothing can be requested from it', () => {
  const last = { state: 'connected', demo: false } as const;
  const shown = (code: 'starting' | 'not-running') =>
    describeTunnel(clientState({}, { snapshot: null, offline: { code, detail: '' }, last }), tr);
  const starting = shown('starting');
  assert.deepEqual(
    [starting.label, starting.icon, starting.look, starting.toggle.sensitive],
    ['Connected', 'org.culvert.Culvert-connected-symbolic', 'unavailable', false],
  );
  assert.match(starting.sentence, /^Looking for/);
  assert.equal(shown('not-running').label, 'Unavailable');
});
