// Times of day as people type them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secondsUntil, timeOfDay } from '../../../daemon/view/format.ts';

const now = new Date(2026, 0, 5, 17, 59, 30);
for (const [text, seconds] of [
  ['18:00', 30],
  ['17:59', 86_370],
  ['9:05', 54_330],
  ['24:00', null],
  ['18:60', null],
  ['18', null],
] as const)
  test(`until ${text} at 17:59:30 is ${seconds} seconds`, () => assert.equal(secondsUntil(text, now), seconds));

test('a time that begins between two seconds does not end early', () => {
  const at = new Date(2026, 0, 5, 17, 0, 0, 1);
  const end = new Date(at.getTime() + secondsUntil('18:00', at)! * 1000);
  assert.equal(timeOfDay(end.toISOString(), false, at), '18:00');
  assert.equal(secondsUntil('18:00', new Date(2026, 0, 5, 17, 59, 59, 999)), 1);
});
