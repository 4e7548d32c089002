// Pages over a client that answers as the test says: what each reads, when it reads again, and what it does with a late answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client, Event } from '../../../../daemon/api/client.ts';
import type { ClientState } from '../../../../daemon/view/client/client-state.ts';
import type { Model } from '../../../../daemon/view/client/model.ts';
import { gatherFigures } from '../../../../daemon/view/graph.ts';
import type { Desktop, Host } from '../../../../daemon/view/host.ts';
import { FORM_PAGES } from '../../../../daemon/view/pages/all.ts';
import { openApps } from '../../../../daemon/view/pages/apps.ts';
import { openHistory } from '../../../../daemon/view/pages/history.ts';
import { type Page, reading } from '../../../../daemon/view/pages/page.ts';
import { createChecks, createUpdates } from '../../../../daemon/view/pages/requests.ts';
import { settingsPage } from '../../../../daemon/view/pages/search.ts';
import { describe } from '../../../../daemon/view/view.ts';
import { app, KILL_SWITCH, NOT_RECORDED, recorded, TRUST } from '../../../support/gnome/initial.ts';
import { named, rowsOf } from '../../../support/gnome/view/forms.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

/** Lets every promise that is settled go on. */
const settled = () => new Promise(resolve => setImmediate(resolve));

const OFFLINE: ClientState['offline'] = { code: 'stopped', detail: '' };

/** A client whose requests stay open until the test answers them, with a clock that the test moves. */
function client(first: ClientState = clientState(), desktop: Partial<Desktop> | null = null) {
  let state = first;
  const listeners = new Set<(event: Event) => void>();
  const open: { line: string; answer(value: unknown): void; fail(error: Error): void }[] = [];
  const asked: string[] = [];
  const call = ((line: string) => {
    asked.push(line);
    return new Promise((answer, fail) => open.push({ line, answer, fail }));
  }) as Client['call'];
  const onEvent: Model['onEvent'] = listener => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const model = { state: () => state, call, onEvent, checkUpdate: () => call('GET /api/update/check', { query: {} }) };
  const clock = { now: 1_000_000 };
  const host = {
    model,
    view: () => describe(state, '1', tr),
    tr: () => tr,
    now: () => clock.now,
    checks: createChecks(model, () => tr, null),
    updates: createUpdates(model),
    desktop,
    run: async () => true,
    toast() {},
    showError() {},
  } as unknown as Host;
  return {
    host,
    asked,
    open,
    clock,
    listeners,
    set(next: ClientState) {
      state = next;
    },
    send(event: string, data: unknown = {}) {
      for (const listener of [...listeners]) listener({ event, data } as Event);
    },
  };
}

/** Opens a page as clients do: its form first, then that it is turned to. */
function opened(page: Page, world: ReturnType<typeof client>) {
  let changes = 0;
  const shown = page(world.host, () => changes++);
  const form = () => shown.form(world.host.view());
  form();
  shown.shown?.();
  return { shown, form, changes: () => changes };
}

const INSTALLED = clientState({ killSwitch: { ...KILL_SWITCH, enabled: true } });

