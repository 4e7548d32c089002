// Help of `culvert-wrap`, suggestions for mistyped commands, and empty states.
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

test('--help prints the tasks in about ten lines, and --help --all every command', async t => {
  const box = sandbox(t);
  const short = await box.wrap(['--help']);
  const full = await box.wrap(['--help', '--all']);
  assert.deepEqual([short.exit, short.stderr, full.exit, full.stderr], [0, '', 0, '']);
  assert.ok(short.stdout.trimEnd().split('\n').length <= 16, short.stdout);
  for (const line of short.stdout.split('\n')) assert.ok(line.length <= 80, line);
  const names = [...full.stdout.matchAll(/^ {2}([a-z]+)[ |].{2}/gm)].map(([, name]) => name!);
  assert.ok(names.length > 12);
  for (const name of names.filter(each => each !== 'help'))
    assert.match(short.stdout, new RegExp(`[ ,]${name}(,|$)`, 'm'));
  assert.match(full.stdout, /^Exit status:$/m);
  for (const args of [['-h'], ['help']]) assert.deepEqual((await box.wrap(args)).stdout, short.stdout);
  assert.deepEqual((await box.wrap(['help', '--all'])).stdout, full.stdout);
  const bare = await box.wrap([]);
  assert.deepEqual([bare.exit, bare.stdout, bare.stderr], [2, '', short.stdout]);
});

test('the help of a command is a sentence', async t => {
  const box = sandbox(t);
  for (const words of [['status'], ['mcp'], ['accounts', 'add'], ['pool']]) {
    const { stdout } = await box.wrap([...words, '--help']);
    assert.match(stdout, /^Usage: culvert-wrap .*\n\n[A-Z][^\n]+(\n[^\n]+)*\.\n/, stdout);
    assert.match(stdout, /print help\n/);
  }
});

test('an empty list names the next step', async t => {
  const box = sandbox(t);
  for (const args of [['status'], ['accounts'], ['audit']])
    assert.match((await box.wrap(args)).stdout, /culvert-wrap (install|accounts add) firecrawl/, args.join(' '));
});

test('once a tool is installed, an empty audit log does not ask for that', async t => {
  const box = sandbox(t);
  box.script('fake', '#!/bin/sh\necho ok\n');
  box.provider('fake', 'inject = ["FAKE_KEY"]\n');
  assert.equal((await box.wrap(['install', 'fake'])).exit, 0);
  assert.equal((await box.wrap(['audit'])).stdout, 'No command has run with an account yet.\n');
});
