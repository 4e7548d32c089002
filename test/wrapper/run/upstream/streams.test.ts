// Output and input of the original command: holding, committing, replaying, and the programs that read them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { until } from '../../../support/until.ts';
import { calls, setUp as withTool } from '../../../support/wrapper/fake-cli.ts';
import { finished, sandbox } from '../../../support/wrapper/sandbox.ts';

const RULES = `inject = ["FAKE_KEY"]
once = ["crawl", "pay"]
job_id = 'Job ID: (\\S+)'
[[providers.fake.rules]]
class = "quota"
stderr = "^Error: quota"
`;

function setUp(t: Parameters<typeof sandbox>[0], script: string, rules = RULES) {
  const box = withTool(t, {}, { script, rules });
  return { box, calls: () => calls(box) };
}

test('output is streamed once it has been held for the commit window, and is not replayed after that', async t => {
  const { box, calls } = setUp(
    t,
    'echo first; while [ ! -e "$HOME/go" ]; do sleep 0.02; done; echo "Error: quota" >&2; exit 1\n',
  );
  box.accounts('fake', { a: 'k1', b: 'k2' });
  const child = box.start('fake', ['x']);
  const end = finished(child);
  let out = '';
  child.stdout?.on('data', chunk => {
    out += chunk;
  });
  await until(() => out === 'first\n', 'the first line');
  fs.writeFileSync(path.join(box.home, 'go'), '');
  const result = await end;
  assert.deepEqual([result.exit, result.stdout], [1, 'first\n']);
  assert.match(result.stderr, /^Error: quota\n.*not repeated, because part of its output has been passed on\n$/);
  assert.deepEqual(calls(), ['k1 x']);
});

test('output is committed once 64 KiB are held, and arrives whole', async t => {
  const { box } = setUp(
    t,
    'head -c 70000 /dev/zero; while [ ! -e "$HOME/go" ]; do sleep 0.02; done; head -c 5000000 /dev/zero; exit 4\n',
  );
  box.accounts('fake', { a: 'k1', b: 'k2' });
  const child = box.start('fake', ['x']);
  const end = finished(child);
  let size = 0;
  child.stdout?.on('data', chunk => {
    size += chunk.length;
  });
  await until(() => size >= 70_000, 'the first 70,000 bytes');
  fs.writeFileSync(path.join(box.home, 'go'), '');
  const result = await end;
  assert.equal(result.exit, 4);
  assert.equal(size, 5_070_000);
});

test('the streams of a failed attempt leave no byte in those of the next', async t => {
  const { box } = setUp(
    t,
    'case "$FAKE_KEY" in bad*) head -c 60000 /dev/zero; echo "Error: quota" >&2; exit 1 ;; esac; echo clean\n',
  );
  box.accounts('fake', { a: 'bad1', b: 'bad2', c: 'ok' });
  const result = await box.run('fake', ['x']);
  assert.equal(result.stdout, 'clean\n');
});

test('the upstream gets pipes that it can reopen by name', async t => {
  const script = 'echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin\n';
  const { box } = setUp(t, script, `stdin_commands = ["x"]\n${RULES}`);
  box.accounts('fake', { a: 'k1', b: 'k2' });
  const result = await box.run('fake', ['x'], { input: 'in\n' });
  assert.deepEqual(result, { exit: 0, signal: null, stdout: 'out\nin\n', stderr: 'err\n' });
});

test('an upstream whose reader has ended ends as it would without a wrapper', async t => {
  const { box } = setUp(t, 'yes; echo "ended $?" >> "$HOME/calls"\n');
  box.accounts('fake', { a: 'k1', b: 'k2' });
  const result = spawnSync('sh', ['-c', `${box.bin}/fake x | head -n 1`], {
    env: box.env,
    encoding: 'utf8',
    timeout: 20_000,
  });
  assert.equal(result.stdout, 'y\n');
});

test('a background process that keeps stdout open does not keep the wrapper, and can go on writing', async t => {
  const script =
    '(while [ ! -e "$HOME/go" ]; do sleep 0.02; done; echo late; echo "late error" >&2; : > "$HOME/alive") & echo done\n';
  const { box } = setUp(t, script);
  box.accounts('fake', { a: 'k1', b: 'k2' });
  const child = box.start('fake', ['x']);
  const end = finished(child);
  await new Promise(resolve => child.on('exit', resolve));
  fs.writeFileSync(path.join(box.home, 'go'), '');
  assert.deepEqual(await end, { exit: 0, signal: null, stdout: 'done\nlate\n', stderr: 'late error\n' });
  assert.ok(fs.existsSync(path.join(box.home, 'alive')));
});

