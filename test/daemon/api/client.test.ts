// The API client: answers, problem documents, and answers of other programs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, createClient, type Transport } from '../../../daemon/api/client.ts';

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
