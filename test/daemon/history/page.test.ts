// Pages of the history: their order, limits, units and resolution.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPage, SECONDS, suitedTo } from '../../../daemon/history/page.ts';
import type { Change, Sample } from '../../../daemon/history/records.ts';

const sampleAt = (at: number): Sample => ({
  at,
  span: 5,
  count: 1,
  latency: 11_400,
  least: 11_400,
  greatest: 11_400,
  loss: 200,
  received: 1,
  sent: 1,
});
const changeAt = (at: number): Change => ({
  at: at * 1000,
  kind: 'state',
  state: 'connected',
  reason: null,
  blocked: null,
  network: null,
  mode: null,
  colo: null,
});

test('pages follow each other without a gap and without a repetition', () => {
  for (const bucket of [1, 60]) {
    const seen: string[] = [];
    let from = 0;
    for (let pages = 0; ; pages++) {
      const page = createPage({ from, until: 10_000_000, bucket }, 10);
      for (let at = 999; at > 0; at--) page.sample(sampleAt(at)); // in any order
      for (let at = 7; at < 1000; at += 50) page.change(changeAt(at));
      const { samples, changes, next } = page.end();
      assert.ok(samples.length + changes.length <= 11 || next === null);
      seen.push(...samples.map(({ at, received }) => `${at} ${received}`), ...changes.map(({ at }) => `${at} change`));
      if (next === null) break;
      assert.ok(Number(next) > from && pages < 300);
      from = Number(next);
    }
    assert.equal(new Set(seen).size, seen.length);
    assert.equal(seen.filter(text => text.endsWith('change')).length, 20);
    const bytes = seen.filter(text => !text.endsWith('change')).map(text => Number(text.split(' ')[1]));
    assert.equal(
      bytes.reduce((a, b) => a + b, 0),
      999,
    );
    assert.equal(bytes.length, bucket === 1 ? 999 : 17);
  }
});

test('records of one moment stay on one page', () => {
  const page = createPage({ from: 0, until: 10_000, bucket: 1 }, 2);
  for (let i = 0; i < 9; i++) page.change(changeAt(1));
  page.change(changeAt(2));
  const { changes, next } = page.end();
  assert.deepEqual([changes.length, next], [9, '2000']);
});

test('figures are given in milliseconds, fractions and seconds', () => {
  const page = createPage({ from: 0, until: 10_000, bucket: 1 });
  page.sample(sampleAt(3));
  page.sample({ ...sampleAt(4), latency: null, least: null, greatest: null, loss: null });
  page.sample(sampleAt(10));
  assert.deepEqual(page.end().samples, [
    {
      at: '1970-01-01T00:00:03.000Z',
      seconds: 5,
      latencyMs: 11.4,
      latencyMinMs: 11.4,
      latencyMaxMs: 11.4,
      loss: 0.0002,
      received: 1,
      sent: 1,
    },
    {
      at: '1970-01-01T00:00:04.000Z',
      seconds: 5,
      latencyMs: null,
      latencyMinMs: null,
      latencyMaxMs: null,
      loss: null,
      received: 1,
      sent: 1,
    },
  ]);
});

test('the resolution suits the length of time', () => {
  const hour = 3_600_000;
  const cases = [
    [0.1, 'full'],
    [2, 'full'],
    [3, 'minute'],
    [12, 'minute'],
    [13, 'hour'],
    [2160, 'hour'],
  ] as const;
  for (const [hours, resolution] of cases) assert.equal(suitedTo(hours * hour), resolution, `${hours} h`);
  assert.deepEqual(SECONDS, { full: 1, minute: 60, hour: 3600 });
});
