// The page of the history over a client that answers as the test says, and the figures that it gathers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { History, HistoryChange } from '../../../../daemon/api/schema.ts';
import type { Row } from '../../../../daemon/view/form.ts';
import { gatherFigures } from '../../../../daemon/view/graph.ts';
import { historyPage } from '../../../../daemon/view/pages/history.ts';
import { NOT_RECORDED, recorded } from '../../../support/gnome/initial.ts';
import { clientState } from '../../../support/gnome/view/translator.ts';
import { client, INSTALLED, OFFLINE, opened, settled } from '../../../support/gnome/view/world.ts';

/** The page of the history, and what its form shows. */
function openedHistory() {
  const world = client(INSTALLED);
  const { shown: page, form, changes } = opened(historyPage, world);
  const rows = () => form().groups.flatMap(group => group.rows);
  const row = (id: string) => rows().find(each => each.id === id);
  return {
    world,
    page,
    form,
    changes,
    row,
    status: () => form().status,
    days: () => form().groups.filter(({ id }) => id.startsWith('day-')),
    listed: () =>
      form()
        .groups.filter(({ id }) => id.startsWith('day-'))
        .flatMap(group => group.rows).length,
    choose: (id: string) => act(row('span'), id),
    chosen: () => shownValue(row('span')),
    async answer(at: number, history: History) {
      world.open[at]!.answer(history);
      await settled();
    },
  };
}

/** Uses a row that changes what the page shows. */
function act(row: Row | undefined, value = ''): void {
  assert.ok(row?.kind === 'select' || row?.kind === 'button');
  const { ask } = row.kind === 'select' ? row.command(value) : row.command;
  assert.ok(ask.kind === 'show');
  ask.show();
}

const shownValue = (row: Row | undefined) => (row && 'value' in row ? row.value : null);
/** The headline, and what is below it. */
const headOf = ({ form }: Pick<ReturnType<typeof openedHistory>, 'form'>) => {
  const { title, description } = form().groups[0]!;
  return [title, description];
};

test('the history of the chosen length of time is read, again as time goes on and after an event, and nothing for now', async () => {
  const { world, page, form, row, status, listed, choose, chosen, answer } = openedHistory();
  const reads = () => {
    form();
    return world.asked.length;
  };
  assert.equal(reads(), 1);
  await answer(0, recorded(80));
  assert.deepEqual([listed(), status()], [12, undefined]);
  assert.equal(form().groups.at(-1), form().groups.at(-1), 'nothing has changed');
  act(row('more'));
  assert.equal(listed(), 62);
  page.showAll?.();
  assert.deepEqual([listed(), row('more')], [80, undefined], 'a print has all changes');
  world.clock.now += 59_999;
  assert.equal(reads(), 1);
  world.clock.now += 1;
  assert.equal(reads(), 2);
  await answer(1, NOT_RECORDED);
  assert.deepEqual([listed(), status()?.title], [0, 'Nothing recorded']);
  world.send('history', { clearedAt: '' });
  assert.equal(reads(), 3);
  choose('5m');
  assert.equal(reads(), 4);
  world.clock.now += 5_000;
  assert.equal(reads(), 5);
  page.reveal?.('now');
  page.shown?.();
  world.clock.now += 86_400_000;
  assert.deepEqual([chosen(), reads()], ['now', 5]);
});

test('a late answer is not shown for another length of time', async () => {
  const { form, row, choose, chosen, answer } = openedHistory();
  choose('1h');
  form();
  await answer(0, recorded());
  assert.deepEqual([chosen(), row('strip')], ['1h', undefined]);
  await answer(1, recorded());
  assert.ok(row('strip'));
  choose('1d');
  assert.equal(row('strip'), undefined);
});

/** Returns the page with a history. */
async function pageOf(history: History) {
  const page = openedHistory();
  await page.answer(0, history);
  return page;
}

test('a new user meets one sentence, with a button that turns on a history that is off', async () => {
  const start = { ...recorded(1).changes[0]!, kind: 'start' as const };
  for (const changes of [[], [start]]) {
    const { status, row } = await pageOf({ ...NOT_RECORDED, changes });
    assert.deepEqual([status()?.title, status()?.buttons, row('strip')], ['Nothing recorded', [], undefined]);
  }
  const { status } = await pageOf({ ...NOT_RECORDED, enabled: false });
  const labels = status()?.buttons.map(({ label }) => label);
  assert.deepEqual([status()?.title, labels], ['The history is turned off', ['Turn On']]);
  const { row: kept } = await pageOf({ ...recorded(2), enabled: false });
  assert.ok(kept('off') && kept('strip'), 'the records of before stay visible');
  const on = await pageOf(recorded(2));
  assert.equal(on.row('off'), undefined);
  on.choose('now');
  assert.deepEqual([on.status()?.title, on.row('chart'), on.row('strip')], ['No statistics yet', undefined, undefined]);
});

