// Quotas that accounts share: by network address, by key, and by team.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { listen } from '../support/listen.ts';
import { until } from '../support/until.ts';
import { calls, setUp as withTool } from '../support/wrapper/fake-cli.ts';
import { buildWrapper, finished, type Sandbox, sandbox } from '../support/wrapper/sandbox.ts';

const SCRIPT =
  'case "$FAKE_KEY" in bad*) echo "Error: slow down, retry after 60s" >&2; [ -e "$HOME/back" ] || exit 1 ;; esac\necho "ok $FAKE_KEY"\n';
const RULES = `auth_command = "auth"
inject = ["FAKE_KEY"]
own_credential = ["-k", "--key"]
passthrough = ["login", "--version"]
[[providers.fake.rules]]
class = "rate"
exit = [1]
stderr = '^Error: slow down, retry after (?<rest>\\d+)s'
`;

const setUp = (t: TestContext, keys: Record<string, string>, tool = {}) =>
  withTool(t, keys, { script: SCRIPT, rules: RULES, ...tool });

const remember = (box: Sandbox, remaining: Record<string, object>) => {
  const known = Object.entries(remaining).map(([name, own]) => [
    name,
    { remaining: 5, limit: 10, used: 5, resets: null, at: Date.now(), ...own },
  ]);
  box.remember('fake', { remaining: Object.fromEntries(known) });
};

test('a limit of the network address does not lead to another account', async t => {
  const box = setUp(t, { a: 'bad', b: 'good' }, { rules: `scope = "ip"\n${RULES}` });
  const result = await box.shim('fake', ['x']);
  assert.equal(result.exit, 1);
  assert.match(result.stderr, /not repeated, because the limit is one of this network address/);
  assert.deepEqual(calls(box), ['bad x']);
  // The next command neither: every account is paused.
  assert.equal((await box.shim('fake', ['y'])).exit, 1);
  assert.deepEqual(calls(box), ['bad x', 'bad y']);
  const { accounts } = await box.json('status', 'fake');
  assert.deepEqual(
    accounts.map((account: { usable: boolean }) => account.usable),
    [false, false],
  );
});

test('accounts that share a quota are not tried one after the other', async t => {
  const box = setUp(t, { a: 'bad-a', b: 'bad-b', c: 'good' }, { rules: `scope = "team"\n${RULES}` });
  remember(box, { a: { identity: 't1' }, b: { identity: 't1' }, c: { identity: 't2' } });
  const result = await box.shim('fake', ['x']);
  assert.equal(result.stdout, 'ok good\n');
  assert.deepEqual(calls(box), ['bad-a x', 'good x']);
  const { accounts, total } = await box.json('status', 'fake');
  assert.deepEqual([accounts[0].shared, accounts[2].shared, total.limit], [['b'], [], 20]);
});

test('keys of one Firecrawl team are recognized when one meets its limit, and shown as one quota', async t => {
  const box = sandbox(t);
  box.script(
    'firecrawl',
    '#!/bin/sh\necho "$FIRECRAWL_API_KEY" >> "$HOME/calls"\n[ "$FIRECRAWL_API_KEY" = fc-c ] || { echo "Error: Insufficient credits to perform this request." >&2; exit 1; }\necho ok\n',
  );
  box.provider('firecrawl', 'hosts = { names = ["http://127.0.0.1"] }');
  box.accounts('firecrawl', { a: 'fc-a', b: 'fc-b', c: 'fc-c' }, 'FIRECRAWL_API_KEY');
  const asked: string[] = [];
  const teams: Record<string, { last: string | null; left: number }> = {
    'fc-a': { last: '2026-11-20T10:00:00.123Z', left: 0 },
    'fc-b': { last: '2026-11-20T10:00:00.123Z', left: 0 },
    'fc-c': { last: '2026-11-20T10:00:00.124Z', left: 0 },
  };
  const ends = new Date(Date.now() + 20 * 86_400_000).toISOString();
  const server = http.createServer((request, response) => {
    const key = (request.headers.authorization ?? '').replace('Bearer ', '');
    asked.push(`${key} ${request.url}`);
    const { last, left } = teams[key]!;
    const body = request.url?.endsWith('queue-status')
      ? { success: true, jobsInQueue: 0, mostRecentSuccess: last }
      : { success: true, data: { remainingCredits: left, planCredits: 500, billingPeriodEnd: ends } };
    response.end(JSON.stringify(body));
  });
  const env = { FIRECRAWL_API_URL: `http://127.0.0.1:${await listen(t, server)}` };
  const result = await box.shim('firecrawl', ['scrape', 'u'], { env });
  assert.equal(result.stdout, 'ok\n', result.stderr);
  assert.match(result.stderr, /account "b" has the same quota as "a" and is not tried/);
  assert.deepEqual([calls(box), asked.length], [['fc-a', 'fc-c'], 6]);
  // The same answer says when the quota starts again.
  const { clis } = await box.json('accounts');
  assert.equal(clis[0].accounts[0].paused.until, ends);
  const { accounts, total } = JSON.parse((await box.wrap(['status', 'firecrawl', '--json'], { env })).stdout);
  assert.deepEqual([accounts[0].shared, accounts[2].shared, total.limit], [['b'], [], 1000]);
  // The figures are less than an hour old, so no provider is asked again.
  asked.length = 0;
  fs.rmSync(path.join(box.home, 'calls'));
  await box.shim('firecrawl', ['scrape', 'u'], { env: { ...env, CULVERT_WRAP_ACCOUNT: 'a' } });
  assert.deepEqual([calls(box), asked], [['fc-a', 'fc-c'], []]);
});

