// Commands that wait for the end of a pause.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { until } from '../support/until.ts';
import { calls, setUp as withTool } from '../support/wrapper/fake-cli.ts';
import { finished, type Sandbox, type sandbox } from '../support/wrapper/sandbox.ts';

// Answers with a limit until the file `back` exists, and says when it began and ended.
const FAKE = `#!/bin/sh
echo "begin $FAKE_KEY $*" >> "$HOME/calls"
while [ -e "$HOME/hold" ]; do sleep 0.02; done
echo "end $FAKE_KEY $*" >> "$HOME/calls"
case "$FAKE_KEY" in auth*) echo "Error: bad key" >&2; exit 1 ;; esac
[ -e "$HOME/back" ] || { echo "Error: slow down, retry after \${SECONDS_LEFT:-1}s" >&2; exit 1; }
echo "ok $FAKE_KEY"
`;
const RULES = `auth_command = "auth"
inject = ["FAKE_KEY"]
[[providers.fake.rules]]
class = "rate"
stderr = '^Error: slow down, retry after (?<rest>\\d+)s'
[[providers.fake.rules]]
class = "auth"
stderr = "^Error: bad key"
`;

function setUp(t: Parameters<typeof sandbox>[0], keys: Record<string, string>, wait?: string) {
  const config = wait ? `[capacity.fake]\nwait = "${wait}"\n` : '';
  return withTool(t, keys, { script: FAKE, rules: RULES, config });
}

const begun = (box: Sandbox) => calls(box).filter(line => line.startsWith('begin '));

test('a command that waits goes on waiting when the limit comes again', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' }, '10m');
  const end = finished(box.start('fake', ['x']));
  await until(() => begun(box).length >= 6, 'three rounds over both accounts');
  fs.writeFileSync(path.join(box.home, 'back'), '');
  const result = await end;
  assert.deepEqual([result.exit, result.stdout.slice(0, 3)], [0, 'ok '], result.stderr);
});

test('a command that waits goes on as soon as a person ends the pause', async t => {
  const box = setUp(t, { a: 'k1' }, '2h');
  const child = box.start('fake', ['x'], { env: { SECONDS_LEFT: '3600' } });
  let told = '';
  child.stderr?.on('data', chunk => {
    told += chunk;
  });
  const end = finished(child);
  await until(() => told.includes('waiting 60 min'), 'the wrapper to wait');
  fs.writeFileSync(path.join(box.home, 'back'), '');
  await box.auth('fake', ['wake', 'a']);
  assert.equal((await end).stdout, 'ok k1\n');
});

test('one of many waiting commands tries each account after its pause, and the others wait for its result', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' }, '10m');
  const now = Date.now();
  const over = { class: 'rate', until: now - 1, since: now - 10 };
  box.remember('fake', { paused: { a: over, b: over } });
  fs.writeFileSync(path.join(box.home, 'hold'), '');
  fs.writeFileSync(path.join(box.home, 'back'), '');
  const texts: string[] = [];
  const runs = Array.from({ length: 6 }, (_, i) => {
    const child = box.start('fake', [`r${i}`]);
    child.stderr?.on('data', chunk => {
      texts[i] = (texts[i] ?? '') + chunk;
    });
    return finished(child);
  });
  await until(() => texts.filter(text => text?.includes('waiting for another run')).length === 4, 'four to wait');
  await until(() => begun(box).length >= 2, 'two to begin');
  assert.deepEqual(
    begun(box)
      .map(line => line.split(' ')[1])
      .sort(),
    ['k1', 'k2'],
  );
  fs.rmSync(path.join(box.home, 'hold'));
  for (const { exit } of await Promise.all(runs)) assert.equal(exit, 0);
});

test('a command that can wait does not try a paused account', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' }, '2s');
  const paused = { b: { class: 'rate', until: Date.now() + 3_600_000, since: Date.now() } };
  box.remember('fake', { paused });
  box.configure('policy = "shed"\n');
  await box.shim('fake', ['x'], { env: { SECONDS_LEFT: '3600' } });
  assert.deepEqual(begun(box), ['begin k1 x']);
});

test('when every credential was refused, one is tried and the others are left alone', async t => {
  const box = setUp(t, { a: 'auth1', b: 'auth2' });
  assert.equal((await box.shim('fake', ['x'])).exit, 1);
  assert.equal((await box.shim('fake', ['y'])).exit, 1);
  assert.deepEqual(begun(box), ['begin auth1 x', 'begin auth2 x', 'begin auth1 y']);
  fs.writeFileSync(path.join(box.config, 'keys.env'), 'fake_a=auth1\nfake_b=k2\n');
  fs.writeFileSync(path.join(box.home, 'back'), '');
  assert.equal((await box.shim('fake', ['z'])).stdout, 'ok k2\n');
});
