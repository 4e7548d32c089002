// A server that the catalog does not know, with the accounts of a tool and its key in another variable.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { clientOf } from '../../support/wrapper/fake-mcp.ts';
import { buildWrapper, sandbox } from '../../support/wrapper/sandbox.ts';

/** Fails as its key says: `limited` with a code, `used` with words, `dead` with `isError` in a document, `quoted` without `isError`. */
const SERVER = `#!${process.execPath}
const key = process.env.OTHER_TOKEN ?? 'none';
require('fs').appendFileSync(process.env.HOME + '/keys', key + ' ' + (process.env.FAKE_KEY ?? '-') + '\\n');
const send = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const text = (value, more) => ({ content: [{ type: 'text', text: value }], ...more });
const ANSWERS = {
  limited: { error: { code: -32603, message: 'failed', data: { error: { code: 'rateLimitExceeded' } } } },
  used: { result: text('Other API error: Not enough credits', { isError: true }) },
  dead: { result: text(JSON.stringify({ error: { status: 401 } }), { isError: true }) },
  quoted: { result: text('Too many requests') },
};
let rest = '';
process.stdin.on('data', chunk => {
  const lines = (rest + chunk).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, method } = JSON.parse(line);
    if (method === 'initialize') send({ id, result: { protocolVersion: '2025-11-25', serverInfo: { name: 'other' }, capabilities: {} } });
    else if (method === 'tools/list') send({ id, result: { tools: [
      { name: 'search', annotations: { readOnlyHint: true } }, { name: 'put', annotations: { idempotentHint: true } },
      { name: 'send', annotations: { readOnlyHint: false } }, { name: 'plain' }] } });
    else if (method === 'tools/call') send({ id, ...(ANSWERS[key] ?? { result: text('by ' + key) }) });
  }
});
process.stdin.on('end', () => process.exit(0));
`;

const call = (id: number, name: string) => ({ id, method: 'tools/call', params: { name, arguments: {} } });

for (const [key, name, by] of [
  ['limited', 'search', 'by good'],
  ['used', 'search', 'by good'],
  ['used', 'put', 'by good'],
  ['dead', 'search', 'by good'],
  ['quoted', 'search', 'Too many requests'],
  // may have done something, so the error is passed on, and the next call has the other account
  ['used', 'send', 'Other API error: Not enough credits'],
  ['used', 'plain', 'Other API error: Not enough credits'],
] as const)
  test(`after an error of an account whose key is "${key}", the answer to "${name}" is: ${by}`, async t => {
    const box = sandbox(t);
    const server = box.script('any-server', SERVER);
    box.script('fake', '#!/bin/sh\n');
    box.provider('fake', 'inject = ["FAKE_KEY"]');
    box.accounts('fake', { a: key, b: 'good' });
    const child = box.start(process.execPath, [
      buildWrapper(),
      'mcp',
      '--env',
      'OTHER_TOKEN',
      '--cli',
      'fake',
      '--',
      server,
    ]);
    const client = clientOf(child);
    client.send({ id: 1, method: 'initialize', params: {} });
    await client.answer(1);
    client.send({ id: 2, method: 'tools/list', params: {} });
    await client.answer(2);
    client.send(call(3, name));
    assert.equal((await client.answer(3)).result.content[0]!.text, by);
    if (key !== 'quoted') {
      client.send(call(4, name));
      assert.equal((await client.answer(4)).result.content[0]!.text, 'by good');
    }
    child.stdin!.end();
    const keys = fs.readFileSync(path.join(box.home, 'keys'), 'utf8').trim().split('\n');
    assert.deepEqual(keys, key !== 'quoted' ? [`${key} -`, 'good -'] : [`${key} -`]);
  });

test('without a tool, or with one whose accounts have no single key, it says what is missing', async t => {
  const box = sandbox(t);
  box.provider('pair', 'inject = ["ONE", "TWO"]');
  const run = (...words: string[]) => box.wrap(['mcp', ...words, '--', '/x/server']);
  const [alone, pair, unknown, none] = [
    await run('--env', 'KEY'),
    await run('--env', 'KEY', '--cli', 'pair'),
    await run('--env', 'KEY', '--cli', 'nope'),
    await run('--cli', 'exa'),
  ];
  assert.deepEqual(
    [alone, pair, unknown, none].map(({ exit }) => exit),
    [2, 2, 2, 2],
  );
  assert.match(alone.stderr, /--env KEY does not say whose accounts.*--cli/s);
  assert.match(pair.stderr, /an account of pair has no single key for KEY.*inject = \["KEY"\]/s);
  assert.match(unknown.stderr, /nope is not in the catalog/);
  assert.match(none.stderr, /culvert-wrap mcp --env VARIABLE --cli TOOL/);
});
