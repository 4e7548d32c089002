// Capacity of accounts: usage endpoints, reserves, the queue, and orders of use.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { listen } from '../support/listen.ts';
import { until } from '../support/until.ts';
import { calls, setUp as withTool } from '../support/wrapper/fake-cli.ts';
import type { Sandbox, sandbox } from '../support/wrapper/sandbox.ts';

interface Usage {
  status?: number;
  remaining?: number;
  limit?: number | null;
  resets?: string;
  body?: string;
  hang?: boolean;
}

/** A usage endpoint that answers by key. */
async function fakeApi(t: Parameters<typeof sandbox>[0], usage: Record<string, Usage>) {
  const requests: string[] = [];
  const server = http.createServer((request, response) => {
    const key = (request.headers.authorization ?? '').replace('Bearer ', '');
    requests.push(`${request.method} ${request.url} ${key}`);
    const { status = 401, body, hang, ...data } = usage[key] ?? {};
    if (hang) return;
    response.writeHead(usage[key] ? (usage[key].status ?? 200) : status, { 'Content-Type': 'application/json' });
    response.end(body ?? JSON.stringify({ data }));
  });
  return { url: `http://127.0.0.1:${await listen(t, server)}`, requests };
}

function rules(extra = ''): string {
  return `inject = ["FAKE_KEY"]
stdin_args = ["-"]
passthrough = ["--help", "--version", "login", "status"]
costs = { big = 50, free = 0 }
${extra}
[[providers.fake.rules]]
class = "quota"
stderr = "^Error: quota"
[providers.fake.usage]
url = "{FAKE_API:http://127.0.0.1:9}/usage"
remaining = "data.remaining"
limit = "data.limit"
resets = "data.resets"
`;
}

function setUp(t: TestContext, keys: Record<string, string>, config: string, url: string): Sandbox {
  const box = withTool(t, keys, { rules: rules(), config });
  box.env.FAKE_API = url;
  return box;
}

/** A year whose quotas are not renewed yet. */
const YEAR = new Date().getFullYear() + 2;

test('status shows what each account has left and the total, and asks no more often than allowed', async t => {
  const api = await fakeApi(t, {
    k1: { remaining: 1200, limit: 5000, resets: `${YEAR}-05-01T00:00:00Z` },
    k2: { remaining: 30, limit: 100 },
    k4: { status: 200, body: 'no json' },
  });
  const box = setUp(t, { a: 'k1', b: 'k2', c: 'k3', d: 'k4' }, '', api.url);
  const { stdout } = await box.wrap(['status', 'fake']);
  assert.match(stdout, /ACCOUNT +REMAINING +LIMIT +RESETS +STATE/);
  assert.match(stdout, new RegExp(`\\* +a +1,200 +5,000 +${YEAR}-0[45]-\\d\\d \\d\\d:\\d\\d +ready`));
  assert.match(stdout, /total +1,230 +5,100/);
  assert.match(stdout, /c .*answered with HTTP status 401/);
  assert.match(stdout, /d .*something that is not JSON/);
  const again = await box.json('status', 'fake');
  assert.deepEqual(again.total, { remaining: 1230, limit: 5100, used: 3870 });
  assert.equal(api.requests.filter(line => line.endsWith(' k1')).length, 1);
  assert.equal(api.requests[0]!.startsWith('GET /usage '), true);
});

test('a provider without an endpoint is asked by its status command', async t => {
  const rules = `inject = ["FAKE_KEY"]\nstatus_command = 'echo "{\\"remaining\\": 7, \\"limit\\": 10, \\"used\\": 3}"'\n`;
  const box = withTool(t, { a: 'k1', b: 'k2' }, { rules });
  const { total } = await box.json('status', 'fake');
  assert.deepEqual(total, { remaining: 14, limit: 20, used: 6 });
});

test('an account that would fall below the reserve is tried after the others', async t => {
  const api = await fakeApi(t, { k1: { remaining: 60, limit: 100 }, k2: { remaining: 500, limit: 1000 } });
  const box = setUp(t, { a: 'k1', b: 'k2' }, '[capacity.fake]\nreserve = 20\n', api.url);
  await box.shim('fake', ['small']);
  await box.shim('fake', ['big']);
  assert.deepEqual(calls(box), ['k1 small', 'k2 big']);
});

