// Rules are added to and removed from their document without touching the rest of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworkEffects, NetworkMatch } from '../../../../daemon/api/networks.ts';
import { parseRules } from '../../../../daemon/networks/rules/rules.ts';
import { changeNetworks, linesOf, withoutRule, withRule } from '../../../../daemon/view/client/network-document.ts';

const DOCUMENT = `# mine

[[network]]
name = "home"  # where I live
ssid = "Home"
warp = "pause"

  [[ network ]]
name = 'a "b"'
any = "ethernet"
warp = "connect"
`;

const names = (document: string) => parseRules(document).rules.map(({ name }) => name);

test('adds a rule at the end, also to an empty document and one without a line end', () => {
  const rule = { name: 'Café', lines: ['ssid = "Café"', 'warp = "pause"'] };
  assert.deepEqual(names(withRule(DOCUMENT, rule)), ['home', 'a "b"', 'Café']);
  assert.equal(withRule('', rule), '[[network]]\nname = "Café"\nssid = "Café"\nwarp = "pause"\n');
  assert.deepEqual(names(withRule(DOCUMENT.trimEnd(), rule)), ['home', 'a "b"', 'Café']);
});

test('puts a rule in the place of another, and every value survives its lines', () => {
  const rule = { name: 'new "name"', lines: ['any = "no-rule"', 'warp = "connect"'] };
  assert.deepEqual(names(withRule(DOCUMENT, { ...rule, replaces: 'home' })), ['new "name"', 'a "b"']);
  assert.deepEqual(names(withRule(DOCUMENT, { ...rule, replaces: 'a "b"' })), ['home', 'new "name"']);
  assert.match(withRule(DOCUMENT, { ...rule, replaces: 'home' }), /^# mine\n\n\[\[network\]\]\nname = "new/);
  const match: NetworkMatch = {
    ssid: 'a"\\\u007f\u0001é',
    security: 'psk',
    gateway: '00:11:22:33:44:55',
    bssid: ['00:11:22:33:44:55', '00:11:22:33:44:66'],
    beacon: { address: '[::1]:8443', sha256: 'ab'.repeat(32) },
  };
  const effects: NetworkEffects = {
    warp: 'pause',
    mode: 'warp+doh',
    protocol: 'MASQUE',
    routes: 'lan',
    killSwitch: true,
  };
  const { rules, invalid } = parseRules(withRule('', { name: 'all', lines: linesOf({ match, effects }) }));
  assert.deepEqual([rules, invalid], [[{ name: 'all', match, effects }], []]);
});

test('removes the table of a rule, and keeps the rest as it is', () => {
  assert.deepEqual(names(withoutRule(DOCUMENT, 'home')), ['a "b"']);
  assert.match(withoutRule(DOCUMENT, 'home'), /^# mine\n\n {2}\[\[ network \]\]/);
  assert.deepEqual(names(withoutRule(DOCUMENT, 'a "b"')), ['home']);
  assert.equal(withoutRule(DOCUMENT, 'Home'), DOCUMENT);
  assert.equal(withoutRule('[[network]]\nname = "x"\n', 'x'), '');
});

test('a change is sent with the revision it was made from, and an added rule is allowed if the user agreed', async () => {
  const sent: unknown[] = [];
  const call = async (line: string, request?: { body: unknown }) => {
    if (line === 'GET /api/networks') return { document: DOCUMENT, revision: 'r' };
    sent.push([line, request?.body]);
    return {};
  };
  const model = { call } as unknown as Parameters<typeof changeNetworks>[0];
  await changeNetworks(model, { do: 'add', name: 'x', lines: ['ssid = "x"', 'warp = "pause"'], allow: true });
  await changeNetworks(model, { do: 'remove', name: 'home' });
  await changeNetworks(model, { do: 'revert' });
  await changeNetworks(model, { do: 'answer', rule: 'x', answer: 'never' });
  assert.deepEqual(sent, [
    [
      'POST /api/networks',
      { document: withRule(DOCUMENT, { name: 'x', lines: ['ssid = "x"', 'warp = "pause"'] }), ifRevision: 'r' },
    ],
    ['POST /api/networks/answer', { rule: 'x', answer: 'always' }],
    ['POST /api/networks', { document: withoutRule(DOCUMENT, 'home'), ifRevision: 'r' }],
    ['POST /api/networks/revert', {}],
    ['POST /api/networks/answer', { rule: 'x', answer: 'never' }],
  ]);
});
