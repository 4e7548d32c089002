// Accounts that are named: by a variable, a directory or a job, inside runs, and where none can be used.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { missing } from '../../../support/temporary.ts';
import { type Sandbox, sandbox } from '../../../support/wrapper/sandbox.ts';

const config = (box: Sandbox) => path.join(box.config, 'config.toml');
const keys = (box: Sandbox) => path.join(box.config, 'keys.env');
const edit = (file: string, change: (text: string) => string) =>
  fs.writeFileSync(file, change(fs.readFileSync(file, 'utf8')), { mode: 0o600 });
/** A tool that prints its credential, and starts what it is given behind `nest`. */
function withTool(t: Parameters<typeof sandbox>[0], keys: Record<string, string>, rules = ''): Sandbox {
  const box = sandbox(t);
  box.script(
    'fake',
    `#!/bin/sh\nif [ "$1" = nest ]; then shift; exec "$@"; fi\necho "$FAKE_KEY $CULVERT_WRAP_ACCOUNT"\n`,
  );
  box.provider('fake', `inject = ["FAKE_KEY"]\n${rules}`);
  if (Object.keys(keys).length > 0) box.accounts('fake', keys);
  else box.install('fake');
  return box;
}

test('an account that is named inside a run of the same tool is used, and the one in use is not changed', async t => {
  const box = withTool(t, { a: 'ka', b: 'kb' });
  const nest = (value: string, ...args: string[]) =>
    box.shim('fake', ['nest', ...args], { env: { CULVERT_WRAP_ACCOUNT: value } });
  assert.equal((await nest('a', 'fake', 'x')).stdout, 'ka fake=a\n');
  assert.equal((await nest('a', 'env', 'CULVERT_WRAP_ACCOUNT=fake=b', 'fake', 'x')).stdout, 'kb fake=b\n');
  assert.equal((await nest('a', 'env', 'CULVERT_WRAP_ACCOUNT=ghost', 'fake', 'x')).exit, 2);
});

test('a directory or a job that names another account inside a run of the same tool is followed', async t => {
  const box = sandbox(t);
  box.script(
    'fake',
    `#!/bin/sh
case $1 in
  nest) shift; cd "$1" || exit 9; shift; exec fake "$@" ;;
  job) exec fake x --id=job-1 ;;
esac
echo "$FAKE_KEY"
`,
  );
  box.provider('fake', 'inject = ["FAKE_KEY"]');
  box.accounts('fake', { a: 'ka', b: 'kb', c: 'kc' });
  box.remember('fake', { jobs: { 'job-1': { account: 'b', at: Date.now() } } });
  for (const name of ['b', 'c', 'ghost']) {
    const dir = path.join(box.home, name);
    fs.mkdirSync(path.join(dir, 'with = and :'), { recursive: true });
    box.choose(dir, `[accounts]\nfake = "${name}"\n`);
  }
  const run = async (cwd: string, ...args: string[]) => {
    const { exit, stdout } = await box.shim('fake', args, { cwd: path.join(box.home, cwd) });
    return exit === 0 ? stdout.trim() : exit;
  };
  assert.equal(await run('.', 'nest', '.', 'x'), 'ka');
  assert.equal(await run('.', 'nest', 'b/with = and :', 'x'), 'kb');
  assert.equal(await run('b/with = and :', 'nest', '..', 'x'), 'kb');
  assert.equal(await run('.', 'nest', 'ghost', 'x'), 2);
  assert.equal(await run('c', 'nest', '../b', 'nest', '../c', 'x'), 'kc');
  assert.equal(await run('.', 'job'), 'kb');
});

