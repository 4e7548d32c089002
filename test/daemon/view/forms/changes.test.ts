// Routes as text, changes that revert, states that end, and settings as a file: what every client shows of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client, Event } from '../../../../daemon/api/client.ts';
import type { Change } from '../../../../daemon/api/schema/changes.ts';
import type { Routes, RoutesPreview } from '../../../../daemon/api/schema/traffic/routes.ts';
import type { Snapshot, Why } from '../../../../daemon/api/schema.ts';
import { askAboutChange } from '../../../../daemon/view/client/change-requests.ts';
import type { ClientState } from '../../../../daemon/view/client/client-state.ts';
import { createRoutesEditor } from '../../../../daemon/view/client/routes-editor.ts';
import { type Command, commandsOf, type Form, type Row } from '../../../../daemon/view/forms/form.ts';
import { describeTimed, extension, offRows, timedRows } from '../../../../daemon/view/forms/timed.ts';
import { advancedForm } from '../../../../daemon/view/forms/tunnel/advanced.ts';
import { dnsForm } from '../../../../daemon/view/forms/tunnel/dns.ts';
import { modeForm } from '../../../../daemon/view/forms/tunnel/modes.ts';
import { editorForm } from '../../../../daemon/view/forms/tunnel/routes-editor.ts';
import { differenceLines, differenceText, differenceTotal } from '../../../../daemon/view/routes/document.ts';
import { whyForm } from '../../../../daemon/view/routes/why.ts';
import { SETTINGS_TASKS } from '../../../../daemon/view/settings-file.ts';
import { countdownText, describeUnconfirmed } from '../../../../daemon/view/states/changes.ts';
import { describeTunnel } from '../../../../daemon/view/states/tunnel.ts';
import { change } from '../../../support/gnome/initial.ts';
import { clientState, tr } from '../../../support/gnome/translator.ts';

const CONFIRM_BY = '2026-01-01T10:00:30.000Z';
const ENDS_AT = '2026-01-01T10:15:00.000Z';

function withChanges(changes: Change[], status: Partial<Snapshot['status']> = {}): ClientState {
  const client = clientState({ status });
  return { ...client, snapshot: { ...client.snapshot!, changes } };
}
const rowsOf = ({ groups }: Form): Row[] => groups.flatMap(({ rows }) => rows);
const named = (rows: Row[], id: string) => rows.find(row => row.id === id)!;

/** A daemon of canned answers, which remembers what it was asked. */
function scripted(answers: Record<string, unknown>) {
  const asked: [line: string, options: unknown][] = [];
  const call = (async (line: string, options?: unknown) => {
    asked.push([line, options]);
    return answers[line];
  }) as Client['call'];
  return { call, asked, answers };
}

test('unconfirmed changes are one bar, which keeps or reverts exactly those', () => {
  const client = withChanges([
    change('mode', { value: 'doh', confirmBy: CONFIRM_BY }),
    change('routes', { confirmBy: '2026-01-01T10:00:40.000Z' }),
    change('connection', { value: 'off', endsAt: ENDS_AT }),
    change('protocol', { value: 'MASQUE', confirmBy: CONFIRM_BY, problem: 'WARP does not answer.' }),
  ]);
  const bar = describeUnconfirmed(client, tr)!;
  assert.equal(bar.text, 'Mode: DNS only\nRoutes');
  assert.equal(bar.until, Date.parse(CONFIRM_BY), 'the first deadline counts');
  assert.deepEqual(bar.keep.ask, { kind: 'change', what: 'confirm', subjects: ['mode', 'routes'] });
  assert.deepEqual(bar.revert.ask, { kind: 'change', what: 'revert', subjects: ['mode', 'routes'] });
  assert.equal(describeUnconfirmed(withChanges([]), tr), null);
  assert.equal(describeUnconfirmed({ ...client, offline: { code: 'stopped', detail: '' } }, tr), null);
});

