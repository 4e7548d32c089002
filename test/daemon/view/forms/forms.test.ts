// The pages as data: every action of the API has its place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACTION_NAMES, type ActionName } from '../../../../daemon/api/actions.ts';
import { type Command, commandsOf, type Form } from '../../../../daemon/view/form.ts';
import { accountForm, joinCommand } from '../../../../daemon/view/forms/account.ts';
import { setupView } from '../../../../daemon/view/forms/setup.ts';
import { dnsForm } from '../../../../daemon/view/forms/tunnel/dns.ts';
import { advancedForm, modeForm } from '../../../../daemon/view/forms/tunnel/modes.ts';
import { networksForm } from '../../../../daemon/view/forms/tunnel/networks.ts';
import { addRoute, removal, resetRoutes } from '../../../../daemon/view/forms/tunnel/split-tunnel.ts';
import { routeKind } from '../../../../daemon/view/forms/validate.ts';
import { clientState, managed, rich, tr, unregistered } from '../../../support/gnome/view/translator.ts';

const forms = (): Record<string, Form> => ({
  mode: modeForm(rich(), true, tr),
  dns: dnsForm(rich(), true, tr),
  networks: networksForm(rich(), { settable: true, network: { kind: 'wifi', ssid: 'Cafe' }, now: 0 }, tr),
  'networks of an organization': networksForm(managed(true), { settable: true, network: null, now: 0 }, tr),
  'networks of an organization, access off': networksForm(
    managed(false),
    { settable: true, network: null, now: 0 },
    tr,
  ),
  account: accountForm(rich(), null, tr),
  'account before set-up': accountForm(unregistered(), null, tr),
  advanced: advancedForm(rich(), true, tr),
});

/** Actions that are offered outside the forms, with their place. */
function elsewhere(): Record<string, Command[]> {
  const entries = ['192.0.2.1', '192.0.2.0/24', 'example.com'].map(value => ({
    value,
    kind: routeKind(value)!,
  }));
  return {
    connection: [
      { ask: { kind: 'action', request: { action: 'connect' } } },
      { ask: { kind: 'action', request: { action: 'disconnect' } } },
    ],
    apps: [{ ask: { kind: 'action', request: { action: 'enableLocalProxy' } } }],
    'account, with the name of a team': [joinCommand('example')],
    routes: [
      ...entries.map(({ value }) => ({ ask: { kind: 'action', request: addRoute(value) } }) as const),
      ...entries.map(entry => removal(entry, tr)),
      resetRoutes('addresses', tr),
      resetRoutes('hosts', tr),
    ],
    setup: (['terms-not-accepted', 'not-registered'] as const).flatMap(step =>
      setupView(step, tr).buttons.map(({ command }) => command),
    ),
  };
}

test('every action of the API is asked for by some page', () => {
  const asked = new Map<ActionName, Set<string>>();
  const pages = {
    ...Object.fromEntries(Object.entries(forms()).map(([page, form]) => [page, commandsOf(form)])),
    ...elsewhere(),
  };
  for (const [page, commands] of Object.entries(pages))
    for (const { ask } of commands)
      if (ask.kind === 'action') asked.set(ask.request.action, (asked.get(ask.request.action) ?? new Set()).add(page));
  assert.deepEqual(
    ACTION_NAMES.filter(name => !asked.has(name)),
    [],
  );
});

test('the ids of a form’s rows and groups are unique', () => {
  for (const [page, { groups }] of Object.entries(forms())) {
    assert.equal(new Set(groups.map(({ id }) => id)).size, groups.length, page);
    for (const { id, rows } of groups)
      assert.equal(new Set(rows.map(row => row.id)).size, rows.length, `${page} ${id}`);
  }
});

test('options that few people need are folded, after the others, unless one of them is chosen', () => {
  const { groups } = modeForm(rich(), true, tr);
  assert.deepEqual(
    groups.filter(({ folded }) => folded).map(({ id }) => id),
    ['variants', 'masque', 'organization'],
  );
  const first = groups.findIndex(({ folded }) => folded);
  assert.ok(groups.slice(first).every(({ folded }) => folded));
  const encrypted = modeForm(clientState({ settings: { Mode: 'warp+doh' } }), true, tr);
  assert.equal(encrypted.groups.find(({ id }) => id === 'variants')?.folded, false);
});

test('nothing can be asked for while the tunnel can’t be set', () => {
  for (const form of [modeForm(rich(), false, tr), dnsForm(rich(), false, tr), advancedForm(rich(), false, tr)])
    for (const row of form.groups.flatMap(({ rows }) => rows))
      if (row.kind !== 'fact' && row.kind !== 'note' && row.kind !== 'link') assert.equal(row.sensitive, false, row.id);
});