test('without the time of a last success, and while the provider is silent, keys of Firecrawl are tried in turn', async t => {
  const box = sandbox(t);
  box.script(
    'firecrawl',
    '#!/bin/sh\necho "$FIRECRAWL_API_KEY" >> "$HOME/calls"\necho "Error: Insufficient credits to" >&2\nexit 1\n',
  );
  box.provider('firecrawl', 'hosts = { names = ["http://127.0.0.1"] }');
  box.accounts('firecrawl', { a: 'fc-a', b: 'fc-b' }, 'FIRECRAWL_API_KEY');
  let silent = false;
  const server = http.createServer((request, response) => {
    if (silent) return;
    const body = request.url?.endsWith('queue-status')
      ? { success: true, mostRecentSuccess: null }
      : { success: true, data: { remainingCredits: 0, planCredits: 500, billingPeriodEnd: null } };
    response.end(JSON.stringify(body));
  });
  const env = { FIRECRAWL_API_URL: `http://127.0.0.1:${await listen(t, server)}` };
  for (silent of [false, true]) {
    fs.rmSync(path.join(box.state, 'accounts/firecrawl.json'), { force: true });
    fs.rmSync(path.join(box.home, 'calls'), { force: true });
    assert.equal((await box.shim('firecrawl', ['scrape', 'u'], { env })).exit, 1);
    assert.deepEqual(calls(box), ['fc-a', 'fc-b']);
  }
});

test('with terms that allow one account for a person, another is only ever selected', async t => {
  const box = setUp(t, { a: 'bad', b: 'good' }, { rules: `accounts = "one-per-person"\n${RULES}` });
  assert.equal((await box.shim('fake', ['x'])).exit, 1);
  const explained = (await box.wrap(['explain', 'fake', 'x'])).stdout;
  assert.match(explained, /with one account only: the terms/);
  assert.match(explained, /^ {2}moves on {2}never/m);
  assert.equal((await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'b' } })).stdout, 'ok good\n');
  assert.deepEqual(calls(box), ['bad x', 'good x']);
});

test('with `wait`, a command waits for the first account to come back instead of giving up', async t => {
  const script = SCRIPT.replace('60s', '2s');
  const box = setUp(t, { a: 'bad-a', b: 'bad-b' }, { script, config: '[capacity.fake]\nwait = "1m"\n' });
  const child = box.start('fake', ['x']);
  const end = finished(child);
  let told = '';
  child.stderr?.on('data', chunk => {
    told += chunk;
  });
  await until(() => told.includes('waiting'), 'the wrapper to wait');
  fs.writeFileSync(path.join(box.home, 'back'), '');
  const result = await end;
  assert.deepEqual([result.exit, result.stdout], [0, 'ok bad-a\n'], result.stderr);
  assert.match(result.stderr, /no account is available; waiting \d s for the first one/);
  assert.equal(calls(box).length, 3);
});

test('`status --check` fails while too few accounts can be used, and its JSON stays whole', async t => {
  const box = setUp(t, { a: 'bad', b: 'good' }, { config: '[capacity.fake]\nmin_usable = 2\n' });
  assert.equal((await box.wrap(['status', '--check'])).exit, 0);
  await box.shim('fake', ['x']);
  const low = await box.wrap(['status', '--check', '--json']);
  assert.equal(low.exit, 3);
  assert.deepEqual(JSON.parse(low.stdout).problems, ['fake: 1 of 2 accounts can be used']);
});

