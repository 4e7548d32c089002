// An MCP server behind `culvert-wrap mcp`: lines pass through, and another account takes over after the server's own errors.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { until } from '../../support/until.ts';
import { clientOf, putServer } from '../../support/wrapper/fake-mcp.ts';
import { auditOf, buildWrapper, finished, sandbox } from '../../support/wrapper/sandbox.ts';

function setUp(t: Parameters<typeof sandbox>[0], keys: Record<string, string>, env: Record<string, string> = {}) {
  const box = sandbox(t);
  const { log } = putServer(box);
  if (Object.keys(keys).length > 0) box.accounts('fake', keys);
  const child = box.start(process.execPath, [buildWrapper(), 'mcp', '--', 'fake-mcp', '--stdio'], { env });
  const client = clientOf(child);
  const call = (id: number, name: string, more: object = {}) =>
    client.send({ id, method: 'tools/call', params: { name, ...more } });
  const textOf = async (id: number) => (await client.answer(id)).result.content[0]!.text;
  return { box, log, client, call, textOf, audit: () => auditOf(box) };
}

/** Sets up a server as clients of the protocol before 2026-07-28 do. */
async function initialize(client: ReturnType<typeof clientOf>): Promise<void> {
  client.send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', clientInfo: { name: 'test' } } });
  await client.answer(1);
  client.send({ method: 'notifications/initialized' });
}

test('after a limit the call is made again with the next account, on a server that is set up as the client had set it up', async t => {
  const { client, call, textOf, log, audit } = setUp(t, { a: 'quota-a', b: 'other-b' });
  await initialize(client);
  client.send({ id: 2, method: 'logging/setLevel', params: { level: 'debug' } });
  client.send({ id: 3, method: 'resources/subscribe', params: { uri: 'file:///x' } });
  client.send({ id: 4, method: 'tools/list' });
  await client.answer(4);
  call(5, 'search', { _meta: { progressToken: 'p' } });
  assert.equal(await textOf(5), 'result of search by b');
  const second = log().filter(line => line.startsWith('other-b {'));
  assert.deepEqual(second.map(line => JSON.parse(line.slice('other-b '.length)).method).slice(0, 5), [
    'initialize',
    'notifications/initialized',
    'logging/setLevel',
    'resources/subscribe',
    'tools/call',
  ]);
  await until(() => client.lines().some(line => line.includes('tools/list_changed')));
  assert.deepEqual(
    client.lines().flatMap(line => JSON.parse(line).id ?? []),
    [1, 2, 3, 4, 5],
  );
  assert.match(client.stderr(), /account "a" has no quota left .*\n.*trying "b"/);
  call(6, 'search');
  assert.equal(await textOf(6), 'result of search by b');
  client.child.stdin!.end();
  assert.equal((await new Promise(resolve => client.child.on('close', resolve))) as number, 0);
  assert.deepEqual(
    audit().map(({ command, account, outcome }) => [command, account, outcome]),
    [
      ['mcp', 'a', 'left'],
      ['mcp', 'b', 'ok'],
      ['mcp', 'b', 'ok'],
    ],
  );
});

test('a server of the stateless protocol is set up with nothing but the open subscription', async t => {
  const { client, call, textOf, log } = setUp(t, { a: 'auth-a', b: 'other-b' });
  client.send({ id: 1, method: 'server/discover' });
  await client.answer(1);
  client.send({ id: 'sub', method: 'subscriptions/listen', params: {} });
  client.send({ id: 2, method: 'tools/list' });
  await client.answer(2);
  call(3, 'search');
  assert.equal(await textOf(3), 'result of search by b');
  const second = log().filter(line => line.startsWith('other-b {'));
  assert.deepEqual(second.map(line => JSON.parse(line.slice('other-b '.length)).method).slice(0, 2), [
    'subscriptions/listen',
    'tools/call',
  ]);
  const changed = await until(() => client.lines().find(line => line.includes('list_changed')));
  assert.equal(JSON.parse(changed).params._meta['io.modelcontextprotocol/subscriptionId'], 'sub');
});

test('a client of the stateless protocol that has not asked for the version of its server gets the next account as well', async t => {
  const { client, call, textOf } = setUp(t, { a: 'quota-a', b: 'ok-b' });
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', progressToken: 'p' };
  for (const id of [1, 2]) call(id, 'search', { _meta });
  for (const id of [1, 2]) assert.equal(await textOf(id), 'result of search by b');
  assert.deepEqual(
    client
      .lines()
      .flatMap(line => JSON.parse(line).id ?? [])
      .sort(),
    [1, 2],
  );
});

test('content is no error, and neither is a sentence of the provider behind the start of one', async t => {
  const { client, call, textOf, log } = setUp(t, { a: 'ok-a', b: 'ok-b' });
  await initialize(client);
  call(2, 'quote');
  call(3, 'quote-late');
  call(4, 'search');
  assert.equal(await textOf(2), 'Fake API error: quota exceeded');
  assert.equal((await client.answer(3)).result.isError, true);
  assert.equal(await textOf(4), 'result of search by a');
  assert.equal(log().filter(line => line.includes('started')).length, 1);
});