test('on a terminal the upstream has the terminal as its stdout, and failover works', async t => {
  const { box } = setUp(
    t,
    '[ -t 1 ] && echo "terminal $FAKE_KEY"; case "$FAKE_KEY" in bad*) echo "Error: quota" >&2; exit 1 ;; esac; exit 5\n',
  );
  box.accounts('fake', { a: 'bad', b: 'ok' });
  const result = spawnSync('script', ['-qec', `${box.bin}/fake x`, '/dev/null'], {
    env: { ...box.env, SHELL: '/bin/sh' },
    encoding: 'utf8',
    input: '',
  });
  assert.equal(result.status, 5);
  assert.match(result.stdout, /terminal ok/);
  assert.match(result.stdout, /account "a" has no quota left/);
  assert.doesNotMatch(result.stdout, /Error: quota/);
});

test('a command that created a job is not replayed, and follow-ups use the account of the job', async t => {
  const { box, calls } = setUp(
    t,
    'case "$1$FAKE_KEY" in crawlk1) echo "Job ID: j-1" >&2; echo "Error: quota" >&2; exit 1 ;; esac; echo ok\n',
  );
  box.accounts('fake', { a: 'k1', b: 'k2' });
  const result = await box.shim('fake', ['crawl', 'u']);
  assert.equal(result.exit, 1);
  assert.match(result.stderr, /Job ID: j-1\nError: quota\n.*the job j-1 already exists\n$/);
  await box.shim('fake', ['status', 'other']);
  await box.shim('fake', ['crawl', 'j-1', '--status']);
  assert.deepEqual(calls(), ['k1 crawl u', 'k2 status other', 'k1 crawl j-1 --status']);
});

test('a limit before the job was created leads to the next account', async t => {
  const { box, calls } = setUp(
    t,
    'case "$FAKE_KEY" in k1) echo "Error: quota" >&2; exit 1 ;; esac; echo "Job ID: j-2"\n',
  );
  box.accounts('fake', { a: 'k1', b: 'k2' });
  assert.equal((await box.shim('fake', ['crawl', 'u'])).exit, 0);
  assert.deepEqual(calls(), ['k1 crawl u', 'k2 crawl u']);
  await box.shim('fake', ['default', 'x'], { env: { CULVERT_WRAP_ACCOUNT: 'a' } });
  await box.shim('fake', ['crawl', 'j-2']);
  assert.equal(calls().at(-1), 'k2 crawl j-2');
});

test('a job that a command opened on one account is used with that account later', async t => {
  const { box, calls } = setUp(t, 'echo "Scrape ID: s-9" >&2\n', `session_id = 'Scrape ID: (\\S+)'\n${RULES}`);
  box.accounts('fake', { a: 'k1', b: 'k2' });
  await box.shim('fake', ['scrape', 'u'], { env: { CULVERT_WRAP_ACCOUNT: 'b' } });
  await box.shim('fake', ['interact', '--scrape-id', 's-9']);
  await box.shim('fake', ['interact', '--scrape-id=s-9']);
  assert.deepEqual(calls(), ['k2 scrape u', 'k2 interact --scrape-id s-9', 'k2 interact --scrape-id=s-9']);
});

test('a job whose account was removed runs with no other one', async t => {
  const { box, calls } = setUp(t, 'echo "Job ID: j-3"\n');
  box.accounts('fake', { a: 'k1', b: 'k2' });
  await box.shim('fake', ['crawl', 'u']);
  assert.equal((await box.wrap(['accounts', 'remove', 'fake', 'a'])).exit, 0);
  const result = await box.shim('fake', ['crawl', 'j-3']);
  assert.deepEqual([result.exit, result.stdout], [2, '']);
  assert.match(result.stderr, /the account "a" that created j-3 does not exist/);
  assert.deepEqual(calls(), ['k1 crawl u']);
});

