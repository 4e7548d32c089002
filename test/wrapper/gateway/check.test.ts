// Reports about programs that use a gateway: `serve status`, `metrics` and `doctor`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { createServer } from 'node:http';
import * as path from 'node:path';
import { test } from 'node:test';
import { portOf } from '../../../wrapper/gateway/address.ts';
import { accepts } from '../../../wrapper/gateway/check.ts';
import { newPlaceholder, startGateway } from '../../../wrapper/gateway/gateway.ts';
import { loadPlan } from '../../../wrapper/run/invocation.ts';
import { readGateway, updateGateway } from '../../../wrapper/store/tokens.ts';
import { contextOf, homeFor, json, startProvider } from '../../support/wrapper/gateway.ts';

test('status, metrics and doctor know the programs of a gateway, and find a key that was left', async t => {
  const { port: provider } = await startProvider(t, (_key, _req, res) => json(res, 200, {}));
  const box = homeFor(t, provider, { a: 'real-a' });
  // the doctor checks all programs of this user, also those of other tests
  const catalog = path.join(box.config, 'providers.toml');
  fs.writeFileSync(
    catalog,
    fs.readFileSync(catalog, 'utf8').replace('"FAKE_URL"', '"CHECK_URL"').replace('"fk-"', '"ck-"'),
  );
  const { placeholder, url } = JSON.parse(
    (await box.wrap(['serve', 'token', 'add', 'fake', 'app', '--budget', '1', '--json'])).stdout,
  );
  const context = contextOf(box);
  const gateway = await startGateway('fake', context, { port: await portOf('fake', undefined, context) });
  t.after(() => gateway.close());
  assert.equal(gateway.url, url);
  for (const key of [placeholder, placeholder, 'fk-other'])
    await fetch(`${url}/scrape`, { headers: { authorization: `Bearer ${key}` } });

  const findings = async (env: Record<string, string>): Promise<[string, string][]> => {
    const run = await box.wrap(['doctor', '--json'], { env });
    const all: { level: string; what: string }[] = JSON.parse(run.stdout).findings;
    return all.filter(({ what }) => /gateway|token/.test(what)).map(({ level, what }) => [level, what]);
  };
  const good = {
    CHECK_URL: url,
    FAKE_KEY: placeholder,
    NO_PROXY: '127.0.0.1',
    https_proxy: '',
    HTTP_PROXY: 'http://p',
  };
  assert.deepEqual(await findings(good), [['ok', 'fake: running programs that use the gateway and hold no key: 1']]);
  assert.deepEqual(await findings({ ...good, FAKE_KEY: 'real-a' }), [
    ['problem', 'fake: this shell uses the gateway, and has a key in FAKE_KEY'],
  ]);
  assert.deepEqual(await findings({ ...good, FAKE_KEY: 'fk-old', NO_PROXY: 'localhost' }), [
    ['problem', 'fake: this shell uses the gateway, which refuses its FAKE_KEY'],
    ['warning', 'fake: this shell sends requests for the gateway to the proxy in HTTP_PROXY'],
  ]);

  const other = box.start(process.execPath, ['-e', 'console.log(1); process.stdin.resume()'], {
    env: {
      CHECK_URL: 'http://127.0.0.1:1',
      FAKE_KEY: newPlaceholder({ key_prefix: 'ck-' }),
      OTHER: 'real-a',
      NO_PROXY: '127.0.0.1',
    },
  });
  await once(other.stdout!, 'data');
  assert.deepEqual(await findings(good), [
    ['problem', `fake: node (${other.pid}) uses the gateway, and has a key in OTHER`],
  ]);
  const ended = once(other, 'exit');
  other.kill();
  await ended;

  await gateway.close();
  const status = (await box.json('serve', 'status')).gateways[0];
  assert.deepEqual([status.cli, status.url, status.running], ['fake', url, false]);
  const { name, requests, refused, used, budget, account, accounts } = status.consumers[0];
  assert.deepEqual([name, requests, refused, used, budget, account], ['app', 1, 1, 1, 1, 'a']);
  assert.deepEqual(accounts, { a: 1 });
  assert.match(
    (await box.wrap(['serve', 'status'])).stdout,
    /^fake: does not run\nPROGRAM .*\napp .* 1 of 1 .* a 1\nturned away, .*: 1\n$/,
  );
  const { stdout } = await box.wrap(['metrics']);
  assert.match(stdout, /culvert_wrap_gateway_requests_total\{cli="fake",consumer="app"\} 1\n/);
  assert.match(stdout, /culvert_wrap_gateway_refused_total\{cli="fake",consumer="app"\} 1\n/);
  assert.match(stdout, /culvert_wrap_gateway_turned_away_total\{cli="fake"\} 1\n/);
  assert.match((await box.wrap(['audit'])).stdout, /http \(app\)/);
  assert.deepEqual(await findings({}), [
    ['warning', `fake: nothing listens at ${url}, which programs have a token for`],
  ]);
  updateGateway(context.paths, 'fake', ({ tokens: [token] }) => {
    token!.expires = 1;
  });
  assert.deepEqual(await findings({}), [], 'no token can be used');
});