test('an account in use after a failure is kept where the tool calls itself', async t => {
  const box = sandbox(t);
  const script = `if [ "$1" = self ]; then exec fake x; fi\ncase $FAKE_KEY in kb) echo limit >&2; exit 1 ;; esac\n`;
  box.script('fake', `#!/bin/sh\n${script}echo "$FAKE_KEY"\n`);
  box.provider('fake', 'inject = ["FAKE_KEY"]\n[[providers.fake.rules]]\nclass = "quota"\nstderr = "^limit"');
  box.accounts('fake', { a: 'ka', b: 'kb' });
  const cwd = path.join(box.home, 'project');
  box.choose(cwd, '[accounts]\nfake = "b"\n');
  assert.equal((await box.shim('fake', ['self'], { cwd })).stdout, 'ka\n');
});

test('a command that passes through keeps the account of its tool from the tools that it starts', async t => {
  const box = withTool(t, { a: 'ka' }, 'passthrough = ["nest"]');
  const run = async (value: string) =>
    (
      await box.shim('fake', ['nest', 'sh', '-c', 'echo $CULVERT_WRAP_ACCOUNT'], {
        env: { CULVERT_WRAP_ACCOUNT: value },
      })
    ).stdout;
  assert.equal(await run('a'), 'fake=a\n');
  assert.equal(await run('of-another-tool'), 'of-another-tool\n');
});

test('another account takes over from a named one after a limit, and never before it has run', async t => {
  const box = sandbox(t);
  box.script(
    'fake',
    `#!/bin/sh\nprintf '%s ' "$FAKE_KEY" >> "$HOME/calls"\ncase $FAKE_KEY in k[ac]) echo "limit" >&2; exit 1 ;; esac\n`,
  );
  box.provider('fake', 'inject = ["FAKE_KEY"]\n[[providers.fake.rules]]\nclass = "quota"\nstderr = "^limit"');
  box.accounts('fake', { b: 'kb', a: 'ka', c: 'kc' });
  const calls = async (name: string) => {
    fs.rmSync(path.join(box.home, 'calls'), { force: true });
    const { exit } = await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: name } });
    const file = path.join(box.home, 'calls');
    return [exit, fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''];
  };
  assert.deepEqual(await calls('a'), [0, 'ka kc kb ']);
  edit(keys(box), text => text.replace('fake_b=kb', 'fake_b='));
  assert.deepEqual(await calls('a'), [1, 'ka kc '], 'an account without a credential is left out after it');
  assert.deepEqual(await calls('b'), [69, '']);
});

test('a named account is used although it has only its reserve left', async t => {
  for (const policy of ['shed', 'queue']) {
    const box = withTool(t, { b: 'kb', a: 'ka' });
    box.configure(`[capacity.fake]\nreserve = 50\npolicy = "${policy}"\n`);
    box.remember('fake', { remaining: { a: { remaining: 9, limit: 100, used: 91, resets: null, at: Date.now() } } });
    assert.equal((await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'a' } })).stdout, 'ka fake=a\n', policy);
    assert.equal((await box.shim('fake', ['x'])).stdout, 'kb \n', policy);
  }
});

test('an installation of all shims keeps in mind that a configuration with accounts is missing', async t => {
  const box = withTool(t, { a: 'ka', b: 'kb' });
  await box.shim('fake', ['x']);
  fs.rmSync(config(box));
  const run = async () => (await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'a' } })).exit;
  assert.equal(await run(), 78);
  assert.equal((await box.wrap(['install', '--json'])).exit, 0);
  assert.equal(await run(), 78);
  assert.equal((await box.wrap(['install', 'fake'])).exit, 0);
  assert.equal(await run(), 0, 'the CLI was named, to go on without accounts');
});

