// Wrapped commands under hostile output, settings and signals.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { sample } from '../support/thoroughness.ts';
import { until } from '../support/until.ts';
import { calls, setUp as withTool } from '../support/wrapper/fake-cli.ts';
import { finished, sandbox } from '../support/wrapper/sandbox.ts';

const RULES = `inject = ["FAKE_KEY"]
auth_command = "auth"
[[providers.fake.rules]]
class = "quota"
stderr = "^Error: quota"
`;

function setUp(t: TestContext, script: string, keys: Record<string, string>, rules = RULES) {
  const box = withTool(t, keys, { script, rules });
  return { box, calls: () => calls(box) };
}

const FAILS_BY_KEY = 'case $FAKE_KEY in bad*) echo "Error: quota" >&2; exit 1 ;; esac; echo "ok $FAKE_KEY"\n';

test('M2: what is reserved stays reserved when another account fails', async t => {
  const { box, calls } = setUp(t, FAILS_BY_KEY, { a: 'bad', b: 'good' });
  box.configure('[capacity.fake]\npolicy = "queue"\nreserve = 5\n');
  const left = (remaining: number) => ({ remaining, limit: 10, used: 0, resets: null, at: Date.now() });
  box.remember('fake', { salt: 's', remaining: { a: left(10), b: left(1) } });
  const result = await box.shim('fake', ['x']);
  assert.equal(result.exit, 75, result.stderr);
  assert.match(result.stderr, /account "a" has no quota left .*no account is left\n.*queued as/);
  assert.deepEqual(calls(), ['bad x']);
});

test('M3: CULVERT_WRAP_ACCOUNT counts for the CLI that is run, or for those that it names', async t => {
  const { box, calls } = setUp(t, 'env | grep CULVERT_WRAP_ACCOUNT; [ "$1" = nest ] && other x\nexit 0\n', {
    a: 'k1',
    b: 'k2',
  });
  box.script('other', '#!/bin/sh\necho "other $OTHER_KEY"\n');
  box.provider('other', 'inject = ["OTHER_KEY"]');
  box.accounts('other', { first: 'o1', second: 'o2' }, 'OTHER_KEY');
  const nested = await box.shim('fake', ['nest'], { env: { CULVERT_WRAP_ACCOUNT: 'b' } });
  assert.equal(nested.stdout, 'CULVERT_WRAP_ACCOUNT=fake=b\nother o1\n', nested.stderr);
  const env = { CULVERT_WRAP_ACCOUNT: 'fake=b,other=second' };
  assert.match((await box.shim('fake', ['nest'], { env })).stdout, /other o2\n$/);
  assert.equal((await box.shim('other', ['x'], { env })).stdout, 'other o2\n');
  assert.equal((await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'other=first' } })).exit, 0);
  assert.deepEqual(calls(), ['k2 nest', 'k2 nest', 'k1 x']);
  const unknown = await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'other=first,fake=none' } });
  assert.equal(unknown.exit, 2);
  assert.match(unknown.stderr, /the account "none" of CULVERT_WRAP_ACCOUNT does not exist/);
});

test('M3: a pin is never overridden silently: not by blanks, disabled accounts, or a removed account', async t => {
  const { box, calls } = setUp(t, 'exit 0\n', { a: 'k1', b: 'k2' });
  const pinned = (value: string) => box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: value } });
  for (const value of ['npm=ci, fake=b', ' b ', 'fake = b']) assert.equal((await pinned(value)).exit, 0, value);
  assert.deepEqual(calls(), ['k2 x', 'k2 x', 'k2 x']);
  for (const name of ['a', 'b']) await box.auth('fake', ['disable', name]);
  for (const value of ['fake=b', 'b', 'fake=c']) assert.equal((await pinned(value)).exit, 2, value);
  assert.equal((await pinned('c')).exit, 0, 'it may be meant for another CLI');
  for (const name of ['a', 'b']) await box.auth('fake', ['remove', name]);
  const gone = await pinned('npm=ci, fake=b');
  assert.equal(gone.exit, 2);
  assert.match(gone.stderr, /"b" of CULVERT_WRAP_ACCOUNT does not exist\n.*fake has no accounts/);
  assert.equal((await pinned('npm=fake')).exit, 0);
  assert.deepEqual(calls().slice(3), [' x', ' x']);
});

test('M9: a flood on the stderr of a failing attempt is held in bounded memory', async t => {
  const script = `case $FAKE_KEY in bad*) head -c 200M /dev/zero | tr '\\0' x >&2; echo >&2; echo "Error: quota" >&2; exit 1 ;; esac; echo ok\n`;
  const rules = `commit = { stderr_after = "10m" }\n${RULES}`; // however slow the machine is, the flood is held
  const { box } = setUp(t, script, { a: 'bad', b: 'good' }, rules);
  const child = box.start('fake', ['x']);
  let peak = 0;
  const timer = setInterval(() => {
    const status = fs.existsSync(`/proc/${child.pid}/status`)
      ? fs.readFileSync(`/proc/${child.pid}/status`, 'utf8')
      : '';
    peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
  }, 5);
  const result = await finished(child);
  clearInterval(timer);
  assert.equal(result.stdout, 'ok\n');
  assert.match(result.stderr, /^culvert-wrap: fake: account "a" has no quota left .*trying "b"\n$/);
  assert.ok(peak > 0 && peak < 120 * 1024, `${peak} KiB`);
});

