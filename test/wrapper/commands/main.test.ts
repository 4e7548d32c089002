// Suggestions for mistyped commands.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandbox } from '../../support/wrapper/sandbox.ts';

test('only a word that begins like the typed one is suggested', async t => {
  const box = sandbox(t);
  const cases: [string[], RegExp][] = [
    [['foo'], /unknown command 'foo'\nsee --help\n$/],
    [['statsu'], /Did you mean status\?/],
    [['status', '--jsn'], /Did you mean --json\?/],
  ];
  for (const [args, expected] of cases) {
    const { exit, stderr } = await box.wrap(args);
    assert.equal(exit, 2);
    assert.match(stderr, expected);
    if (!expected.source.includes('Did')) assert.doesNotMatch(stderr, /Did you mean/);
  }
});
