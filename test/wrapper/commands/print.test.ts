// Tables for people.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resetText, table, wrapped } from '../../../wrapper/commands/print.ts';

test('columns align by what a terminal shows, where some characters are two cells wide and some none', () => {
  const rows = [
    ['名前', 'ready'],
    ['e\u0301', 'off'],
    ['abcd', ''],
  ];
  assert.equal(table(rows), '名前  ready\ne\u0301     off\nabcd');
});

test('in a terminal that is too narrow, the last column is below the others', () => {
  const rows = [
    ['ACCOUNT', 'LEFT', 'STATE'],
    ['team-a', '850', 'ready, lasts about 3 h'],
    ['total', '850', ''],
  ];
  const wide = 'ACCOUNT  LEFT  STATE\nteam-a   850   ready, lasts about 3 h\ntotal    850';
  assert.equal(table(rows, 37), wide);
  assert.equal(table(rows), wide, 'in a file');
  assert.equal(table(rows, 36), 'ACCOUNT  LEFT\nteam-a   850\n     ready, lasts about 3 h\ntotal    850');
});

test('a line wraps at spaces, with what follows below its text, and a command stays whole', () => {
  const text = 'ok      one two three\n        run `culvert-wrap install x`, or wait';
  assert.equal(
    wrapped(text, 8, 20),
    'ok      one two\n        three\n        run\n        `culvert-wrap install x`,\n        or wait',
  );
  assert.equal(wrapped(text, 8), text, 'in a file');
});

test('a quota that started again in the past is marked, wherever it is shown', () => {
  const now = Date.parse('2026-01-31T12:00:00Z');
  assert.match(resetText('2026-01-31T11:59:59Z', now), /^2026-01-31 .* \(past\)$/);
  assert.doesNotMatch(resetText('2026-01-31T12:00:01Z', now), /past/);
  assert.doesNotMatch(resetText(null, now), /past/);
});
