// Tables for people.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { table } from '../../../wrapper/commands/print.ts';

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
