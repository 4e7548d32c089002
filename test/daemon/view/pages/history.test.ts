// The page of the history over a client that answers as the test says, and the figures that it gathers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatherFigures } from '../../../../daemon/view/graph.ts';
import { openHistory } from '../../../../daemon/view/pages/history.ts';
import { NOT_RECORDED, recorded } from '../../../support/gnome/initial.ts';
import { clientState } from '../../../support/gnome/view/translator.ts';
import { client, INSTALLED, settled } from '../../../support/gnome/view/world.ts';

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