test('an unconfirmed kill switch is in the same bar, in words', () => {
  const bar = (value: string) =>
    describeUnconfirmed(withChanges([change('killSwitch', { value, confirmBy: CONFIRM_BY })]), tr)!;
  assert.deepEqual(
    ['on', 'on-lan', 'off'].map(value => bar(value).text),
    ['Kill Switch: On', 'Kill Switch: On, local network allowed', 'Kill Switch: Off'],
  );
  assert.deepEqual(bar('on').revert.ask, { kind: 'change', what: 'revert', subjects: ['killSwitch'] });
});

test('the countdown is in whole seconds and does not go below zero', () => {
  const bar = describeUnconfirmed(withChanges([change('routes', { confirmBy: CONFIRM_BY })]), tr)!;
  const texts = [30_400, 29_600, 500, 0, -5_000].map(left => countdownText(bar, bar.until - left, tr));
  assert.deepEqual(texts, ['Reverting in 0:30', 'Reverting in 0:30', 'Reverting in 0:01', 'Reverting…', 'Reverting…']);
});

test('a state that ends shows its end, can be extended and ended; one that could not end is tried again', () => {
  const off = change('connection', { value: 'off', endsAt: ENDS_AT });
  const stuck = change('mode', { endsAt: ENDS_AT, problem: 'WARP does not answer.' });
  const client = withChanges([off, stuck, change('routes', { confirmBy: CONFIRM_BY })]);
  const [first, second, ...rest] = describeTimed(client, tr);
  assert.deepEqual(rest, []);
  assert.match(first!.text, /^Off until /);
  assert.deepEqual(first!.end.command.ask, { kind: 'change', what: 'revert', subjects: ['connection'] });
  assert.equal(second!.text, 'Mode could not be set back yet: WARP does not answer.');
  assert.equal(second!.extend, null);
  assert.deepEqual(
    timedRows(client, tr).map(row => [row.id, row.kind === 'button' && row.label]),
    [
      ['timed-connection', 'End Now'],
      ['timed-connection-extend', '15 Minutes More'],
      ['timed-mode', 'Try Again'],
    ],
  );
});

test('a state is extended from its end on, at most by a week', async () => {
  const left = (ask: Command['ask']) => {
    const { call, asked } = scripted({});
    assert.ok(ask.kind === 'extend');
    return askAboutChange({ call }, ask).then(() => asked[0]![1] as { body: { subject: string; seconds: number } });
  };
  const soon = new Date(Date.now() + 40 * 60_000).toISOString();
  const { body } = await left(extension(change('connection', { endsAt: soon })).ask);
  assert.equal(body.subject, 'connection');
  assert.ok(Math.abs(body.seconds - 55 * 60) < 60, String(body.seconds));
  const late = await left(extension(change('mode', { endsAt: '2026-01-01T00:00:00.000Z' })).ask);
  assert.equal(late.body.seconds, 900, 'an end that has passed counts from now');
  const far = await left(extension(change('mode', { endsAt: '2999-01-01T00:00:00.000Z' })).ask);
  assert.equal(far.body.seconds, 604_800);
});

test('the tunnel can be turned off for a while only while it is up and may be turned off', () => {
  const rows = (state: Snapshot['status']['state'], options = {}) =>
    offRows(describeTunnel(clientState({ status: { state }, options }), tr), tr);
  assert.deepEqual(
    rows('connected').map(({ title, sensitive }) => [title, sensitive]),
    [
      ['Off for 15 minutes', true],
      ['Off for 1 hour', true],
      ['Until (time)', true],
    ],
  );
  assert.deepEqual(rows('disconnected'), []);
  assert.ok(rows('connected', { switchLocked: true }).every(({ sensitive }) => sensitive === false));
  const until = rows('connected').at(-1)!;
  assert.ok(until.kind === 'entry');
  const problems = ['', '18:00', '7:05', '24:00', '18', 'noon'].map(text => until.check(text) !== null);
  assert.deepEqual(problems, [false, false, false, true, true, true]);
  const { ask } = until.command('18:00');
  assert.ok(ask.kind === 'action' && ask.request.action === 'disconnect');
  assert.ok(ask.request.forSeconds! >= 1 && ask.request.forSeconds! <= 86_400 + 3_600);
});