test('M10: the output of an attempt that fails after seconds is not shown', async t => {
  const script = `case $FAKE_KEY in bad*) echo "starting" >&2; sleep 3; echo "Error: quota" >&2; exit 1 ;; esac; echo "ok"\n`;
  const { box } = setUp(t, script, { a: 'bad', b: 'good' });
  const result = await box.run('fake', ['x']);
  assert.equal(result.stdout, 'ok\n');
  assert.doesNotMatch(result.stderr, /starting|Error/);
});

test('M10: on a stderr that is shown as it comes, the failure itself is held back', async t => {
  const script = `case $FAKE_KEY in bad*) echo "step 1" >&2; while [ ! -e "$HOME/go" ]; do sleep 0.02; done; echo "Error: quota" >&2; exit 1 ;; esac; echo "ok"\n`;
  const { box } = setUp(t, script, { a: 'bad', b: 'good' }, `commit = { stderr_after = "50ms" }\n${RULES}`);
  const child = box.start('fake', ['x']);
  const end = finished(child);
  let shown = '';
  child.stderr?.on('data', chunk => {
    shown += chunk;
  });
  await until(() => shown.includes('step 1'), 'the first step to be shown');
  fs.writeFileSync(path.join(box.home, 'go'), '');
  const result = await end;
  assert.equal(result.stdout, 'ok\n');
  assert.match(result.stderr, /^step 1\nculvert-wrap: fake: account "a" has no quota left .*trying "b"\n$/);
});

test('L1: names that are paths or keys of objects are refused, and never get in the way', async t => {
  const { box } = setUp(t, FAILS_BY_KEY, { a: 'good' });
  for (const name of ['.', '..', '...', '__proto__', 'a/b', '']) {
    const result = await box.auth('fake', ['add', name, '--env', 'FAKE_KEY=env:X']);
    assert.equal(result.exit, 2, name);
  }
  for (const name of ['constructor', 'toString', '.hidden']) {
    const result = await box.auth('fake', ['add', name, '--env', 'FAKE_KEY=env:BAD']);
    assert.equal(result.exit, 0, result.stderr);
    const run = await box.shim('fake', ['constructor'], { env: { CULVERT_WRAP_ACCOUNT: name, BAD: 'bad' } });
    assert.equal(run.stdout, 'ok good\n', run.stderr);
  }
  const state = JSON.parse(fs.readFileSync(path.join(box.state, 'accounts/fake.json'), 'utf8'));
  assert.equal(state.paused.constructor.class, 'quota');
  const unknown = await box.wrap(['catalog', 'show', 'constructor']);
  assert.equal(unknown.exit, 2);
});

const DAMAGED_STATES = [
  '{"paused":{"a":null}}',
  '{"paused":{"a":{"class":"quota"}},"remaining":{"a":7,"b":{"remaining":"x"}}}',
  '{"jobs":{"x":null},"history":{"a":[1]},"low":3,"prepared":{},"notified":[]}',
  '{"paused":[],"default":["a"],"salt":7}',
  '[]',
  'null',
  '{',
  '\0\0\0',
];

test('L2: a command runs whatever is in the state file', async t => {
  const { box } = setUp(t, FAILS_BY_KEY, { a: 'bad', b: 'good' });
  for (const text of sample(DAMAGED_STATES, 3)) {
    box.remember('fake', text);
    const result = await box.shim('fake', ['x']);
    assert.deepEqual([result.exit, result.stdout], [0, 'ok good\n'], `${text}: ${result.stderr}`);
  }
});

test('L2: a command runs whatever is in a plan with the right stamp', async t => {
  const { box } = setUp(t, FAILS_BY_KEY, { a: 'bad', b: 'good' });
  await box.shim('fake', ['x']);
  const file = path.join(box.state, 'plans/fake');
  const plan = JSON.parse(fs.readFileSync(file, 'utf8'));
  const damages = [
    { accounts: null },
    { accounts: [null] },
    { accounts: [{}] },
    { accounts: [{ name: 'a', env: null }] },
    { provider: null },
    { provider: {} },
    { provider: { ...plan.provider, rules: 'x' } },
    { capacity: null },
    { secretTimeoutMs: 'soon' },
  ];
  for (const damage of sample(damages, 3)) {
    fs.writeFileSync(file, JSON.stringify({ ...plan, ...damage }));
    const result = await box.shim('fake', ['x']);
    assert.deepEqual([result.exit, result.stdout], [0, 'ok good\n'], `${JSON.stringify(damage)}: ${result.stderr}`);
  }
});