test('with nothing left a command is queued with exit 75, listed, and run once something is left', async t => {
  const usage: Record<string, Usage> = { k1: { remaining: 0, limit: 10 } };
  const api = await fakeApi(t, usage);
  const box = setUp(t, { a: 'k1' }, '[capacity.fake]\npolicy = "queue"\n', api.url);
  const queued = await box.run('fake', ['-', 'two words'], { input: 'from stdin' });
  assert.equal(queued.exit, 75);
  assert.match(queued.stderr, /queued as .*culvert-wrap queue run/);
  for (const args of [['--version'], ['login'], ['status'], ['x', '--help']])
    assert.equal((await box.shim('fake', args)).exit, 0);
  const { queue } = await box.json('queue', 'list');
  assert.deepEqual(queue[0].args, ['-', 'two words']);
  const early = await box.wrap(['queue', 'run']);
  assert.equal(early.exit, 1);
  assert.equal((await box.json('queue')).queue.length, 1);
  usage.k1 = { remaining: 10, limit: 10 };
  const state = path.join(box.state, 'accounts/fake.json');
  fs.writeFileSync(state, fs.readFileSync(state, 'utf8').replace(/"at":\d+/, '"at":0'));
  const run = await box.wrap(['queue', 'run']);
  assert.equal(run.stdout, 'from stdinok\n');
  assert.equal(run.exit, 0);
  assert.equal((await box.json('queue')).queue.length, 0);
});

test('a queued command can be dropped, and with shed it is refused', async t => {
  const api = await fakeApi(t, { k1: { remaining: 0, limit: 10 } });
  const box = setUp(t, { a: 'k1' }, '[capacity.fake]\npolicy = "queue"\n', api.url);
  await box.shim('fake', ['x']);
  const [{ id }] = (await box.json('queue')).queue;
  assert.equal((await box.wrap(['queue', 'drop', '../x'])).exit, 2);
  assert.match((await box.wrap(['queue', 'drop', id])).stdout, /dropped/);
  const config = path.join(box.config, 'config.toml');
  fs.writeFileSync(config, fs.readFileSync(config, 'utf8').replace('"queue"', '"shed"'));
  const refused = await box.shim('fake', ['x']);
  assert.equal(refused.exit, 69);
  assert.deepEqual(calls(box), []);
  const { entries } = await box.json('audit');
  assert.deepEqual(
    entries.map((entry: { outcome: string }) => entry.outcome),
    ['queued', 'refused'],
  );
  fs.writeFileSync(config, fs.readFileSync(config, 'utf8').replace('"shed"', '"execute"'));
  assert.equal((await box.shim('fake', ['x'])).exit, 0);
});

test('a low pool is reported once an hour, with the configured command', async t => {
  const api = await fakeApi(t, { k1: { remaining: 5, limit: 10 }, k2: { remaining: 4, limit: 10 } });
  const box = setUp(
    t,
    { a: 'k1', b: 'k2' },
    '[capacity.fake]\nwarn_below = 20\nwarn_command = \'echo "$CULVERT_WRAP_CLI $CULVERT_WRAP_REMAINING" >> "$HOME/warned"\'\n',
    api.url,
  );
  assert.match((await box.shim('fake', ['x'])).stderr, /fake: 8 left over all accounts, below 20/);
  const warned = path.join(box.home, 'warned');
  await until(() => fs.existsSync(warned) && fs.readFileSync(warned, 'utf8') === 'fake 8\n', 'the warning command');
  assert.equal((await box.shim('fake', ['x'])).stderr, '');
  assert.doesNotMatch((await box.shim('fake', ['--help'])).stderr, /left/);
});

test('a usage endpoint that is down or silent does not stop a command', async t => {
  const api = await fakeApi(t, { k1: { hang: true } });
  const box = setUp(t, { a: 'k1' }, '[capacity.fake]\npolicy = "shed"\nreserve = 5\n', api.url);
  assert.equal((await box.shim('fake', ['x'])).stdout, 'ok\n');
  assert.equal((await box.shim('fake', ['x'], { env: { FAKE_API: 'http://127.0.0.1:1' } })).stdout, 'ok\n');
});

test('an account without quota is paused until the period that the provider named ends', async t => {
  const resets = new Date(Date.now() + 5 * 86_400_000).toISOString();
  const api = await fakeApi(t, { bad1: { remaining: 0, limit: 10, resets }, k2: { remaining: 5, limit: 10 } });
  const box = setUp(t, { a: 'bad1', b: 'k2' }, '', api.url);
  await box.wrap(['status', 'fake']);
  const named = { env: { CULVERT_WRAP_ACCOUNT: 'a' } };
  assert.match((await box.shim('fake', ['x'], named)).stderr, /quota, paused for 5 d/);
});
