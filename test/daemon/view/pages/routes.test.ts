// The pages of the routes, as a list and as text, over a client that answers as the test says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FORM_PAGES } from '../../../../daemon/view/pages/all.ts';
import { named, rowsOf } from '../../../support/gnome/view/forms.ts';
import { clientState } from '../../../support/gnome/view/translator.ts';
import { client, INSTALLED, opened, settled } from '../../../support/gnome/view/world.ts';

test('the text of the routes can be edited once it was read, and what is typed stays', async () => {
  const world = client();
  const { form, changes } = opened(FORM_PAGES.editor.open, world);
  const field = () => {
    const [row] = rowsOf(form());
    assert.ok(row?.kind === 'area');
    return row;
  };
  assert.deepEqual([field().text, field().sensitive], ['', false]);
  const routes = { document: 'mode exclude\n', revision: 'a', readOnly: false };
  const answers = [routes, { presets: [] }, { documents: [] }];
  for (const [at, answer] of answers.entries()) world.open[at]!.answer(answer);
  await settled();
  assert.deepEqual([field().text, field().sensitive], ['mode exclude\n', true]);
  const changed = changes();
  field().type('192.0.2.1\n');
  assert.equal(changes(), changed + 1);
  world.send('snapshot', INSTALLED.snapshot);
  form();
  for (const [at, answer] of answers.entries()) world.open[3 + at]!.answer(answer);
  await settled();
  assert.equal(field().text, '192.0.2.1\n');
  world.clock.now += 86_400_000;
  form();
  assert.equal(world.asked.length, 6, 'it is read again only until it was read once');
});

test('the text of the routes is read again 5 s after it could not be read, and not while it is being read', async () => {
  const world = client();
  const { form } = opened(FORM_PAGES.editor.open, world);
  form();
  const wait = (ms: number) => {
    world.clock.now += ms;
    form();
    return world.asked.length;
  };
  assert.equal(wait(10_000), 3, 'the tunnel CLI hangs');
  for (const request of world.open) request.fail(new Error('busy'));
  await settled();
  assert.deepEqual([wait(4_999), wait(1), wait(10_000)], [3, 6, 6]);
});

test('the routes are searched, and their list is another one only where something changed', () => {
  const routes = (...values: string[]) =>
    clientState({
      splitTunnel: { mode: 'exclude', ips: values.map(value => ({ value, description: null })), hosts: [] },
    });
  const world = client(routes('192.0.2.0/24', '198.51.100.7/32'));
  const { shown, form, changes } = opened(FORM_PAGES.routes.open, world);
  const list = () => form().list!;
  const type = (text: string) => form().search!.type(text);
  const values = () => list().items.map(({ title, badge }) => `${title}: ${badge}`);
  assert.deepEqual(values(), ['192.0.2.0/24: yours', '198.51.100.7: yours']);
  assert.equal(list().items, list().items);
  type('192.');
  assert.equal(changes(), 1);
  type('192.');
  assert.equal(changes(), 1, 'nothing else is searched for');
  assert.deepEqual(values(), ['192.0.2.0/24: yours']);
  const { label, command } = list().removal!(list().items[0]!);
  assert.equal(label, 'Remove 192.0.2.0/24');
  assert.deepEqual(command.ask, { kind: 'action', request: { action: 'removeSplitRange', value: '192.0.2.0/24' } });
  world.set(routes('198.51.100.7/32'));
  assert.deepEqual([values(), list().empty.title], [[], 'Nothing found']);
  shown.reveal?.('=198.51');
  assert.deepEqual([form().search!.text, values()], ['198.51', ['198.51.100.7: yours']]);
  shown.reveal?.('add');
  assert.equal(form().search!.text, '198.51', 'a row that is always there');
  world.set(routes());
  assert.equal(list().empty.title, 'No routes');
});

