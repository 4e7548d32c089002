// Each state has a shape of its own at the sizes of panels.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { STATES } from '../../../daemon/api/states.ts';
import { missing } from '../../support/gnome/desktop.ts';
import { temporary } from '../../support/temporary.ts';

test('each two states differ in shape at 16, 22 and 24 pixels', { skip: missing('gjs') }, t => {
  const file = join(temporary(t), 'icons.json');
  execFileSync('gjs', ['-m', 'data/build/render-icons.js', file]);
  const rendered = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Record<string, string>>;
  assert.deepEqual(Object.keys(rendered).sort(), [...STATES].sort());
  for (const size of ['16', '22', '24']) {
    const shapes = STATES.map(state => Buffer.from(rendered[state]![size]!, 'base64'));
    for (const [i, one] of shapes.entries())
      for (const [j, other] of shapes.entries()) {
        if (j <= i) continue;
        // the difference in ink, in whole pixels
        const ink = one.reduce((sum, alpha, at) => sum + Math.abs(alpha - other[at]!), 0) / 255;
        assert.ok(ink >= 8, `${STATES[i]} and ${STATES[j]} differ by ${ink} pixels at ${size}`);
      }
  }
});

test('Plasma gives each the color of its text, which it does by this style sheet alone', () => {
  for (const state of STATES) {
    const file = `data/icons/hicolor/scalable/status/org.culvert.Culvert-${state}-symbolic.svg`;
    const style = '<style id="current-color-scheme" type="text/css">.ColorScheme-Text{color:#2e3436}</style>';
    assert.ok(readFileSync(file, 'utf8').includes(`${style}<g class="ColorScheme-Text" fill="currentColor">`), state);
  }
});
