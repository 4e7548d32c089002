// The questions that `doctor --probe` asks the providers.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as path from 'node:path';
import { test } from 'node:test';
import { loadCatalog } from '../../../wrapper/catalog/catalog.ts';
import { listen } from '../../support/listen.ts';
import { setUp } from '../../support/wrapper/fake-cli.ts';

test('doctor --probe asks providers without a usage endpoint whether a credential works', async t => {
  const asked: Record<string, http.IncomingHttpHeaders> = {};
  let status = 200;
  const server = http.createServer((request, response) => {
    asked[request.url!] = request.headers;
    response.writeHead(status).end('{}');
  });
  const base = `http://127.0.0.1:${await listen(t, server)}`;
  const { providers } = loadCatalog('wrapper/catalog/providers', '');
  const checked = Object.entries(providers).filter(([, provider]) => provider.check);
  assert.deepEqual(
    Object.keys(providers).filter(cli => !checked.some(([name]) => name === cli) && !providers[cli]!.usage),
    ['brave', 'context7', 'deepl', 'exa', 'jina', 'perplexity', 'railway', 'serpapi', 'serper', 'wrangler'],
  );
  const box = setUp(t);
  const config = path.join(box.config, 'config.toml');
  for (const [cli, { inject }] of checked) {
    fs.appendFileSync(path.join(box.config, 'providers.toml'), `[providers.${cli}.check]\nurl = "${base}//${cli}"\n`);
    fs.appendFileSync(config, `[[accounts]]\ncli = "${cli}"\nname = "a"\nenv = { "${inject[0]}" = "env:KEY" }\n`, {
      mode: 0o600,
    });
  }
  const findings = async () => {
    const { stdout } = await box.wrap(['doctor', '--probe', '--json'], { env: { KEY: 'canary-1' } });
    assert.doesNotMatch(stdout, /canary/);
    return JSON.parse(stdout).findings.filter(({ what }: { what: string }) => what.includes('account "a"'));
  };
  for (const { level, what } of await findings()) assert.deepEqual([level, what.split(': ')[1]], ['ok', 'works']);
  for (const [cli] of checked) {
    const headers = asked[`/${cli}`]!;
    const sent = Object.entries(headers).filter(([, value]) => String(value).includes('canary-1'));
    assert.equal(sent.length, 1, cli);
    assert.ok(['Bearer canary-1', 'canary-1'].includes(String(sent[0]![1])), cli);
  }
  status = 401;
  for (const { level, what } of await findings()) {
    assert.equal(level, 'problem');
    assert.match(what, /HTTP status 401: the credential is refused/);
  }
  status = 503;
  for (const { level, what } of await findings()) {
    assert.equal(level, 'warning');
    assert.match(what, /HTTP status 503$/);
  }
});

test('doctor --probe asks about every credential and names the reset', async t => {
  const server = http.createServer((request, response) => {
    const key = (request.headers.authorization ?? '').replace('Bearer ', '');
    response.writeHead(key === 'revoked' ? 401 : 200, { 'Content-Type': 'application/json' });
    response.end(
      JSON.stringify({
        left: key === 'empty' ? 0 : 5,
        limit: 10,
        resets: key === 'old' ? '2025-01-31T12:00:00Z' : '2031-05-01T00:00:00Z',
      }),
    );
  });
  const port = await listen(t, server);
  const box = setUp(t, { a: 'good', b: 'revoked', c: 'empty', d: 'old' });
  fs.appendFileSync(
    path.join(box.config, 'providers.toml'),
    `[providers.fake.usage]\nurl = "http://127.0.0.1:${port}/usage"\nremaining = "left"\nlimit = "limit"\nresets = "resets"\n`,
  );
  const { stdout, exit } = await box.wrap(['doctor', '--probe']);
  assert.equal(exit, 1);
  assert.match(stdout, /ok +fake account "a": works, 5 of 10 left, resets 2031-0/);
  assert.match(stdout, /PROBLEM fake account "b": .*HTTP status 401/);
  assert.match(stdout, /warning fake account "c": works, but has nothing left; resets 2031-0/);
  assert.match(stdout, /ok +fake account "d": works, 5 of 10 left, resets 2025-01-31 \d\d:\d\d \(past\)\n/);
});
