// Adding a CLI to the user's catalog.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { FULL } from '../../support/thoroughness.ts';
import { buildWrapper, sandbox } from '../../support/wrapper/sandbox.ts';

test('another CLI is wrapped with two commands, and a rule leads its failure to another account', async t => {
  const box = sandbox(t);
  box.script(
    'mytool',
    '#!/bin/sh\ncase $MY_KEY in bad*) echo "fatal: quota of 10 used up" >&2; exit 9 ;; esac; echo "ok $MY_KEY"\n',
  );
  const created = await box.wrap(['catalog', 'new', 'mytool', '--inject', 'MY_KEY', '--json']);
  assert.equal(created.exit, 0, created.stderr);
  box.accounts('mytool', { a: 'bad', b: 'good' }, 'MY_KEY');
  assert.match((await box.wrap(['doctor'])).stdout, /mytool: the catalog has no rules/);
  assert.equal((await box.shim('mytool', ['x'])).exit, 9);
  const rules = `rules = [{ class = "quota", exit = [9], stderr = '^fatal: quota of \\d+ used up' }]\n`;
  fs.appendFileSync(path.join(box.config, 'providers.toml'), rules);
  assert.equal((await box.shim('mytool', ['x'])).stdout, 'ok good\n');
});

test('completion knows commands, options and names, also of the account commands of a wrapped CLI', async t => {
  const box = sandbox(t);
  box.script('mytool', '#!/bin/sh\n');
  box.provider('mytool', 'auth_command = "auth"\ninject = ["MY_KEY"]');
  box.accounts('mytool', { 'team-a': 'k', 'team-b': 'k' }, 'MY_KEY');
  const words = async (...typed: string[]) =>
    (await box.wrap(['__complete', ...typed])).stdout.split('\n').filter(Boolean);
  assert.deepEqual(await words('culvert-wrap', 'un'), ['uninstall']);
  assert.deepEqual(await words('culvert-wrap', 'accounts', 'remove', 'mytool', ''), ['team-a', 'team-b']);
  assert.deepEqual(await words('culvert-wrap', 'status', 'myt'), ['mytool']);
  assert.deepEqual(await words('culvert-wrap', 'status', '--ch'), ['--check']);
  assert.deepEqual(await words('mytool', 'auth', 'use', 'team-b'), ['team-b']);
  assert.ok((await words('mytool', 'auth', '')).includes('rename'));
  assert.deepEqual(await words('mytool', 'search', ''), []);
  for (const shell of ['bash', 'zsh', 'fish']) {
    assert.match((await box.wrap(['completion', shell])).stdout, /mytool/);
  }
  assert.equal((await box.wrap(['completion', 'tcsh'])).exit, 2);
  const bash = await box.run('/bin/bash', [
    '-c',
    `culvert-wrap() { "${process.execPath}" "${buildWrapper()}" "$@"; }
eval "$(culvert-wrap completion bash)"
COMP_WORDS=(mytool auth use team-) COMP_CWORD=3; _culvert_wrap; printf '%s,' "\${COMPREPLY[@]}"`,
  ]);
  assert.equal(bash.stdout, 'team-a,team-b,', bash.stderr);
});

test('a new entry is refused when it exists, lacks a variable, or would not fit the form', async t => {
  const box = sandbox(t);
  assert.equal((await box.wrap(['catalog', 'new', 'firecrawl', '--inject', 'X'])).exit, 2);
  assert.match((await box.wrap(['catalog', 'new', 'my-tool'])).stderr, /--inject MY_TOOL_API_KEY/);
  const bad = await box.wrap(['catalog', 'new', 'mytool', '--inject', 'A B']);
  assert.equal(bad.exit, 65);
  assert.match(bad.stderr, /inject\[0\]: the name of an environment variable/);
  assert.ok(!fs.existsSync(path.join(box.config, 'providers.toml')));
});