test('a session of Firecrawl is launched once, and follow-ups use its account where the CLI keeps its id in a file', async t => {
  const box = sandbox(t);
  const kept = '.config/firecrawl-cli';
  box.script(
    'firecrawl',
    `#!/bin/sh
echo "$FIRECRAWL_API_KEY $1 $2" >> "$HOME/calls"
mkdir -p "$HOME/${kept}"
case $1 in
  scrape) echo '{"scrapeId": "s-9"}' > "$HOME/${kept}/interact-session.json"; echo "Scrape ID: s-9" >&2 ;;
  browser) [ "$2" = execute ] || { echo '{"id": "b-1"}' > "$HOME/${kept}/browser-session.json"; echo "Session launched: b-1" >&2; } ;;
esac
case "$2" in *fail*) echo "Error: Insufficient credits to go on" >&2; exit 1 ;; esac
`,
  );
  box.provider('firecrawl', 'hosts = { names = ["http://127.0.0.1"] }');
  box.accounts('firecrawl', { a: 'k1', b: 'k2' }, 'FIRECRAWL_API_KEY');
  const onB = { env: { CULVERT_WRAP_ACCOUNT: 'b', FIRECRAWL_API_URL: 'http://127.0.0.1:9' } };
  await box.shim('firecrawl', ['scrape', 'u'], onB);
  await box.shim('firecrawl', ['interact', 'click']);
  const launched = await box.shim('firecrawl', ['browser', 'open fail'], onB);
  assert.match(launched.stderr, /not repeated, because the job b-1 already exists/);
  await box.shim('firecrawl', ['login', 'wake', 'b']);
  await box.shim('firecrawl', ['browser', 'execute']);
  await box.shim('firecrawl', ['browser', 'launch-session']);
  assert.deepEqual(calls(box), [
    'k2 scrape u',
    'k2 interact click',
    'k2 browser open fail',
    'k2 browser execute',
    'k1 browser launch-session',
  ]);
});

test('a kept session whose account is disabled or gone runs with another one, in plain words', async t => {
  const box = sandbox(t);
  box.script('firecrawl', '#!/bin/sh\necho "$FIRECRAWL_API_KEY"; [ "$1" != scrape ] || echo "Scrape ID: s-9" >&2\n');
  box.accounts('firecrawl', { a: 'k1', b: 'k2', c: 'k3' }, 'FIRECRAWL_API_KEY');
  const kept = path.join(box.home, '.config/firecrawl-cli');
  fs.mkdirSync(kept, { recursive: true });
  fs.writeFileSync(path.join(kept, 'interact-session.json'), '{"scrapeId": "s-9"}');
  await box.shim('firecrawl', ['scrape', 'u'], { env: { CULVERT_WRAP_ACCOUNT: 'b' } });
  const belongs = (what: string) =>
    `culvert-wrap: firecrawl: the session s-9 belongs to the account "b", which ${what}`;
  await box.wrap(['accounts', 'disable', 'firecrawl', 'b']);
  const other = await box.shim('firecrawl', ['interact', 'click']);
  assert.deepEqual([other.exit, other.stdout], [0, 'k1\n']);
  assert.equal(other.stderr, `${belongs('is disabled')}; running with "a"\n`);
  // the first attempt uses the account that is ready, not the first in the list
  fs.rmSync(path.join(box.config, 'keys.env'));
  fs.writeFileSync(path.join(box.config, 'keys.env'), 'firecrawl_c=k3\n', { mode: 0o600 });
  const third = await box.shim('firecrawl', ['interact', 'click']);
  assert.deepEqual([third.exit, third.stdout], [0, 'k3\n']);
  assert.ok(third.stderr.endsWith(`${belongs('is disabled')}; running with "c"\n`), third.stderr);
  assert.match((await box.wrap(['explain', 'firecrawl', 'interact', 'click'])).stdout, /note +the session s-9 belongs/);
  assert.equal((await box.shim('firecrawl', ['search', 'x'])).stderr.includes('s-9'), false);
  const config = path.join(box.config, 'config.toml');
  fs.writeFileSync(config, fs.readFileSync(config, 'utf8').replace('"b"', '"d"'), { mode: 0o600 });
  const gone = await box.shim('firecrawl', ['interact', 'click']);
  assert.ok(gone.stderr.endsWith(`${belongs('does not exist')}; running with "c"\n`), gone.stderr);
  for (const name of ['a', 'c']) await box.wrap(['accounts', 'disable', 'firecrawl', name]);
  const none = await box.shim('firecrawl', ['interact', 'click']);
  assert.equal(none.exit, 0);
  assert.equal(none.stderr, `${belongs('does not exist')}; running firecrawl without an account\n`);
});

test('a command that must run once, without a way to recognize a job, is never replayed', async t => {
  const { box, calls } = setUp(t, 'echo "Error: quota" >&2; exit 1\n', RULES.replace(/job_id.*\n/, ''));
  box.accounts('fake', { a: 'k1', b: 'k2' });
  const result = await box.shim('fake', ['pay', '5']);
  assert.match(result.stderr, /the command must run once only/);
  assert.deepEqual(calls(), ['k1 pay 5']);
});

