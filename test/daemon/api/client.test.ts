// The API client: answers, problem documents, and answers of other programs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, createClient, deadlineOf, type Transport } from '../../../daemon/api/client.ts';
import { TOOL_CHANGE_MS, TOOL_CHANGES_WAITING } from '../../../daemon/api/requests.ts';

/** A daemon that gives one answer to everything. */
const answering = (status: number, body: string): Transport => ({
  request: async () => ({ status, etag: null, body }),
  stream: async () => ({
    status,
    chunks: (async function* () {
      yield body;
    })(),
    close() {},
  }),
});

test('an answer of the daemon is returned as data', async () => {
  const client = createClient(answering(200, '{"ok":true,"app":"culvert"}'));
  assert.deepEqual(await client.call('GET /api/health'), { ok: true, app: 'culvert' });
});

test('a problem document becomes an error that says what to do', async () => {
  const problem = {
    type: 'about:blank',
    title: 'Busy',
    status: 409,
    detail: 'It is busy.',
    hint: 'Wait.',
    code: 'busy',
  };
  const client = createClient(answering(409, JSON.stringify(problem)));
  const refused = (error: unknown) =>
    error instanceof ApiError && error.message === 'It is busy. Wait.' && error.problem.code === 'busy';
  await assert.rejects(client.call('GET /api/health'), refused);
  await assert.rejects(client.events(), refused);
});

test('an answer that no Culvert daemon gives is attributed to another program', async () => {
  for (const [status, body] of [
    [200, '<html>'],
    [200, ''],
    [404, '<html>'],
    [502, '{"code":1}'],
    [500, 'null'],
  ] as const)
    await assert.rejects(createClient(answering(status, body)).call('GET /api/health'), (error: unknown) => {
      assert.ok(error instanceof ApiError);
      assert.match(error.message, new RegExp(`answered ${status} .*is something else listening there\\?$`));
      return true;
    });
});

test('a client waits for a change of accounts until all in front had their time', () => {
  assert.ok(deadlineOf('POST', '/api/accounts') > (TOOL_CHANGES_WAITING + 1) * TOOL_CHANGE_MS);
  assert.ok(deadlineOf('POST', '/api/accounts', 1_000) > (TOOL_CHANGES_WAITING + 1) * TOOL_CHANGE_MS);
});

test('reads, and requests to other programs, have the usual time', () => {
  assert.equal(deadlineOf('GET', '/api/accounts'), 60_000);
  assert.equal(deadlineOf('GET', '/api/routes'), 60_000);
  assert.equal(deadlineOf('POST', '/api/routes/preview', 1_000), 1_000);
  assert.equal(deadlineOf('GET', '/', 1_000), 1_000);
});

test('a query does not change the deadline', () => {
  assert.equal(deadlineOf('POST', '/api/trust?x=y'), deadlineOf('POST', '/api/trust'));
  assert.equal(deadlineOf('POST', '/api/trust'), 300_000);
});
