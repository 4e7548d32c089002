// Text for terminals: colored only where wanted, and harmless whatever it came from.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printable } from '../../../daemon/core/printable.ts';
import { createStyle, wantsColor } from '../../../daemon/core/terminal.ts';

test('text from outside can neither move the cursor nor turn the reading direction nor begin a line', () => {
  assert.equal(printable('a\x1b[2Jb\r\nc\u202ed\u009b1m\u2028e\t'), 'a [2Jb c d 1m e');
  assert.equal(printable('a\u200bb\u{e0041}c\ufeffd\ud83d'), 'a b c d');
  assert.equal(printable('👩\u200d💻 می\u200cخواهم'), '👩\u200d💻 می\u200cخواهم', 'joiners are part of the text');
});

test('color is used on capable terminals, unless the user declines it', () => {
  assert.equal(wantsColor({ isTTY: true }, {}), true);
  assert.equal(wantsColor({ isTTY: true }, { NO_COLOR: '' }), true);
  assert.equal(wantsColor({ isTTY: true }, { NO_COLOR: '0' }), false);
  assert.equal(wantsColor({ isTTY: true }, { TERM: 'dumb' }), false);
  assert.equal(wantsColor({}, {}), false);
  assert.equal(createStyle(false).red('x'), 'x');
});
