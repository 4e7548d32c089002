// The prompt that runs each line with failover: editing, pastes and Ctrl-C.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { calls, setUp } from '../../support/wrapper/fake-cli.ts';
import { atTerminal } from '../../support/wrapper/terminal.ts';

const PROMPT = '[providers.fake.line_repl]\nexit = ["exit"]\n';

test('L9: the prompt has editing and history, takes the account commands, and survives Ctrl-C', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  fs.appendFileSync(path.join(box.config, 'providers.toml'), PROMPT);
  const keys = ['fake search one\r', '\x1b[A two\r', 'lost\x03', 'auth use b\r', 'sxx\x7f\x7fearch three\r', '\x04'];
  let typed = 0;
  let since = 0;
  const { exit, screen } = await atTerminal(box, 'fake', {
    answer: shown => {
      // editing shows the prompt again in its line; only one in a new line takes the next
      const ready = /(?:^|\n)(?:\x1b\[\d*[GJ])*fake> (?:\x1b\[\d*[GJ])*$/.test(shown.slice(since));
      if (!ready || (typed > 0 && !shown.includes('\n', since))) return undefined;
      since = shown.length;
      return keys[typed++];
    },
  });
  assert.equal(exit, 0, screen);
  assert.deepEqual(calls(box), ['k1 search one', 'k1 search one two', 'k2 search three'], screen);
});

test('the lines of a paste at the prompt run in their order, even if the paste arrives in many pieces', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  fs.appendFileSync(path.join(box.config, 'providers.toml'), PROMPT);
  const long = Array.from({ length: 60 }, (_, i) => `search ${i} ${'x'.repeat(120)}`);
  const pastes = [
    'search one\rsearch two\r\rsearch three\rsea',
    'rch four\r',
    `${long.join('\r')}\rexit\rsearch late\r`,
  ];
  const prompt = /fake> (?:\x1b\[\d*[GJ])*(?:sea)?(?:\x1b\[\d*[GJ])*$/;
  let since = 0;
  const { exit, screen } = await atTerminal(box, 'fake', {
    answer: shown => {
      const seen = fs.existsSync(path.join(box.home, 'calls')) ? calls(box).length : 0;
      // the first immediately, the second after three runs, the third after the fourth run
      if (pastes.length !== 3 - (seen === 0 ? 0 : seen === 3 ? 1 : seen === 4 ? 2 : 9)) return undefined;
      if (!prompt.test(shown.slice(since))) return undefined;
      since = shown.length;
      return pastes.shift();
    },
  });
  assert.equal(exit, 0, screen);
  const expected = ['one', 'two', 'three', 'four'].map(word => `k1 search ${word}`);
  assert.deepEqual(calls(box), [...expected, ...long.map(line => `k1 ${line}`)], screen);
});

test('Ctrl-C in a pasted line ends the paste, and the lines that did not run are printed', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  fs.appendFileSync(path.join(box.config, 'providers.toml'), PROMPT);
  const original = JSON.parse(fs.readFileSync(path.join(box.state, 'installs.json'), 'utf8')).fake.original;
  fs.writeFileSync(
    original,
    '#!/bin/sh\necho "$*" >> "$HOME/calls"\n[ "$1" != wait ] || { echo waiting; exec sleep 60; }\n',
  );
  const steps: [RegExp, string][] = [
    [/fake> /, 'one\rwait\rthree\rfour\r'],
    [/waiting/, '\x03'],
    [/2 pasted lines are not run.*fake> /s, 'five\r'],
    [/five.*fake> /s, '\x04'],
  ];
  let at = 0;
  const { exit, screen } = await atTerminal(box, 'trap : INT; fake', {
    answer: shown => {
      if (!steps[0]?.[0].test(shown.slice(at))) return undefined;
      at = shown.length;
      return steps.shift()![1];
    },
  });
  assert.equal(exit, 0, screen);
  assert.deepEqual(calls(box), ['one', 'wait', 'five'], screen);
});

test('a line that names another host runs as it is, and no other line does', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  const file = path.join(box.config, 'providers.toml');
  fs.appendFileSync(file, PROMPT);
  fs.appendFileSync(file, '[providers.fake.hosts]\nnames = ["api.fake.example"]\noptions = ["--url"]\n');
  const lines = 'search --url https://else.example\nsearch two\nexit\n';
  const { stderr } = await box.run('fake', [], { input: lines });
  assert.match(stderr, /^culvert-wrap: fake: --url may lead to another host than api\.fake\.example, so [^\n]*\n$/);
  assert.deepEqual(calls(box), ['search --url https://else.example', 'k1 search two']);
});