test('a tool without accounts does not run when one is named for it, and reports a general name as unused', async t => {
  const box = withTool(t, {});
  const own = await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'fake=a' } });
  assert.equal(own.exit, 2);
  assert.equal((await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'npm=a' } })).stderr, '');
  const all = await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'a' } });
  assert.deepEqual([all.exit, all.stdout], [0, ' a\n']);
  assert.match(all.stderr, /^culvert-wrap: fake has no enabled account, so "a" of CULVERT_WRAP_ACCOUNT is not used\n$/);
  const project = path.join(box.home, 'project');
  const link = path.join(box.home, 'link');
  fs.mkdirSync(path.join(project, 'below'), { recursive: true });
  fs.symlinkSync(path.join(project, 'below'), link);
  box.choose(project, '[accounts]\nfake = "a"\n');
  const inProject = () => box.shim('fake', ['x'], { cwd: link, env: { PWD: link } });
  assert.match((await inProject()).stderr, /the account "a" of .*\.culvert-wrap\.toml does not exist/);
  box.choose(project, '[accounts]\nfake = ["a"]\n');
  assert.equal((await inProject()).exit, 78);
});

test('nothing runs where a variable names a tool with an empty account, and a name counts where the tool before it is left out', async t => {
  for (const keys of [{ a: 'ka' }, { b: 'kb', a: 'ka' }, {}] as Record<string, string>[]) {
    const box = withTool(t, keys);
    if (keys.a) await box.shim('fake', ['x']);
    for (const value of keys.b ? ['npm=ci, fake= ', 'fake=,a'] : ['fake=']) {
      const { exit, stdout, stderr } = await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: value } });
      assert.deepEqual([exit, stdout], [2, ''], `${value}: ${stderr}`);
      assert.match(stderr, /the account "" of CULVERT_WRAP_ACCOUNT does not exist/);
    }
  }
  const box = withTool(t, { b: 'kb', a: 'ka' });
  assert.equal((await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: '=a' } })).stdout, 'ka fake=a\n');
});

test('in a directory that was removed, or made again since, the account of the directory above is used', async t => {
  for (const [keys, again] of [
    [{ a: 'ka' }, ''],
    [{ b: 'kb', a: 'ka' }, ' && mkdir "$PWD"'],
  ] as [Record<string, string>, string][]) {
    const box = withTool(t, keys);
    await box.shim('fake', ['x']);
    const project = path.join(box.home, 'project');
    const below = path.join(project, 'below');
    fs.mkdirSync(project);
    for (const [name, expected] of [
      ['a', [0, 'ka']],
      ['ghost', [2, '']],
    ] as const) {
      box.choose(project, `[accounts]\nfake = "${name}"\n`);
      fs.mkdirSync(below, { recursive: true });
      const script = `rmdir "$PWD"${again}; exec fake x`;
      const { exit, stdout } = await box.run('/bin/sh', ['-c', script], { cwd: below });
      assert.deepEqual([exit, stdout.split(' ')[0]], expected, `${name}${again}`);
    }
  }
});

test('a file of a directory that can’t be read lets nothing run', async t => {
  for (const keys of [{ a: 'ka' }, { b: 'kb', a: 'ka' }] as Record<string, string>[]) {
    const box = withTool(t, keys);
    await box.shim('fake', ['x']);
    // a file that root can't read from its beginning either
    fs.symlinkSync('/proc/self/mem', path.join(box.home, '.culvert-wrap.toml'));
    const { exit, stdout, stderr } = await box.shim('fake', ['x']);
    assert.deepEqual([exit, stdout], [78, '']);
    assert.match(
      stderr,
      /\.culvert-wrap\.toml can't be used: Input or output failed\n.*make it readable, or remove it/,
    );
    assert.equal((await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'a' } })).stdout.split(' ')[0], 'ka');
  }
});

test('without our program nothing runs when an account is named', async t => {
  const box = withTool(t, { a: 'ka', b: 'kb' });
  const file = path.join(box.bin, 'fake');
  edit(file, text => text.replaceAll('main.cjs', 'gone.cjs'));
  for (const value of ['a', 'fake=a', 'npm=ci,fake=a']) {
    const result = await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: value } });
    assert.deepEqual([result.exit, result.stdout], [69, ''], value);
    assert.match(result.stderr, /fake is not run, because the account that is named/);
  }
  assert.equal((await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'npm=ci' } })).exit, 0);
});

