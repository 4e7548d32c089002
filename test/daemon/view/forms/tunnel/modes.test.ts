// The pages of the mode, of networks and of rare options.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dnsForm } from '../../../../../daemon/view/forms/tunnel/dns.ts';
import { advancedForm, modeForm } from '../../../../../daemon/view/forms/tunnel/modes.ts';
import { networksForm } from '../../../../../daemon/view/forms/tunnel/networks.ts';
import { clientState, managed, tr } from '../../../../support/gnome/view/translator.ts';

test('the version of MASQUE in use is checked, and none where WARP does not say', () => {
  const checked = (masque: string | null) =>
    modeForm(clientState({ options: { masque } }), true, tr)
      .groups.flatMap(({ rows }) => rows)
      .flatMap(row => (row.kind === 'radio' && row.checked ? [row.id].filter(id => id.startsWith('masque-')) : []));
  assert.deepEqual(checked('MASQUE (HTTP/3 with HTTP/2 fallback)'), ['masque-h3-with-h2-fallback']);
  assert.deepEqual(checked('MASQUE (HTTP/2)'), ['masque-h2-only']);
  assert.deepEqual(checked(null), []);
});

test('access to the local network is one control that shows what WARP reports', () => {
  const end = '2026-11-25T12:00:00.000Z';
  const local = (client: ReturnType<typeof clientState>, now = 0) => {
    const form = networksForm(client, { settable: true, network: null, now }, tr);
    const [row, ...others] = form.groups.find(({ id }) => id === 'local')!.rows;
    assert.deepEqual(others, []);
    const action = row && 'command' in row && typeof row.command === 'object' && row.command.ask;
    return [row!.kind, 'on' in row! && row.on, action && action.kind === 'action' && action.request.action];
  };
  assert.deepEqual(local(managed(false)), ['switch', false, 'allowLocalNetwork']);
  assert.deepEqual(local(managed(true)), ['switch', true, 'stopLocalNetwork']);
  assert.deepEqual(local(managed(true, end), Date.parse(end) - 1), ['switch', true, 'stopLocalNetwork']);
  assert.deepEqual(local(managed(true, end), Date.parse(end)), ['switch', false, 'allowLocalNetwork'], 'it has ended');
  assert.deepEqual(local(managed(null)), ['button', false, 'allowLocalNetwork']);
  assert.deepEqual(
    local(clientState()),
    ['link', false, false],
    'without an organization nothing is kept in the tunnel',
  );
});

test('settings that Culvert does not know stand on the advanced page as they are, and nothing without any', () => {
  const unknown = [
    { name: 'Moon phase', value: 'full' },
    { name: 'Cloudflare for Families', value: 'kids' },
  ];
  const client = clientState({ options: { families: null, unknown } });
  const group = advancedForm(client, true, tr).groups.find(({ id }) => id === 'unknown');
  assert.deepEqual(
    group?.rows.map(row => [row.title, row.kind === 'fact' && row.value]),
    [
      ['Moon phase', 'full'],
      ['Cloudflare for Families', 'kids'],
    ],
  );
  assert.ok(!advancedForm(clientState(), true, tr).groups.some(({ id }) => id === 'unknown'));
  const filter = dnsForm(client, true, tr).groups[0]!;
  assert.equal(filter.description, undefined);
  assert.ok(filter.rows.some(row => row.kind === 'fact' && row.value === 'kids'));
});
