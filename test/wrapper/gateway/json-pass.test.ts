// JSON answers pass a gateway: texts in them are read and changed, whatever their size, and no request waits for another one.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { JsonPass } from '../../../wrapper/gateway/json-pass.ts';
import { homeFor, json, openGateway, startProvider } from '../../support/wrapper/gateway.ts';

/** Passes a document in parts of this size. */
function passed(text: string, paths: readonly string[], size: number) {
  const seen: [string, string][] = [];
  const pass = new JsonPass(paths, (path, value) => {
    seen.push([path, value]);
    return value.startsWith('old') ? `new "${path}"` : undefined;
  });
  const bytes = Buffer.from(text);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) parts.push(pass.write(bytes.subarray(at, at + size)));
  return { text: Buffer.concat([...parts, pass.end()]).toString(), seen };
}

const document = String.raw`{ "a": [1, {"next": "old 1"}], "n\u0065xt" : "old 2", "deep": {"list": ["x", {"id": "é\"\\"}, 12345678901234567890]},
  "text": "\"next\":\"old 3\" \\", "next": "old 4", "last": {"next": "old 5"} }`;

test('texts at given paths are read and changed, wherever a part ends, and all else stays as it is', () => {
  for (const size of [1, 2, 3, 7, 64, 10_000]) {
    const { text, seen } = passed(document, ['next', 'deep.list.1.id'], size);
    assert.deepEqual(seen, [
      ['next', 'old 2'],
      ['deep.list.1.id', 'é"\\'],
      ['next', 'old 4'],
    ]);
    assert.equal(text, document.replace('"old 2"', '"new \\"next\\""').replace('"old 4"', '"new \\"next\\""'));
    assert.doesNotThrow(() => JSON.parse(text));
  }
});

test('text that is no document, ends early or is long passes as it is', () => {
  const long = JSON.stringify({ ['k'.repeat(100_000)]: 'old', next: 'x'.repeat(100_000), more: 'old' });
  for (const text of [
    '',
    'no JSON',
    '"old"',
    '{"next":"ol',
    '{"next',
    ']]}}{"next"',
    '[[[[[',
    '{"next":1,"a":"old"}',
    long,
  ])
    for (const size of [1, 5_000]) assert.equal(passed(text, ['next'], size).text, text);
});

/** More answers of this kind than a gateway could hold at the same time. */
const MANY = 12;

test('answers that are not read, or never end, delay no other', async t => {
  const large = 'x'.repeat(20_000_000);
  const { port } = await startProvider(t, (_key, req, res) => {
    if (req.url !== '/endless') return json(res, 200, { data: large, next: `https://127.0.0.1:${port}/page` });
    res.writeHead(200, { 'content-type': 'application/json' }).write(`{"data":"${large.slice(0, 200_000)}`);
  });
  const { gateway, key, ask } = await openGateway(t, homeFor(t, port, { a: 'real-a' }));
  const stalled: IncomingMessage[] = [];
  t.after(() => {
    for (const answer of stalled) answer.destroy();
  });
  for (let count = 0; count < MANY; count += 1) {
    const headers = { authorization: `Bearer ${key}` };
    const [answer] = await once(get(`${gateway.url}/endless`, { agent: false, headers }), 'response');
    stalled.push(answer);
  }
  const answer = await ask('/page', { method: 'POST' });
  assert.deepEqual(await answer.json(), { data: large, next: `${gateway.url}/page` });
});

test('the job of a large answer is kept', async t => {
  const { port, calls } = await startProvider(t, (_key, _req, res) =>
    json(res, 200, { text: 'x'.repeat(300_000), id: 'job-12345678' }),
  );
  const box = homeFor(t, port, { a: 'real-a', b: 'real-b' });
  const { ask } = await openGateway(t, box);
  await (await ask('/crawl', { method: 'POST', body: '{}' })).text();
  assert.equal((await box.wrap(['accounts', 'use', 'fake', 'b'])).exit, 0);
  await (await ask('/crawl/job-12345678')).text();
  assert.deepEqual(calls, ['real-a POST /crawl', 'real-a GET /crawl/job-12345678']);
});
