// The slots of the graph: their samples, figures and gaps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistorySample } from '../../../daemon/api/schema.ts';
import { NO_TUNNEL } from '../../../daemon/state/store.ts';
import { formatLatency, formatLoss, formatRate } from '../../../daemon/view/format.ts';
import {
  axisEnd,
  axisOf,
  chartsOf,
  chartTable,
  createHistory,
  FINEST,
  newestPieces,
  rangeOf,
  type Slot,
  type Span,
  slotsOf,
  spanFrom,
  spans,
} from '../../../daemon/view/graph.ts';
import { english } from '../../../daemon/view/translator.ts';
import { tr } from '../../support/gnome/view/translator.ts';

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

/** Zone, begin, length in hours, labels and their places in hours after the begin. */
const AXES: [zone: string, from: string, hours: number, labels: string][] = [
  ['UTC', '2026-11-21T12:34:00Z', 24, '18:00 5.4 | 00:00 11.4 | 06:00 17.4 | Now 24'],
  ['UTC', '2026-11-21T00:00:00Z', 1, '00:00 0 | 00:15 0.3 | 00:30 0.5 | 00:45 0.8 | Now 1'],
  ['UTC', '2026-11-21T11:59:58Z', 1 / 12, '12:00 0 | 12:02 0 | 12:04 0.1 | Now 0.1'],
  ['UTC', '2026-11-14T12:00:00Z', 168, 'Nov 16 36 | Nov 18 84 | Nov 20 132 | Now 168'],
  // zones that are off by half an hour and by 45 minutes
  ['Asia/Kolkata', '2026-11-21T12:34:00Z', 24, '00:00 5.9 | 06:00 11.9 | 12:00 17.9 | Now 24'],
  ['Asia/Kathmandu', '2026-11-21T12:34:00Z', 24, '00:00 5.7 | 06:00 11.7 | 12:00 17.7 | Now 24'],
  // days of 23 and 25 hours
  ['Europe/Berlin', '2026-03-28T20:00:00Z', 24, '00:00 3 | 06:00 8 | 12:00 14 | 18:00 20 | Now 24'],
  ['Europe/Berlin', '2026-10-24T20:00:00Z', 24, '00:00 2 | 06:00 9 | 12:00 15 | 18:00 21 | Now 24'],
];
for (const [zone, from, hours, labels] of AXES)
  test(`the axis of ${hours.toFixed(1)} hours from ${from} in ${zone} has round local times`, () => {
    const before = process.env.TZ;
    process.env.TZ = zone;
    try {
      const start = Date.parse(from);
      const ticks = axisOf(start, start + hours * 3_600_000, { ...english, locale: 'en-US' });
      const words = ticks.map(({ at, label }) => `${label} ${Math.round(at * hours * 10) / 10}`);
      assert.equal(words.join(' | '), labels);
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  });

test('an axis without a length has only the present time', () => {
  assert.deepEqual(axisOf(NOW, NOW, english), [{ at: 1, label: 'Now' }]);
});

test('the slots begin with the first sample, and get no shorter than a sample', () => {
  const day: Span = { ...SPAN, seconds: 86_400, slot: 300 };
  assert.deepEqual(spanFrom(NOW - 90_000_000, NOW, day), day);
  const { seconds, slot } = spanFrom(NOW - 8_640_000, NOW, day);
  assert.deepEqual([seconds, slot], [8_640, 60]);
});

const slot = (at: number, more: Partial<Slot> = {}): Slot => ({
  at,
  latencyMs: null,
  loss: null,
  received: null,
  sent: null,
  ...more,
});

test('charts are those with figures, each with its range, and a table of its values', () => {
  assert.deepEqual(chartsOf([], english), { times: [], charts: [], ticks: [] });
  const figures = [
    slot(NOW - 60_000, { latencyMs: 10, sent: 1_000 }),
    slot(NOW - 30_000),
    slot(NOW, { latencyMs: 31 }),
  ];
  const { charts, times } = chartsOf(figures, english);
  assert.deepEqual(
    charts.map(({ id, newest, end, caption }) => [id, newest, end, caption]),
    [
      ['latency', '31 ms', 40, null],
      ['speed', null, 1_000, 'Speed: received (solid), sent (dashed)'],
    ],
  );
  assert.equal(charts[0]!.name, 'Latency: from 10 ms to 31 ms, 21 ms on average');
  const clock = (at: number) => new Date(at).toTimeString().slice(0, 5);
  assert.deepEqual(chartTable(charts[0]!, times, english), {
    titles: ['Time', 'Latency'],
    rows: [
      [clock(NOW), '31 ms'],
      [clock(NOW - 60_000), '10 ms'],
    ],
  });
  assert.deepEqual(chartTable(charts[1]!, times, english).rows, [[clock(NOW - 60_000), '–', '1.0 kB/s']]);
  const dense = chartTable(
    { ...charts[0]!, lines: [{ title: '', values: [1, 2] }] },
    [NOW - 5_000, NOW],
    english,
  ).rows.map(([time]) => time);
  assert.equal(new Set(dense).size, 2, 'times less than a minute apart have seconds');
});

test('a curve of the newest statistics begins at zero, has gaps, and ends at the right edge', () => {
  assert.deepEqual(newestPieces([]), []);
  assert.deepEqual(newestPieces([20]), [[{ x: 1, y: 1 }]]);
  const pieces = newestPieces([...Array(60).fill(40), 10, null, 40]);
  assert.deepEqual(
    pieces.map(points => [points.length, points.at(-1)!.y]),
    [
      [58, 0.25],
      [1, 1],
    ],
  );
  assert.deepEqual([pieces[0]![0]!.x, pieces[1]![0]!.x], [0, 1]);
});

test('the history turns counters into rates, and starts over with a new connection', () => {
  const history = createHistory(3);
  const at = (seconds: number, bytesReceived: number) => ({
    ...NO_TUNNEL,
    latencyMs: 10,
    loss: 0,
    bytesReceived,
    bytesSent: null,
    at: new Date(seconds * 1000).toISOString(),
  });
  for (const [seconds, bytes] of [
    [0, 100],
    [5, 600],
    [5, 999],
    [10, 100],
    [15, 1100],
  ] as const)
    history.add(at(seconds, bytes));
  assert.deepEqual(
    history.samples().map(({ received }) => received),
    [100, null, 200],
  );
  history.clear();
  assert.deepEqual(history.samples(), []);
  assert.deepEqual(rangeOf([1, null, 3]), { least: 1, mean: 2, greatest: 3 });
  assert.equal(rangeOf([null]), null);
});

test('an axis ends, and has its middle, at a value that its text says exactly', () => {
  const ends = [0, 0.02, 3, 10, 11, 45, 60_000, 90_000].map(greatest => axisEnd(greatest, 0.01));
  assert.deepEqual(ends, [1, 0.02, 4, 10, 20, 60, 60_000, 100_000]);
  const digits = (text: string) => text.replace(/\D/g, '').replace(/^0+|0+$/g, '');
  const axes = [
    [FINEST.latencyMs, formatLatency],
    [FINEST.loss, formatLoss],
    [FINEST.rate, formatRate],
  ] as const;
  for (const [finest, text] of axes)
    for (const greatest of [0, ...Array.from({ length: 120 }, (_, i) => finest * 0.2 * 1.1 ** i)]) {
      const end = axisEnd(greatest, finest);
      assert.ok(end >= greatest, `${greatest} is above ${end}`);
      for (const value of [end / 2, end])
        assert.equal(digits(text(value, tr)), digits(value.toPrecision(12)), `${value}: ${text(value, tr)}`);
    }
});
