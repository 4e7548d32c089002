// A program behind `culvert-wrap serve` uses the accounts of a provider, and never sees a key.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { homeFor, json, shippedHome, startProvider } from '../../support/wrapper/gateway.ts';
import { buildWrapper } from '../../support/wrapper/sandbox.ts';

test('a program gets an address and a placeholder, and no variable of it holds a key', async t => {
  // it repeats the key, as errors of providers do
  const { port, calls } = await startProvider(t, (key, _req, res) => json(res, 200, { ok: true, key }));
  const box = homeFor(t, port, { a: 'real-a' });
  const script = `
    const { FAKE_URL, FAKE_KEY, NO_PROXY } = process.env;
    fetch(FAKE_URL + '/scrape', { method: 'POST', body: '{}', headers: { authorization: 'Bearer ' + FAKE_KEY } }).then(async answer => {
      const environ = require('node:fs').readFileSync('/proc/self/environ', 'utf8');
      const bytes = await answer.text();
      console.log(answer.status, (environ + bytes + JSON.stringify([...answer.headers])).includes('real-'), NO_PROXY);
      process.exitCode = 7;
    });`;
  const command = [process.execPath, '-e', script];
  const env = { NO_PROXY: 'example.com', FAKE_KEY: 'real-own' };
  const run = await box.run(process.execPath, [buildWrapper(), 'serve', 'fake', '--', ...command], { env });
  assert.equal(run.stdout, '200 false example.com,127.0.0.1,localhost\n', run.stderr);
  assert.equal(run.exit, 7);
  assert.deepEqual(calls, ['real-a POST /scrape']);
  assert.doesNotMatch(run.stderr, /real-/);
  const [program] = (await box.json('serve', 'status')).gateways[0].consumers;
  assert.deepEqual([program.name, program.accounts], ['serve -- node', { a: 1 }]);
  const files = fs
    .readdirSync(box.state, { recursive: true, encoding: 'utf8' })
    .map(name => path.join(box.state, name));
  for (const file of files.filter(name => fs.statSync(name).isFile()))
    assert.ok(!fs.readFileSync(file, 'latin1').includes('real-'), file);
});

test('the gateway of a program writes no core dump, and the program may', async t => {
  const box = homeFor(t, 1, { a: 'real-a' });
  const script = `
    const limitOf = pid => /^Max core file size +(\\S+)/m.exec(require('node:fs').readFileSync('/proc/' + pid + '/limits'))[1];
    const timer = setInterval(() => {
      if (limitOf(process.ppid) !== '1') return;
      clearInterval(timer);
      console.log(limitOf('self'));
    }, 10);`;
  const command = [process.execPath, '-e', script];
  const run = await box.run(process.execPath, [buildWrapper(), 'serve', 'fake', '--', ...command]);
  assert.match(run.stdout, /^(0|unlimited|\d{2,})\n$/, run.stderr);
});