test('mode, protocol, server, MASQUE and Gateway location wait to be confirmed while the tunnel is up and can return', () => {
  const asks = (state: 'connected' | 'disconnected', Mode: string) => {
    const client = clientState({
      status: { state },
      settings: { Mode },
      options: { gatewayId: 'abc', masque: 'HTTP/3' },
    });
    const commands = [modeForm(client, true, tr), dnsForm(client, true, tr), advancedForm(client, true, tr)].flatMap(
      form => commandsOf(form, 'abc'),
    );
    const limited = commands.flatMap(({ ask }) =>
      ask.kind === 'action' && ask.request.confirmWithin === 30 ? [ask.request.action] : [],
    );
    return [...new Set(limited)].sort();
  };
  const all = [
    'resetEndpoint',
    'resetGatewayId',
    'resetMasqueOptions',
    'resetProtocol',
    'setEndpoint',
    'setGatewayId',
    'setMasqueOptions',
    'setMode',
    'setProtocol',
  ];
  assert.deepEqual(asks('connected', 'warp'), all);
  assert.deepEqual(asks('connected', 'a-mode-of-the-future'), [], 'the mode before could not be set again');
  assert.deepEqual(asks('disconnected', 'warp'), [], 'there is nothing to be cut off');
});

const entry = (value: string) => ({ kind: 'range' as const, value });
const PREVIEW: RoutesPreview = {
  ok: true,
  revision: 'r1',
  mode: 'exclude',
  unchanged: 3,
  calls: 2,
  add: [entry('10.0.0.0/8'), entry('192.0.2.0/24')],
  remove: [entry('2001:db8::/32')],
  invalid: [],
  duplicates: [{ line: 4, value: '10.0.0.0/8', first: 1 }],
  contained: [{ line: 5, value: '10.1.0.0/16', in: '10.0.0.0/8' }],
  warnings: [{ code: 'gateway', value: '10.0.0.1' }],
};

test('a difference is shown line by line, and what is too much of it is counted', () => {
  assert.deepEqual(
    differenceText(
      differenceLines(
        {
          ...PREVIEW,
          invalid: [{ line: 2, text: 'x', reason: 'in English', message: { text: 'leaves no address', values: [] } }],
        },
        tr,
      ),
    ).split('\n'),
    [
      '! line 2: leaves no address',
      '+ 10.0.0.0/8',
      '+ 192.0.2.0/24',
      '- 2001:db8::/32',
      '  line 4: 10.0.0.0/8 is in line 1 already',
      '  line 5: 10.1.0.0/16 is part of 10.0.0.0/8',
    ],
  );
  const many = { ...PREVIEW, add: Array.from({ length: 5_000 }, (_, i) => entry(`2001:db8:${i}::/48`)) };
  const lines = differenceLines(many, tr, 10).filter(({ kind }) => kind === 'add');
  assert.deepEqual([lines.length, lines.at(-1)!.text], [11, '… and 4990 more']);
  assert.equal(differenceTotal(PREVIEW, tr), '2 to add, 1 to remove, 3 unchanged, 0 invalid');
});

const ROUTES: Routes = {
  ok: true,
  revision: 'r1',
  mode: 'exclude',
  readOnly: false,
  entries: [],
  document: 'mode exclude\n10.0.0.0/8  # office\n',
};
const DOCUMENTS = [
  { id: 2, at: '2026-01-01T10:00:00.000Z', cause: 'edit', entries: 1, current: true, undo: false },
  { id: 1, at: '2026-01-01T09:00:00.000Z', cause: 'outside', entries: 2, current: false, undo: true },
];
const PRESETS = [
  { id: 'docker', entries: [{ value: '172.17.0.0/16', source: 'docker0' }] },
  { id: 'podman', entries: [] },
];