/** Requests of a page, and the time after which it makes them again. */
const READS: Partial<Record<keyof typeof FORM_PAGES, [lines: string, againMs: number | null]>> = {
  killswitch: ['GET /api/killswitch/blocked', 3_000],
  networks: ['GET /api/networks', 60_000],
  account: ['GET /api/account', null],
  tools: ['GET /api/accounts', 60_000],
  certificate: ['POST /api/trust', null],
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
  assert.equal(rowsOf(form())[0]!.subtitle, 'busy');
  const changed = changes();
  world.send('accounts', { ok: true, tools: [], problem: 'No wrapper.' });
  assert.ok(changes() > changed);
  assert.equal(rowsOf(form())[0]!.subtitle, 'No wrapper.');
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
  const has = (group: string, { form }: typeof networks) => form().groups.some(({ id }) => id === group);
  assert.equal(has('current', networks), false);
  await settled();
  assert.equal(has('current', networks), true);
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
  const row = named(rowsOf(form()), 'check');
  assert.ok(row.kind === 'button' && row.busy);
  assert.equal(await updates.apply(), false);
  world.open[0]!.answer({});
  assert.equal(await first, true);
  assert.equal(updates.waiting(), null);
});

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
  assert.deepEqual(values(), ['192.0.2.0/24: Range · Added', '198.51.100.7: Address · Added']);
  assert.equal(list().items, list().items);
  type('192.');
  assert.equal(changes(), 1);
  type('192.');
  assert.equal(changes(), 1, 'nothing else is searched for');
  assert.deepEqual(values(), ['192.0.2.0/24: Range · Added']);
  const { label, command } = list().removal(list().items[0]!);
  assert.equal(label, 'Remove 192.0.2.0/24');
  assert.deepEqual(command.ask, { kind: 'action', request: { action: 'removeSplitRange', value: '192.0.2.0/24' } });
  world.set(routes('198.51.100.7/32'));
  assert.deepEqual([values(), list().empty.title], [[], 'Nothing found']);
  shown.reveal?.('=198.51');
  assert.deepEqual([form().search!.text, values()], ['198.51', ['198.51.100.7: Address · Added']]);
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
  assert.equal(entry('add').command('192.0.2.8').done, '192.0.2.8 added');
  const { ask } = entry('target').command('example.com');
  assert.ok(ask.kind === 'work');
  const asked = ask.work();
  assert.deepEqual(world.asked, ['POST /api/why']);
  const target = { kind: 'address', value: '192.0.2.1' };
  world.open[0]!.answer({ target, addresses: [], fallback: null, resolveProblem: null, list: 'exclude' });
  await asked;
  assert.equal(named(rowsOf(form()), 'problem').title, '192.0.2.1');
});

test('an organization’s routes can’t be changed, and say why', () => {
  const world = client(clientState({ account: { managed: true } }));
  const { list, groups } = opened(FORM_PAGES.routes.open, world).form();
  const reason = 'Your organization manages this list';
  assert.deepEqual([list!.sensitive, list!.reason], [false, reason]);
  const add = named(rowsOf({ groups }), 'add');
  assert.deepEqual([add.sensitive, add.reason], [false, reason]);
});

test('the history of the chosen length of time is read, again as time goes on and after an event, and nothing for now', async () => {
  const world = client(INSTALLED);
  let changes = 0;
  const page = openHistory(world.host, () => changes++);
  const view = () => page.view(world.host.view());
  const reads = () => world.asked.length;
  view();
  page.shown();
  assert.equal(reads(), 1);
  world.open[0]!.answer(recorded(60));
  await settled();
  const { recorded: shown } = view();
  assert.deepEqual([shown!.timeline.length, shown!.hasMore, shown!.isEmpty], [50, true, false]);
  assert.equal(view().recorded, shown, 'nothing has changed');
  page.more();
  assert.deepEqual([view().recorded!.timeline.length, view().recorded!.hasMore], [60, false]);
  world.clock.now += 59_999;
  view();
  assert.equal(reads(), 1);
  world.clock.now += 1;
  view();
  assert.equal(reads(), 2);
  world.open[1]!.answer(NOT_RECORDED);
  await settled();
  assert.deepEqual([view().recorded!.isEmpty, view().recorded!.timeline], [true, []]);
  world.send('history', { clearedAt: '' });
  view();
  assert.equal(reads(), 3);
  page.choose('5m');
  view();
  assert.equal(reads(), 4);
  world.clock.now += 5_000;
  view();
  assert.equal(reads(), 5);
  page.choose('now');
  page.shown();
  world.clock.now += 86_400_000;
  assert.equal(view().chosen, 'now');
  assert.equal(reads(), 5);
  const before = changes;
  page.close();
  world.open[4]!.answer(recorded());
  world.send('history', { clearedAt: '' });
  await settled();
  assert.equal(changes, before);
});

