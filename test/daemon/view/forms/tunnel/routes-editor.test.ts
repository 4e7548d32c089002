// Routes as text: the difference that is shown, and the editor that applies it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Event } from '../../../../../daemon/api/client.ts';
import type { Routes, RoutesPreview } from '../../../../../daemon/api/routes.ts';
import { createRoutesEditor } from '../../../../../daemon/view/client/routes-editor.ts';
import { editorForm } from '../../../../../daemon/view/forms/tunnel/routes-editor.ts';
import { differenceLines, differenceText, differenceTotal } from '../../../../../daemon/view/states/routes.ts';
import { named, rowsOf, scripted } from '../../../../support/gnome/view/forms.ts';
import { tr } from '../../../../support/gnome/view/translator.ts';

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

test('a difference is shown line by line, and lines beyond the limit are counted', () => {
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
    openText: async () => files.file,
    saveText: async (name: string, text: string) => files.saved.push(name, text) > 0,
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
    'a network that was not found is not offered',
  );
  await press('preset-docker');
  assert.equal(editor.state().text, `${ROUTES.document}172.17.0.0/16  # docker, docker0\n`);
  assert.equal(named(rows(), 'preset-docker').sensitive, false);
});

test('the text is imported from a file, applied with that cause, and exported to a file', async () => {
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

test('the progress of a long list is shown, also where another client sets it', async () => {
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
    [['note', 'Your organization manages this list']],
  );
});