test('the audit log has a line for each run without an account, with the reason', async t => {
  const box = withTool(t, { a: 'ka' }, 'passthrough = ["", "login"]\nown_credential = ["--key"]');
  await box.shim('fake', ['x']);
  const run = async (args: string[], env: Record<string, string> = {}) => {
    const { stdout } = await box.shim('fake', args, { env: { FAKE_KEY: 'machine', ...env } });
    const { entries } = await box.json('audit');
    const { outcome, why } = entries.at(-1);
    return [stdout.split(' ')[0], outcome, why];
  };
  assert.deepEqual(await run([]), ['machine', 'original', 'passthrough']);
  assert.deepEqual(await run(['login']), ['machine', 'original', 'passthrough']);
  assert.deepEqual(await run(['x', '--key', 'k']), ['machine', 'original', 'own-credential']);
  assert.deepEqual(await run(['x'], { CULVERT_WRAP_BYPASS: '1' }), ['machine', 'original', 'bypass']);
  assert.deepEqual(await run(['x'], { CULVERT_WRAP_BYPASS: '0' }), ['ka', 'unobserved', undefined]);
  assert.deepEqual(await run(['x'], { CULVERT_WRAP_ACCOUNT: 'ghost' }), ['', 'refused', 'unknown-account']);
  assert.deepEqual(await run(['x'], { XDG_CONFIG_HOME: missing(t) }), ['machine', 'original', 'hidden']);
  await box.auth('fake', ['disable', 'a']);
  assert.deepEqual(await run(['x']), ['machine', 'original', 'no-account']);
  box.configure('[[[');
  assert.deepEqual(await run(['x']), ['machine', 'original', 'configuration']);
  assert.deepEqual(await run(['x'], { CULVERT_WRAP_ACCOUNT: 'a' }), ['', 'refused', 'configuration']);
});

test('a person who named no account learns that all are disabled, or that the record of their jobs is damaged', async t => {
  const box = withTool(t, { a: 'ka', b: 'kb' });
  box.remember('fake', '{"jobs": {"job-1": ');
  const damaged = await box.shim('fake', ['x']);
  assert.equal(damaged.stdout, 'ka \n');
  assert.match(
    damaged.stderr,
    /^culvert-wrap: fake: .*fake\.json was damaged, so the default, pauses and .* earlier jobs are forgotten\n$/,
  );
  assert.equal((await box.shim('fake', ['x'])).stderr, '');
  assert.equal(fs.readFileSync(path.join(box.state, 'accounts/fake.json.broken'), 'utf8'), '{"jobs": {"job-1": ');
  for (const name of ['a', 'b']) await box.wrap(['accounts', 'disable', 'fake', name]);
  const result = await box.shim('fake', ['x'], { env: { FAKE_KEY: 'machine' } });
  const line = 'culvert-wrap: fake: all accounts are disabled; running fake without an account\n';
  assert.deepEqual([result.exit, result.stdout, result.stderr], [0, 'machine \n', line]);
});

test('no run continues a job of an account that is gone, also once the last account is gone', async t => {
  const box = withTool(t, { a: 'ka' });
  box.remember('fake', '{"jobs":{"job-1":{"account":"a","at":1}}}');
  await box.shim('fake', ['x']);
  fs.writeFileSync(config(box), '');
  const env = { FAKE_KEY: 'machine' };
  for (const time of ['first', 'second']) {
    const { exit, stdout, stderr } = await box.shim('fake', ['x', '--id=job-1'], { env });
    assert.deepEqual([exit, stdout], [2, ''], time);
    assert.match(stderr, /the account "a" that created job-1 does not exist/);
  }
  assert.deepEqual(await box.shim('fake', ['x'], { env }), { exit: 0, signal: null, stdout: 'machine \n', stderr: '' });
});

