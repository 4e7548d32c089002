// The shipped catalog against the real CLIs, where they are installed: on PATH or in the directories of
// CULVERT_TEST_UPSTREAMS (colon-separated). A loopback server stands in for their APIs.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadCatalog } from '../../wrapper/catalog/catalog.ts';
import { findOnPath } from '../../wrapper/store/installs.ts';
import { listen } from '../support/listen.ts';
import { missing } from '../support/temporary.ts';
import { type Sandbox, sandbox } from '../support/wrapper/sandbox.ts';

const shipped = fileURLToPath(new URL('../../wrapper/catalog/providers', import.meta.url));
const search = `${process.env.CULVERT_TEST_UPSTREAMS ?? ''}:${process.env.PATH}`;
const node = path.dirname(process.execPath);

/** Answers by the number in the key: `fc-429` gets HTTP 429. */
async function fakeFirecrawl(t: Parameters<typeof sandbox>[0]) {
  const requests: string[] = [];
  const texts: Record<string, string> = {
    401: 'Unauthorized: Invalid token',
    402: 'Insufficient credits to perform this request. For more credits, you can upgrade your plan at https://firecrawl.dev/pricing',
    429: 'Rate limit exceeded. Consumed (req/min): 11, Remaining (req/min): 0. Upgrade your plan or please retry after 23s',
  };
  let polls = 0;
  const server = http.createServer((request, response) => {
    const key = (request.headers.authorization ?? '').replace('Bearer ', '');
    requests.push(`${request.method} ${request.url} ${key}`);
    request.resume();
    const send = (status: number, body: object) => {
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    const status = /fc-(\d{3})/.exec(key)?.[1];
    if (status) return send(Number(status), { success: false, error: texts[status] ?? 'failed' });
    if (request.url?.includes('/credit-usage'))
      return send(200, {
        success: true,
        data: { remainingCredits: 700, planCredits: 1000, billingPeriodEnd: '2031-01-31T23:59:59Z' },
      });
    if (request.method === 'POST' && request.url?.endsWith('/crawl'))
      return send(200, { success: true, id: '9611319f-9376-4bd0-97e5-1c332d4afc38' });
    if (request.url?.includes('/crawl/')) {
      if (key === 'fc-midlimit' && ++polls > 1) return send(402, { success: false, error: texts[402] });
      return send(200, {
        success: true,
        status: key === 'fc-midlimit' ? 'scraping' : 'completed',
        completed: 1,
        total: 1,
        creditsUsed: 1,
        expiresAt: '2031-01-01T00:00:00Z',
        data: [],
      });
    }
    if (request.url?.endsWith('/scrape'))
      return send(200, {
        success: true,
        data: { markdown: '# Page\n\nError: Request failed with status code 429', metadata: {} },
      });
    return send(200, {
      success: true,
      data: { web: [{ url: 'https://example.com', title: 'Example', description: 'd' }] },
      links: [],
    });
  });
  return { url: `http://127.0.0.1:${await listen(t, server)}`, requests };
}

async function withFirecrawl(
  t: Parameters<typeof sandbox>[0] & { skip(message: string): void },
): Promise<{ box: Sandbox; requests: string[] } | undefined> {
  const real = findOnPath('firecrawl', search);
  if (!real) {
    t.skip('firecrawl is not installed');
    return undefined;
  }
  const api = await fakeFirecrawl(t);
  const box = sandbox(t);
  box.provider('firecrawl', 'hosts = { names = ["http://127.0.0.1"] }');
  fs.symlinkSync(fs.realpathSync(real), path.join(box.bin, 'firecrawl'));
  Object.assign(box.env, {
    FIRECRAWL_API_URL: api.url,
    FIRECRAWL_NO_TELEMETRY: '1',
    FIRECRAWL_NO_UPDATE_CHECK: '1',
    PATH: `${box.bin}:${node}:/usr/bin:/bin`,
  });
  return { box, requests: api.requests };
}

for (const [status, why] of [
  [401, 'was refused (auth'],
  [402, 'has no quota left (quota'],
  [429, 'is rate limited (rate'],
] as const) {
  for (const args of [
    ['search', 'x'],
    ['scrape', 'https://example.com'],
    ['map', 'https://example.com'],
    ['crawl', 'https://example.com'],
    ['search', 'x', '--json'],
  ]) {
    test(`firecrawl ${args.join(' ')} moves on after HTTP ${status}`, async t => {
      const setting = await withFirecrawl(t);
      if (!setting) return;
      const { box } = setting;
      box.accounts('firecrawl', { ok: 'fc-good' }, 'FIRECRAWL_API_KEY');
      const direct = await box.run('firecrawl', args);
      box.accounts('firecrawl', { bad: `fc-${status}` }, 'FIRECRAWL_API_KEY');
      const result = await box.run('firecrawl', args, { env: { CULVERT_WRAP_ACCOUNT: 'bad' } });
      assert.equal(result.exit, 0, result.stderr);
      assert.equal(result.stdout, direct.stdout);
      assert.ok(result.stderr.startsWith(`culvert-wrap: firecrawl: account "bad" ${why}`), result.stderr);
      assert.equal(result.stderr.split('\n').filter(line => line.startsWith('culvert-wrap')).length, 1);
      assert.equal((await box.run('firecrawl', args)).stderr, direct.stderr);
    });
  }
}

test('firecrawl without accounts is the original, byte for byte', async t => {
  const setting = await withFirecrawl(t);
  if (!setting) return;
  const { box } = setting;
  const commands = [
    ['--version'],
    ['--help'],
    ['search', 'x'],
    ['search', '--nope'],
    ['frobnicate'],
    ['scrape', 'https://example.com'],
    ['login', '--help'],
    ['crawl', 'https://example.com'],
  ];
  const collect = async (key: string) => {
    const runs = [];
    for (const args of commands) runs.push(await box.run('firecrawl', args, { env: { FIRECRAWL_API_KEY: key } }));
    return runs;
  };
  for (const key of ['fc-good', 'fc-402']) {
    const direct = await collect(key);
    box.install('firecrawl');
    assert.deepEqual(await collect(key), direct);
    box.uninstall('firecrawl');
  }
});

test('a limit in the middle of a firecrawl crawl does not start a second crawl', async t => {
  const setting = await withFirecrawl(t);
  if (!setting) return;
  const { box, requests } = setting;
  box.accounts('firecrawl', { a: 'fc-midlimit', b: 'fc-good' }, 'FIRECRAWL_API_KEY');
  const args = ['crawl', 'https://example.com', '--wait', '--progress', '--poll-interval', '1'];
  const result = await box.run('firecrawl', args);
  assert.equal(result.exit, 1, JSON.stringify(result));
  assert.match(result.stderr, /the job 9611319f-9376-4bd0-97e5-1c332d4afc38 already exists/);
  assert.equal(requests.filter(line => line.startsWith('POST')).length, 1);
});

test('firecrawl status shows the accounts of a real credit-usage answer', async t => {
  const setting = await withFirecrawl(t);
  if (!setting) return;
  await setting.box.accounts('firecrawl', { a: 'fc-1', b: 'fc-2' }, 'FIRECRAWL_API_KEY');
  const { total } = JSON.parse((await setting.box.wrap(['status', 'firecrawl', '--json'])).stdout);
  assert.deepEqual(total, { remaining: 1400, limit: 2000, used: 600 });
});

for (const cli of [
  'firecrawl',
  'netlify',
  'wrangler',
  'sentry-cli',
  'npm',
  'vercel',
  'neonctl',
  'elevenlabs',
  'supabase',
  'gh',
  'hf',
  'claude',
  'codex',
  'gemini',
]) {
  test(`the catalog entry of ${cli} fits the installed CLI`, { timeout: 240_000 }, async t => {
    // The npm that comes with Node is another version than the tested one, so only a given one counts.
    const real = findOnPath(cli, cli === 'npm' ? (process.env.CULVERT_TEST_UPSTREAMS ?? '') : search);
    if (!real) return t.skip(`${cli} is not installed`);
    const box = sandbox(t);
    const result = await box.wrap(['catalog', 'test', cli], {
      env: { PATH: `${path.dirname(real)}:${node}:/usr/bin:/bin` },
    });
    assert.equal(result.exit, 0, result.stdout + result.stderr);
  });
}

for (const cli of ['netlify', 'wrangler', 'sentry-cli', 'npm', 'vercel', 'hf']) {
  test(`${cli} stays with its account when that is refused, and uses the next one where the user wants failover`, {
    timeout: 120_000,
  }, async t => {
    const real = findOnPath(cli, cli === 'npm' ? (process.env.CULVERT_TEST_UPSTREAMS ?? '') : search);
    if (!real) return t.skip(`${cli} is not installed`);
    const provider = loadCatalog(shipped, missing(t)).providers[cli]!;
    const probe = provider.probes.find(({ expect }) => expect === 'auth')!;
    const keys = new Set<string>();
    const server = http.createServer((request, response) => {
      if (request.headers.authorization) keys.add(request.headers.authorization);
      request.resume();
      response.writeHead(probe.status, { 'Content-Type': 'application/json', ...probe.headers });
      response.end(probe.body);
    });
    const host = `127.0.0.1:${await listen(t, server)}`;
    const fill = (text: string) => text.replaceAll('{fake}', `http://${host}`).replaceAll('{host}', host);
    const box = sandbox(t);
    box.env.PATH = `${box.bin}:${node}:/usr/bin:/bin`;
    const variable = cli === 'npm' ? `npm_config_//${host}/:_authToken` : provider.inject[0]!;
    for (const [name, value] of Object.entries(provider.probe_env)) {
      if (fill(name) !== variable) box.env[fill(name)] = fill(value);
    }
    const inject = cli === 'npm' ? `inject = ["${variable}"]\n` : '';
    box.provider(cli, `${inject}hosts = { names = ["http://127.0.0.1"] }`);
    fs.symlinkSync(fs.realpathSync(real), path.join(box.bin, cli));
    box.accounts(cli, { a: 'keyaaaaaaaa', b: 'keybbbbbbbb' }, cli === 'npm' ? `"${variable}"` : variable);
    const alone = await box.run(cli, probe.args.map(fill));
    assert.equal(alone.exit, 69, alone.stderr);
    assert.match(alone.stderr, /account "a" was refused \(auth\); another account holds other projects/);
    assert.deepEqual([...keys], ['Bearer keyaaaaaaaa']);
    box.configure(`[tools.${cli}]\nfailover = true\n`);
    const result = await box.run(cli, probe.args.map(fill));
    assert.equal(result.exit, 1, result.stderr);
    const lines = result.stderr.split('\n').filter(line => line.startsWith('culvert-wrap:'));
    assert.match(lines[0]!, /account "a" was refused \(auth, paused until its credential changes\); trying "b"$/);
    assert.match(lines[1]!, /account "b" was refused .*; no account is left$/);
    assert.deepEqual([...keys].sort(), ['Bearer keyaaaaaaaa', 'Bearer keybbbbbbbb']);
  });
}

test('catalog test reports drift', async t => {
  const box = sandbox(t);
  box.script('firecrawl', '#!/bin/sh\necho "Error: new wording" >&2\nexit 1\n');
  const result = await box.wrap(['catalog', 'test', 'firecrawl', '--json']);
  assert.equal(result.exit, 1);
  const report = JSON.parse(result.stdout);
  assert.equal(report.drift, report.results.length - 1);
  assert.equal(report.results[0].stderr, 'Error: new wording');
});