test('stdin that is a file is replayed from its position, and left untouched by an upstream that does not read it', async t => {
  const { box } = setUp(
    t,
    'case "$1" in read) cat > "$HOME/got-$FAKE_KEY" ;; esac; case "$FAKE_KEY" in k1) echo "Error: quota" >&2; exit 1 ;; esac; echo ok\n',
  );
  box.accounts('fake', { a: 'k1', b: 'k2' });
  fs.writeFileSync(path.join(box.home, 'lines'), 'one\ntwo\nthree\n');
  const shell = (script: string) =>
    spawnSync('sh', ['-c', script], { env: box.env, cwd: box.home, encoding: 'utf8', timeout: 20_000 });
  shell(`{ read first; ${box.bin}/fake read; } < lines`);
  assert.equal(fs.readFileSync(path.join(box.home, 'got-k2'), 'utf8'), 'two\nthree\n');
  const loop = shell(`while read line; do ${box.bin}/fake "$line"; done < lines`);
  assert.equal(loop.stdout, 'ok\nok\nok\n');
});

test('an account is chosen by environment, by a trusted directory, and by `use -`', async t => {
  const { box, calls } = setUp(t, 'echo ok\n', `auth_command = "auth"\n${RULES}`);
  box.accounts('fake', { a: 'k1', b: 'k2', c: 'k3' });
  await box.shim('fake', ['1'], { env: { CULVERT_WRAP_ACCOUNT: 'b' } });
  const project = path.join(box.home, 'project/deep');
  fs.mkdirSync(project, { recursive: true });
  fs.writeFileSync(path.join(box.home, 'project/.culvert-wrap.toml'), '[accounts]\nfake = "c"\n');
  const untrusted = await box.shim('fake', ['2'], { cwd: project });
  assert.match(untrusted.stderr, /is not trusted and ignored.*culvert-wrap trust/);
  assert.match((await box.wrap(['trust'], { cwd: project })).stdout, /is trusted/);
  assert.equal((await box.shim('fake', ['3'], { cwd: project })).stderr, '');
  fs.appendFileSync(path.join(box.home, 'project/.culvert-wrap.toml'), '# changed\n');
  assert.match((await box.shim('fake', ['4'], { cwd: project })).stderr, /not trusted/);
  await box.auth('fake', ['use', 'b']);
  await box.auth('fake', ['use', 'c']);
  assert.match((await box.auth('fake', ['use', '-'])).stdout, /now uses "b"/);
  await box.shim('fake', ['5']);
  assert.deepEqual(calls(), ['k2 1', 'k1 2', 'k3 3', 'k1 4', 'k2 5']);
  const unknown = await box.shim('fake', ['6'], { env: { CULVERT_WRAP_ACCOUNT: 'nobody' } });
  assert.equal(unknown.exit, 2);
  assert.match(unknown.stderr, /accounts: a, b, c/);
});

test("the account's credential is the only one the upstream sees", async t => {
  const { box } = setUp(t, 'env\n', `credentials = ["OTHER_KEY"]\n${RULES}`);
  box.accounts('fake', { a: 'k1' });
  fs.appendFileSync(
    path.join(box.config, 'config.toml'),
    '[[accounts]]\ncli = "fake"\nname = "b"\nenv = { FAKE_KEY = "env:SPARE", EXTRA = "env:SPARE" }\n',
  );
  const env = {
    FAKE_KEY: 'stray',
    OTHER_KEY: 'stray',
    SPARE: 'k2',
    EXTRA: 'stray',
    NODE_OPTIONS: '--no-warnings',
    NODE_EXTRA_CA_CERTS: '/etc/ssl/none.pem',
  };
  const { stdout } = await box.shim('fake', ['x'], { env });
  assert.match(stdout, /^FAKE_KEY=k1$/m);
  assert.doesNotMatch(stdout, /stray|SPARE|=k2$|CULVERT_WRAP_(?:SHIM|KEPT)/m);
  assert.match(stdout, /^NODE_OPTIONS=--no-warnings$/m);
  assert.match(stdout, /^NODE_EXTRA_CA_CERTS=\/etc\/ssl\/none.pem$/m);
  const spare = await box.shim('fake', ['x'], { env: { ...env, CULVERT_WRAP_ACCOUNT: 'b' } });
  assert.match(spare.stdout, /^FAKE_KEY=k2$/m);
});

test('each typed line of a prompt runs with failover, and a failing line does not end it', async t => {
  const { box, calls } = setUp(
    t,
    'case "$FAKE_KEY" in bad*) echo "Error: quota" >&2; exit 1 ;; esac; [ "$1" = no ] && exit 1; cat; echo "did $*"\n',
    `line_repl = { args = [], exit = ["exit"] }\n${RULES}`,
  );
  box.accounts('fake', { a: 'bad', b: 'ok' });
  const result = await box.run('fake', [], { input: 'search "two words"\n\nno\n"open\nlast one\nexit\nnever\n' });
  assert.equal(result.exit, 0);
  assert.equal(result.stdout, 'did search two words\ndid last one\n');
  assert.match(result.stderr, /a quote is not closed/);
  assert.deepEqual(calls(), ['bad search two words', 'ok search two words', 'ok no', 'ok last one']);
});
