// Request bodies in a gateway: it passes them on as they arrive, and sends them whole to the next account.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { listen } from '../../support/listen.ts';
import { homeFor, json, openGateway, openShipped, startProvider } from '../../support/wrapper/gateway.ts';

const AB = { a: 'real-a', b: 'real-b' };
const LARGE = 'x'.repeat(1_200_000);

/** Starts a provider that responds before a body ends. `begin` opens a request whose body the test writes piece by piece. */
async function setUp(t: TestContext, respond: (key: string, req: IncomingMessage, res: ServerResponse) => void) {
  const keys: string[] = [];
  const server = createServer((req, res) => {
    const key = String(req.headers.authorization).slice('Bearer '.length);
    keys.push(key);
    respond(key, req, res);
  });
  const { gateway, key } = await openGateway(t, homeFor(t, await listen(t, server), AB));
  const begin = () => {
    const headers = { authorization: `Bearer ${key}`, 'transfer-encoding': 'chunked' };
    return request(`${gateway.url}/speech`, { method: 'POST', headers });
  };
  return { begin, keys };
}

async function textOf(message: IncomingMessage): Promise<string> {
  return (await message.toArray()).join('');
}

test('a program may wait for part of the answer before it sends the rest of its body', async t => {
  const { begin } = await setUp(t, (_key, req, res) => void req.pipe(res));
  const asking = begin();
  asking.write('one ');
  const [answer] = await once(asking, 'response');
  assert.equal(String((await once(answer, 'data'))[0]), 'one ');
  asking.end('two');
  assert.equal(await textOf(answer), 'two');
});

test('the time limit of an answer begins after the last byte of the body', async t => {
  const server = createServer((req, res) => void req.resume().on('end', () => res.end('all')));
  const box = homeFor(t, await listen(t, server), AB);
  fs.appendFileSync(path.join(box.config, 'providers.toml'), '\nanswer_within = "2s"\n');
  const { gateway, key } = await openGateway(t, box);
  const asking = request(`${gateway.url}/speech`, { method: 'POST', headers: { authorization: `Bearer ${key}` } });
  for (let count = 0; count < 10; count += 1) {
    asking.write('part');
    await setTimeout(250);
  }
  const [answer] = await once(asking.end(), 'response');
  assert.deepEqual([answer.statusCode, await textOf(answer)], [200, 'all']);
});

test('a partly sent body goes whole to the next account while the gateway keeps a copy', async t => {
  for (const [rest, status, text] of [
    [' and the rest', 200, 'start and the rest'],
    [LARGE, 402, 'none'],
  ] as const) {
    let refuse = () => {};
    const { begin, keys } = await setUp(t, (key, req, res) => {
      if (key === 'real-b') return void req.pipe(res.writeHead(200));
      req.once('data', () => asking.end(rest));
      refuse = () => res.writeHead(402).end('none');
      req.resume().on('end', () => refuse());
    });
    const asking = begin();
    asking.write('start');
    const [answer] = await once(asking, 'response');
    assert.deepEqual([answer.statusCode, await textOf(answer)], [status, text]);
    assert.deepEqual(keys, status === 200 ? ['real-a', 'real-b'] : ['real-a']);
  }
});

test('a body that continues after an early refusal goes whole to the next account', async t => {
  const { begin, keys } = await setUp(t, (key, req, res) => {
    if (key === 'real-a') return void res.writeHead(402).end('none');
    req.once('data', () => asking.end(' and the rest')).pipe(res.writeHead(200));
  });
  const asking = begin();
  asking.write('start');
  const [answer] = await once(asking, 'response');
  assert.deepEqual([answer.statusCode, await textOf(answer)], [200, 'start and the rest']);
  assert.deepEqual(keys, ['real-a', 'real-b']);
});

test('a body that can be sent only once goes to an account with quota left', async t => {
  const left: Record<string, number> = { 'real-a': 0, 'real-b': 50 };
  const { calls, port } = await startProvider(t, (key, req, res) => {
    if (req.url === '/usage') return json(res, 200, { remaining: left[key] });
    json(res, left[key] ? 200 : 402, {});
  });
  const usage = `usage = { url = "http://127.0.0.1:${port}/usage", remaining = "remaining" }`;
  const { ask } = await openGateway(t, homeFor(t, port, AB, usage));
  const parse = async (body: string) => (await ask('/parse', { method: 'POST', body })).status;
  assert.equal(await parse(LARGE), 200);
  assert.equal(calls.at(-1), 'real-b POST /parse');
  assert.equal(calls.filter(call => call.endsWith('POST /parse')).length, 1);
});

test('a program may pause within a body that the gateway has to read', async t => {
  const { url, placeholder, ask, calls, box } = await openShipped(t, 'deepl', AB, (_key, _req, res) =>
    json(res, 200, { glossary_id: 'glossary-12345678' }),
  );
  await ask('POST /v2/glossaries', '{}');
  assert.equal((await box.wrap(['accounts', 'use', 'deepl', 'b'])).exit, 0);
  const headers = { authorization: `DeepL-Auth-Key ${placeholder}`, 'transfer-encoding': 'chunked' };
  const asking = request(`${url}/v2/translate`, { method: 'POST', headers });
  asking.write('{"glossary_id":');
  // longer than the gateway waits for a body that it does not have to read
  await setTimeout(400);
  asking.end('"glossary-12345678"}');
  const [answer] = await once(asking, 'response');
  assert.equal(answer.statusCode, 200);
  assert.deepEqual(
    calls.filter(call => call.includes('POST')),
    ['real-a POST /v2/glossaries', 'real-a POST /v2/translate'],
  );
});
