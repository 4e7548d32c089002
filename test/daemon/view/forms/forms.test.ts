// The pages as data: every action of the API has its place, causes lead to remedies, and what is typed is checked.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'smol-toml';
import { ACTION_NAMES, type ActionName, teamOf } from '../../../../daemon/api/actions.ts';
import type { Snapshot } from '../../../../daemon/api/schema.ts';
import { REGISTRATION_CAUSES } from '../../../../daemon/api/tunnel.ts';
import { NO_TUNNEL } from '../../../../daemon/state/store.ts';
import { type Command, commandsOf, type Form } from '../../../../daemon/view/form.ts';
import { formatLatency, formatLoss, formatRate } from '../../../../daemon/view/format.ts';
import { accountForm, joinCommand } from '../../../../daemon/view/forms/account.ts';
import { preferencesForm, UNKNOWN_DESKTOP } from '../../../../daemon/view/forms/preferences.ts';
import { navigationGroups, overviewForm, settingsForm } from '../../../../daemon/view/forms/settings.ts';
import { setupView } from '../../../../daemon/view/forms/setup.ts';
import { dnsForm } from '../../../../daemon/view/forms/tunnel/dns.ts';
import { advancedForm, modeForm } from '../../../../daemon/view/forms/tunnel/modes.ts';
import { networksForm } from '../../../../daemon/view/forms/tunnel/networks.ts';
import { addRoute, describeRoutes, removal, resetRoutes } from '../../../../daemon/view/forms/tunnel/split-tunnel.ts';
import { checks, routeKind } from '../../../../daemon/view/forms/validate.ts';
import { axisEnd, createHistory, FINEST, rangeOf } from '../../../../daemon/view/graph.ts';
import { placeOf } from '../../../../daemon/view/page-list.ts';
import { causeEntries } from '../../../../daemon/view/states/cause-table.ts';
import { causeOf, causeTitle, phaseText } from '../../../../daemon/view/states/causes.ts';
import { describe } from '../../../../daemon/view/view.ts';
import { named, rowsOf } from '../../../support/gnome/view/forms.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

const unregistered = () => {
  const client = clientState({ status: { state: 'unable', blocked: 'not-registered' } });
  client.snapshot!.account.registered = false;
  return client;
};
const rich = () =>
  clientState({
    status: { state: 'connected' },
    options: {
      switchLocked: true,
      trustedSsids: ['Home'],
      fallbackDomains: [
        { domain: 'corp', note: 'CLI add' },
        { domain: 'lan', note: '-> [10.0.0.1]' },
      ],
    },
  });
/** @param allowed whether the local network can be reached for a while; null if WARP does not say */
const managed = (allowed: boolean | null, endsAt: string | null = null) => {
  const client = clientState({ options: { localNetworkAccess: allowed === null ? null : { allowed, endsAt } } });
  client.snapshot!.account.organization = 'example-team';
  return client;
};
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

test('the name of a page leads there, and the name of a former page leads to its successor', () => {
  assert.deepEqual(placeOf('dns'), { page: 'dns', row: null });
  assert.deepEqual(placeOf('graph'), { page: 'history', row: 'now' });
  for (const name of ['', 'nowhere', 'constructor', '__proto__']) assert.equal(placeOf(name), null);
});

test('no page stands twice in the list of settings, and none of its entries in the main menu', () => {
  const values = { mode: '', killSwitch: '', routes: null, account: null, tools: true, certificate: true };
  const rows = settingsForm(values, tr).groups.flatMap(group => group.rows);
  const pages = rows.map(row => (row.kind === 'link' ? row.page : null));
  assert.equal(new Set(pages).size, pages.length);
  const header = readFileSync(new URL('../../../../gnome/panel/window/header.ts', import.meta.url), 'utf8');
  for (const page of pages) assert.ok(!header.includes(`win.page::${page}`), String(page));
  const own = preferencesForm(rich(), UNKNOWN_DESKTOP, tr).groups.flatMap(group => group.rows);
  assert.deepEqual(
    own.filter(row => row.kind === 'link'),
    [],
  );
});

