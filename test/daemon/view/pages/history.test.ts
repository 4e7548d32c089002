// The page of the history over a client that answers as the test says, and the figures that it gathers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { History, HistoryChange } from '../../../../daemon/api/schema.ts';
import { gatherFigures } from '../../../../daemon/view/graph.ts';
import { openHistory } from '../../../../daemon/view/pages/history.ts';
import { NOT_RECORDED, recorded } from '../../../support/gnome/initial.ts';
import { clientState } from '../../../support/gnome/view/translator.ts';
import { client, INSTALLED, OFFLINE, settled } from '../../../support/gnome/view/world.ts';

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
  const listed = () => view().recorded!.days.flatMap(({ events }) => events).length;
  assert.deepEqual([listed(), shown!.hasMore, view().status], [12, true, null]);
  assert.equal(view().recorded, shown, 'nothing has changed');
  page.more();
  assert.deepEqual([listed(), view().recorded!.hasMore], [60, false]);
  world.clock.now += 59_999;
  view();
  assert.equal(reads(), 1);
  world.clock.now += 1;
  view();
  assert.equal(reads(), 2);
  world.open[1]!.answer(NOT_RECORDED);
  await settled();
  assert.deepEqual([view().recorded, view().status?.title], [null, 'Nothing recorded']);
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

test('a late answer is not shown for another length of time', async () => {
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

/** Returns what the page shows of a history. */
async function shownOf(history: History, first?: string) {
  const world = client(INSTALLED);
  const page = openHistory(world.host, () => {}, first ? { first } : {});
  page.view(world.host.view());
  world.open[0]?.answer(history);
  await settled();
  const shown = page.view(world.host.view());
  page.close();
  return shown;
}

test('a new user meets one sentence, with a button that turns on a history that is off', async () => {
  const start = { ...recorded(1).changes[0]!, kind: 'start' as const };
  for (const changes of [[], [start]]) {
    const { status, recorded: none } = await shownOf({ ...NOT_RECORDED, changes });
    assert.deepEqual([status?.title, status?.buttons, none], ['Nothing recorded', [], null]);
  }
  const { status } = await shownOf({ ...NOT_RECORDED, enabled: false });
  assert.deepEqual(
    [status?.title, status?.buttons.map(({ label }) => label)],
    ['The history is turned off', ['Turn On']],
  );
  const { recorded: kept } = await shownOf({ ...recorded(2), enabled: false });
  assert.equal(kept?.off?.label, 'Turn On', 'the records of before stay visible');
  assert.equal((await shownOf(recorded(2))).recorded?.off, null);
  const now = await shownOf(recorded(2), 'now');
  assert.deepEqual([now.status?.title, now.charts, now.recorded], ['No statistics yet', null, null]);
});

test('a history that can’t be written says so, with and without records', async () => {
  const failing = { problem: 'No space left on disk.' };
  const words = 'The history is not recorded: No space left on disk.';
  assert.equal((await shownOf({ ...NOT_RECORDED, ...failing })).status?.sentence, words);
  const { sentence } = (await shownOf(recorded(2))).recorded!;
  assert.equal((await shownOf({ ...recorded(2), ...failing })).recorded!.sentence, `${sentence}. ${words}`);
});

test('events are listed by day, the newest first, without short phases of connecting', async () => {
  const change = (at: string, state: HistoryChange['state'], more: Partial<HistoryChange> = {}): HistoryChange => ({
    ...recorded(1).changes[0]!,
    at: new Date(at).toISOString(),
    state,
    colo: null,
    mode: null,
    ...more,
  });
  const { recorded: shown } = await shownOf({
    ...recorded(0),
    since: new Date('2026-11-20T12:00:00').toISOString(),
    until: new Date('2026-11-21T12:00:00').toISOString(),
    changes: [
      change('2026-11-20T23:00:00', 'connected'),
      change('2026-11-21T08:00:00', 'connecting'),
      change('2026-11-21T08:00:04', 'connected'),
      change('2026-11-21T09:00:00', 'connecting'),
      change('2026-11-21T09:02:19', 'unable', { reason: 'SomethingNew' }),
      change('2026-11-21T09:10:00', 'unknown', { kind: 'stop' }),
    ],
  });
  assert.deepEqual(
    shown!.days.map(({ title, events }) => [
      title,
      ...events.map(({ time, title, code, lasted }) => [time, title, code, lasted].join('|')),
    ]),
    [
      [
        'Nov 21, 2026',
        '09:10|Recording stopped||',
        '09:02|Can’t connect|SomethingNew|7 min 41 s',
        '09:00|Connecting…||2 min 19 s',
        '08:00|Connected||59 min 56 s',
      ],
      ['Nov 20, 2026', '23:00|Connected||9 h 0 min'],
    ],
  );
  const { recorded: day } = await shownOf({
    ...recorded(0),
    changes: [change(recorded(1).changes[0]!.at, 'connected')],
  });
  assert.equal(day!.days[0]!.title, null, 'a single day needs no title');
});

test('there are charts only of what has figures, from the first figure on', async () => {
  const [sample] = recorded(0).samples;
  const bare = { ...sample!, latencyMs: null, loss: null };
  const history = recorded(1);
  const { recorded: shown } = await shownOf({ ...history, samples: [bare, { ...bare, at: history.until }] });
  assert.deepEqual(
    shown!.charts.charts.map(({ id }) => id),
    ['speed'],
  );
  const { recorded: all } = await shownOf(history);
  assert.deepEqual(
    all!.charts.charts.map(({ id, newest }) => [id, newest]),
    [
      ['latency', '12 ms'],
      ['loss', '1 %'],
      ['speed', '500.0 kB/s'],
    ],
  );
  assert.ok(all!.charts.times[0]! >= Date.parse(history.samples[0]!.at));
  assert.deepEqual((await shownOf({ ...history, samples: [] })).recorded!.charts.charts, []);
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

test('reports only a failure of the length of time that is still chosen', async () => {
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
  const { recorded: none, status } = view();
  assert.deepEqual([none, status?.title, status?.sentence], [null, 'Not available now', 'The disk is full.']);
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

test('without a daemon, the history says so, and can’t be turned on', async () => {
  const world = client(INSTALLED);
  const page = openHistory(world.host, () => {});
  const view = () => page.view(world.host.view());
  world.set({ ...INSTALLED, offline: OFFLINE });
  assert.equal(view().status?.title, 'Unavailable');
  world.set(INSTALLED);
  view();
  world.open[0]!.answer({ ...recorded(2), enabled: false });
  await settled();
  assert.equal(view().recorded?.off?.sensitive, true);
  world.set({ ...INSTALLED, offline: OFFLINE });
  assert.equal(view().recorded?.off?.sensitive, false);
  page.close();
});
