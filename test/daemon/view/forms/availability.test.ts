// Forms without a daemon: the last values stay, and nothing that needs the daemon can be used.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientState, OfflineReason } from '../../../../daemon/view/client/client-state.ts';
import { actionCommand, commandsOf, type Form, goTo, type Row } from '../../../../daemon/view/form.ts';
import { accountForm } from '../../../../daemon/view/forms/account.ts';
import { withoutDaemon } from '../../../../daemon/view/forms/availability.ts';
import { preferencesForm, UNKNOWN_DESKTOP } from '../../../../daemon/view/forms/preferences.ts';
import { trustForm } from '../../../../daemon/view/forms/trust.ts';
import { dnsForm } from '../../../../daemon/view/forms/tunnel/dns.ts';
import { killSwitchForm } from '../../../../daemon/view/forms/tunnel/killswitch.ts';
import { advancedForm, modeForm } from '../../../../daemon/view/forms/tunnel/modes.ts';
import { networksForm } from '../../../../daemon/view/forms/tunnel/networks.ts';
import { updatesForm } from '../../../../daemon/view/forms/updates.ts';
import { describe as describeAll } from '../../../../daemon/view/view.ts';
import { KILL_SWITCH, TRUST } from '../../../support/gnome/initial.ts';
import { rowsOf } from '../../../support/gnome/view/forms.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

const CODES: OfflineReason['code'][] = ['not-running', 'stopped', 'not-responding', 'refused'];

const unregistered = ({ snapshot }: ClientState) =>
  snapshot && { ...snapshot, account: { ...snapshot.account, registered: false } };

/** Every form that needs the state alone. */
function forms(client: ClientState): Record<string, Form> {
  const { tunnel, killSwitch, update } = describeAll(client, '1', tr);
  const made = {
    account: accountForm(client, null, tr),
    'account before set-up': accountForm({ ...client, snapshot: unregistered(client) }, null, tr),
    advanced: advancedForm(client, tunnel.settable, tr),
    dns: dnsForm(client, tunnel.settable, tr),
    killswitch: killSwitchForm(killSwitch, 0, tr),
    mode: modeForm(client, tunnel.settable, tr),
    networks: networksForm(client, { settable: tunnel.settable, network: { kind: 'wifi', ssid: 'Home' }, now: 0 }, tr),
    preferences: preferencesForm(client, UNKNOWN_DESKTOP, tr),
    updates: updatesForm(update, { offline: client.offline !== null, waiting: null }, tr),
  };
  if (!client.offline) return made;
  return Object.fromEntries(Object.entries(made).map(([name, form]) => [name, withoutDaemon(form, client)]));
}

/** An expander opens without the daemon; its rows can’t be used. */
const unfolded = (row: Row): Row[] => (row.kind === 'expander' ? row.rows.flatMap(unfolded) : [row]);

/** Facts of the state in a row. */
const factsOf = (row: Row) => [
  row.kind,
  row.id,
  row.title,
  'on' in row && row.on,
  'checked' in row && row.checked,
  'value' in row && row.value,
];

const parts = {
  status: { state: 'connected' },
  settings: { Mode: 'doh' },
  options: {
    wifiTrusted: true,
    trustedSsids: ['Home'],
    families: 'full',
    fallbackDomains: [{ domain: 'corp', note: null }],
  },
  killSwitch: { ...KILL_SWITCH, enabled: true, active: true, allowLan: true },
} as const satisfies Parameters<typeof clientState>[0];

for (const code of CODES)
  test(`a daemon that is lost (${code}) leaves every value where it was, and nothing to use`, () => {
    const before = forms(clientState(parts));
    const lost = forms(clientState(parts, { offline: { code, detail: '' } }));
    for (const [name, form] of Object.entries(before)) {
      const facts = (each: Form) =>
        rowsOf(each)
          .filter(({ kind }) => kind !== 'note')
          .map(factsOf);
      assert.deepEqual(facts(lost[name]!), facts(form), name);
      for (const row of rowsOf(lost[name]!).flatMap(unfolded)) {
        // an expander still opens, and each command of a menu is disabled separately
        const own = row.kind === 'expander' ? [] : [{ ...row, menu: [] }];
        const asks = commandsOf({ groups: [{ id: '', rows: own }] }).map(({ ask }) => ask.kind);
        if (asks.some(kind => kind !== 'page' && kind !== 'client'))
          assert.equal(row.sensitive, false, `${name}: ${row.id}`);
      }
      for (const { label, sensitive, command } of lost[name]!.status?.buttons ?? [])
        if (command.ask.kind !== 'page' && command.ask.kind !== 'client')
          assert.equal(sensitive, false, `${name}: ${label}`);
    }
  });