test('tool accounts are offered only where they are of use', () => {
  const listed = (offered: boolean) => {
    const client = withPart({ toolAccounts: { offered } });
    const rows = overviewForm(describe(client, '1.0.0', tr), tr).groups.flatMap(group => group.rows);
    return [
      rows.some(row => row.kind === 'link' && row.page === 'tools'),
      navigationGroups(client, tr).some(({ pages }) => pages.includes('tools')),
    ];
  };
  assert.deepEqual(listed(true), [true, true]);
  assert.deepEqual(listed(false), [false, false]);
});

test('the page of the certificate is offered only where an organization has one', () => {
  for (const offered of [true, false]) {
    const client = withPart({ trust: { offered, removalDue: false } });
    const pages = navigationGroups(client, tr).flatMap(group => group.pages);
    assert.equal(pages.includes('certificate'), offered);
  }
});

test('a title or a sentence belongs to one cause, except where Cloudflare has two codes for a network with a sign-in page', () => {
  const words = causeEntries(tr).flatMap(([codes, title, sentence]) => [
    [title, codes],
    [sentence, codes],
  ]);
  const shared = words.filter(([text], at) => words.findIndex(([other]) => other === text) !== at);
  assert.deepEqual(shared, [['This network wants you to sign in', ['CaptivePortal']]]);
});

test('nothing can be asked for while the tunnel can’t be set', () => {
  for (const form of [modeForm(rich(), false, tr), dnsForm(rich(), false, tr), advancedForm(rich(), false, tr)])
    for (const row of form.groups.flatMap(({ rows }) => rows))
      if (row.kind !== 'fact' && row.kind !== 'note' && row.kind !== 'link') assert.equal(row.sensitive, false, row.id);
});

const causes: [code: string | null, text: string, title: RegExp, remedy: string | null][] = [
  ['CaptivePortalTimedOut', '', /sign in/, 'Open Sign-in Page'],
  ['CaptivePortal', 'Captive portal', /sign in/, 'Open Sign-in Page'],
  ['HappyEyeballsFailed', 'Happy Eyeballs Failed', /No Cloudflare server/, 'Use HTTP/2'],
  ['CF_HAPPY_EYEBALLS_MITM_FAILURE', 'Cf happy eyeballs mitm failure', /inspects or blocks/, 'Use HTTP/2'],
  [null, 'CF_HAPPY_EYEBALLS_MITM_FAILURE', /inspects or blocks/, 'Use HTTP/2'],
  [null, 'Connectivity check failed due to DNS Lookup Failed', /DNS does not work/, 'Run Checks'],
  ['ConnectivityCheckFailed', 'Connectivity check failed due to DNS Lookup Failed', /DNS does not work/, 'Run Checks'],
  [
    'InsufficientSystemResource',
    'Insufficient system resource: file descriptor',
    /too many open files/,
    'Restart WARP',
  ],
  ['InsufficientSystemResource', 'Insufficient system resource: threads', /lacks a resource/, 'Run Checks'],
  ['InternalmTLSError', 'Internal mTLS error', /certificate part of WARP failed/, 'Try Again'],
  ['NoNetwork', 'No Network', /offline/, 'Network Settings'],
  ['Port53Bound', '', /DNS port/, 'Leave DNS Alone'],
  ['ProxyAddressBound', '', /proxy’s port/, 'Change Port'],
  ['DisabledForWiFi', '', /Off on Wi-Fi/, 'Trusted Networks'],
  ['RegistrationMissing', 'Registration Missing due to: Daemon Startup', /not set up/, 'Set Up'],
  ['EmergencyDisconnect', '', /administrator/, null],
  ['Frobnicated', 'Frobnicated entirely', /Can’t connect/, 'Run Checks'],
];
for (const [code, text, title, remedy] of causes)
  test(`the reason ${code ?? text} has a title, a sentence and ${remedy ?? 'no button'}`, () => {
    const client = clientState({
      status: { state: 'unable', reason: { code, text } },
      settings: { 'WARP tunnel protocol': 'MASQUE' },
    });
    const cause = causeOf(client.snapshot!, tr)!;
    assert.match(cause.title, title);
    assert.ok(cause.sentence.length > 10);
    assert.equal(cause.remedy?.label ?? null, remedy);
  });

