// tvly can't be installed from npm or Debian, so an executable fake replays what the real one printed.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sandbox } from '../support/wrapper/sandbox.ts';

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/upstreams/${name}`, import.meta.url));

async function withTvly(t: Parameters<typeof sandbox>[0], accounts: Record<string, string>) {
  const box = sandbox(t);
  fs.symlinkSync(fixture('tvly.mjs'), path.join(box.bin, 'tvly'));
  box.env.PATH = `${box.bin}:${path.dirname(process.execPath)}:/usr/bin:/bin`;
  box.accounts('tvly', accounts, 'TAVILY_API_KEY');
  return box;
}

for (const [status, why] of [
  [401, 'was refused'],
  [429, 'is rate limited'],
  [432, 'has no quota left'],
  [433, 'has no quota left'],
] as const) {
  for (const args of [
    ['search', 'hello'],
    ['search', 'hello', '--json'],
    ['extract', 'https://example.com'],
    ['crawl', 'https://example.com'],
  ]) {
    test(`tvly ${args.join(' ')} moves on after HTTP ${status}`, async t => {
      const box = await withTvly(t, { bad: `tvly-${status}`, ok: 'tvly-ok' });
      const recorded = await box.run(fixture('tvly.mjs'), args, { env: { TAVILY_API_KEY: `tvly-${status}` } });
      if (recorded.exit === 99) return t.skip('there is no recording of this combination');
      const direct = await box.run(fixture('tvly.mjs'), args, { env: { TAVILY_API_KEY: 'tvly-ok' } });
      if (direct.exit === 99) return t.skip('there is no recording of its success');
      const result = await box.run('tvly', args);
      assert.equal(result.exit, 0, result.stderr);
      assert.equal(result.stdout, direct.stdout);
      assert.ok(result.stderr.startsWith(`culvert-wrap: tvly: account "bad" ${why}`), result.stderr);
    });
  }
}

test('tvly messages wrapped at 50 columns are recognized', async t => {
  const box = await withTvly(t, { a: 'tvly-432', b: 'tvly-429' });
  const result = await box.run('tvly', ['search', 'hello'], { env: { COLUMNS: '50' } });
  assert.equal(result.exit, 4);
  assert.match(result.stderr, /"a" has no quota left[\s\S]*"b" is rate limited .*no account is left\n$/);
});

test('tvly usage errors are final', async t => {
  const box = await withTvly(t, { a: 'tvly-ok', b: 'tvly-429' });
  const result = await box.run('tvly', ['search', 'a', 'b']);
  assert.equal(result.exit, 2);
  assert.doesNotMatch(result.stderr, /culvert-wrap/);
});

test('the bare command is a prompt whose lines run with failover', async t => {
  const box = await withTvly(t, { bad: 'tvly-432', ok: 'tvly-ok' });
  const result = await box.run('tvly', [], { input: 'search hello\nexit\n' });
  assert.equal(result.exit, 0);
  assert.match(result.stdout, /1\. T {3}score: 0\.90/);
  assert.match(result.stderr, /"bad" has no quota left .*trying "ok"/);
});