function editing(routes: Partial<Routes> = {}, preview: Partial<RoutesPreview> = {}) {
  const daemon = scripted({
    'GET /api/routes': { ...ROUTES, ...routes },
    'GET /api/routes/presets': { ok: true, presets: PRESETS },
    'GET /api/routes/history': { ok: true, documents: DOCUMENTS },
    'POST /api/routes/preview': { ...PREVIEW, ...preview },
  });
  let send: (event: Event) => void = () => {};
  const onEvent = (listener: (event: Event) => void) => {
    send = listener;
    return () => {};
  };
  const editor = createRoutesEditor({ call: daemon.call, onEvent }, () => {});
  const files = {
    file: null as string | null,
    saved: [] as string[],
    open: async () => files.file,
    save: (name: string, text: string) => void files.saved.push(name, text),
  };
  const rows = () => rowsOf(editorForm(editor, { settable: true, files }, tr));
  const press = async (id: string) => {
    const row = named(rows(), id);
    assert.ok(row.kind === 'button' && row.sensitive !== false, id);
    assert.ok(row.command.ask.kind === 'work');
    await row.command.ask.work();
  };
  return { ...daemon, editor, rows, press, files, send: (event: object) => send(event as Event) };
}

test('a text is applied only as it was previewed, and waits to be confirmed', async () => {
  const { editor, rows, press, asked, answers } = editing();
  await editor.read();
  assert.equal(editor.state().text, ROUTES.document);
  assert.equal(named(rows(), 'apply').sensitive, false, 'nothing was previewed');
  editor.type(`${ROUTES.document}192.0.2.0/24\n`);
  await press('preview');
  assert.match((named(rows(), 'lines') as { text: string }).text, /^\+ 10\.0\.0\.0\/8\n/);
  assert.match(named(rows(), 'warning-0').subtitle!, /Your router 10\.0\.0\.1/);
  editor.type(`${ROUTES.document}192.0.2.0/25\n`);
  assert.equal(named(rows(), 'apply').sensitive, false, 'the text is another one');
  await press('preview');
  answers['GET /api/routes'] = { ...ROUTES, revision: 'r2', document: editor.state().text };
  await press('apply');
  const [, options] = asked.find(([line]) => line === 'POST /api/routes')!;
  assert.deepEqual(options, {
    body: { document: `${ROUTES.document}192.0.2.0/25\n`, cause: 'edit', ifRevision: 'r1', confirmWithin: 30 },
  });
  assert.equal(editor.state().preview, null);
  assert.equal(editor.state().routes!.revision, 'r2');
});

for (const [what, preview] of Object.entries({
  'has invalid lines': {
    invalid: [{ line: 1, text: 'x', reason: 'x', message: { text: 'leaves no address', values: [] } }],
  },
  'changes nothing': { add: [], remove: [] },
}))
  test(`a text that ${what} is not applied`, async () => {
    const { editor, rows, press } = editing({}, preview);
    await editor.read();
    await press('preview');
    assert.equal(named(rows(), 'apply').sensitive, false);
  });

test('typed text stays when the list changes elsewhere, and an untouched text follows it', async () => {
  const { editor, answers, send } = editing();
  await editor.read();
  answers['GET /api/routes'] = { ...ROUTES, revision: 'r2', document: 'mode exclude\n' };
  send({ event: 'splitTunnel', data: {} });
  await new Promise(setImmediate);
  assert.equal(editor.state().text, 'mode exclude\n');
  editor.type('192.0.2.1\n');
  answers['GET /api/routes'] = { ...ROUTES, revision: 'r3' };
  await editor.read();
  assert.equal(editor.state().text, '192.0.2.1\n');
  editor.discard();
  assert.equal(editor.state().text, ROUTES.document);
});

test('a preview stays until its text or its list is another one', async () => {
  const { editor, press, answers } = editing();
  await editor.read();
  await press('preview');
  await editor.read();
  assert.notEqual(editor.state().preview, null);
  answers['GET /api/routes'] = { ...ROUTES, revision: 'r2' };
  await editor.read();
  assert.equal(editor.state().preview, null);
});