test('jobs that are whole in a damaged record keep their accounts', async t => {
  const jobs = '{"default":"b","jobs":{"__proto__":{"account":"b","at":1},"job \\"1":{"account":"a","at":2}';
  for (const text of [jobs, `${jobs},"job-2":{"acc`, `\0\0${jobs}}}`]) {
    const box = withTool(t, { b: 'kb', a: 'ka' });
    box.remember('fake', text);
    for (const lines of [1, 0]) {
      const { stdout, stderr } = await box.shim('fake', ['x', '--id=job "1']);
      assert.deepEqual([stdout, stderr.split('\n').length - 1], ['ka \n', lines], stderr);
    }
  }
  const box = withTool(t, { a: 'ka', b: 'kb' });
  for (const text of ['', 'null', '[]', '5']) {
    box.remember('fake', text);
    assert.match((await box.shim('fake', ['x'])).stderr, /was damaged/, text);
  }
});

test('without our program no job runs that an account created, and with a directory for a plan each run reads the configuration', async t => {
  const box = withTool(t, { a: 'ka', b: 'kb' });
  box.remember('fake', '{"jobs":{"job-1":{"account":"a","at":1}}}');
  await box.shim('fake', ['x']);
  const plan = path.join(box.state, 'plans/fake');
  fs.rmSync(plan);
  fs.mkdirSync(plan);
  assert.equal((await box.shim('fake', ['x', 'job-1'])).stdout, 'ka \n');
  fs.rmdirSync(plan);
  await box.shim('fake', ['x']);
  edit(path.join(box.bin, 'fake'), text => text.replaceAll('main.cjs', 'gone.cjs'));
  for (const args of [['job-1'], ['x', '--id=job-1']]) {
    const { exit, stdout, stderr } = await box.shim('fake', args);
    assert.deepEqual([exit, stdout], [69, ''], stderr);
  }
  for (const args of [['x'], ['job'], ['job-1x'], ['*'], ['']]) assert.equal((await box.shim('fake', args)).exit, 0);
});

test('a date without milliseconds gets no line into the audit log that cannot be read', async t => {
  const box = withTool(t, { a: 'ka' });
  await box.shim('fake', ['x']);
  const file = path.join(box.state, 'audit.jsonl');
  const before = fs.readFileSync(file, 'utf8');
  box.script('date', '#!/bin/sh\necho 1700000000%3N\n');
  assert.equal((await box.shim('fake', ['x'], { env: { CULVERT_WRAP_BYPASS: '1', FAKE_KEY: 'm' } })).stdout, 'm \n');
  assert.equal(fs.readFileSync(file, 'utf8'), before);
  assert.equal((await box.shim('fake', ['x'])).stdout, 'ka \n');
  const lines = fs.readFileSync(file, 'utf8').slice(before.length).trim().split('\n');
  assert.deepEqual(
    lines.map(line => JSON.parse(line).account),
    ['a'],
  );
});

test('with one account a command without arguments runs without Node, as any other', async t => {
  const box = withTool(t, { a: 'ka' });
  await box.shim('fake', ['x']);
  assert.equal((await box.shim('fake', [])).stdout, 'ka \n');
  const { entries } = await box.json('audit');
  assert.deepEqual([entries.at(-1).command, entries.at(-1).outcome], ['', 'unobserved']);
});

test('a pipe or a device in the place of a file that chooses an account is not waited for', async t => {
  const box = withTool(t, { a: 'ka' });
  const file = path.join(box.home, '.culvert-wrap.toml');
  // a device that can be read comes first: without a check, a pipe would be waited for
  for (const put of [() => fs.symlinkSync('/dev/null', file), () => execFileSync('mkfifo', [file])]) {
    put();
    const { stdout, stderr } = await box.shim('fake', ['x'], { cwd: box.home });
    assert.deepEqual([stdout, stderr], ['ka \n', '']);
    fs.rmSync(file);
  }
});
