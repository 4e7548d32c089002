// Failover of a wrapped command: which account comes next, and what the user sees of it.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { until } from '../support/until.ts';
import { finished, sandbox } from '../support/wrapper/sandbox.ts';

/** An upstream that fails by what its key says. */
const FAKE = `#!/bin/sh
printf '%s %s\\n' "$FAKE_KEY" "$*" >> "$HOME/calls"
case "$FAKE_KEY" in
  quota*) echo "partial"; echo "Error: quota exceeded" >&2; exit 1 ;;
  rate*) echo "Error: slow down, retry after 23s" >&2; exit 1 ;;
  auth*) echo "Error: bad key" >&2; exit 1 ;;
  broken*) echo "Error: something else" >&2; exit 9 ;;
esac
case "$1" in
  cat) cat ;;
  fail) exit 7 ;;
  kill) kill -TERM $$ ;;
esac
echo "result of $*"
echo "note" >&2
`;

const RULES = `inject = ["FAKE_KEY"]
passthrough = ["login", "--version", "--help"]
own_credential = ["--key"]
stdin_commands = ["cat"]
[[providers.fake.rules]]
class = "usage"
stderr = "^usage:"
[[providers.fake.rules]]
class = "quota"
stderr = "^Error: quota"
[[providers.fake.rules]]
class = "rate"
stderr = '^Error: slow down, retry after (?<rest>\\d+)s'
[[providers.fake.rules]]
class = "auth"
stderr = "^Error: bad key"
`;

function setUp(t: Parameters<typeof sandbox>[0]) {
  const box = sandbox(t);
  box.script('fake', FAKE);
  box.provider('fake', RULES);
  const calls = () => fs.readFileSync(path.join(box.home, 'calls'), 'utf8').trim().split('\n');
  const state = () => JSON.parse(fs.readFileSync(path.join(box.state, 'accounts/fake.json'), 'utf8'));
  return { box, calls, state };
}

test('a limit on the first account continues on the second, says so in one line, and keeps the second', async t => {
  const { box, calls, state } = setUp(t);
  box.accounts('fake', { a: 'quota-a', b: 'ok-b' });
  const first = await box.shim('fake', ['search', 'x']);
  assert.equal(first.stdout, 'result of search x\n');
  assert.equal(first.exit, 0);
  assert.match(
    first.stderr,
    /^culvert-wrap: fake: account "a" has no quota left \(quota, paused for 60 min\); trying "b"\nnote\n$/,
  );
  assert.equal(state().default, 'b');
  const second = await box.shim('fake', ['search', 'y']);
  assert.deepEqual(second, { exit: 0, signal: null, stdout: 'result of search y\n', stderr: 'note\n' });
  assert.deepEqual(calls(), ['quota-a search x', 'ok-b search x', 'ok-b search y']);
});

test('when every account fails, the last attempt counts and the paused ones are tried last next time', async t => {
  const { box, calls, state } = setUp(t);
  box.accounts('fake', { a: 'quota-a', b: 'rate-b', c: 'auth-c' });
  const result = await box.shim('fake', ['search']);
  assert.equal(result.exit, 1);
  assert.match(result.stderr, /Error: bad key\nculvert-wrap: fake: account "c" was refused .*; no account is left\n$/);
  assert.equal(state().default, undefined);
  const { since, until } = state().paused.c;
  assert.equal(until - since, 3_600_000, 'a refused key is asked about again');
  await box.shim('fake', ['search']);
  assert.deepEqual(
    calls()
      .slice(3)
      .map(line => line.split(' ')[0]),
    ['rate-b', 'quota-a'],
  );
});

test('an account refused for its credential is tried first again once the credential has changed', async t => {
  const { box, calls } = setUp(t);
  box.accounts('fake', { a: 'auth-a', b: 'ok-b' });
  await box.shim('fake', ['one']);
  const keys = path.join(box.config, 'keys.env');
  fs.writeFileSync(keys, fs.readFileSync(keys, 'utf8').replace('auth-a', 'ok-a'));
  await box.shim('fake', ['two'], { env: { CULVERT_WRAP_ACCOUNT: 'b' } });
  await box.shim('fake', ['three'], { env: { CULVERT_WRAP_ACCOUNT: 'a' } });
  assert.deepEqual(calls(), ['auth-a one', 'ok-b one', 'ok-b two', 'ok-a three']);
});

