// Windows of a login's limits: what a tool reports is read, and nothing is made up where it reports less.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { queryWindows, readWindows } from '../../../wrapper/manage/windows.ts';
import { temporary } from '../../support/temporary.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const PERCENT = { at: 'a.b', percent: 'used', minutes: 'length', resets: 'end' };
const COUNTS = { at: 'a.b', name: 'hour', remaining: 'left', limit: 'most', resets: 'end' };

const END = NOW / 1_000 + 60;
const CASES: [entry: typeof PERCENT | typeof COUNTS, window: unknown, expected: unknown][] = [
  [PERCENT, { used: 12.34, length: 300, end: END }, { name: '5 h', percent: 12.3, resets: '2026-01-01T00:01:00.000Z' }],
  [PERCENT, { used: 0, length: 10_080 }, { name: 'week', percent: 0, resets: null }],
  [PERCENT, { used: 1, length: 1_440, end: null }, { name: '1 d', percent: 1, resets: null }],
  [PERCENT, { used: 1, length: 90, end: 'soon' }, { name: '90 min', percent: 1, resets: null }],
  [PERCENT, { used: 1 }, { name: 'b', percent: 1, resets: null }],
  [PERCENT, { used: null, length: 300 }, undefined],
  [PERCENT, { used: '50' }, undefined],
  [PERCENT, { used: Number.NaN }, undefined],
  [PERCENT, null, undefined],
  [COUNTS, { left: 40, most: 50 }, { name: 'hour', percent: 20, resets: null }],
  [COUNTS, { left: 0, most: 0 }, undefined],
  [COUNTS, { left: 5 }, undefined],
];

test('a window is read where its use is known, and left out otherwise', () => {
  for (const [entry, window, expected] of CASES) {
    const read = readWindows({ a: { b: window } }, { list: [entry] }, NOW);
    assert.deepEqual(read, expected === undefined ? [] : [expected], JSON.stringify(window));
  }
});

/** Tools that answer badly, and what is said about them. */
const BAD: [script: string, words: RegExp][] = [
  ['exit 0', /ended with exit status 0 and no answer/],
  ['echo nonsense; echo "[1]"; exit 3', /ended with exit status 3/],
  ['read -r x; printf "%s\\n" \'{"id":1,"error":{"message":"\\u001b[31mno\\nlogin"}}\'; sleep 60', /^no login$/],
  ['head -c 2000000 /dev/zero | tr "\\0" x; sleep 60', /longer than 1 MiB/],
];

test('a tool that answers badly is ended, and named with its reason', async t => {
  const program = path.join(temporary(t, 'windows'), 'tool');
  const asked = { args: [], ask: ['{"id":1}'], list: [PERCENT] };
  for (const [script, words] of BAD) {
    fs.writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const answer = await queryWindows(asked, program, { PATH: process.env.PATH }, NOW);
    assert.ok(!answer.ok && words.test(answer.problem), JSON.stringify(answer));
  }
  const missing = await queryWindows(asked, `${program}-none`, {}, NOW);
  assert.ok(!missing.ok && /-none: No such file or directory$/.test(missing.problem));
});
