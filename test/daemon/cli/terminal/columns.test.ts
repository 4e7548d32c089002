// Aligned columns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columns } from '../../../../daemon/cli/layout.ts';
import { createStyle } from '../../../../daemon/core/terminal.ts';

test('columns align by visible width, and lines have no trailing blanks', () => {
  const bold = createStyle(true).bold;
  assert.equal(
    columns([
      ['a', 'bb', ''],
      ['ccc', 'd', 'e'],
    ]),
    'a    bb\nccc  d   e',
  );
  assert.equal(
    columns(
      [
        ['a', 'x'],
        ['ccc', 'y'],
      ],
      (text, i) => (i === 0 ? bold(text) : text),
    ),
    `${bold('a')}    x\n${bold('ccc')}  y`,
  );
});

test('a row of one cell is a heading that widens no column, and is wrapped like other text', () => {
  const rows = [['A heading of several words'], ['', 'a', 'b'], ['ccc', 'd', 'e']];
  assert.equal(columns(rows, undefined, 40), 'A heading of several words\n     a  b\nccc  d  e');
  assert.equal(columns(rows, undefined, 20).split('\n')[1], '  words');
});

test('columns measure wide characters, emoji and combining marks as a terminal shows them', () => {
  const rows = columns([
    ['日本語', 'a'],
    ['👩‍💻', 'b'],
    ['e\u0301', 'c'],
    ['plain', 'd'],
  ]).split('\n');
  assert.deepEqual(rows, ['日本語  a', '👩‍💻      b', 'e\u0301       c', 'plain   d']);
});

test('a narrow terminal shows long alternatives and addresses within its width', () => {
  const alternatives = ['warp', 'doh', 'warp+doh', 'dot', 'warp+dot', 'proxy', 'tunnel_only'].join('|');
  const address = 'https://www.cloudflare.com/cdn-cgi/trace';
  const text = columns(
    [
      ['setMode', alternatives, 'set the mode'],
      ['warp.traceUrl', address, 'default'],
    ],
    undefined,
    40,
  );
  for (const line of text.split('\n')) assert.ok(line.length <= 40, line);
  assert.equal(text.replaceAll(/\n */g, '').includes(alternatives), true);
  assert.ok(text.split('\n').includes(address), 'an address stays whole');
});

test('an empty cell is not painted, so that no line ends in blanks', () => {
  const text = columns(
    [
      ['a', 'b', ''],
      ['c', '', ''],
    ],
    cell => `<${cell}>`,
    80,
  );
  assert.equal(text, '<a>  <b>\n<c>');
});

test('the row distinguishes a header from the rest', () => {
  const text = columns(
    [
      ['ID', 'NAME'],
      ['a', 'b'],
    ],
    (cell, _, row) => (row ? cell : cell.toLowerCase()),
  );
  assert.equal(text, 'id  name\na   b');
});