test('a failure that no rule knows is final and leaves the default alone', async t => {
  const { box, calls } = setUp(t);
  box.accounts('fake', { a: 'broken-a', b: 'ok-b' });
  const result = await box.shim('fake', ['search']);
  assert.deepEqual(result, { exit: 9, signal: null, stdout: '', stderr: 'Error: something else\n' });
  assert.equal(calls().length, 1);
});

test('exit status and signal of the upstream are passed on', async t => {
  const { box } = setUp(t);
  box.accounts('fake', { a: 'ok-a', b: 'ok-b' });
  assert.equal((await box.run('fake', ['fail'])).exit, 7);
  assert.equal((await box.run('fake', ['kill'])).signal, 'SIGTERM');
});

test('stdin is replayed to the next account, whatever its size', async t => {
  const { box } = setUp(t);
  box.script('fake', FAKE.replace('quota*) ', 'quota*) head -c 100000 >/dev/null; '));
  box.accounts('fake', { a: 'quota-a', b: 'ok-b' });
  const input = Buffer.alloc(3_000_000, 'abcdefghij\n');
  const piped = await box.run('fake', ['cat'], { input });
  assert.equal(piped.stdout.length, input.length + 'result of cat\n'.length);
  assert.ok(piped.stdout.startsWith(input.toString().slice(0, 200_000)));
});

test('an upstream that does not read stdin ends although stdin stays open', async t => {
  const { box } = setUp(t);
  box.accounts('fake', { a: 'quota-a', b: 'ok-b' });
  const result = await finished(box.start('fake', ['search']));
  assert.equal(result.exit, 0);
});

test('a signal is passed on to the upstream and nothing is tried after it', async t => {
  const { box } = setUp(t);
  box.script(
    'fake',
    `#!/bin/sh\ntrap 'echo "Error: quota" >&2; exit 1' TERM\n: > "$HOME/ready-$FAKE_KEY"\nwhile :; do sleep 0.02; done\n`,
  );
  box.accounts('fake', { a: 'a', b: 'b' });
  const child = box.start('fake', ['search']);
  const end = finished(child);
  await until(() => fs.existsSync(path.join(box.home, 'ready-a')), 'the upstream to start');
  child.kill('SIGTERM');
  const result = await end;
  assert.equal(result.exit, 1);
  assert.match(result.stderr, /not repeated, because SIGTERM arrived/);
  assert.ok(!fs.existsSync(path.join(box.home, 'ready-b')));
});

test('a credential given by the user, and passthrough commands, run the original as it is', async t => {
  const { box, calls } = setUp(t);
  box.accounts('fake', { a: 'quota-a', b: 'ok-b' });
  const env = { FAKE_KEY: 'mine' };
  await box.shim('fake', ['search', '--key', 'k'], { env });
  await box.shim('fake', ['search', '--key=k'], { env });
  await box.shim('fake', ['login'], { env });
  await box.shim('fake', ['search', '--help'], { env });
  assert.deepEqual(calls(), ['mine search --key k', 'mine search --key=k', 'mine login', 'mine search --help']);
});

test('an account without a credential is skipped and never runs with whatever key is around', async t => {
  const { box, calls } = setUp(t);
  box.accounts('fake', { a: '', b: 'ok-b' });
  const result = await box.shim('fake', ['search'], { env: { FAKE_KEY: 'stray' } });
  assert.match(result.stderr, /skipping account "a": FAKE_KEY from file:.*: it is empty\n/);
  assert.deepEqual(calls(), ['ok-b search']);
  await box.shim('fake', ['login', 'disable', 'b']);
});

test('with no usable account nothing runs and the exit status is 69', async t => {
  const { box } = setUp(t);
  box.accounts('fake', { a: '', b: '' });
  const result = await box.shim('fake', ['search']);
  assert.equal(result.exit, 69);
  assert.match(result.stderr, /no account can be used/);
  assert.ok(!fs.existsSync(path.join(box.home, 'calls')));
});