test('a call that may have been billed is not made again, and the next one has another account', async t => {
  const { client, call, textOf, log } = setUp(t, { a: 'quota-a', b: 'ok-b' });
  await initialize(client);
  call(2, 'create');
  assert.equal(await textOf(2), 'Fake API error: quota exceeded for this key');
  call(3, 'search');
  assert.equal(await textOf(3), 'result of search by b');
  assert.equal(log().filter(line => line.includes('"create"')).length, 1);
});

test('without another account the answer of the provider is passed on as it is', async t => {
  const { client, call, textOf } = setUp(t, { a: 'quota-a', b: 'quota-b' });
  await initialize(client);
  call(2, 'search');
  assert.equal(await textOf(2), 'Fake API error: quota exceeded for this key');
  assert.match(client.stderr(), /no other account is left/);
});

test('the errors of an untested version change nothing', async t => {
  const { client, call, textOf } = setUp(t, { a: 'quota-a', b: 'ok-b' }, { FAKE_VERSION: '2.0.0' });
  await initialize(client);
  call(2, 'search');
  assert.equal(await textOf(2), 'Fake API error: quota exceeded for this key');
  assert.match(client.stderr(), /errors of fake-mcp 2\.0\.0 are not in the catalog/);
});

test('a server that is killed is started again; its call is answered with an error and not repeated', async t => {
  const { client, call, textOf, log } = setUp(t, { a: 'ok-a', b: 'ok-b' });
  await initialize(client);
  call(2, 'hang');
  call(3, 'die');
  for (const id of [2, 3]) assert.match((await client.answer(id)).error.message, /not repeated/);
  call(4, 'search');
  assert.equal(await textOf(4), 'result of search by a');
  assert.equal(log().filter(line => line.includes('"die"')).length, 1);
  assert.equal(log().filter(line => line.includes('started')).length, 2);
});

test('calls that are under way end before the server changes its account', async t => {
  const { client, call, textOf } = setUp(t, { a: 'quota-a', b: 'ok-b' });
  await initialize(client);
  for (const id of [2, 3, 4, 5]) call(id, id === 3 ? 'late' : 'search');
  for (const id of [2, 3, 4, 5]) assert.equal(await textOf(id), 'result of search by b');
});

test('a line of 10 MiB passes through to a client that reads late', async t => {
  const { client, call, textOf, log } = setUp(t, { a: 'ok-a' });
  await initialize(client);
  client.child.stdout!.pause();
  const size = 10 * 1024 * 1024;
  call(2, 'big', { arguments: { size } });
  // the other direction goes on
  call(3, 'create');
  await until(() => log().some(line => line.includes('"create"')));
  client.child.stdout!.resume();
  assert.equal((await textOf(2)).length, size);
});

test('no key is in what the client gets, nor in the files of the state', async t => {
  const { box, client, call, textOf } = setUp(t, { a: 'quota-canary1', b: 'other-canary2' });
  await initialize(client);
  call(2, 'search');
  await textOf(2);
  client.child.stdin!.end();
  await new Promise(resolve => client.child.on('close', resolve));
  const files = fs.readdirSync(box.state, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile());
  const texts = files.map(({ parentPath, name }) => fs.readFileSync(path.join(parentPath, name), 'utf8'));
  for (const text of [...texts, ...client.lines(), client.stderr()])
    assert.doesNotMatch(text, /quota-canary1|other-canary2/);
});

test('a reference to an account, which `mcp install` leaves in the place of a key, does not reach the server', async t => {
  const { client, call, textOf } = setUp(t, {}, { FAKE_KEY: 'culvert-wrap:fake:gone' });
  await initialize(client);
  call(2, 'search');
  assert.equal(await textOf(2), 'result of search by none');
});

test('without accounts the server runs as it is unless one is named, and an unknown server is refused', async t => {
  const { box, client, call, textOf, audit } = setUp(t, {});
  await initialize(client);
  call(2, 'search');
  assert.equal(await textOf(2), 'result of search by none');
  assert.deepEqual([audit()[0].outcome, audit()[0].why], ['original', 'no-account']);
  const named = (name: string) =>
    finished(
      box.start(process.execPath, [buildWrapper(), 'mcp', '--', 'fake-mcp', '--stdio'], {
        env: { CULVERT_WRAP_ACCOUNT: name, FAKE_KEY: 'machine' },
      }),
    );
  const { exit, stderr } = await named('fake=a');
  assert.equal(exit, 2, stderr);
  assert.match(stderr, /the account "a" of CULVERT_WRAP_ACCOUNT does not exist/);
  const refused = await finished(box.start(process.execPath, [buildWrapper(), 'mcp', '--', 'cat']));
  assert.equal(refused.exit, 2);
  assert.match(refused.stderr, /cat is no MCP server of the catalog/);
});