test('a field adds a route that is not listed yet, and another asks for the way of a target', async () => {
  const world = client(
    clientState({
      splitTunnel: { mode: 'exclude', ips: [{ value: '192.0.2.7/32', description: null }], hosts: [] },
    }),
  );
  const { form } = opened(FORM_PAGES.routes.open, world);
  const entry = (id: string) => {
    const row = named(rowsOf(form()), id);
    assert.ok(row.kind === 'entry');
    return row;
  };
  assert.equal(entry('add').check('192.0.2.7'), 'It is already on the list');
  assert.equal(entry('add').check('192.0.2.8'), null);
  const { done, undo } = entry('add').command('192.0.2.8');
  assert.deepEqual(
    [done, undo],
    ['192.0.2.8 bypasses WARP', { kind: 'action', request: { action: 'removeSplitIp', value: '192.0.2.8' } }],
  );
  const { ask } = entry('target').command('example.com');
  assert.ok(ask.kind === 'work');
  const asked = ask.work();
  assert.deepEqual(world.asked, ['POST /api/why']);
  const target = { kind: 'ip', value: '192.0.2.1' };
  world.open[0]!.answer({ target, addresses: [], fallback: null, resolveProblem: null, list: 'exclude' });
  await asked;
  assert.match(named(rowsOf(form()), 'problem').subtitle!, /^192\.0\.2\.1\n/);
});

test('the user’s routes come before those of WARP, and an added route comes first', () => {
  const routes = (...values: string[]) =>
    clientState({
      splitTunnel: { mode: 'exclude', ips: values.map(value => ({ value, description: null })), hosts: [] },
    });
  const world = client(routes('10.0.0.0/8', '192.0.2.0/24', '192.0.2.1'));
  const { form } = opened(FORM_PAGES.routes.open, world);
  const values = () => form().list!.items.map(({ title, badge }) => `${title}: ${badge}`);
  assert.deepEqual(values(), ['192.0.2.0/24: yours', '192.0.2.1: yours', '10.0.0.0/8: built in']);
  world.set(routes('10.0.0.0/8', '192.0.2.0/24', '192.0.2.1', '198.51.100.7', '172.16.0.0/12'));
  assert.deepEqual(values(), [
    '198.51.100.7: yours',
    '192.0.2.0/24: yours',
    '192.0.2.1: yours',
    '10.0.0.0/8: built in',
    '172.16.0.0/12: built in',
  ]);
  world.set(routes('10.0.0.0/8', '192.0.2.1'));
  assert.deepEqual(values(), ['192.0.2.1: yours', '10.0.0.0/8: built in']);
});

test('an organization’s routes can’t be changed, and say why', () => {
  const world = client(clientState({ account: { managed: true } }));
  const { list, groups } = opened(FORM_PAGES.routes.open, world).form();
  const reason = 'Your organization manages this list';
  assert.deepEqual([list!.sensitive, list!.reason], [false, reason]);
  const add = named(rowsOf({ groups }), 'add');
  assert.deepEqual([add.sensitive, add.reason], [false, reason]);
});

test('a list of the other mode, or after an empty list, has no new entries of the user', () => {
  const list = (mode: 'exclude' | 'include', ...values: string[]) =>
    clientState({ splitTunnel: { mode, ips: values.map(value => ({ value, description: null })), hosts: [] } });
  const world = client(list('exclude', '192.0.2.1'));
  const { form } = opened(FORM_PAGES.routes.open, world);
  const first = (next: ReturnType<typeof list>) => {
    world.set(next);
    return form().list!.items[0]?.id;
  };
  assert.equal(first(list('exclude', '192.0.2.1', '192.0.2.2')), '192.0.2.2', 'an addition is first');
  assert.equal(first(list('include', '192.0.2.1', '192.0.2.3')), '192.0.2.1', 'the other mode');
  assert.equal(first(list('include')), undefined);
  assert.equal(first(list('include', '192.0.2.1', '192.0.2.3')), '192.0.2.1', 'after an empty list');
});