test('the HTTP part of an entry is tested through a gateway, also in an entry of the user', async t => {
  const box = sandbox(t);
  const test = async (cli: string) => {
    const { exit, stdout } = await box.wrap(['catalog', 'test', cli, '--json']);
    const { drift, http } = JSON.parse(stdout);
    return { exit, drift, http: http as { what: string; expect: string; got: string }[] };
  };
  const words = ['--inject', 'SERVICE_KEY', '--http', 'https://api.example', '--key-header', 'X-API-Key'];
  await box.wrap(['catalog', 'new', 'service', ...words]);
  assert.deepEqual(
    (await test('service')).http.map(({ what, got }) => `${what}: ${got}`),
    ['key: culvert-probe-a', 'status 401: auth', 'status 402: quota', 'status 429: rate', 'status 500: other'],
  );
  const rule = `retry = [{ class = "quota", status = 403, body = "used up" }]
probes = [{ status = 403, body = "used up", expect = "quota" }, { status = 403, body = "not yours", expect = "auth" }]\n`;
  fs.appendFileSync(path.join(box.config, 'providers.toml'), rule);
  const drifted = await test('service');
  assert.deepEqual([drifted.exit, drifted.drift], [1, 1]);
  assert.equal(drifted.http.find(({ got, expect }) => got !== expect)?.got, 'other');
  await box.wrap(['catalog', 'new', 'whole', ...words]);
  const all = `account_headers = ["x-own"]
billed = "charge.id"
bases = [{ key_ends = ":eu", base = "https://eu.example" }]
mcp = { base = "https://mcp.example", address = "/{key}/mcp" }
creators = [{ request = "POST /jobs", id = "id", wants = "limit" }]
followers = [{ request = "GET /status", id = "job" }, { request = "POST /stop", id = "job" }]\n`;
  fs.appendFileSync(path.join(box.config, 'providers.toml'), all);
  const whole = (await test('whole')).http;
  const statuses = whole.filter(({ what }) => what.startsWith('status '));
  assert.equal(statuses.length, 4);
  assert.deepEqual(
    whole.filter(each => each.what !== 'key' && !statuses.includes(each)).map(({ what, got }) => `${what}: ${got}`),
    [
      'header x-own: left out',
      'error with charge.id: made once',
      'job of POST /jobs: culvert-probe-a',
      'job named in job of GET /status: culvert-probe-a',
      'job named in job of POST /stop: culvert-probe-a',
      'limit of POST /jobs: culvert-probe-b',
      'key that ends with :eu: https://eu.example',
      'MCP server: https://mcp.example/culvert-probe-a/mcp',
    ],
  );
  for (const cli of FULL ? ['firecrawl', 'tvly', 'exa', 'elevenlabs', 'deepl', 'openai'] : ['firecrawl']) {
    const { drift, http } = await test(cli);
    assert.equal(drift, 0, JSON.stringify(http.filter(({ got, expect }) => got !== expect)));
  }
});

test('an address describes a provider for programs', async t => {
  const box = sandbox(t);
  const words = ['--inject', 'SERVICE_KEY', '--http', 'https://api.example', '--key-header', 'X-API-Key', '--json'];
  assert.equal((await box.wrap(['catalog', 'new', 'service', ...words])).exit, 0);
  const { provider } = await box.json('catalog', 'show', 'service');
  const { base, key_variable, key_header } = provider.http;
  assert.deepEqual([base, key_variable, key_header], ['https://api.example', 'SERVICE_KEY', 'x-api-key']);
  const run = await box.wrap(['install', 'service', '--json']);
  assert.equal(JSON.parse(run.stdout).error.code, 'no-tool');
});

test('an address with a path, as providers print it, becomes a base and its path', async t => {
  const box = sandbox(t);
  const add = (name: string, address: string) =>
    box.wrap(['catalog', 'new', name, '--inject', 'X_API_KEY', '--http', address]);
  for (const [name, address, base, basePath] of [
    ['mistral', 'https://api.mistral.ai/v1', 'https://api.mistral.ai', '/v1'],
    ['plain', 'https://api.example.com/', 'https://api.example.com', ''],
  ] as const) {
    const { exit, stderr } = await add(name, address);
    assert.equal(exit, 0, stderr);
    const { http } = (await box.json('catalog', 'show', name)).provider;
    assert.deepEqual([http.base, http.base_path], [base, basePath]);
  }
  assert.equal((await add('bad', 'api.example.com/v1')).exit, 65);
});
