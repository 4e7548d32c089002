// Text for terminals: aligned, coloured only where wanted, and harmless whatever it came from.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, columns, createStyle, printable, wantsColour } from '../../../daemon/cli/terminal.ts';

test('columns line up by what is seen, not by colour, and end without blanks', () => {
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

test('text from outside can neither move the cursor nor turn the reading direction nor begin a line', () => {
  assert.equal(printable('a\x1b[2Jb\r\nc\u202ed\u009b1m\u2028e\t'), 'a [2Jb c d 1m e');
});

test('colour is for terminals that can and users who want it', () => {
  assert.equal(wantsColour({ isTTY: true }, {}), true);
  assert.equal(wantsColour({ isTTY: true }, { NO_COLOR: '' }), true);
  assert.equal(wantsColour({ isTTY: true }, { NO_COLOR: '0' }), false);
  assert.equal(wantsColour({ isTTY: true }, { TERM: 'dumb' }), false);
  assert.equal(wantsColour({}, {}), false);
  assert.equal(createStyle(false).red('x'), 'x');
});

test('bytes are told in the unit that a person would choose', () => {
  for (const [count, text] of [
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [1_572_864, '1.5 MiB'],
    [5e14, '455 TiB'],
  ] as const) {
    assert.equal(bytes(count), text);
  }
});