test('a history that can’t be written says so, with and without records', async () => {
  const failing = { problem: 'No space left on disk.' };
  const words = 'The history is not recorded: No space left on disk.';
  assert.equal((await pageOf({ ...NOT_RECORDED, ...failing })).status()?.sentence, words);
  const reading = openedHistory();
  const [sentence, failure] = headOf(await pageOf(recorded(2)));
  assert.deepEqual([headOf(reading)[0], failure], ['Reading…', undefined], 'the headline has its place from the start');
  assert.deepEqual(headOf(await pageOf({ ...recorded(2), ...failing })), [sentence, words]);
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
  const { days, row } = await pageOf({
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
  const textOf = (row: Row) => [row.title, row.subtitle, shownValue(row)].join('|');
  assert.deepEqual(
    days().map(({ title, rows }) => [title, ...rows.map(textOf)]),
    [
      [
        'Nov 21, 2026',
        '09:10  Recording stopped||',
        '09:02  Can’t connect|WARP gave a reason that Culvert does not know\nSomethingNew|7 min 41 s',
        '09:00  Connecting…||2 min 19 s',
        '08:00  Connected||59 min 56 s',
      ],
      ['Nov 20, 2026', '23:00  Connected||9 h 0 min'],
    ],
  );
  assert.equal(row('timeline'), days()[0]!.rows[0], 'a search leads to the newest');
  const day = await pageOf({ ...recorded(0), changes: [change(recorded(1).changes[0]!.at, 'connected')] });
  assert.equal(day.days()[0]!.title, 'Timeline', 'a single day needs no date');
});

test('there are charts only of what has figures, from the first figure on, and a search chooses one', async () => {
  const chartOf = (row: Row | undefined) => {
    assert.ok(row?.kind === 'chart');
    return row;
  };
  const [sample] = recorded(0).samples;
  const bare = { ...sample!, latencyMs: null, loss: null };
  const history = recorded(1);
  const speed = await pageOf({ ...history, samples: [bare, { ...bare, at: history.until }] });
  assert.deepEqual(
    chartOf(speed.row('chart')).charts.charts.map(({ id }) => id),
    ['speed'],
  );
  const { row, page } = await pageOf(history);
  const { charts, chosen } = chartOf(row('chart'));
  assert.deepEqual(
    charts.charts.map(({ id, newest }) => [id, newest]),
    [
      ['latency', '12 ms'],
      ['loss', '1 %'],
      ['speed', '500.0 kB/s'],
    ],
  );
  assert.ok(charts.times[0]! >= Date.parse(history.samples[0]!.at));
  assert.deepEqual([chosen, page.reveal?.('loss'), chartOf(row('chart')).chosen], ['latency', 'chart', 'loss']);
  chartOf(row('chart')).choose('speed');
  const table = row('table');
  assert.ok(table?.kind === 'table');
  assert.deepEqual(table.table.titles, ['Time', 'Received', 'Sent']);
  assert.equal((await pageOf({ ...history, samples: [] })).row('chart'), undefined);
});

test('the history reads nothing while it can’t be seen, and catches up then', () => {
  const world = client(INSTALLED);
  let isHidden = true;
  world.host.isHidden = () => isHidden;
  const { form } = opened(historyPage, world);
  const reads = () => {
    form();
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
});

test('reports only a failure of the length of time that is still chosen', async () => {
  const { world, form, row, choose, status } = openedHistory();
  const errors: unknown[] = [];
  world.host.showError = error => errors.push(error);
  choose('1h');
  form();
  world.open[0]!.fail(new Error('The disk is full.'));
  await settled();
  assert.deepEqual(errors, []);
  world.open[1]!.fail(new Error('The disk is full.'));
  await settled();
  assert.equal(errors.length, 1);
  assert.deepEqual(
    [row('strip'), status()?.title, status()?.sentence],
    [undefined, 'Not available now', 'The disk is full.'],
  );
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
  const { world, row, status, choose, answer } = openedHistory();
  world.set({ ...INSTALLED, offline: OFFLINE });
  assert.equal(status()?.title, 'Unavailable');
  world.set(INSTALLED);
  await answer(0, { ...recorded(2), enabled: false });
  assert.equal(row('off')?.sensitive, true);
  world.set({ ...INSTALLED, offline: OFFLINE });
  assert.equal(row('off')?.sensitive, false);
  choose('1h');
  assert.equal(status()?.title, 'Unavailable', 'another length of time can be chosen');
});