test('`status --check` counts neither an account whose credential cannot be read nor an overdrawn account', async t => {
  const box = setUp(t, { a: 'good', b: 'good2' }, { config: '[capacity.fake]\nmin_usable = 2\n' });
  remember(box, { a: { remaining: -3 } });
  const overdrawn = await box.wrap(['status', '--check', '--json']);
  assert.deepEqual([overdrawn.exit, JSON.parse(overdrawn.stdout).problems], [3, ['fake: 1 of 2 accounts can be used']]);
  remember(box, {});
  assert.equal((await box.wrap(['status', '--check'])).exit, 0);
  fs.writeFileSync(path.join(box.config, 'keys.env'), 'fake_a=good\n');
  const unreadable = await box.wrap(['status', '--check']);
  assert.equal(unreadable.exit, 3);
  assert.match(unreadable.stdout, /b .*has no line fake_b=/);
});

test('`status` says which account has only its reserve left', async t => {
  const box = setUp(t, { a: 'good', b: 'good2' }, { config: '[capacity.fake]\nreserve = 5\npolicy = "queue"\n' });
  remember(box, { a: { remaining: 5 }, b: { remaining: 6 } });
  const { stdout } = await box.wrap(['status', 'fake']);
  assert.match(stdout, /a .*only the reserve left/);
  assert.match(stdout, /b .*ready/);
});

test('`status --watch` takes a CLI or an interval, refuses what is neither, and ends with its reader', async t => {
  const box = setUp(t, { a: 'good' });
  const program = `'${process.execPath}' '${buildWrapper()}'`;
  const watch = (args: string) =>
    box.run('/bin/bash', ['-c', `${program} status ${args} | head -n 1; exit \${PIPESTATUS[0]}`]);
  for (const args of ['--watch=1s', '--watch=1s fake']) {
    const { exit, stderr, stdout } = await watch(args);
    assert.deepEqual([exit, stderr], [141, ''], args);
    assert.match(stdout, /REMAINING/);
  }
  const child = box.start(process.execPath, [buildWrapper(), 'status', '--json', '--watch', 'fake']);
  const first = await new Promise<string>(resolve => child.stdout?.once('data', chunk => resolve(String(chunk))));
  child.kill();
  assert.equal(JSON.parse(first).cli, 'fake');
  const wrong = await box.wrap(['status', 'fake', '--watch=soon']);
  assert.deepEqual([wrong.exit, wrong.stderr.split('\n')[0]], [2, 'culvert-wrap: "soon" is not an interval']);
  const { exit, stderr } = await box.run('/bin/bash', [
    '-c',
    `${program} catalog show firecrawl | true; exit \${PIPESTATUS[0]}`,
  ]);
  assert.deepEqual([exit, stderr], [141, '']);
});

test('a quota that several accounts share counts once before a warning', async t => {
  const box = setUp(
    t,
    { a: 'good', b: 'good2' },
    { rules: `scope = "team"\n${RULES}`, config: '[capacity.fake]\nwarn_below = 8\n' },
  );
  remember(box, { a: { identity: 't1' }, b: { identity: 't1' } });
  assert.match((await box.shim('fake', ['x'])).stderr, /4 left over all accounts, below 8/);
});

test('no end of a limit that a provider names stops a command', async t => {
  const box = setUp(t, { a: 'bad', b: 'good' }, { script: SCRIPT.replace('60s', '99999999999999999999s') });
  assert.equal((await box.shim('fake', ['x'])).stdout, 'ok good\n');
  for (const args of [['status'], ['accounts'], ['explain', 'fake', 'x'], ['doctor'], ['metrics']]) {
    const { exit, stderr } = await box.wrap(args);
    assert.deepEqual([exit, stderr], [0, ''], args.join(' '));
  }
  const [{ paused }] = (await box.json('accounts')).clis[0].accounts;
  const pause = Date.parse(paused.until) - Date.now();
  assert.ok(pause > 0 && pause <= 3_600_000, `at most an hour for a rate: ${paused.until}`);
  box.remember('fake', {
    paused: { b: { class: 'quota', until: 1e22, since: 0 } },
    remaining: { b: { remaining: 1, limit: 1, used: 0, resets: null, at: 1e22 } },
  });
  fs.appendFileSync(
    path.join(box.state, 'audit.jsonl'),
    '{"at":1e22,"cli":"fake","command":"x","account":"a","outcome":"ok"}\n',
  );
  for (const args of [['status'], ['accounts'], ['audit']])
    assert.equal((await box.wrap(args)).exit, 0, args.join(' '));
});