test('every error and reason of the vendor’s list has a cause, except what needs none', () => {
  const list = parse(readFileSync(new URL('../../../../data/knowledge/codes.toml', import.meta.url), 'utf8'));
  const codes = list.code as unknown as { code: string; also: string[]; kind: string; cause?: string }[];
  // causes of a missing registration have their own words
  const isRegistration = ({ cause }: { cause?: string }) => REGISTRATION_CAUSES.some(each => each === cause);
  const without = codes
    .filter(({ kind, code }) => (kind === 'error' || kind === 'reason') && !/^(Manual|SettingsChanged)$/.test(code))
    .filter(code => !isRegistration(code))
    .filter(({ code, also }) => ![code, ...also].some(name => causeTitle(name, tr) !== null))
    .map(({ code }) => code);
  assert.deepEqual(without, []);
});

test('a disconnection by the user, or through changed settings, shows no cause', () => {
  for (const code of ['Manual', 'SettingsChanged']) {
    const client = clientState({ status: { state: 'disconnected', reason: { code, text: code } } });
    assert.equal(causeOf(client.snapshot!, tr), null);
  }
});

test('the phases of connecting have words, whatever the version calls them', () => {
  assert.match(phaseText(null, 'Performing happy eyeballs to 162.159.198.2:443', tr), /fastest way/);
  assert.match(phaseText('PerformingConnectivityChecks', '', tr), /Testing/);
  assert.match(phaseText(null, 'Frobnicating', tr), /Setting up the tunnel/);
});

test('an entry of the split tunnel is an address, a range, a host, or nothing', () => {
  const kinds = {
    address: ['192.0.2.1', '::1', '2001:db8::1', '::ffff:192.0.2.1', '1:2:3:4:5:6:7:8'],
    range: ['192.0.2.0/24', '0.0.0.0/0', '2001:db8::/32', '::/0'],
    host: ['example.com', '*.example.com', 'a-b.example'],
    null: [
      '',
      '192.0.2',
      '192.0.2.256',
      '192.0.2.0/33',
      '2001:db8::/129',
      '1:2:3:4:5:6:7:8:9',
      '1::2::3',
      'localhost',
      '-a.example',
      'a..b',
      'exa mple.com',
      '01.2.3.4',
    ],
  };
  for (const [kind, texts] of Object.entries(kinds))
    for (const text of texts) assert.equal(String(routeKind(text)), kind, text);
});

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

test('typed text is checked, and an empty field is valid', () => {
  const check = checks(tr);
  const wrong: Record<keyof typeof check, string> = {
    route: 'nowhere',
    domain: '1.2.3.4',
    endpoint: '1.2.3.4',
    port: '65536',
    team: 'a b',
    license: 'abc',
    token: 'https://x',
    gateway: 'a-b',
    identifier: ' x',
    code: 'abcd',
    hardware: '02:00:00:00:00:0g',
    beacon: '192.0.2.1:8443',
    name: 'x'.repeat(65),
    ssid: ` ${'x'.repeat(33)}`,
  };
  const right: Record<keyof typeof check, string> = {
    route: '192.0.2.1',
    domain: 'corp',
    endpoint: '[2001:db8::1]:443',
    port: '1',
    team: 'my-team',
    license: 'abcd1234-abcd1234-abcd1234',
    token: 'com.cloudflare.warp://a.cloudflareaccess.com/auth?token=x',
    gateway: 'abc123',
    identifier: 'v-net_1',
    code: '1234567',
    hardware: '02:00:00:00:00:AB',
    beacon: `[2001:db8::1]:8443 ${'AB:'.repeat(31)}ab`,
    name: 'Café',
    ssid: 'Café',
  };
  for (const [name, rule] of Object.entries(check) as [keyof typeof check, (text: string) => string | null][]) {
    assert.equal(rule(''), null, name);
    assert.ok(rule(wrong[name]), `${name}: ${wrong[name]}`);
    assert.equal(rule(right[name]), null, `${name}: ${right[name]}`);
  }
});

