// The page of the apps over a client that answers as the test says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApps } from '../../../../daemon/view/pages/apps.ts';
import { app } from '../../../support/gnome/initial.ts';
import { clientState } from '../../../support/gnome/view/translator.ts';
import { client, OFFLINE, settled } from '../../../support/gnome/view/world.ts';

/** The page of the apps, and the ids of those that it lists. */
async function openedApps(world = client(clientState({ settings: { Mode: 'proxy' } })), host = world.host) {
  let changes = 0;
  const page = openApps(host, () => changes++);
  const view = () => page.view(host.view());
  const ids = () => [...view().listed.keys()].map(id => id.replace('.desktop', ''));
  view();
  world.open[0]!.answer({
    apps: [app('mail', 'Mail'), app('calc', 'Calculator', { method: 'none' }), app('web', 'Web')],
  });
  await settled();
  view();
  return { page, view, ids, world, changes: () => changes };
}

test('apps are listed once they were read, without rarely wanted apps, which a search still finds', async () => {
  const { page, view, ids, world, changes } = await openedApps();
  assert.deepEqual([ids(), view().status], [['mail', 'web'], null]);
  assert.equal(view().listed, view().listed, 'nothing has changed');
  page.narrow({ all: true });
  assert.deepEqual(ids(), ['calc', 'mail', 'web']);
  page.narrow({ all: false, query: 'nothing' });
  const { title, buttons } = view().status!;
  assert.deepEqual([ids(), title, buttons[0]!.label], [[], 'Nothing found', 'Show all']);
  const { ask } = buttons[0]!.command;
  if (ask.kind === 'work') await ask.work();
  assert.deepEqual([ids(), view().status], [['calc', 'mail', 'web'], null]);
  page.narrow({ all: false, query: 'calc' });
  assert.deepEqual(ids(), ['calc']);
  const changed = changes();
  page.narrow({ query: 'calc' });
  assert.equal(changes(), changed);
  page.narrow({ query: 'Web', all: true });
  assert.deepEqual([view().by, ids()], [{ query: 'Web', all: true }, ['web']]);
  assert.deepEqual(world.asked, ['GET /api/apps']);
});

test('a list that can’t be read says why, also without a daemon, until it is read again', async () => {
  const world = client();
  const page = openApps(world.host, () => {});
  const failed = () => page.view(world.host.view()).status?.sentence;
  assert.equal(failed(), undefined);
  world.open[0]!.fail(new Error('The disk is full.'));
  await settled();
  assert.equal(failed(), 'The disk is full.');
  page.shown();
  assert.equal(failed(), undefined, 'it is being read');
  const without = client({ ...clientState(), offline: OFFLINE });
  const { status } = openApps(without.host, () => {}).view(without.host.view());
  assert.deepEqual([status?.sentence, status?.buttons[0]?.sensitive], [without.host.view().tunnel.sentence, false]);
  assert.deepEqual(without.asked, []);
});

test('a list that can’t be read again stays, with the reason next to it, also during a search', async () => {
  const { page, view, ids, world } = await openedApps();
  const readAgain = async () => {
    page.shown();
    world.open.at(-1)!.fail(new Error('The disk is full.'));
    await settled();
  };
  await readAgain();
  assert.deepEqual([ids(), view().status, view().failed], [['mail', 'web'], null, 'The disk is full.']);
  page.narrow({ query: 'nothing' });
  assert.deepEqual([view().status?.title, view().failed], ['Nothing found', 'The disk is full.']);
  page.narrow({ query: '' });
  page.shown();
  assert.equal(view().failed, null, 'it is being read');
  world.open.at(-1)!.answer({ apps: [] });
  await settled();
  assert.deepEqual([ids(), view().status?.title, view().failed], [[], 'No apps', null]);
  await readAgain();
  assert.deepEqual([view().status?.title, view().failed], ['Can’t list apps', null]);
});

test('one request about an app runs at a time, and a new shortcut does not move the app', async () => {
  const { page, view, ids, world } = await openedApps();
  const done = page.toggleShortcut('web.desktop');
  void page.launch('web.desktop');
  assert.deepEqual([[...view().busy], world.asked.slice(1)], [['web.desktop'], ['POST /api/apps/shortcut']]);
  world.open[1]!.answer({ shortcut: '/home/menu/web.desktop' });
  await done;
  assert.deepEqual([view().busy.size, ids()], [0, ['mail', 'web']]);
  assert.equal(view().listed.get('web.desktop')!.shortcut, '/home/menu/web.desktop');
  const ran = page.run('web.desktop', { ask: { kind: 'copy', text: '' } });
  await settled();
  assert.deepEqual(world.asked.slice(2), ['GET /api/apps'], 'the list may be another one');
  world.open[2]!.answer({ apps: [] });
  await ran;
  assert.deepEqual([ids(), view().status?.title], [[], 'No apps']);
});

test('an earlier list of apps does not replace a later one, and none is asked for without a daemon', async () => {
  const { page, ids, world } = await openedApps();
  const copy = { ask: { kind: 'copy', text: '' } } as const;
  page.shown();
  const ran = page.run('web.desktop', copy);
  await settled();
  world.open[2]!.answer({ apps: [app('web', 'Web')] });
  await ran;
  world.open[1]!.answer({ apps: [app('mail', 'Mail')] });
  await settled();
  assert.deepEqual(ids(), ['web']);
  world.set({ ...clientState(), offline: OFFLINE });
  await page.run('web.desktop', copy);
  assert.equal(world.asked.length, 3);
});

test('an app is started once the proxy is on, which the user may decline', async () => {
  const world = client(clientState({ settings: { Mode: 'warp' } }));
  let agrees = false;
  const { page, view } = await openedApps(world, { ...world.host, run: async () => agrees });
  assert.equal(await page.launch('mail.desktop'), null);
  assert.deepEqual(world.asked.slice(1), []);
  agrees = true;
  const launched = page.launch('mail.desktop', true);
  assert.deepEqual([...view().busy], ['mail.desktop'], 'also while the user is asked');
  await settled();
  assert.deepEqual(world.asked.slice(1), ['POST /api/apps/proxy-launcher']);
  world.open[1]!.answer({});
  assert.equal((await launched)?.name, 'Mail');
});