test('presets add the entries that the text lacks, once, with where they come from', async () => {
  const { editor, rows, press } = editing();
  await editor.read();
  assert.deepEqual(
    rows().flatMap(({ id }) => (id.startsWith('preset-') ? [id] : [])),
    ['preset-docker'],
    'what was not found is not offered',
  );
  await press('preset-docker');
  assert.equal(editor.state().text, `${ROUTES.document}172.17.0.0/16  # docker, docker0\n`);
  assert.equal(named(rows(), 'preset-docker').sensitive, false);
});

test('the text is imported from a file, as which it is applied, and exported as one', async () => {
  const { editor, press, files, asked } = editing();
  await editor.read();
  await press('import');
  assert.equal(editor.state().text, ROUTES.document, 'no file was chosen');
  files.file = '192.0.2.0/24\n';
  await press('import');
  assert.equal(editor.state().text, '192.0.2.0/24\n');
  await press('export');
  assert.deepEqual(files.saved, ['culvert-routes.txt', '192.0.2.0/24\n']);
  await press('preview');
  await press('apply');
  const [, options] = asked.find(([line]) => line === 'POST /api/routes')! as [string, { body: { cause: string } }];
  assert.equal(options.body.cause, 'import');
});

test('an earlier document can be opened, and the last change undone', async () => {
  const { editor, rows, press, asked, answers } = editing();
  await editor.read();
  answers['GET /api/routes/history'] = { ok: true, documents: [{ ...DOCUMENTS[1], document: '198.51.100.0/24\n' }] };
  await press('document-1');
  assert.equal(editor.state().text, '198.51.100.0/24\n');
  answers['GET /api/routes/history'] = { ok: true, documents: DOCUMENTS };
  await press('undo');
  assert.deepEqual(asked.find(([line]) => line === 'POST /api/routes/undo')![1], { body: { confirmWithin: 30 } });
  assert.equal(editor.state().text, ROUTES.document);
  answers['GET /api/routes/history'] = { ok: true, documents: [] };
  await editor.read();
  assert.equal(named(rows(), 'undo').sensitive, false);
});

test('the progress of a long list is shown, also of one that another client sets', async () => {
  const { editor, rows, send } = editing();
  await editor.read();
  const shown = () => named(rows(), 'apply').subtitle;
  send({ event: 'routes', data: { phase: 'applying', done: 120, total: 5_000 } });
  assert.equal(shown(), 'Setting the list: 120 of 5000');
  send({ event: 'routes', data: { phase: 'rolling-back', done: 3, total: 120 } });
  assert.match(shown()!, /^A call failed\. Restoring the previous list: 3 of 120/);
  send({ event: 'routes', data: { phase: 'done', done: 120, total: 120 } });
  assert.match(shown()!, /revert after 30 seconds/);
});

test('a list of the organization can only be read', async () => {
  const { editor, rows } = editing({ readOnly: true });
  await editor.read();
  assert.deepEqual(
    rows().map(({ kind, title }) => [kind, title]),
    [['note', 'Your organization decides about this list']],
  );
});