test('a server whose address can be set uses the gateway: no key reaches it, and it is not started again', async t => {
  const { port, calls } = await startProvider(t, (key, _req, res) => json(res, key === 'real-a' ? 402 : 200, {}));
  const box = homeFor(
    t,
    port,
    { a: 'real-a', b: 'real-b' },
    '[[providers.fake.mcp]]\npackage = "fake-mcp"\nversions = { from = "1.0.0", below = "2.0.0" }\ngateway = true\n',
  );
  box.script(
    'fake-mcp',
    `#!${process.execPath}
process.stdin.on('end', () => process.exit(0)).on('data', async line => {
  const headers = { authorization: 'Bearer ' + process.env.FAKE_KEY };
  const { status } = await fetch(process.env.FAKE_URL + '/scrape', { method: 'POST', body: '{}', headers });
  const { readFileSync } = require('node:fs');
  const leaks = readFileSync('/proc/self/environ', 'utf8').includes('real-');
  const dumps = !/^Max core file size +1 +1 /m.test(readFileSync('/proc/' + process.ppid + '/limits', 'utf8'));
  console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result: { isError: true, status, leaks, dumps, pid: process.pid } }));
});
`,
  );
  const child = box.start(process.execPath, [buildWrapper(), 'mcp', '--', 'fake-mcp'], {
    env: { FAKE_KEY: 'real-own' },
  });
  let stderr = '';
  child.stderr!.on('data', chunk => {
    stderr += chunk;
  });
  const ask = async (id: number) => {
    const params = { name: 'x', _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
    child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
    const [line] = await once(child.stdout!, 'data');
    return JSON.parse(String(line)).result;
  };
  const [first, second] = [await ask(1), await ask(2)];
  assert.deepEqual(first, { isError: true, status: 200, leaks: false, dumps: false, pid: second.pid });
  assert.deepEqual(calls, ['real-a POST /scrape', 'real-b POST /scrape', 'real-b POST /scrape']);
  child.stdin!.end();
  assert.deepEqual(await once(child, 'close'), [0, null]);
  assert.doesNotMatch(stderr, /not in the catalog/, 'the gateway changes the account, whatever the version');
  const [server] = (await box.json('serve', 'status')).gateways[0].consumers;
  assert.deepEqual([server.name, server.accounts], ['mcp -- fake-mcp', { b: 2 }]);
});

test('a gateway that is killed after the answer about a job still knows whose job it is', async t => {
  const { port, calls } = await startProvider(t, (_key, _req, res) => json(res, 200, { id: 'job-12345678' }));
  const box = homeFor(t, port, { a: 'real-a', b: 'real-b' });
  const { url, placeholder } = await box.json('serve', 'token', 'add', 'fake', 'app');
  const headers = { authorization: `Bearer ${placeholder}` };
  const serve = async () => {
    const child = box.start(process.execPath, [buildWrapper(), 'serve', 'fake']);
    await once(child.stdout!, 'data');
    return child;
  };
  const first = await serve();
  await (await fetch(`${url}/crawl`, { method: 'POST', body: '{}', headers })).text();
  const ended = once(first, 'exit');
  first.kill('SIGKILL');
  await ended;
  assert.equal((await box.wrap(['accounts', 'use', 'fake', 'b'])).exit, 0);
  await serve();
  for (const where of ['/crawl/job-12345678', '/other'])
    assert.equal((await fetch(`${url}${where}`, { headers })).status, 200);
  assert.deepEqual(calls, ['real-a POST /crawl', 'real-a GET /crawl/job-12345678', 'real-b GET /other']);
});

test('a gateway says once that core dumps cannot be prevented, and so does doctor', async t => {
  const box = homeFor(t, 1, { a: 'real-a' });
  const without = { PATH: box.bin };
  const run = await box.run(process.execPath, [buildWrapper(), 'serve', 'fake', '--', '/bin/true'], { env: without });
  assert.equal(run.exit, 0, run.stderr);
  assert.deepEqual(run.stderr.match(/core dump.*/g), [
    'core dump of this process would hold keys: prlimit is not installed',
  ]);
  box.script('prlimit', '#!/bin/sh\nexit 1\n');
  const doctor = async (env = {}) => (await box.wrap(['doctor'], { env })).stdout.replace(/\s+/g, ' ');
  assert.match(await doctor(), /warning a core dump of a gateway, .* would hold keys: prlimit .*exit status 1/);
  fs.rmSync(path.join(box.bin, 'prlimit'));
  assert.doesNotMatch(await doctor(), /core dump/);
});

test('the line of code for a library that reads no variable is printed, also after a program that has sent no request', async t => {
  const { port } = await startProvider(t, (_key, _req, res) => json(res, 200, {}));
  const { box } = shippedHome(t, 'exa', { a: 'real-a' }, port);
  const line = 'new Exa(process.env.EXA_API_KEY, process.env.EXA_BASE_URL)';
  const serve = (...args: string[]) => [buildWrapper(), 'serve', ...args];
  const run = async (code: string) =>
    (await box.run(process.execPath, serve('exa', '--', process.execPath, '-e', code))).stderr;
  assert.ok((await run('')).includes(`no request came; the code gives the address: ${line}, or Exa(`));
  const headers = "{ headers: { 'x-api-key': process.env.EXA_API_KEY } }";
  assert.doesNotMatch(await run(`fetch(process.env.EXA_BASE_URL + '/x', ${headers})`), /no request/);
  assert.ok((await box.wrap(['serve', 'token', 'add', 'exa', 'app'])).stdout.includes(`In the code: ${line}\n`));
  const child = box.start(process.execPath, serve('exa'));
  const [text] = await once(child.stdout!, 'data');
  assert.ok(String(text).includes(`In its code:    ${line}\n`));
  await box.wrap(['accounts', 'disable', 'exa', 'a']);
  const refused = await run(`fetch(process.env.EXA_BASE_URL + '/x', ${headers})`);
  assert.match(refused, /^culvert-wrap: exa has no enabled account, so every request is refused; .*\n$/);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  test(`${signal} reaches the program of a gateway, and ends both`, async t => {
    const box = homeFor(t, 1, { a: 'real-a' });
    const start = async (handler: string) => {
      const script = `${handler} setInterval(() => {}, 1e9); console.log(process.pid, process.env.FAKE_URL);`;
      const command = [buildWrapper(), 'serve', 'fake', '--', process.execPath, '-e', script];
      const child = box.start(process.execPath, command);
      const [line] = await once(child.stdout!, 'data');
      const [pid, url] = String(line).trim().split(' ');
      return { child, pid: Number(pid), url: url! };
    };
    const own = await start(`process.on('${signal}', () => process.exit(3));`);
    const plain = await start('');
    for (const [{ child, pid, url }, end] of [[own, [3, null]] as const, [plain, [null, signal]] as const]) {
      const ended = once(child, 'exit');
      child.kill(signal);
      assert.deepEqual(await ended, end);
      assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
      await assert.rejects(fetch(url));
    }
  });
