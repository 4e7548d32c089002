// Keys that are typed or piped when an account is added.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FULL } from '../../support/thoroughness.ts';
import { setUp, stored } from '../../support/wrapper/fake-cli.ts';
import { atTerminal, typing } from '../../support/wrapper/terminal.ts';

test('H5: a key comes from any pipe, however late and however long', async t => {
  const box = setUp(t);
  const add = (name: string, writer: string) => box.run('/bin/sh', ['-c', `${writer} | fake auth add ${name} --file`]);
  for (const [name, writer] of Object.entries({
    late: '(sleep 0.5; echo k1)',
    node: `${process.execPath} -e 'process.stdout.write("k2")'`,
    slow: '(printf k; sleep 0.2; echo 3)',
    long: "head -c 100000 /dev/zero | tr '\\0' k",
  })) {
    const result = await add(name, writer);
    assert.equal(result.exit, 0, `${name}: ${result.stderr}`);
  }
  assert.match(stored(box), /^late\/FAKE_KEY=k1\nnode\/FAKE_KEY=k2\nslow\/FAKE_KEY=k3\nlong\/FAKE_KEY=k{100000}\n$/);
  const huge = await add('huge', "head -c 1000000 /dev/zero | tr '\\0' k");
  assert.equal(huge.exit, 65);
  assert.match(huge.stderr, /longer than an environment variable may be/);
  assert.match((await add('bytes', "printf '\\377\\376'")).stderr, /not UTF-8/);
  assert.match((await add('arrow', "printf 'ab\\033[Dc'")).stderr, /control character/);
});

test('H7: a key that is typed as soon as the prompt is seen is not echoed', async t => {
  const box = setUp(t);
  // a race: a full run tries it more often
  for (let round = 0; round < (FULL ? 8 : 1); round++) {
    const answer = typing([/FAKE_KEY for/, `canary-${round}\r`]);
    const { screen, exit } = await atTerminal(box, `fake auth add a${round} --file`, { answer });
    assert.equal(exit, 0, screen);
    assert.doesNotMatch(screen, /canary/);
    assert.ok(stored(box).includes(`a${round}/FAKE_KEY=canary-${round}\n`));
  }
});

test('H7: text that was typed before the prompt, and so was echoed, is not taken for a key', async t => {
  const box = setUp(t);
  const { screen, exit } = await atTerminal(box, 'fake auth add a --file', {
    early: 'early\nsecond\nhalf',
    answer: typing([/FAKE_KEY for/, 'canary\r']),
  });
  assert.equal(exit, 0, screen);
  assert.doesNotMatch(screen, /canary/);
  assert.equal(stored(box), 'a/FAKE_KEY=canary\n');
});

test('M8: keys that produce no character do not become part of a secret', async t => {
  const box = setUp(t);
  const type = (typed: string) =>
    atTerminal(box, 'fake auth add a --file --replace', { answer: typing([/FAKE_KEY for/, typed]) });
  const session = await type('ab\x1b[D\x1b[A\x1b[3~\x1bOP\x1b[1;5Cc\tx\x7fd\r');
  assert.equal(session.exit, 0, session.screen);
  assert.equal(stored(box), 'a/FAKE_KEY=abcd\n');
  await type('wrong\x15äöü€\r');
  assert.equal(stored(box), 'a/FAKE_KEY=äöü€\n');
  await type('ab two \x17\x7fcd\r');
  assert.equal(stored(box), 'a/FAKE_KEY=abcd\n');
  for (const keys of ['abc\x03', '\x04']) {
    const ended = await type(keys);
    assert.equal(ended.exit, 1, JSON.stringify(ended));
    assert.match(ended.screen, /interrupted; nothing was stored/);
  }
  await type('ab\x04c\r');
  assert.equal(stored(box), 'a/FAKE_KEY=abc\n');
});

test('the keyring is tested before a key is asked for, and a file is offered', async t => {
  const box = setUp(t);
  box.script('secret-tool', '#!/bin/sh\nexit 1\n');
  const answer = typing([/\[y\/N\]/, 'y\n'], [/FAKE_KEY for/, 'canary-1\r']);
  const session = await atTerminal(box, 'fake auth add a', { answer });
  assert.equal(session.exit, 0, session.screen);
  assert.match(session.screen, /the keyring can't be used: it is locked or not running/);
  assert.doesNotMatch(session.screen, /canary/);
  assert.equal(stored(box), 'a/FAKE_KEY=canary-1\n');
});
