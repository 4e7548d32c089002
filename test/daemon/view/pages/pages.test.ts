// Pages over a client that answers as the test says: what each reads, when it reads again, and what it does with a late answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Host } from '../../../../daemon/view/host.ts';
import { FORM_PAGES } from '../../../../daemon/view/pages/all.ts';
import { type Page, reading } from '../../../../daemon/view/pages/page.ts';
import { settingsPage } from '../../../../daemon/view/pages/search.ts';
import { app, initialConfig, KILL_SWITCH, TRUST, tool, toolAccount } from '../../../support/gnome/initial.ts';
import { named, rowsOf } from '../../../support/gnome/view/forms.ts';
import { clientState } from '../../../support/gnome/view/translator.ts';
import { client, INSTALLED, OFFLINE, opened, settled } from '../../../support/gnome/view/world.ts';

/** Requests of a page, and the time after which it makes them again. */
const READS: Partial<Record<keyof typeof FORM_PAGES, [lines: string, againMs: number | null]>> = {
  killswitch: ['GET /api/killswitch/blocked', 3_000],
  networks: ['GET /api/networks', 60_000],
  account: ['GET /api/account', null],
  tools: ['GET /api/accounts', 60_000],
  certificate: ['POST /api/trust', null],
  apps: ['GET /api/apps', null],
  history: ['GET /api/history', 60_000],
  editor: ['GET /api/routes, GET /api/routes/presets, GET /api/routes/history', 5_000],
};

for (const [name, { open: page }] of Object.entries(FORM_PAGES)) {
  const [line, againMs] = READS[name as keyof typeof FORM_PAGES] ?? [null, null];
  const lines = line?.split(', ') ?? [];

  test(`the page ${name} reads ${line ?? 'nothing'} once when it is turned to`, () => {
    const world = client(INSTALLED);
    const { form } = opened(page, world);
    form();
    assert.deepEqual(world.asked, lines);
  });

  test(`the page ${name} reads nothing without a daemon, and ${line ?? 'nothing'} when one answers`, () => {
    const world = client({ ...INSTALLED, offline: OFFLINE });
    const { form } = opened(page, world);
    assert.deepEqual(world.asked, []);
    world.set(INSTALLED);
    form();
    assert.deepEqual(world.asked, lines);
  });

  test(`the page ${name} removes its listeners when it is closed`, () => {
    const world = client(INSTALLED);
    const before = world.listeners.size;
    const { shown, changes } = opened(page, world);
    shown.close?.();
    assert.equal(world.listeners.size, before);
    const changed = changes();
    world.send('snapshot', INSTALLED.snapshot);
    assert.equal(changes(), changed);
  });

  if (line === null) continue;

  test(`the page ${name} reads once when a lost daemon answers again, with a snapshot or without`, async () => {
    const world = client(INSTALLED);
    const { form } = opened(page, world);
    world.open[0]!.fail(new Error('gone'));
    await settled();
    world.set({ ...INSTALLED, offline: OFFLINE });
    form();
    world.set(INSTALLED);
    form();
    assert.deepEqual(world.asked, [...lines, ...lines]);
    world.send('snapshot', INSTALLED.snapshot);
    form();
    assert.deepEqual(world.asked, [...lines, ...lines]);
  });

  test(`the page ${name} reads again from another daemon`, async () => {
    const world = client(INSTALLED);
    const { form, changes } = opened(page, world);
    world.open[0]!.fail(new Error('gone'));
    await settled();
    const changed = changes();
    world.send('snapshot', INSTALLED.snapshot);
    assert.ok(changes() > changed);
    form();
    assert.deepEqual(world.asked, [...lines, ...lines]);
  });

  test(`the page ${name} drops an answer that comes after it was closed`, async () => {
    const world = client(INSTALLED);
    const { shown, changes } = opened(page, world);
    const changed = changes();
    shown.close?.();
    world.open[0]!.fail(new Error('late'));
    await settled();
    assert.equal(changes(), changed);
  });

  test(`the page ${name} reads again ${againMs === null ? 'only for a reason' : `after ${againMs / 1000} s`}`, async () => {
    const world = client(INSTALLED);
    const { shown, form } = opened(page, world);
    world.open[0]!.fail(new Error('busy'));
    await settled();
    world.clock.now += (againMs ?? 86_400_000) - 1;
    form();
    assert.deepEqual(world.asked, lines);
    world.clock.now += 1;
    form();
    assert.deepEqual(world.asked, againMs === null ? lines : [...lines, ...lines]);
    // the editor waits for an event
    assert.equal(shown.ticks ?? false, againMs !== null && name !== 'editor');
  });
}