test('a late answer is not shown as that of another length of time', async () => {
  const world = client(INSTALLED);
  const page = openHistory(world.host, () => {});
  const view = () => page.view(world.host.view());
  view();
  page.choose('1h');
  view();
  world.open[0]!.answer(recorded());
  await settled();
  assert.deepEqual([view().chosen, view().recorded], ['1h', null]);
  world.open[1]!.answer(recorded());
  await settled();
  assert.ok(view().recorded);
  page.choose('1d');
  assert.equal(view().recorded, null);
  page.close();
});

test('the history reads nothing while it can’t be seen, and catches up then', () => {
  const world = client(INSTALLED);
  let isHidden = true;
  const page = openHistory(world.host, () => {}, { isHidden: () => isHidden });
  const reads = () => {
    page.view(world.host.view());
    return world.asked.length;
  };
  assert.equal(reads(), 0);
  isHidden = false;
  assert.equal(reads(), 1);
  isHidden = true;
  world.clock.now += 86_400_000;
  assert.equal(reads(), 1);
  isHidden = false;
  assert.equal(reads(), 2);
  page.close();
});

test('only a failure of the length of time that is still chosen is said', async () => {
  const world = client(INSTALLED);
  const errors: unknown[] = [];
  const page = openHistory({ ...world.host, showError: error => errors.push(error) }, () => {});
  const view = () => page.view(world.host.view());
  view();
  page.choose('1h');
  view();
  world.open[0]!.fail(new Error('The disk is full.'));
  await settled();
  assert.deepEqual(errors, []);
  world.open[1]!.fail(new Error('The disk is full.'));
  await settled();
  assert.equal(errors.length, 1);
  assert.equal(view().recorded, null);
  page.close();
});

test('figures are gathered while the tunnel is connected, and start over with each connection', () => {
  const tunnel = (second: number) => ({ at: new Date(second * 1000).toISOString(), latencyMs: 12, bytesReceived: 0 });
  const state = (status: 'connected' | 'connecting', second: number) =>
    clientState({ status: { state: status }, tunnel: tunnel(second) });
  let now = state('connected', 1);
  let publish = () => {};
  const subscribe = (listener: () => void) => {
    publish = listener;
    return () => {};
  };
  const { samples } = gatherFigures({ state: () => now, subscribe });
  const next = (...given: Parameters<typeof state>) => {
    now = state(...given);
    publish();
    return samples().map(({ at }) => at);
  };
  assert.deepEqual(next('connected', 6), [1_000, 6_000]);
  assert.deepEqual(next('connecting', 7), []);
  const none = samples();
  next('connecting', 8);
  assert.equal(samples(), none, 'nothing has changed');
  assert.deepEqual(next('connected', 9), [9_000]);
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

test('a browser lists the settings without a search of their own, and the first steps, which it has no menu for', () => {
  const { form } = opened(settingsPage, client(INSTALLED));
  assert.equal(form().search, undefined);
  assert.equal(rowsOf(form()).at(-1)!.title, 'First Steps');
});

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

test('apps are listed once they were read, without those that few look for, which a search covers', async () => {
  const { page, view, ids, world, changes } = await openedApps();
  assert.deepEqual([ids(), view().hasApps, view().failed], [['mail', 'web'], true, null]);
  assert.equal(view().listed, view().listed, 'nothing has changed');
  page.narrow({ all: true });
  assert.deepEqual(ids(), ['calc', 'mail', 'web']);
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
  const failed = () => page.view(world.host.view()).failed;
  assert.equal(failed(), null);
  world.open[0]!.fail(new Error('The disk is full.'));
  await settled();
  assert.equal(failed(), 'The disk is full.');
  page.shown();
  assert.equal(failed(), null, 'it is being read');
  const without = client({ ...clientState(), offline: OFFLINE });
  const view = openApps(without.host, () => {}).view(without.host.view());
  assert.deepEqual([view.failed, view.hasApps], [without.host.view().tunnel.sentence, null]);
  assert.deepEqual(without.asked, []);
});

test('one request about an app runs at a time, and a new shortcut leaves the app in its place', async () => {
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
  assert.deepEqual([ids(), view().hasApps], [[], false]);
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