test('routes are listed with their kind and origin, those of the user first', () => {
  const client = clientState();
  client.snapshot!.splitTunnel = {
    mode: 'exclude',
    ips: [
      { value: '10.0.0.0/8', description: null },
      { value: '192.0.2.1', description: 'printer' },
      { value: '255.255.255.255/32', description: null },
      { value: '17.249.0.0/16', description: null },
    ],
    hosts: [{ value: 'example.com', description: null }],
  };
  const view = describeRoutes(client, true, tr);
  assert.deepEqual(
    view.entries.map(({ kind, origin }) => [kind, origin]),
    [
      ['host', 'yours'],
      ['address', 'yours'],
      ['range', 'built in'],
      ['address', 'built in'],
      ['range', 'built in'],
    ],
  );
});

test('domains for the user’s own DNS are listed with their origin, and adding one can be undone', () => {
  const fallbackDomains = ['corp', 'corp.example', 'lan'].map(domain => ({ domain, note: null }));
  const rows = dnsForm(clientState({ options: { fallbackDomains } }), true, tr).groups.flatMap(group => group.rows);
  assert.deepEqual(
    rows.filter(({ kind }) => kind === 'item').map(({ title, subtitle }) => `${title}: ${subtitle}`),
    ['corp.example: yours', 'corp: built in', 'lan: built in'],
  );
  const managed = clientState({ options: { fallbackDomains } });
  managed.snapshot!.account.managed = true;
  const theirs = dnsForm(managed, true, tr).groups.flatMap(group => group.rows.filter(({ kind }) => kind === 'item'));
  assert.deepEqual([...new Set(theirs.map(({ subtitle }) => subtitle))], ['Organization']);
  const add = rows.find(({ id }) => id === 'fallback-add');
  assert.ok(add?.kind === 'entry');
  assert.deepEqual([add.check('lan'), add.check('lan.example')], ['It is already on the list', null]);
  const { undo, done } = add.command('lan.example');
  const request = { action: 'removeFallbackDomain', value: 'lan.example' };
  assert.deepEqual([done, undo], ['lan.example added', { kind: 'action', request }]);
});

test('a removal can be undone', () => {
  const { ask, undo } = removal({ value: '192.0.2.0/24', kind: 'range' }, tr);
  assert.deepEqual(ask, { kind: 'action', request: { action: 'removeSplitRange', value: '192.0.2.0/24' } });
  assert.deepEqual(undo, { kind: 'action', request: { action: 'addSplitRange', value: '192.0.2.0/24' } });
});

test('preferences change one key each, and what the environment decides can’t be changed', () => {
  const client = clientState();
  const row = (id: string) =>
    preferencesForm(client, UNKNOWN_DESKTOP, tr)
      .groups.flatMap(({ rows }) => rows)
      .find(row => row.id === id)!;
  const theme = row('ui.theme');
  assert.ok(theme.kind === 'select');
  assert.deepEqual(theme.command('dark').ask, { kind: 'config', patch: { ui: { theme: 'dark' } } });
  const language = row('ui.locale');
  assert.ok(language.kind === 'select');
  assert.equal(language.value, '', 'the default is the desktop’s language');
  assert.deepEqual(language.command('').ask, { kind: 'config', patch: { ui: { locale: null } } });
  client.config!.sources['ui.theme'] = 'environment';
  assert.equal(row('ui.theme').sensitive, false);
});

test('names of accounts can be hidden while metrics are shown', () => {
  const client = clientState();
  const rows = () =>
    preferencesForm(client, UNKNOWN_DESKTOP, tr)
      .groups.find(({ id }) => id === 'metrics')!
      .rows.map(row => [row.id, row.kind === 'switch' && row.on, row.kind === 'switch' && row.command.ask]);
  const patch = (key: string) => ({ kind: 'config', patch: { metrics: { [key]: true } } });
  assert.deepEqual(rows(), [['metrics.enabled', false, patch('enabled')]]);
  client.config!.config.metrics.enabled = true;
  assert.deepEqual(rows()[1], ['metrics.hashAccounts', false, patch('hashAccounts')]);
});