test('an answer of an earlier reading does not replace a later one', async () => {
  const world = client();
  const texts: string[] = [];
  const read = () => world.host.model.call('GET /api/health');
  const health = reading(world.host, () => {}, { read, everyMs: 10 });
  const see = () => texts.push(JSON.stringify(health.now(world.host.view()).value));
  see();
  world.clock.now += 10;
  see();
  world.open[1]!.answer('later');
  await settled();
  world.open[0]!.answer('earlier');
  await settled();
  see();
  assert.deepEqual(texts, ['null', 'null', '"later"']);
});

test('a reading that fails keeps the last answer, and says why', async () => {
  const world = client();
  const health = reading(world.host, () => {}, { read: () => world.host.model.call('GET /api/health') });
  const now = () => health.now(world.host.view());
  assert.deepEqual(now(), { value: null, failed: null, running: true });
  world.open[0]!.answer('here');
  await settled();
  assert.deepEqual(now(), { value: 'here', failed: null, running: false });
  const ended = health.again();
  world.open[1]!.fail(new Error('The disk is full.'));
  await ended;
  assert.deepEqual(now(), { value: 'here', failed: 'The disk is full.', running: false });
});

test('turning to a page reads once while a reading is under way', async () => {
  const world = client();
  const { shown } = opened(FORM_PAGES.tools.open, world);
  shown.shown?.();
  assert.equal(world.asked.length, 1);
  world.open[0]!.fail(new Error('busy'));
  await settled();
  shown.shown?.();
  assert.equal(world.asked.length, 2);
});

test('the kill switch reads nothing where it is not installed', () => {
  const world = client(clientState({ killSwitch: { ...KILL_SWITCH, installed: false } }));
  opened(FORM_PAGES.killswitch.open, world);
  assert.deepEqual(world.asked, []);
});

test('tool accounts that come by event are shown, whatever failed before', async () => {
  const world = client();
  const { form, changes } = opened(FORM_PAGES.tools.open, world);
  world.open[0]!.fail(new Error('busy'));
  await settled();
  assert.equal(form().status!.sentence, 'busy');
  const changed = changes();
  world.send('accounts', { ok: true, tools: [], problem: 'No wrapper.' });
  assert.ok(changes() > changed);
  assert.equal(form().status!.sentence, 'No wrapper.');
});

test('the account is read again when the registration changes', () => {
  const world = client();
  const { form } = opened(FORM_PAGES.account.open, world);
  world.set(clientState({ account: { organization: 'example' } }));
  form();
  form();
  assert.deepEqual(world.asked, ['GET /api/account', 'GET /api/account']);
});

test('the certificate is busy while the tools are tried, and they are tried again after a change', async () => {
  const world = client();
  const { form } = opened(FORM_PAGES.certificate.open, world);
  const check = () => {
    const row = named(rowsOf(form()), 'check');
    assert.ok(row.kind === 'button');
    return row;
  };
  assert.equal(check().busy, true);
  world.open[0]!.answer(TRUST);
  await settled();
  assert.equal(check().busy, false);
  const changing = rowsOf(form()).find(row => row.kind === 'button' && row.id !== 'check');
  assert.ok(changing?.kind === 'button' && changing.command.ask.kind === 'work', 'the report has something to change');
  const done = changing.command.ask.work();
  assert.match(world.asked[1]!, /^POST \/api\/trust\/(?:apply|undo)$/);
  world.open[1]!.answer({ ok: true });
  await done;
  assert.deepEqual([world.asked[2], check().busy], ['POST /api/trust', true]);
});

test('facts of the desktop are shown as they come, and its watches end with the page', async () => {
  let report: (on: boolean) => void = () => {};
  let watched = 0;
  const watch = () => {
    watched++;
    return () => void watched--;
  };
  const world = client(clientState(), {
    hasTrayHost: async () => true,
    hasShortcuts: async () => false,
    watchAutostart(next) {
      report = next;
      return watch();
    },
    currentNetwork: async () => ({ kind: 'wifi', ssid: 'Home' }),
    watchNetwork: watch,
  });
  const preferences = opened(FORM_PAGES.preferences.open, world);
  const networks = opened(FORM_PAGES.networks.open, world);
  const hasNetwork = () => rowsOf(networks.form()).some(({ id }) => id === 'current');
  assert.equal(hasNetwork(), false);
  await settled();
  assert.equal(hasNetwork(), true);
  const shortcuts = preferences.form().groups.find(({ id }) => id === 'shortcuts');
  assert.deepEqual(shortcuts?.rows, [], 'a desktop without global shortcuts');
  const changed = preferences.changes();
  report(true);
  assert.ok(preferences.changes() > changed);
  assert.equal(watched, 2);
  for (const { shown } of [preferences, networks]) shown.close?.();
  assert.equal(watched, 0);
});