test('forecast and fact are side by side, and a contradiction leads to the doctor', () => {
  const why: Why = {
    ok: true,
    target: { kind: 'host', value: 'example.com' },
    mode: 'warp',
    list: 'exclude',
    proxy: null,
    fallback: { domain: 'com', resolvers: ['10.0.0.53'] },
    addresses: [
      {
        address: '192.0.2.1',
        tunnel: true,
        reason: 'default',
        entry: null,
        blocked: false,
        kernelProblem: null,
        kernel: { device: 'eth0', gateway: '10.0.0.1', source: '10.0.0.2', tunnel: false },
        disagrees: true,
      },
    ],
    resolveProblem: null,
  };
  const asked: string[] = [];
  const [field, answer, advice, fallback] = rowsOf(whyForm(why, async target => asked.push(target), tr));
  assert.deepEqual(
    [answer!.title, answer!.tone, answer!.subtitle!.split('\n')],
    [
      'example.com · 192.0.2.1',
      'neutral',
      [
        'This goes through the tunnel.',
        'No entry of the split tunnel excludes it.',
        'The kernel sends it to 10.0.0.1 by eth0.',
      ],
    ],
  );
  assert.match(advice!.title, /culvert doctor/);
  assert.equal(advice!.tone, 'warning');
  assert.match(fallback!.subtitle!, /10\.0\.0\.53/);
  assert.ok(field!.kind === 'entry');
  const { ask } = field!.command('192.0.2.1');
  assert.ok(ask.kind === 'work' && !ask.changes, 'asking is not a change');
  const tones = [true, false, null].map(tunnel => {
    const addresses = why.addresses.map(address => ({ ...address, tunnel, disagrees: false }));
    return rowsOf(whyForm({ ...why, addresses, fallback: null }, async () => {}, tr)).map(({ tone }) => tone);
  });
  assert.deepEqual(
    tones.map(([, ...rest]) => rest),
    [['success'], ['warning'], ['warning']],
  );
});

const DIFF = { ok: true, changes: [{ key: 'tunnel.mode', from: 'warp', to: 'doh' }], skipped: [], invalid: [] };

function transfer(diff: object, { file = 'x' as string | null, agrees = true } = {}) {
  const daemon = scripted({
    'GET /api/settings/export': { ok: true, toml: 'mode = "warp"\n' },
    'POST /api/settings/diff': { ...DIFF, ...diff },
  });
  const shown: string[] = [];
  const host = {
    model: daemon,
    open: async () => file,
    save: async (name: string, text: string) => shown.push(name, text) > 0,
    ask: async ({ text }: { text?: string }) => {
      shown.push(text ?? '');
      return agrees;
    },
    toast: (text: string) => void shown.push(text),
  };
  return { host, shown, lines: () => daemon.asked.map(([line]) => line), asked: daemon.asked };
}

test('a file of settings is applied only after its difference was agreed to, and reverts unless kept', async () => {
  const { host, shown, asked } = transfer({ skipped: [{ key: 'tunnel.x', reason: 'is not known' }] });
  assert.equal(await SETTINGS_TASKS['apply-settings'](host, tr), true);
  assert.equal(shown[0], '* tunnel.mode: warp -> doh\n  left out: tunnel.x is not known');
  assert.deepEqual(asked.at(-1), [
    'POST /api/settings/apply',
    { body: { toml: 'x', confirmWithin: 30, allowDemo: true } },
  ]);
});

for (const [what, given] of Object.entries({
  'was not chosen': transfer({}, { file: null }),
  'was not agreed to': transfer({}, { agrees: false }),
  'changes nothing': transfer({ changes: [] }),
}))
  test(`a file of settings that ${what} is not applied`, async () => {
    await SETTINGS_TASKS['apply-settings'](given.host, tr);
    assert.ok(!given.lines().includes('POST /api/settings/apply'));
  });

test('a file of settings with mistakes is not applied, and says which', async () => {
  const { host, lines } = transfer({ invalid: [{ key: 'tunnel.mode', reason: 'is not a mode' }] });
  await assert.rejects(SETTINGS_TASKS['apply-settings'](host, tr), /! tunnel\.mode: is not a mode/);
  assert.deepEqual(lines(), ['POST /api/settings/diff']);
});

test('settings are saved under a name that says what they are, and the last file is undone', async () => {
  const { host, shown, asked } = transfer({});
  assert.equal(await SETTINGS_TASKS['export-settings'](host, tr), true);
  assert.deepEqual(shown, ['culvert-settings.toml', 'mode = "warp"\n', 'Saved']);
  await SETTINGS_TASKS['undo-settings'](host, tr);
  assert.deepEqual(asked.at(-1), ['POST /api/settings/undo', { body: { confirmWithin: 30 } }]);
});