test("L3: a user's pattern that would take forever is ignored with one line", async t => {
  const script = `printf 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\\n' >&2; echo out; exit 3\n`;
  const rules = `inject = ["FAKE_KEY"]\nonce = ["x"]\njob_id = '^(a+)+$'\n[[providers.fake.rules]]\nclass = "quota"\nstderr = "^(a+)+$"\n`;
  const { box } = setUp(t, script, { a: 'k1', b: 'k2' }, rules);
  const result = await box.shim('fake', ['x']);
  assert.deepEqual([result.exit, result.stdout], [3, 'out\n']);
  assert.equal(result.stderr.match(/takes too long and is ignored/g)?.length, 1);
});

for (const [what, noise] of Object.entries({
  'after it': 'echo "Error: quota" >&2; seq 1 200000 >&2',
  'before it': 'seq 1 200000 >&2; echo "Error: quota" >&2',
  'around it': 'seq 1 200000 >&2; echo "Error: quota" >&2; seq 1 200000 >&2',
  'with control characters in front of it': 'printf "\\000\\007\\033[1mError: quota\\n" >&2',
})) {
  test(`L7: a limit is recognized with noise ${what}`, async t => {
    const script = `case $FAKE_KEY in bad*) ${noise}; exit 1 ;; esac; echo ok\n`;
    const { box } = setUp(t, script, { a: 'bad', b: 'good' });
    assert.equal((await box.run('fake', ['x'])).stdout, 'ok\n');
  });
}

for (const keys of [{ a: 'k1' }, { a: 'k1', b: 'k2' }] as Record<string, string>[]) {
  const count = Object.keys(keys).length;
  test(`L8: with ${count} account(s) an upstream gets the descriptors of its caller, closed ones included`, async t => {
    const script = `for fd in 3 4 5 6 7 8 9; do [ -e /proc/self/fd/$fd ] && readlink /proc/self/fd/$fd; done >> "$HOME/fds"; echo out || echo "stdout is closed" >> "$HOME/fds"\n`;
    const { box } = setUp(t, script, keys);
    const fds = path.join(box.home, 'fds');
    const run = (redirections: string, program: string) => {
      fs.rmSync(fds, { force: true });
      spawnSync('bash', ['-c', `${program} x ${redirections}`], { env: box.env, cwd: box.home });
      return fs.readFileSync(fds, 'utf8').replaceAll(/pipe:\[\d+\]/g, 'pipe');
    };
    for (const redirections of [
      '7</etc/passwd 8>/dev/null 9</etc/group',
      '3</etc/passwd 6</etc/group',
      '>&-',
      '>&- 2>&-',
    ]) {
      const direct = run(redirections, path.join(box.state, 'originals/fake'));
      assert.equal(run(redirections, 'fake'), direct, redirections);
    }
  });
}

test('L13: an account chosen for one command does not change the default when it fails', async t => {
  const { box } = setUp(t, FAILS_BY_KEY, { a: 'good-a', b: 'bad', c: 'good-c' });
  const pinned = await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'b' } });
  assert.equal(pinned.stdout, 'ok good-c\n');
  assert.match(pinned.stderr, /trying "c"/);
  assert.equal((await box.auth('fake', ['default'])).stdout, 'a\n');
  const { box: other } = setUp(t, FAILS_BY_KEY, { a: 'bad', b: 'good' });
  await other.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'a' } });
  assert.equal((await other.auth('fake', ['default'])).stdout, 'b\n');
});

test('the last account that fails says which accounts are disabled', async t => {
  const { box } = setUp(t, FAILS_BY_KEY, { a: 'bad-a', b: 'bad-b', c: 'good' });
  await box.auth('fake', ['disable', 'c']);
  assert.match((await box.shim('fake', ['x'])).stderr, /no account is left \(disabled: "c"\)\n$/);
});

test('a command that gives a credential and calls the tool itself gets the original one, and starts no chain', async t => {
  const { box, calls } = setUp(t, '[ "$1" = key ] && echo "minted-$FAKE_KEY"\nexit 0\n', { a: 'k1' });
  const file = path.join(box.config, 'config.toml');
  const source = fs.readFileSync(file, 'utf8').replace(/"file:[^"]*"/, '"command:fake key"');
  fs.writeFileSync(file, source);
  const result = await box.shim('fake', ['x'], { env: { FAKE_KEY: 'stored' } });
  assert.equal(result.exit, 0, result.stderr);
  assert.deepEqual(calls(), ['stored key', 'minted-stored x']);
});

test('a HOME that is relative is refused, and nothing is written below the current directory', async t => {
  const box = sandbox(t);
  const cwd = path.join(box.home, 'elsewhere');
  fs.mkdirSync(cwd);
  const env = { HOME: 'here', XDG_CONFIG_HOME: undefined, XDG_STATE_HOME: undefined };
  for (const words of [['doctor'], ['accounts'], ['accounts', 'add', 'fake', 'a']]) {
    const { exit, stderr } = await box.wrap(words, { env, cwd });
    assert.equal(exit, 78, stderr);
    assert.match(stderr, /^culvert-wrap: HOME is "here", and has to begin with a slash\n/);
  }
  assert.deepEqual(fs.readdirSync(cwd), []);
});
