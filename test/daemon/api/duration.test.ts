// Durations as people type them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDuration } from '../../../daemon/api/duration.ts';

const durations: [string, number | null][] = [
  ['90s', 90],
  ['15m', 900],
  ['2h', 7_200],
  ['1h30m', 5_400],
  ['1d', 86_400],
  ['0m', 0],
  ...['', '15', 'm', '15 m', '-5m', '1.5h', '15M', '1h30', '99999999m'].map((text): [string, null] => [text, null]),
];
for (const [text, seconds] of durations)
  test(`"${text}" is ${seconds === null ? 'no duration' : `${seconds} seconds`}`, () =>
    assert.equal(parseDuration(text), seconds));
