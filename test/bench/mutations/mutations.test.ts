// The mutations of a source text: which tokens change, and how.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mutationsOf } from './mutations.ts';

const changes = (text: string) =>
  mutationsOf('some.ts', text).map(({ start, end, after }) => text.slice(0, start) + after + text.slice(end));

test('turns comparisons, logic and conditions round, flips booleans and adds one to numbers', () => {
  const table: [string, string[]][] = [
    ['a < b;', ['a >= b;']],
    ['a >= (b);', ['a < (b);']],
    ['a === b;', ['a !== b;']],
    ['a && b;', ['a || b;']],
    ['a || b;', ['a && b;']],
    ['f(true, 41);', ['f(false, 41);', 'f(true, 42);']],
    ['!a;', ['!!a;']],
    ['if (a) b();', ['if (!(a)) b();']],
    ['if (a > b) c();', ['if (a <= b) c();']],
    ['const x = a() ? b : c;', ['const x = !(a()) ? b : c;']],
    ['const x = [1] as number[];', ['const x = [2] as number[];']],
    ["const x = 'a' + b;", []],
  ];
  for (const [text, expected] of table) assert.deepEqual(changes(text), expected, text);
});

test('leaves types alone, which tests cannot notice', () => {
  assert.deepEqual(changes('type A = 1 | true; let x: 1 = f<2>(y as 3);'), []);
  assert.deepEqual(changes('interface A { b: true }'), []);
});

test('names the line of each mutation and refuses what cannot be parsed', () => {
  assert.deepEqual(
    mutationsOf('some.ts', 'a;\n\nb === 1;').map(({ line, before }) => [line, before]),
    [
      [3, '==='],
      [3, '1'],
    ],
  );
  assert.throws(() => mutationsOf('some.ts', 'a ==='), /some\.ts cannot be parsed/);
});
