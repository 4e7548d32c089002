// The commands that manage accounts, and where their keys may show.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { calls, setUp as withTool } from '../../support/wrapper/fake-cli.ts';
import { finished, type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';
import { SECRET_TOOL } from '../../support/wrapper/secret-tool.ts';

const RULES = `auth_command = "auth"
inject = ["FAKE_KEY"]
terms_note = "Mind the terms."
[[providers.fake.rules]]
class = "quota"
stderr = "^Error: quota"
`;

const setUp = (t: TestContext, rules = RULES): Sandbox => withTool(t, {}, { rules });

const everything = (dir: string) =>
  fs
    .readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map(name => path.join(dir, name))
    .filter(file => fs.lstatSync(file).isFile());

test('an account added with its key from stdin works immediately, and its key is in one 0600 file only', async t => {
  const box = setUp(t);
  const canary = 'canary-7f3a91';
  const added = await box.run('fake', ['auth', 'add', 'a', '--file'], { input: `${canary}\n` });
  assert.equal(added.exit, 0, added.stderr);
  assert.equal((await box.shim('fake', ['x'])).stdout, 'ok\n');
  for (const args of [['list'], ['list', '--json'], ['default']]) {
    assert.doesNotMatch(JSON.stringify(await box.auth('fake', args)), /canary/);
  }
  for (const args of [
    ['doctor', '--json'],
    ['accounts', '--json'],
    ['config', '--json'],
    ['audit', '--json'],
    ['explain', 'fake', 'x', '--json'],
    ['status', 'fake', '--json'],
  ]) {
    assert.doesNotMatch(JSON.stringify(await box.wrap(args)), /canary/);
  }
  const holding = everything(box.home).filter(
    file => fs.readFileSync(file, 'utf8').includes(canary) && !file.endsWith('/calls'),
  );
  assert.deepEqual(holding, [path.join(box.config, 'secrets/fake.env')]);
  const ours = [...everything(box.config), ...everything(box.state)];
  for (const file of ours.filter(each => !each.includes('/originals/') && !each.endsWith('providers.toml'))) {
    assert.equal(fs.statSync(file).mode & 0o077, 0, file);
  }
  assert.equal(fs.statSync(box.config).mode & 0o077, 0);
  assert.equal(fs.statSync(box.state).mode & 0o077, 0);
});

test('a replaced key leaves the account’s other variables', async t => {
  const box = setUp(t);
  const add = (...options: string[]) => box.run('fake', ['auth', 'add', 'a', '--file', ...options], { input: 'key\n' });
  await add('--env', 'OTHER=env:MINE');
  const replaced = await add('--replace');
  assert.equal(replaced.exit, 0, replaced.stderr);
  const { accounts } = JSON.parse((await box.auth('fake', ['list', '--json'])).stdout);
  assert.deepEqual(Object.keys(accounts[0].sources).sort(), ['FAKE_KEY', 'OTHER']);
});

test('an account that is not there is refused with those that are, or with how to add it', async t => {
  const box = setUp(t);
  const none = await box.auth('fake', ['wake', 'a']);
  assert.deepEqual([none.exit, none.stdout], [2, '']);
  assert.match(none.stderr, /fake has no account "a"\n.*`culvert-wrap accounts add fake a` adds it\n$/);
  box.accounts('fake', { b: 'kb', c: 'kc' });
  assert.match((await box.auth('fake', ['wake', 'a'])).stderr, /fake has no account "a"\n.*accounts: b, c\n$/);
});

test('no secret is in an argument list while an account is added, prepared or used', async t => {
  const box = setUp(t, `prepare_command = "ps -eo args > \\"$HOME/ps-prepare\\"; : {FAKE_KEY}"\n${RULES}`);
  box.script('secret-tool', SECRET_TOOL.replace('verb=$1', 'ps -eo args >> "$HOME/ps-store"; verb=$1'));
  box.script('fake2', '');
  await box.run('fake', ['auth', 'add', 'a'], { input: 'canary-51c\n' });
  // in this process the command would have no argument list
  assert.equal((await box.run('fake', ['x'])).stdout, 'ok\n');
  for (const name of ['ps-prepare', 'ps-store']) {
    const listing = fs.readFileSync(path.join(box.home, name), 'utf8');
    assert.match(listing, /ps -eo args/);
    assert.doesNotMatch(listing, /canary/);
  }
});

test('a key given as an argument or written into the configuration is refused without being repeated', async t => {
  const box = setUp(t);
  const argument = await box.auth('fake', ['add', 'a', '--env', 'FAKE_KEY=canary-99']);
  assert.equal(argument.exit, 2);
  assert.doesNotMatch(argument.stderr, /canary/);
  fs.writeFileSync(
    path.join(box.config, 'config.toml'),
    '[[accounts]]\ncli = "fake"\nname = "a"\nenv = { FAKE_KEY = "canary-99" }\n',
  );
  const run = await box.shim('fake', ['x']);
  assert.equal(run.stdout, 'ok\n');
  assert.match(run.stderr, /running fake without an account/);
  assert.doesNotMatch(run.stderr, /canary/);
});

test('a credential with a line break, an empty one and a bad name are refused', async t => {
  const box = setUp(t);
  const broken = await box.auth('fake', ['add', 'a', '--file'], { input: 'one\ntwo\n' });
  assert.equal(broken.exit, 65);
  assert.match(broken.stderr, /contains a line break/);
  assert.equal((await box.auth('fake', ['add', 'a', '--file'], { input: '\n' })).exit, 66);
  assert.equal((await box.auth('fake', ['add', 'a/b', '--file'], { input: 'k\n' })).exit, 2);
  assert.ok(!fs.existsSync(path.join(box.config, 'config.toml')));
});

test('a key with quotes and a "#" is stored as it is, or refused', async t => {
  const box = sandbox(t);
  box.script('fake', '#!/bin/sh\nprintf "%s" "$FAKE_KEY"\n');
  box.provider('fake', RULES);
  box.install('fake');
  const refused = await box.auth('fake', ['add', 'a', '--file'], { input: `a' #b" #c\n` });
  assert.equal(refused.exit, 73, refused.stderr);
  assert.match(refused.stderr, /could not be stored in a file[^\n]*\n.*--env/);
  assert.doesNotMatch((await box.auth('fake', ['list'])).stdout, /\ba\b/);
  assert.equal((await box.auth('fake', ['add', 'b', '--file'], { input: `it's" #x\n` })).exit, 0);
  assert.equal((await box.shim('fake', ['x'])).stdout, `it's" #x`);
});

test('every kind of source gives its credential, and a source that fails skips its account with the reason', async t => {
  const box = setUp(t);
  box.script('secret-tool', SECRET_TOOL);
  box.script('pass', '#!/bin/sh\n[ "$1 $2 $3" = "show -- work/fake" ] && printf "from-pass\\nsecond line\\n"\n');
  fs.writeFileSync(path.join(box.home, 'keys.env'), 'export FROM_FILE="from-file"\n', { mode: 0o600 });
  const sources: Record<string, string> = {
    e: 'env:SPARE_KEY',
    f: 'file:~/keys.env#FROM_FILE',
    c: 'command:echo from-command',
    p: 'pass:work/fake',
    bad1: 'command:exit 4',
    bad2: 'env:UNSET',
    bad3: 'file:~/none#X',
    bad4: 'keyring:service=none',
    bad5: 'command:kill -9 $$',
  };
  for (const [name, source] of Object.entries(sources)) {
    assert.equal((await box.auth('fake', ['add', name, '--env', `FAKE_KEY=${source}`])).exit, 0);
  }
  await box.auth('fake', ['add', 'k'], { input: 'from-keyring\n' });
  for (const name of ['e', 'f', 'c', 'p', 'k']) {
    await box.shim('fake', [name], { env: { CULVERT_WRAP_ACCOUNT: name, SPARE_KEY: 'from-env' } });
  }
  assert.deepEqual(calls(box), ['from-env e', 'from-file f', 'from-command c', 'from-pass p', 'from-keyring k']);
  await box.auth('fake', ['default', 'bad1']);
  const skipping = await box.shim('fake', ['x']);
  assert.match(skipping.stderr, /skipping account "bad1": FAKE_KEY from command:exit …: sh failed with exit status 4/);
  assert.match(skipping.stderr, /skipping account "bad5": FAKE_KEY from command:kill …: sh was ended by SIGKILL/);
  assert.match(skipping.stderr, /skipping account "bad2": .*UNSET is not set/);
  assert.match(skipping.stderr, /skipping account "bad3": .*does not exist/);
  assert.match(skipping.stderr, /skipping account "bad4": .*locked, not running, or has no such entry/);
  assert.equal(skipping.stdout, 'ok\n');
});

test('a locked, hanging or absent keyring says so and names the ways around it', async t => {
  const box = setUp(t);
  const env = { PATH: `${box.bin}:${path.dirname(process.execPath)}:/bin` };
  box.script('secret-tool', SECRET_TOOL);
  fs.writeFileSync(path.join(box.home, 'locked'), '');
  const locked = await box.auth('fake', ['add', 'a'], { input: 'k\n' });
  assert.equal(locked.exit, 69);
  assert.match(locked.stderr, /locked or not running[\s\S]*--file/);
  fs.renameSync(path.join(box.home, 'locked'), path.join(box.home, 'hangs'));
  assert.match((await box.auth('fake', ['add', 'a'], { input: 'k\n' })).stderr, /gave no answer within 3 s/);
  box.script('secret-tool', '#!/bin/sh\nexit 127\n');
  assert.equal((await box.auth('fake', ['add', 'a'], { input: 'k\n', env })).exit, 69);
});

test('a real Secret Service stores, gives and forgets a key', async t => {
  const has = (name: string) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
  if (!['dbus-run-session', 'gnome-keyring-daemon', 'secret-tool'].every(has))
    return t.skip('dbus-run-session, gnome-keyring-daemon and secret-tool are not all installed');
  const box = setUp(t);
  const script = `printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
printf 'real-key\\n' | fake auth add a && fake x && cat "$HOME/calls" && fake auth rename a b && fake y && fake auth remove b
secret-tool search service culvert-wrap 2>/dev/null | grep -c 'cli = fake'; tail -n 1 "$HOME/calls"`;
  const child = spawn('dbus-run-session', ['--', 'sh', '-c', script], {
    env: { ...box.env, XDG_RUNTIME_DIR: box.home },
    stdio: 'pipe',
  });
  child.stdin.end();
  const result = await finished(child);
  assert.match(result.stdout, /real-key x/, result.stderr);
  assert.match(result.stdout, /\n0\nreal-key y\n$/);
  const files = everything(path.join(box.home, '.local')).filter(file =>
    fs.readFileSync(file, 'latin1').includes('real-key'),
  );
  assert.deepEqual(files, []);
});

test('comments and layout of the configuration survive every change', async t => {
  const box = setUp(t);
  const config = path.join(box.config, 'config.toml');
  const text = `# mine
audit = true   # yes

[[accounts]]   # the first
cli   = "fake"
name  = 'one' # quoted oddly
env = { FAKE_KEY = "env:ONE" } # a "#" in a comment

# about two
[[accounts]]
cli = "fake"
name = "two"
enabled = true # for now
env.FAKE_KEY = "command:echo '#' \\"x\\""

[capacity.fake]
reserve = 3 # credits
`;
  fs.writeFileSync(config, text, { mode: 0o600 });
  await box.auth('fake', ['disable', 'two']);
  assert.equal(fs.readFileSync(config, 'utf8'), text.replace('enabled = true # for now', 'enabled = false # for now'));
  await box.auth('fake', ['enable', 'two']);
  await box.auth('fake', ['rename', 'one', 'uno']);
  assert.equal(
    fs.readFileSync(config, 'utf8'),
    text.replace("name  = 'one' # quoted oddly", 'name  = "uno" # quoted oddly').replace('env = {', 'env = {'),
  );
  await box.auth('fake', ['add', 'three', '--env', 'FAKE_KEY=env:THREE']);
  await box.auth('fake', ['remove', 'three']);
  assert.equal(fs.readFileSync(config, 'utf8').trimEnd(), text.replace("'one'", '"uno"').trimEnd());
  await box.auth('fake', ['order', 'two', 'uno']);
  const ordered = fs.readFileSync(config, 'utf8');
  assert.match(
    ordered,
    /^# mine\naudit = true {3}# yes\n\n# about two\n\[\[accounts\]\]\ncli = "fake"\nname = "two"\n/,
  );
  assert.match(
    ordered,
    /\n\n\[\[accounts\]\] {3}# the first\n[\s\S]*"uno" # quoted oddly\n[\s\S]*\n\n\[capacity\.fake\]/,
  );
  await box.auth('fake', ['order', 'uno', 'two']);
  assert.equal(fs.readFileSync(config, 'utf8').trimEnd(), text.replace("'one'", '"uno"').trimEnd());
  await box.auth('fake', ['remove', 'two']);
  const left = fs.readFileSync(config, 'utf8');
  assert.match(left, /^# mine[\s\S]*"uno"[\s\S]*reserve = 3 # credits\n$/);
  assert.doesNotMatch(left, /two/);
});

test('the terms are shown when a second account is added', async t => {
  const box = setUp(t);
  const first = await box.auth('fake', ['add', 'a', '--env', 'FAKE_KEY=env:A']);
  const second = await box.auth('fake', ['add', 'b', '--env', 'FAKE_KEY=env:B']);
  assert.doesNotMatch(first.stderr, /terms/);
  assert.match(second.stderr, /Mind the terms/);
  assert.match((await box.wrap(['explain', 'fake', 'x'])).stdout, /Mind the terms/);
});

test('other words under the auth command, and the bare one, go to the upstream untouched', async t => {
  const box = setUp(t);
  for (const args of [['auth'], ['auth', 'whoami'], ['auth', '--help'], ['auth', 'addx']]) {
    assert.equal((await box.shim('fake', args)).stdout, 'ok\n');
  }
});

test('a prepare command runs once per rendered command, keeps only a digest, and its failure skips the account', async t => {
  const box = setUp(
    t,
    `prepare_on = "once"\nprepare_timeout = "500ms"\nprepare_command = 'echo {FAKE_KEY} >> "$HOME/prepared"; case "$FAKE_KEY" in hang*) sleep 60;; fail*) echo "no $FAKE_KEY" >&2; exit 3;; esac'\n${RULES}`,
  );
  box.accounts('fake', { h: 'hang-1', f: 'fail-1', a: 'bad-key', b: 'good-key' });
  const first = await box.shim('fake', ['x']);
  assert.equal(first.stdout, 'ok\n');
  assert.match(first.stderr, /skipping account "h": its prepare command did not end within 0.5 s/);
  assert.match(first.stderr, /skipping account "f": its prepare command failed with exit status 3: no \*\*\*\n/);
  await box.shim('fake', ['y']);
  await box.shim('fake', ['z'], { env: { CULVERT_WRAP_ACCOUNT: 'a' } });
  assert.deepEqual(fs.readFileSync(path.join(box.home, 'prepared'), 'utf8').trim().split('\n'), [
    'hang-1',
    'fail-1',
    'bad-key',
    'good-key',
  ]);
  const state = fs.readFileSync(path.join(box.state, 'accounts/fake.json'), 'utf8');
  assert.doesNotMatch(state, /good-key|bad-key/);
  assert.equal(
    JSON.parse(state).prepared.every((item: string) => /^[a-f0-9]{64}$/.test(item)),
    true,
  );
});

test('accounts are imported all or nothing, and no message repeats a key', async t => {
  const box = setUp(t);
  const file = path.join(box.home, 'import.toml');
  const good =
    '[[accounts]]\ncli = "fake"\nname = "a"\nsecrets = { FAKE_KEY = "canary-1" }\n[[accounts]]\ncli = "fake"\nname = "b"\nenv = { FAKE_KEY = "env:B" }\n';
  const bad = [
    good.replace('env:B', 'canary-2'),
    good.replace('"canary-1"', '"canary\\n2"'),
    good.replace('canary-1" }', 'canary-3"'),
    good.replace('"canary-1"', '"canary-4 of mine"'),
    good.replace('"canary-1"', '"canary-5,canary-6", OTHER_KEY = "canary-7"'),
    good.replace('name = "b"', 'name = "a"'),
    good.replace('cli = "fake"\nname = "b"', 'cli = "nope"\nname = "b"'),
    good.replace('{ FAKE_KEY = "env:B" }', '{ OTHER = "env:B" }'),
  ];
  for (const text of bad) {
    fs.writeFileSync(file, text, { mode: 0o600 });
    const result = await box.wrap(['accounts', 'import', file, '--file']);
    assert.notEqual(result.exit, 0, text);
    assert.doesNotMatch(result.stderr, /canary/);
    assert.ok(!fs.existsSync(path.join(box.config, 'config.toml')));
    assert.ok(!fs.existsSync(path.join(box.config, 'secrets')));
  }
  fs.writeFileSync(file, good, { mode: 0o600 });
  assert.match((await box.wrap(['accounts', 'import', file, '--check'])).stdout, /would import "a"/);
  assert.equal((await box.wrap(['accounts', 'import', file, '--file'])).exit, 0);
  await box.shim('fake', ['x']);
  assert.match(fs.readFileSync(path.join(box.home, 'calls'), 'utf8'), /canary-1 x/);
});

test('the audit log says which account ran what and why it was left, without arguments', async t => {
  const box = setUp(t);
  box.accounts('fake', { a: 'bad', b: 'good' });
  await box.shim('fake', ['search', 'private words']);
  const { entries } = await box.json('audit');
  assert.deepEqual(
    entries.map((entry: Record<string, unknown>) => [entry.command, entry.account, entry.outcome, entry.class ?? null]),
    [
      ['search', 'a', 'left', 'quota'],
      ['search', 'b', 'ok', null],
    ],
  );
  assert.doesNotMatch(JSON.stringify(entries), /private/);
});

test('doctor finds what is wrong and says what to do', async t => {
  const box = setUp(t);
  box.accounts('fake', { a: 'k' });
  assert.equal((await box.wrap(['doctor'])).exit, 0);
  for (const name of ['config.toml', 'providers.toml']) {
    const file = path.join(box.config, name);
    const { mode } = fs.statSync(file);
    fs.chmodSync(file, 0o646);
    assert.match((await box.wrap(['doctor'])).stdout, new RegExp(`PROBLEM others can change .*${name}`));
    fs.chmodSync(file, mode);
  }
  fs.chmodSync(path.join(box.config, 'keys.env'), 0o644);
  assert.match((await box.wrap(['doctor'])).stdout, /warning .*others can read .*keys\.env/);
  const config = path.join(box.config, 'config.toml');
  const inHome = fs.readFileSync(config, 'utf8').replace(`file:${box.home}/`, 'file:~/');
  fs.writeFileSync(config, inHome);
  assert.match((await box.wrap(['doctor'])).stdout, /warning .*others can read file:~\/.*keys\.env/);
  fs.rmSync(path.join(box.config, 'keys.env'));
  fs.rmSync(path.join(box.state, 'originals/fake'));
  const result = await box.wrap(['doctor', '--json']);
  assert.equal(result.exit, 1);
  const { findings } = JSON.parse(result.stdout);
  for (const pattern of [/original .* is missing/, /keys\.env does not exist/]) {
    assert.ok(
      findings.some((finding: { what: string; fix?: string }) => pattern.test(finding.what) && finding.fix),
      String(pattern),
    );
  }
});

test('at a terminal the key is asked for without echo', async t => {
  const box = setUp(t);
  const child = spawn('script', ['-qec', `${box.bin}/fake auth add a --file`, '/dev/null'], {
    env: { ...box.env, SHELL: '/bin/sh' },
    stdio: 'pipe',
  });
  let shown = '';
  child.stdout.on('data', chunk => {
    const asked = shown.includes('FAKE_KEY for');
    shown += chunk;
    if (!asked && shown.includes('FAKE_KEY for')) child.stdin.write('canary-xx\x7f\x7fyz\r');
  });
  assert.equal((await finished(child)).exit, 0);
  assert.doesNotMatch(shown, /canary/);
  assert.match(fs.readFileSync(path.join(box.config, 'secrets/fake.env'), 'utf8'), /=canary-yz\n$/);
});
