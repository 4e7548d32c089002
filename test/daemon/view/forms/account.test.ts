// The page of the account, and how it is joined.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { teamOf } from '../../../../daemon/api/actions.ts';
import { accountForm } from '../../../../daemon/view/forms/account.ts';
import { checks } from '../../../../daemon/view/forms/validate.ts';
import { named, rowsOf } from '../../../support/gnome/view/forms.ts';
import { clientState, tr, unregistered } from '../../../support/gnome/view/translator.ts';

function joining(program?: string | null) {
  const form = accountForm(clientState({}), null, tr, { program, join: async () => {} });
  return form.groups.find(({ id }) => id === 'organization')!;
}

test('a team domain is as good as the name of the team', () => {
  const domains = [
    'acme.cloudflareaccess.com',
    'https://acme.cloudflareaccess.com/',
    ' HTTPS://acme.cloudflareaccess.com/#x',
  ];
  for (const text of domains) assert.deepEqual([teamOf(text), checks(tr).team(text)], ['acme', null], text);
  for (const text of [
    'https://example.com',
    'a.b.cloudflareaccess.com',
    'x@acme.cloudflareaccess.com',
    'https://acme.cloudflareaccess.com.evil',
  ])
    assert.notEqual(checks(tr).team(text), null, text);
});

test('the group that WARP fills late is below everything else, so that it moves nothing', () => {
  const answer = { ok: true, license: null, deviceId: 'a', devices: [] } as never;
  const groupsOf = (account: typeof answer | null) =>
    accountForm(clientState({}), account, tr)
      .groups.filter(({ rows }) => rows.length > 0)
      .map(({ id }) => id);
  assert.deepEqual(groupsOf(answer), [...groupsOf(null), 'account']);
});

test('the group of the team says that Culvert finishes the sign-in, and in place of which program', () => {
  assert.match(
    joining('Zero Trust Team Enrollment').description!,
    /Culvert finishes sign-ins, not “Zero Trust Team Enrollment”/,
  );
  for (const program of ['culvert', null]) assert.match(joining(program).description!, /Culvert finishes it\.$/);
  assert.doesNotMatch(joining(undefined).description!, /Culvert/, 'a browser does not know the program');
  const [row] = joining().rows;
  assert.ok(row?.kind === 'entry');
  assert.deepEqual([row.check('example-team'), row.check('two words') === null], [null, false]);
});

test('an address is pasted only if the browser did not come back', () => {
  const rows = rowsOf(accountForm(unregistered(), null, tr));
  assert.deepEqual(
    rows.map(({ id, kind }) => [id, kind]),
    [
      ['team', 'entry'],
      ['by-hand', 'expander'],
    ],
  );
});

test('the first row of an account is not a secret field', () => {
  const rows = rowsOf(accountForm(clientState({ account: { registered: true } }), null, tr));
  const first = rows.find(row => row.kind === 'entry');
  assert.deepEqual([first?.id, first?.secret ?? false], ['team', false]);
});

test('a member of an organization is not offered another one first', () => {
  const groups = (organization: string | null) =>
    accountForm(clientState({ account: { registered: true, organization } }), null, tr).groups;
  const group = (organization: string | null) => groups(organization).find(({ id }) => id === 'organization')!;
  assert.deepEqual([group(null).title, group(null).folded], ['Join an organization', false]);
  assert.deepEqual([group('example').title, group('example').folded], ['Join another organization', true]);
});

test('the status of an account has the plan, the organization and the name of this device', () => {
  const device = { deviceId: 'a', name: 'laptop', model: 'ThinkPad', os: 'linux', active: true };
  const account = {
    ok: true as const,
    license: '****1234',
    deviceId: 'a',
    devices: [device, { ...device, deviceId: 'b', name: null }],
  };
  const client = clientState({ account: { registered: true, type: 'Team', organization: 'example' } });
  const form = accountForm(client, account as never, tr);
  assert.deepEqual([form.status!.title, form.status!.sentence], ['Team', 'example · laptop']);
  const devices = named(rowsOf(form), 'devices');
  assert.ok(devices.kind === 'expander');
  assert.deepEqual([devices.title, devices.rows.map(({ title }) => title)], ['2 devices', ['laptop', 'ThinkPad']]);
  assert.ok(devices.rows[0]!.subtitle!.startsWith('This device · ') && !devices.rows[1]!.subtitle!.includes('This'));
  const alone = named(rowsOf(accountForm(client, { ...account, devices: [device] } as never, tr)), 'devices');
  assert.equal(alone.title, '1 device');
  assert.deepEqual(accountForm(client, null, tr).status!.sentence, 'example');
});

test('an account can be set up only once nothing else is missing', () => {
  const title = (blocked: 'terms-not-accepted' | 'not-registered' | 'service-stopped' | 'cli-missing') =>
    accountForm(clientState({ account: { registered: false }, status: { blocked } }), null, tr).status!.title;
  assert.deepEqual([title('terms-not-accepted'), title('not-registered')], ['Set up WARP', 'Set up WARP']);
  for (const step of ['service-stopped', 'cli-missing'] as const) assert.notEqual(title(step), 'Set up WARP');
});