test('the start at login is shown as the desktop has it, and hidden only where there is a tray', () => {
  const client = clientState();
  const rows = (tray: boolean | null, autostart: boolean | null) =>
    preferencesForm(client, { tray, autostart, shortcuts: null }, tr).groups[0]!.rows.map(row => [
      row.id,
      row.kind === 'switch' && row.on,
      row.kind === 'switch' && row.command.ask,
    ]);
  const patch = (key: string, value: boolean) => ({ kind: 'config', patch: { tray: { [key]: value } } });
  assert.deepEqual(rows(true, null), [['tray.autostart', false, patch('autostart', true)]]);
  client.config!.config.tray.autostart = true;
  assert.deepEqual(rows(false, null), [['tray.autostart', true, patch('autostart', false)]]);
  assert.deepEqual(rows(true, false), [['tray.autostart', false, patch('autostart', true)]], 'the entry is gone');
  assert.deepEqual(rows(true, true), [
    ['tray.autostart', true, patch('autostart', false)],
    ['tray.startHidden', true, patch('startHidden', false)],
  ]);
});

test('the history turns counters into rates, and starts over with a new connection', () => {
  const history = createHistory(3);
  const at = (seconds: number, bytesReceived: number) => ({
    ...NO_TUNNEL,
    latencyMs: 10,
    loss: 0,
    bytesReceived,
    bytesSent: null,
    at: new Date(seconds * 1000).toISOString(),
  });
  for (const [seconds, bytes] of [
    [0, 100],
    [5, 600],
    [5, 999],
    [10, 100],
    [15, 1100],
  ] as const)
    history.add(at(seconds, bytes));
  assert.deepEqual(
    history.samples().map(({ received }) => received),
    [100, null, 200],
  );
  history.clear();
  assert.deepEqual(history.samples(), []);
  assert.deepEqual(rangeOf([1, null, 3]), { least: 1, mean: 2, greatest: 3 });
  assert.equal(rangeOf([null]), null);
});

test('an axis ends, and has its middle, at a value that its text says exactly', () => {
  const ends = [0, 0.02, 3, 10, 11, 45, 60_000, 90_000].map(greatest => axisEnd(greatest, 0.01));
  assert.deepEqual(ends, [1, 0.02, 4, 10, 20, 60, 60_000, 100_000]);
  const digits = (text: string) => text.replace(/\D/g, '').replace(/^0+|0+$/g, '');
  const axes = [
    [FINEST.latencyMs, formatLatency],
    [FINEST.loss, formatLoss],
    [FINEST.rate, formatRate],
  ] as const;
  for (const [finest, text] of axes)
    for (const greatest of [0, ...Array.from({ length: 120 }, (_, i) => finest * 0.2 * 1.1 ** i)]) {
      const end = axisEnd(greatest, finest);
      assert.ok(end >= greatest, `${greatest} is above ${end}`);
      for (const value of [end / 2, end])
        assert.equal(digits(text(value, tr)), digits(value.toPrecision(12)), `${value}: ${text(value, tr)}`);
    }
});

/** A client whose tunnel is off, with further parts of the snapshot. */
function withPart(parts: Partial<Snapshot>) {
  const client = clientState({ status: { state: 'disconnected' } });
  return { ...client, snapshot: { ...client.snapshot!, ...parts } };
}

test('the version of MASQUE in use is checked, and none where WARP does not say', () => {
  const checked = (masque: string | null) =>
    modeForm(clientState({ options: { masque } }), true, tr)
      .groups.flatMap(({ rows }) => rows)
      .flatMap(row => (row.kind === 'radio' && row.checked ? [row.id].filter(id => id.startsWith('masque-')) : []));
  assert.deepEqual(checked('MASQUE (HTTP/3 with HTTP/2 fallback)'), ['masque-h3-with-h2-fallback']);
  assert.deepEqual(checked('MASQUE (HTTP/2)'), ['masque-h2-only']);
  assert.deepEqual(checked(null), []);
});

function joining(program?: string | null) {
  const form = accountForm(clientState({}), null, tr, { program, join: async () => {} });
  return form.groups.find(({ id }) => id === 'organization')!;
}

test('what WARP answers late about the account is below everything else, so that it moves nothing', () => {
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