test('doctor asks the gateway about a placeholder, and tells it from another program of this user', async t => {
  const provider = await startProvider(t, (_key, _req, res) => json(res, 200, {}));
  const box = homeFor(t, provider.port, { a: 'real-a' });
  const catalog = path.join(box.config, 'providers.toml');
  fs.writeFileSync(catalog, fs.readFileSync(catalog, 'utf8').replace('"FAKE_URL"', '"PROBE_URL"'));
  const { placeholder, url } = await box.json('serve', 'token', 'add', 'fake', 'app');
  const port = Number(new URL(url).port);
  const env = { PROBE_URL: url, FAKE_KEY: placeholder, NO_PROXY: '127.0.0.1' };
  const findings = async (): Promise<[string, string][]> => {
    const all: { level: string; what: string }[] = JSON.parse(
      (await box.wrap(['doctor', '--json'], { env })).stdout,
    ).findings;
    return all
      .filter(({ what }) => what.startsWith('fake: ') && what.includes(url))
      .map(each => [each.level, each.what]);
  };
  const gateway = await startGateway('fake', contextOf(box), { port });
  t.after(() => gateway.close());
  assert.deepEqual(await findings(), []);
  const { http } = (await loadPlan('fake', contextOf(box))).provider;
  assert.equal(await accepts(port, 'fk-other', http!), false);
  await gateway.close();
  assert.deepEqual(provider.calls, [], 'nothing reaches the provider');
  assert.equal(readGateway(contextOf(box).paths, 'fake').turnedAway, 1, 'the other one, and no check');

  const other = createServer((_req, res) => json(res, 200, {})).listen(port, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  assert.deepEqual(await findings(), [
    ['problem', `fake: what listens at ${url} does not accept the placeholder of this shell, as the gateway would`],
  ]);
});

test('doctor says when another user listens where programs send their requests', {
  skip: process.getuid!() !== 0 && 'needs root',
}, async t => {
  const box = homeFor(t, 1, { a: 'real-a' });
  const { url } = await box.json('serve', 'token', 'add', 'fake', 'app');
  const script = `require('net').createServer().listen(${new URL(url).port}, '127.0.0.1', () => console.log(1))`;
  const child = spawn(process.execPath, ['-e', script], { uid: 65_534, gid: 65_534, env: {}, cwd: '/' });
  t.after(() => child.kill());
  await once(child.stdout, 'data');
  const { findings } = await box.json('doctor');
  const what = `fake: another user listens at ${url}, where your programs send their requests`;
  assert.ok(
    findings.some((finding: { level: string; what: string }) => finding.level === 'problem' && finding.what === what),
  );
});
