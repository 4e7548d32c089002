// The page of the apps over a client that answers as the test says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command, Form } from '../../../../daemon/view/form.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import { appsPage } from '../../../../daemon/view/pages/apps.ts';
import { app } from '../../../support/gnome/initial.ts';
import { clientState } from '../../../support/gnome/view/translator.ts';
import { client, OFFLINE, opened, settled } from '../../../support/gnome/view/world.ts';

/** Runs a command of the page. */
async function act({ ask }: Command): Promise<unknown> {
  return ask.kind === 'work' ? ask.work() : ask;
}

/** The page of the apps, and the ids of those that it lists. */
async function openedApps(state = clientState({ settings: { Mode: 'proxy' } }), more: Partial<Host> = {}) {
  const world = client(state);
  Object.assign(world.host, more);
  const { shown: page, form } = opened(appsPage, world);
  const list = () => form().list!;
  const ids = () => list().items.map(({ id }) => id.replace('.desktop', ''));
  world.open[0]!.answer({
    apps: [app('mail', 'Mail'), app('calc', 'Calculator', { method: 'none' }), app('web', 'Web')],
  });
  await settled();
  const busy = () =>
    list()
      .items.filter(each => each.busy)
      .map(({ id }) => id);
  const controls = (id: string) => list().controls!(list().items.find(each => each.id === `${id}.desktop`)!);
  const type = (query: string) => form().search!.type(query);
  const showAll = (on: boolean) => form().search!.options![0]!.set(on);
  return { page, form, list, ids, busy, controls, type, showAll, world };
}

const failedOf = ({ groups }: Form) => groups.find(({ id }) => id === 'failed')!.rows[0]?.title ?? null;

test('apps are listed once they were read, without rarely wanted apps, which a search still finds', async () => {
  const { page, form, list, ids, type, showAll, world } = await openedApps();
  assert.deepEqual(ids(), ['mail', 'web']);
  assert.equal(list().items, list().items, 'nothing has changed');
  showAll(true);
  assert.deepEqual(ids(), ['calc', 'mail', 'web']);
  showAll(false);
  type('nothing');
  const { title, buttons } = list().empty;
  assert.deepEqual([ids(), title, buttons[0]!.label], [[], 'Nothing found', 'Show all']);
  await act(buttons[0]!.command);
  assert.deepEqual(ids(), ['calc', 'mail', 'web']);
  showAll(false);
  type('calc');
  assert.deepEqual(ids(), ['calc']);
  page.reveal?.('=Web');
  assert.deepEqual([form().search!.text, ids()], ['Web', ['web']]);
  assert.deepEqual(world.asked, ['GET /api/apps']);
});

test('a list that can’t be read says why, also without a daemon, until it is read again', async () => {
  const world = client();
  const { shown, form } = opened(appsPage, world);
  const empty = () => form().list!.empty;
  assert.equal(empty().title, 'Looking for apps');
  world.open[0]!.fail(new Error('The disk is full.'));
  await settled();
  assert.equal(empty().sentence, 'The disk is full.');
  shown.shown?.();
  assert.equal(empty().title, 'Looking for apps');
  const without = client({ ...clientState(), offline: OFFLINE });
  const { sentence, buttons } = opened(appsPage, without).form().list!.empty;
  assert.deepEqual([sentence, buttons[0]?.sensitive], [without.host.view().tunnel.sentence, false]);
});

test('a list that can’t be read again stays, with the reason next to it, also during a search', async () => {
  const { page, form, list, ids, type, world } = await openedApps();
  const readAgain = async () => {
    page.shown?.();
    world.open.at(-1)!.fail(new Error('The disk is full.'));
    await settled();
  };
  await readAgain();
  assert.deepEqual([ids(), failedOf(form())], [['mail', 'web'], 'The disk is full.']);
  type('nothing');
  assert.deepEqual([list().empty.title, failedOf(form())], ['Nothing found', 'The disk is full.']);
  type('');
  page.shown?.();
  assert.equal(failedOf(form()), null, 'it is being read');
  world.open.at(-1)!.answer({ apps: [] });
  await settled();
  assert.deepEqual([ids(), list().empty.title, failedOf(form())], [[], 'No apps', null]);
  await readAgain();
  assert.deepEqual([list().empty.title, failedOf(form())], ['Can’t list apps', null]);
});

test('one request about an app runs at a time, and a new shortcut does not move the app', async () => {
  const { list, ids, busy, controls, world } = await openedApps();
  const done = act(controls('web').toggle.command);
  void act(controls('web').start.command);
  assert.deepEqual([busy(), world.asked.slice(1)], [['web.desktop'], ['POST /api/apps/shortcut']]);
  world.open[1]!.answer({ shortcut: '/home/menu/web.desktop' });
  await done;
  assert.deepEqual([busy(), ids()], [[], ['mail', 'web']]);
  assert.equal(controls('web').toggle.label, 'Remove from Menu');
  const ran = act(controls('web').menu()[0]!.command);
  await settled();
  assert.deepEqual(world.asked.slice(2), ['GET /api/apps'], 'the list may be another one');
  world.open[2]!.answer({ apps: [] });
  await ran;
  assert.deepEqual([ids(), list().empty.title], [[], 'No apps']);
});

test('an app is started once the proxy is on, which the user may decline', async () => {
  let agrees = false;
  const off = clientState({ settings: { Mode: 'warp' } });
  const { form, busy, type, world } = await openedApps(off, {
    run: async ({ ask }) => (ask.kind === 'work' ? ask.work().then(() => true) : agrees),
  });
  type('mail');
  form().search!.enter!();
  await settled();
  assert.deepEqual(world.asked.slice(1), []);
  agrees = true;
  form().search!.options![1]!.set(true);
  form().search!.enter!();
  assert.deepEqual(busy(), ['mail.desktop'], 'also while the user is asked');
  await settled();
  assert.deepEqual(world.asked.slice(1), ['POST /api/apps/proxy-launcher']);
  world.open[1]!.answer({});
  await settled();
  assert.deepEqual(busy(), []);
});