test('the window of a desktop runs the checks and looks for updates when their pages are first turned to, a browser does not', () => {
  const state = clientState({}, { update: null });
  for (const [desktop, asked] of [
    [null, []],
    [{ canRepair: () => false }, ['POST /api/doctor', 'GET /api/update/check']],
  ] as const) {
    const world = client(state, desktop);
    for (const name of ['checks', 'updates'] as const) {
      const { shown } = opened(FORM_PAGES[name].open, world);
      shown.shown?.();
    }
    assert.deepEqual(world.asked, asked);
  }
});

test('a build that git or packages update is never asked for a newer version, and offers no check', () => {
  const config = initialConfig();
  config.config.updates.source = '';
  const world = client(clientState({}, { update: null, config }), { canRepair: () => false });
  const { shown, form } = opened(FORM_PAGES.updates.open, world);
  shown.shown?.();
  assert.deepEqual(world.asked, []);
  const { title, buttons } = form().status!;
  assert.deepEqual([title, buttons], ['Updates come with git or your packages', []]);
});

test('without an organization’s certificate, the page says what it is for', async () => {
  const world = client();
  const { form } = opened(FORM_PAGES.certificate.open, world);
  const tools = TRUST.tools.map(tool => ({ ...tool, applied: false }));
  world.open[0]!.answer({ ...TRUST, certificates: [], refused: [], tools, removalDue: false });
  await settled();
  const { status, groups } = form();
  assert.deepEqual([status?.title, groups], ['No organization certificate', []]);
  const [join, again] = status!.buttons;
  assert.deepEqual(join!.command.ask, { kind: 'page', page: 'account' });
  assert.equal(again!.command.ask.kind, 'work');
});

test('a client asks for the checks once, also during the run of another, which ends with its daemon', () => {
  const world = client();
  const { checks } = world.host;
  world.send('doctor', { running: true, completed: 1, total: 3, result: null, undo: null });
  assert.deepEqual(checks.state().running, { completed: 1, total: 3 });
  void checks.run();
  void checks.run();
  assert.deepEqual(world.asked, ['POST /api/doctor']);
  world.send('snapshot', INSTALLED.snapshot);
  assert.equal(checks.state().running, null);
});

test('one request for an update runs at a time, and the page shows it', async () => {
  const world = client();
  const { form, changes } = opened(FORM_PAGES.updates.open, world);
  const { updates } = world.host;
  const first = updates.check();
  assert.equal(updates.waiting(), 'check');
  assert.ok(changes() > 0);
  const { buttons, waiting } = form().status!;
  assert.deepEqual([buttons.at(-1)!.sensitive, waiting], [false, 'Checking…']);
  assert.equal(await updates.apply(), false);
  world.open[0]!.answer({});
  assert.equal(await first, true);
  assert.equal(updates.waiting(), null);
});

test('a window searches all pages above its settings, reads what only a search shows, and forgets the search when it leaves', async () => {
  const places: unknown[] = [];
  const world = client(INSTALLED, {});
  const host: Host = { ...world.host, goTo: (...place) => places.push(place) };
  const page = settingsPage(host, () => {});
  const search = () => page.form(host.view()).search!;
  const titles = () => rowsOf(page.form(host.view())).map(({ title }) => title);
  const settings = titles();
  assert.ok(settings.includes('Kill Switch') && !settings.includes('First Steps'));
  assert.equal(search().found, undefined);
  search().begin?.();
  assert.deepEqual(world.asked, ['GET /api/apps', 'GET /api/logs']);
  world.open[0]!.answer({ apps: [app('mail', 'Needle')] });
  world.open[1]!.answer({ entries: [] });
  await settled();
  search().type('needle');
  assert.deepEqual([search().text, search().found, titles()], ['needle', '1 result', ['Needle']]);
  search().enter?.();
  assert.deepEqual(places, [['apps', '=Needle']]);
  search().type('xyzzy');
  assert.deepEqual([search().found, titles()], ['Nothing found', ['Nothing found']]);
  page.left?.();
  assert.deepEqual(titles(), settings);
  page.close?.();
});

