// Tokens of programs that use a gateway: made, used within a budget and a time, and revoked.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { Consumers, type Log } from '../../../wrapper/gateway/consumers.ts';
import { startGateway } from '../../../wrapper/gateway/gateway.ts';
import { readGateway } from '../../../wrapper/store/tokens.ts';
import { contextOf, homeFor, json, type Respond, startProvider } from '../../support/wrapper/gateway.ts';
import { auditOf, buildWrapper, type Sandbox } from '../../support/wrapper/sandbox.ts';

async function setUp(t: TestContext, respond: Respond) {
  const provider = await startProvider(t, respond);
  return { ...provider, box: homeFor(t, provider.port, { a: 'real-a' }) };
}

/** A gateway that lets tokens in, at a time that the test sets. */
async function open(t: TestContext, box: Sandbox) {
  const clock = { ahead: 0 };
  const context = { ...contextOf(box), now: () => Date.now() + clock.ahead };
  const gateway = await startGateway('fake', context);
  t.after(() => gateway.close());
  const ask = (placeholder: string, where = '/scrape') =>
    fetch(`${gateway.url}${where}`, { headers: { authorization: `Bearer ${placeholder}` } });
  return { gateway, clock, ask };
}

async function add(box: Sandbox, name: string, ...options: string[]): Promise<string> {
  const run = await box.wrap(['serve', 'token', 'add', 'fake', name, '--json', ...options]);
  assert.equal(run.exit, 0, run.stdout + run.stderr);
  return JSON.parse(run.stdout).placeholder;
}

const good: Respond = (_key, _req, res) => json(res, 200, {});

test('a token works until it is revoked, and its placeholder is stored nowhere', async t => {
  const { calls, box } = await setUp(t, good);
  const { ask, gateway } = await open(t, box);
  const [one, other] = [await add(box, 'one'), await add(box, 'other')];
  assert.match(one, /^fk-[0-9a-f-]{36}$/);
  assert.equal((await box.wrap(['serve', 'token', 'add', 'fake', 'one'])).exit, 2);
  assert.deepEqual([(await ask(one)).status, (await ask(other)).status], [200, 200]);
  assert.equal((await box.wrap(['serve', 'token', 'revoke', 'fake', 'one'])).exit, 0);
  assert.deepEqual([(await ask(one)).status, (await ask(other)).status], [401, 200]);
  assert.equal(calls.length, 3);
  await gateway.close();
  const file = path.join(box.state, 'gateways/fake.json');
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  const files = fs.readdirSync(box.home, { recursive: true, encoding: 'utf8' }).map(name => path.join(box.home, name));
  for (const each of files.filter(name => fs.statSync(name).isFile()))
    assert.ok(!fs.readFileSync(each, 'latin1').includes(other), each);
  const { tokens } = await box.json('serve', 'token', 'list');
  assert.deepEqual(
    tokens.map(({ cli, name, used, requests, lastAccount }: Record<string, unknown>) => [
      cli,
      name,
      used,
      requests,
      lastAccount,
    ]),
    [['fake', 'other', 2, 2, 'a']],
  );
  assert.deepEqual(
    auditOf(box).flatMap(({ consumer }) => consumer ?? []),
    ['one', 'other', 'other'],
  );
});

test('an answer that goes on ends when its token is revoked', async t => {
  const { box } = await setUp(t, (_key, _req, res) => void res.writeHead(200).write('first'));
  const { ask } = await open(t, box);
  const reader = (await ask(await add(box, 'one'))).body!.getReader();
  await reader.read();
  await box.wrap(['serve', 'token', 'revoke', 'fake', 'one']);
  await assert.rejects(reader.read());
});