test('a value that was never read is not shown as off', () => {
  const never = forms(clientState({}, { snapshot: null, config: null, offline: { code: 'not-running', detail: '' } }));
  for (const [name, form] of Object.entries(never))
    assert.deepEqual(
      rowsOf(form).filter(({ kind }) => kind === 'switch'),
      [],
      name,
    );
});

test('a control that needs no daemon can still be used', () => {
  const client = clientState({}, { offline: { code: 'stopped', detail: '' } });
  const form: Form = {
    groups: [
      {
        id: 'all',
        rows: [
          { kind: 'button', id: 'a', title: '', label: '', command: { ask: { kind: 'client', task: 'run-checks' } } },
          { kind: 'button', id: 'b', title: '', label: '', command: { ask: { kind: 'copy', text: 'x' } } },
          { kind: 'button', id: 'c', title: '', label: '', command: { ask: { kind: 'client', task: 'roll-back' } } },
        ],
      },
    ],
  };
  assert.deepEqual(
    rowsOf(withoutDaemon(form, client)).map(({ sensitive }) => sensitive ?? true),
    [true, true, false],
  );
});

test('buttons of a status, a heading, a menu and an expander need the daemon like rows', () => {
  const client = clientState({}, { offline: { code: 'stopped', detail: '' } });
  const buttons = [
    { label: 'page', command: goTo('mode') },
    { label: 'action', command: actionCommand({ action: 'connect' }) },
  ];
  const row: Row = { kind: 'note', id: 'a', title: '', menu: buttons };
  const status = { icon: '', tone: 'neutral', title: '', sentence: null, buttons, menu: buttons } as const;
  const actions = buttons.map(button => ({ ...button, icon: 'add' as const }));
  const expander: Row = { kind: 'expander', id: 'b', title: '', rows: [row], button: buttons[1]! };
  const form = withoutDaemon(
    { status, groups: [{ id: 'all', rows: [row, expander], actions, menu: buttons }] },
    client,
  );
  const [group] = form.groups;
  const unfolded = group!.rows[1]!;
  assert.ok(unfolded.kind === 'expander');
  const lists = [form.status!.buttons, form.status!.menu, group!.actions, group!.menu];
  for (const list of [...lists, ...[group!.rows[0]!, ...unfolded.rows].map(({ menu }) => menu)])
    assert.deepEqual(
      list!.map(({ sensitive }) => sensitive ?? true),
      [true, false],
    );
  assert.equal(unfolded.button!.sensitive, false);
  assert.equal(unfolded.sensitive ?? true, true);
});

test('the banner says why on every page, with the button that helps', () => {
  const banner = (code: OfflineReason['code']) =>
    describeAll(clientState({}, { offline: { code, detail: '' } }), '1', tr).banners.offline;
  assert.equal(banner('starting'), null);
  assert.equal(describeAll(clientState(), '1', tr).banners.offline, null);
  assert.deepEqual(
    CODES.map(code => banner(code)?.button?.label),
    ['Start', 'Start', 'Try Again', 'Try Again'],
  );
  for (const code of CODES) assert.match(banner(code)!.title, /^Culvert’s background service/);
});

test('an update under way is no success, and a rollback offers no installation', () => {
  const { update } = describeAll(clientState(), '1', tr);
  const view = {
    ...update,
    hasSource: true,
    checkedAt: 1,
    latest: '2',
    problem: null,
    applicable: false,
    command: null,
  };
  const shown = (change: Partial<typeof view>, waiting: 'change' | null) => {
    const { tone, buttons } = updatesForm({ ...view, ...change }, { offline: false, waiting }, tr).status!;
    return [tone, ...buttons.map(({ label }) => label)];
  };
  assert.deepEqual(shown({ progress: '' }, 'change'), ['accent', 'Install', 'Check']);
  assert.deepEqual(shown({}, 'change'), ['success', 'Check']);
});

test('without a certificate, the tools can be checked again', () => {
  const report = { ...TRUST, certificates: [], refused: [], tools: [], removalDue: false };
  const tasks = { check: async () => {}, apply: async () => {}, undo: async () => {} };
  const { buttons } = trustForm({ report, running: false, failed: null }, tasks, tr).status!;
  assert.deepEqual(
    buttons.map(({ label }) => label),
    ['Join an Organization…', 'Check'],
  );
});
