// Summaries of a day in samples of a minute or an hour.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bucketOf,
  FULL,
  HOUR,
  MAX_BYTES,
  MINUTE,
  summarize,
  tierIn,
  tierOf,
} from '../../../daemon/history/summarize.ts';

const DAY = Date.parse('2026-11-21') / 1000;
const sample = (at: number, received = 1) => `${DAY + at} 5 1 1000 1000 1000 0 ${received} 2\n`;
const change = (at: number, reason = 'NoNetwork') =>
  `${JSON.stringify({ at: (DAY + at) * 1000, kind: 'state', state: 'disconnected', reason })}\n`;

test('full for a day, minutes for a week, hours for 90 days', () => {
  const days = [
    ['2026-11-21', FULL],
    ['2026-11-22', FULL],
    ['2027-05-01', FULL],
    ['2026-11-20', FULL],
    ['2026-11-19', MINUTE],
    ['2026-11-14', MINUTE],
    ['2026-11-13', HOUR],
    ['2026-08-23', HOUR],
    ['2026-08-22', null],
  ] as const;
  for (const [day, tier] of days) assert.equal(tierOf(day, '2026-11-21'), tier, day);
  assert.deepEqual([FULL.bucket, MINUTE.bucket, HOUR.bucket], [1, 60, 3600]);
  assert.ok(2 * FULL.bytes + 6 * MINUTE.bytes + 83 * HOUR.bytes <= MAX_BYTES);
});

test('a day is summed up in order of time; its bytes stay the same', () => {
  const lines = [sample(3), '= 1 2 3\n', sample(59), change(62), 'junk\n', '{"at":\n', sample(61), sample(130)];
  const text = summarize(lines.join(''), MINUTE);
  assert.equal(
    text,
    `# minute\n${[
      `${DAY} 10 2 1000 1000 1000 0 2 4\n`,
      `${DAY + 60} 5 1 1000 1000 1000 0 1 2\n`,
      change(62),
      `${DAY + 120} 5 1 1000 1000 1000 0 1 2\n`,
    ].join('')}`,
  );
  assert.equal(tierIn(text), MINUTE);
  assert.equal(tierIn(lines.join('')), FULL);
  const coarser = summarize(text, HOUR);
  assert.equal(coarser, `# hour\n${DAY} 20 4 1000 1000 1000 0 4 8\n${change(62)}`);
  assert.equal(summarize(coarser, HOUR), coarser, 'a second time changes nothing');
});

test('a file with too many changes keeps the newest, and all samples', () => {
  const flood = Array.from({ length: 5_000 }, (_, i) => change(i)).join('');
  const text = summarize(flood + sample(9), HOUR);
  assert.ok(text.length <= HOUR.bytes && text.length > 0.9 * HOUR.bytes, `${text.length}`);
  assert.ok(text.includes(change(4_999)) && !text.includes(change(0)));
  assert.match(text, / 5 1 1000 /);
});

test('a moment belongs to the time that began before it', () => {
  assert.deepEqual([bucketOf(0, 60), bucketOf(59, 60), bucketOf(60, 60), bucketOf(901, 900)], [0, 0, 60, 900]);
});