test('a budget holds for simultaneous requests, and over a new gateway', async t => {
  const { calls, box } = await setUp(t, good);
  const placeholder = await add(box, 'one', '--budget', '2');
  const first = await open(t, box);
  const answers = await Promise.all(Array.from({ length: 5 }, () => first.ask(placeholder)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 402, 402, 402]);
  await first.gateway.close();
  const again = await open(t, box);
  assert.equal((await again.ask(placeholder)).status, 402);
  assert.equal(calls.length, 2);
});

test('requests that are turned away have one line a minute for each reason, and one at the end', async t => {
  const { box } = await setUp(t, good);
  const lines: [string, number | undefined][] = [];
  let now = 0;
  const log: Log = (why, { count }) => lines.push([why, count]);
  const consumers = new Consumers('fake', { ...contextOf(box), now: () => now }, { log });
  for (const time of [0, 1_000, 59_000, 60_000, 61_000]) {
    now = time;
    consumers.turnAway('web-page');
    consumers.turnAway('web-page');
    consumers.write();
  }
  consumers.close();
  assert.deepEqual(lines, [
    ['web-page', 2],
    ['web-page', 6],
    ['web-page', 2],
  ]);
});

test('a request that no account is asked for is not counted', async t => {
  const { box } = await setUp(t, good);
  await add(box, 'one');
  const context = contextOf(box);
  const consumers = new Consumers('fake', context, { log: () => {} });
  const [consumer] = consumers.all;
  for (const account of [undefined, 'a']) {
    assert.ok(consumers.begin(consumer!, 1));
    consumers.end(consumer!, 1, { spent: 0, account });
  }
  consumers.write();
  const [token] = readGateway(context.paths, 'fake').tokens;
  assert.deepEqual([token?.requests, token?.lastAccount], [1, 'a']);
});

test('a token ends at its time', async t => {
  const { box } = await setUp(t, good);
  const placeholder = await add(box, 'one', '--expires', '1h');
  const { ask, clock } = await open(t, box);
  assert.equal((await ask(placeholder)).status, 200);
  clock.ahead = 3_600_000;
  assert.equal((await ask(placeholder)).status, 401);
});

test('values that mean nothing are refused', async t => {
  const { box } = await setUp(t, good);
  for (const words of [
    ['serve', 'token', 'add', 'fake', '-x'],
    ['serve', 'token', 'add', 'fake', 'x', '--expires', 'soon'],
    ['serve', 'token', 'add', 'fake', 'x', '--budget', '-1'],
    ['serve', 'token', 'add', 'gh', 'x'],
    ['serve', 'token', 'revoke', 'fake', 'x'],
    ['serve', 'fake', '--port', '70000'],
  ])
    assert.equal((await box.wrap(words)).exit, 2, words.join(' '));
});

test('a shell takes its variables from a gateway, whose port stays over a restart', async t => {
  const { calls, box } = await setUp(t, good);
  const start = async () => {
    const child = box.start(process.execPath, [buildWrapper(), 'serve', 'fake']);
    const [text] = await once(child.stdout!, 'data');
    return { child, port: /127\.0\.0\.1:(\d+)/.exec(String(text))?.[1] };
  };
  const first = await start();
  const shell = `
    eval "$("$0" "$1" serve fake --env)"
    "$0" -e 'fetch(process.env.FAKE_URL, { headers: { authorization: "Bearer " + process.env.FAKE_KEY } })
      .then(answer => console.log(answer.status, process.env.FAKE_URL, process.env.NO_PROXY))'`;
  const run = await box.run('/bin/sh', ['-c', shell, process.execPath, buildWrapper()]);
  assert.equal(run.stdout, `200 http://127.0.0.1:${first.port} 127.0.0.1,localhost\n`, run.stderr);
  assert.equal(calls.length, 1);
  assert.equal((await box.run(process.execPath, [buildWrapper(), 'serve', 'fake'])).exit, 69);
  first.child.kill('SIGTERM');
  const [exit] = await once(first.child, 'exit');
  assert.equal(exit, 0);
  const second = await start();
  assert.equal(second.port, first.port);
});