test('a threshold that an account passes shows one desktop notification', async t => {
  const box = setUp(t, { a: 'good', b: 'good2' }, { config: '[capacity.fake]\nnotify_at = [50, 80]\n' });
  box.script('notify-send', '#!/bin/sh\necho "$@" >> "$HOME/notified"\n');
  const notified = path.join(box.home, 'notified');
  remember(box, { a: { remaining: 2 } });
  await box.shim('fake', ['x']);
  await until(() => fs.existsSync(notified) && fs.readFileSync(notified, 'utf8').includes('80 % of "a" used'), 'it');
  await box.shim('fake', ['x']);
  assert.equal(fs.readFileSync(notified, 'utf8').match(/80 %/g)?.length, 1);
});

test('a CLI with one account in a file or a variable runs without Node, and the audit log says so', async t => {
  const script = '#!/bin/sh\ngrep -l node /proc/$$/stat >/dev/null; echo "$FAKE_KEY|$OTHER|$$|$*"; cat\nexit 7\n';
  const box = setUp(t, { a: "it's a \\ $key" }, { rules: `credentials = ["OTHER"]\n${RULES}`, script });
  await box.shim('fake', ['first']);
  await box.shim('fake', ['first']);
  const child = box.start('fake', ['x', 'two words', '--', '--key'], { env: { OTHER: 'stray' } });
  child.stdin?.end('input\n');
  const result = await finished(child);
  assert.equal(result.stdout, `it's a \\ $key||${child.pid}|x two words -- --key\ninput\n`);
  assert.deepEqual([result.exit, result.stderr], [7, '']);
  const { entries } = await box.json('audit');
  const { at: _, ...last } = entries.at(-1);
  assert.deepEqual(last, { cli: 'fake', command: 'x', account: 'a', outcome: 'unobserved' });
});

test('the shortcut leaves everything that needs care to the whole program', async t => {
  const script = '#!/bin/sh\necho "$FAKE_KEY"\n';
  const box = setUp(t, { a: 'k1' }, { script });
  for (let i = 0; i < 2; i++) await box.shim('fake', ['x']);
  const shortcut = path.join(box.state, 'plans/fake.sh');
  assert.ok(fs.existsSync(shortcut));
  const out = async (args: string[], options?: Parameters<Sandbox['run']>[2]) =>
    (await box.shim('fake', args, options)).stdout.trim();
  const env = { FAKE_KEY: 'mine' };
  assert.equal(await out(['x'], { env }), 'k1');
  assert.equal(await out(['login'], { env }), 'mine');
  assert.equal(await out(['x', '--version'], { env }), 'mine');
  assert.equal(await out(['x', '--key=z'], { env }), 'mine');
  assert.equal(await out(['x', '-kz'], { env }), 'mine');
  assert.equal(await out([], { env }), 'k1');
  assert.equal((await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'none' } })).exit, 2);
  assert.equal(await out(['x'], { env: { ...env, CULVERT_WRAP_ACTIVE: 'fake' } }), 'mine');
  const project = path.join(box.home, 'p/q');
  fs.mkdirSync(project, { recursive: true });
  fs.writeFileSync(path.join(box.home, 'p/.culvert-wrap.toml'), '[accounts]\nfake = "a"\n');
  assert.match((await box.shim('fake', ['x'], { cwd: project })).stderr, /not trusted/);
  const keys = path.join(box.config, 'keys.env');
  for (const [text, expected] of [
    ['fake_a=k2\n', 'k2'],
    ['export fake_a="k3"\n', 'k3'],
    ['fake_a=old\nfake_a=k4', 'k4'],
  ]) {
    fs.writeFileSync(keys, text!);
    assert.equal(await out(['x']), expected);
  }
  fs.writeFileSync(keys, 'fake_a=\n');
  assert.match((await box.shim('fake', ['x'])).stderr, /skipping account "a": .*it is empty/);
  fs.rmSync(keys);
  assert.match((await box.shim('fake', ['x'])).stderr, /skipping account "a": .*does not exist/);
  fs.writeFileSync(keys, 'fake_a=k5\nfake_b=k6\n');
  const config = path.join(box.config, 'config.toml');
  const text = fs.readFileSync(config, 'utf8');
  fs.writeFileSync(config, text.replace('#fake_a', '#fake_b'));
  fs.utimesSync(config, 1, 1);
  assert.equal(await out(['x']), 'k6');
  await box.auth('fake', ['disable', 'a']);
  assert.equal(await out(['x'], { env }), 'mine');
  assert.ok(!fs.existsSync(shortcut));
});
