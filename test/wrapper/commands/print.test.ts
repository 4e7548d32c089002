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