test('an address that was searched for is not looked up after the search has ended', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const searched = (end: (page: ReturnType<Page>) => void) => {
    const world = client(INSTALLED, {});
    const page = settingsPage(world.host, () => {});
    page.form(world.host.view()).search!.type('example.com');
    page.form(world.host.view());
    end(page);
    t.mock.timers.tick(1_000);
    return world.asked;
  };
  assert.deepEqual(
    searched(() => {}),
    ['POST /api/why'],
  );
  assert.deepEqual(
    searched(page => page.left?.()),
    [],
  );
  assert.deepEqual(
    searched(page => page.close?.()),
    [],
  );
});

test('a browser lists the settings without a search, and the first steps, for which it has no menu', () => {
  const { form } = opened(settingsPage, client(INSTALLED));
  assert.equal(form().search, undefined);
  assert.equal(rowsOf(form()).at(-1)!.title, 'First Steps');
});

test('Culvert becomes the program that finishes the sign-in before a team is joined', async () => {
  const join = async (desktop: Parameters<typeof client>[1], problem: Error | null = null) => {
    const did: string[] = [];
    const world = client(clientState(), desktop);
    world.host.task = async task => {
      did.push(task);
      if (problem) throw problem;
      return true;
    };
    world.host.run = async ({ ask }) => did.push(ask.kind === 'action' ? ask.request.action : ask.kind) > 0;
    world.host.showError = error => did.push(String(error));
    const row = named(rowsOf(opened(FORM_PAGES.account.open, world).form()), 'team');
    assert.ok(row.kind === 'entry');
    const { ask } = row.command('example');
    assert.ok(ask.kind === 'work');
    await ask.work();
    return did;
  };
  const both = ['handle-sign-in', 'registerOrganization'];
  assert.deepEqual(await join({ signInProgram: () => null }), both);
  assert.deepEqual(await join({ signInProgram: () => 'Zero Trust' }), both);
  assert.deepEqual(await join({ signInProgram: () => 'culvert' }), ['registerOrganization']);
  assert.deepEqual(await join(null), ['registerOrganization'], 'a browser can’t do it');
  const failed = await join({ signInProgram: () => null }, new Error('Culvert is not in the app menu.'));
  const [claim, action] = both;
  const said = 'Error: Culvert is not in the app menu.';
  assert.deepEqual(failed, [claim, said, action], 'the user can still paste the address');
});

test('an order of accounts begins with the order that was asked for before, and the newest is sent after its answer', async () => {
  const world = client();
  const { form } = opened(FORM_PAGES.tools.open, world);
  const answer = (...names: string[]) => {
    const accounts = names.map((name, i) => toolAccount(name, { default: i === 0 }));
    return { ok: true, tools: [tool('x', { shim: 'installed', accounts })], refreshing: false, problem: null };
  };
  world.open[0]!.answer(answer('a', 'b', 'c', 'd'));
  await settled();
  const bodies: unknown[] = [];
  const { call } = world.host.model;
  world.host.model.call = ((line: string, options: { body?: { names: string[] } }) => {
    if (options?.body) bodies.push(options.body.names.join(''));
    return (call as (line: string) => unknown)(line);
  }) as typeof call;
  const order = () => form().groups.find(({ id }) => id === 'tool-x')!.order!;
  const move = (name: string, step: number) => {
    const id = `account-x-${name}`;
    const { ask } = order().move(id, order().ids.indexOf(id) + step);
    assert.ok(ask.kind === 'work');
    return ask.work();
  };
  const shown = () => rowsOf(form()).flatMap(({ id, title }) => (id.startsWith('account-') ? [title] : []));
  const moves = [move('a', 1)];
  await settled();
  moves.push(move('a', 1), move('d', -1));
  assert.deepEqual([bodies, shown().join('')], [['bacd'], 'abcd'], 'one request at a time, and the rows as confirmed');
  assert.deepEqual(order().ids.join(), ['b', 'c', 'd', 'a'].map(name => `account-x-${name}`).join());
  const reply = async (...names: string[]) => {
    world.open.at(-1)!.answer(answer(...names));
    await settled();
    world.open.at(-1)!.answer(answer(...names));
    await settled();
  };
  await reply('b', 'a', 'c', 'd');
  assert.deepEqual(bodies, ['bacd', 'bcda'], 'an order that was replaced is not sent');
  await reply('b', 'c', 'd', 'a');
  await Promise.all(moves);
  assert.equal(shown().join(''), 'bcda');
  const refused = move('b', 1);
  await settled();
  world.open.at(-1)!.fail(new Error('busy'));
  await assert.rejects(Promise.resolve(refused), /busy/);
  assert.equal(order().ids[0], 'account-x-b', 'a refused order is forgotten');
});
