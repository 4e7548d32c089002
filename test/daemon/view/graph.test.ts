// The slots of the graph: their samples, figures and gaps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistorySample } from '../../../daemon/api/schema.ts';
import { type Span, slotsOf, spans } from '../../../daemon/view/graph.ts';
import { english } from '../../../daemon/view/translator.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const SPAN: Span = { id: 'x', title: '', query: { since: '10m', resolution: 'minute' }, seconds: 600, slot: 60 };
const sample = (secondsAgo: number, more: Partial<HistorySample> = {}): HistorySample => ({
  at: new Date(NOW - secondsAgo * 1000).toISOString(),
  seconds: 30,
  latencyMs: 10,
  latencyMinMs: 10,
  latencyMaxMs: 10,
  loss: 0,
  received: 300,
  sent: 60,
  ...more,
});

test('lengths of time from five minutes to 90 days, each of some hundred slots at most', () => {
  const all = spans(english);
  assert.deepEqual(
    all.map(({ title, seconds, slot }) => [title, seconds / slot]),
    [
      ['5 minutes', 60],
      ['1 hour', 120],
      ['1 day', 288],
      ['1 week', 168],
      ['30 days', 720],
      ['90 days', 720],
    ],
  );
  assert.deepEqual(
    all.map(({ query }) => [query.since, query.resolution].join(' ')),
    ['5m full', '1h full', '1d minute', '7d hour', '30d hour', '90d hour'],
  );
});

test('a slot has the mean of its samples, and bytes per second', () => {
  const samples = [sample(590), sample(550, { latencyMs: 20, loss: 0.5, received: 600 })];
  assert.deepEqual(slotsOf(samples, SPAN, NOW)[0], {
    at: NOW - 600_000,
    latencyMs: 15,
    loss: 0.25,
    received: 15,
    sent: 2,
  });
  const [bare] = slotsOf([sample(590, { latencyMs: null, loss: null, seconds: 0 })], SPAN, NOW);
  assert.deepEqual([bare?.latencyMs, bare?.loss, bare?.received], [null, null, null]);
});

test('without a client, figures hold until the next read, and then there is a gap', () => {
  const slots = slotsOf([sample(590)], SPAN, NOW);
  assert.deepEqual(
    slots.map(({ latencyMs }) => latencyMs),
    [10, 10, 10, 10, 10, 10, null, null, null, null],
  );
  assert.deepEqual(
    slots.map(({ at }) => at - slots[0]!.at),
    slots.map((_, i) => i * 60_000),
  );
});

test('samples outside of the time are left out', () => {
  const slots = slotsOf([sample(700), sample(-1), sample(0)], SPAN, NOW);
  assert.ok(slots.every(({ latencyMs }) => latencyMs === null));
});
