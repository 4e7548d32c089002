// `POST /api/proof` against real pages and proxies: what it answers, and that nothing else learns the address.
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { type TestContext, test } from 'node:test';
import * as z from 'zod/mini';
import { Proof } from '../../../daemon/api/schema.ts';
import { wordMessage } from '../../../daemon/view/message.ts';
import { english } from '../../../daemon/view/translator.ts';
import { raw, request, startListeners } from '../../support/daemon/listeners.ts';
import { serve } from '../../support/listen.ts';
import { until } from '../../support/until.ts';

const parsed = ({ body }: { body: string }): Proof => z.parse(Proof, JSON.parse(body));

async function open(t: TestContext, answer: RequestListener) {
  const url = await serve(t, answer);
  const listeners = await startListeners(t);
  const { port, daemon } = listeners;
  daemon.settings.setSession({ warp: { traceUrl: url } });
  daemon.state.set('settings', { Mode: 'warp' });
  const get = (line: string) => raw({ port }, request(line, `localhost:${port}`));
  const prove = (body: object = {}) =>
    raw({ port }, request('POST /api/proof', `localhost:${port}`, {}, JSON.stringify(body)));
  return { ...listeners, url, get, prove };
}

test('the answer has the address and the data center that the page saw', async t => {
  const { prove, url } = await open(t, (_, reply) =>
    reply.end('fl=1\nip=104.28.0.1\nts=1\ncolo=FRA\nwarp=plus\ngateway=off\n'),
  );
  const { status, headers, ...answer } = await prove();
  const { at, ...proof } = parsed(answer);
  assert.equal(status, 200);
  assert.match(headers['cache-control']!, /no-store/);
  assert.deepEqual(proof, {
    ok: true,
    through: true,
    answered: true,
    seen: { text: '%s saw warp=%s', values: [url, 'plus'] },
    address: '104.28.0.1',
    dataCenter: 'FRA',
  });
  assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000);
});

for (const [what, body, expected] of [
  ['that saw no tunnel', 'ip=192.0.2.1\ncolo=FRA\nwarp=off\n', [false, '192.0.2.1', 'FRA', 'saw warp=off']],
  ['without a word on the tunnel', '<html>Sign in</html>', [false, null, null, 'did not say whether']],
  ['with nonsense as its values', 'ip=<b>x</b>\ncolo=../..\nwarp=on\n', [true, null, null, 'saw warp=on']],
] as const)
  test(`the answer of a page ${what} is passed on truthfully`, async t => {
    const { prove } = await open(t, (_, reply) => reply.end(body));
    const proof = parsed(await prove());
    const [through, address, dataCenter, words] = expected;
    assert.deepEqual([proof.through, proof.address, proof.dataCenter], [through, address, dataCenter]);
    assert.ok(wordMessage(proof.seen, english).includes(words));
  });

test('in the demo nothing is asked, and the answer says so', async t => {
  let asked = 0;
  const { prove, daemon } = await open(t, (_, reply) => {
    asked++;
    reply.end('warp=on\n');
  });
  daemon.state.set('tunnelCli', { ...daemon.state.snapshot().tunnelCli, emulated: true });
  const { through, answered, seen } = parsed(await prove());
  assert.deepEqual([through, answered, wordMessage(seen, english), asked], [false, false, 'Not in the demo', 0]);
});

test('a page that fails or stays silent proves nothing, and the answer says why', async t => {
  let silent = false;
  const { prove } = await open(t, (_, reply) => {
    if (!silent) reply.writeHead(503).end();
  });
  const why = async (body: object) => {
    const { through, answered, seen } = parsed(await prove(body));
    assert.deepEqual([through, answered], [false, false]);
    return wordMessage(seen, english);
  };
  assert.match(await why({}), /could not be read: HTTP status 503/);
  silent = true;
  assert.match(await why({ limitSeconds: 1 }), /gave no answer within 1 s/);
  assert.equal((await prove({ limitSeconds: 600 })).status, 422);
});

test('in the mode for chosen apps the request goes through the proxy', async t => {
  const { prove, daemon } = await open(t, (_, reply) => reply.end('warp=on\n'));
  daemon.state.set('settings', { Mode: 'proxy' });
  daemon.state.set('tunnel', { ...daemon.state.snapshot().tunnel, proxyPort: 1 });
  const { through, seen } = parsed(await prove());
  assert.equal(through, false);
  assert.match(wordMessage(seen, english), /127\.0\.0\.1:1 refuses connections/);
});

test('no request is sent without being asked for, and nothing but the answer has the address', async t => {
  let asked = 0;
  const { prove, get, daemon } = await open(t, (_, reply) => {
    asked++;
    reply.end('ip=198.51.100.77\ncolo=FRA\nwarp=on\n');
  });
  const status = daemon.state.snapshot().status;
  for (const state of ['connecting', 'connected', 'disconnected', 'connected'] as const)
    daemon.state.set('status', { ...status, state });
  const parts = ['snapshot?fresh=1', 'logs', 'history', 'config', 'doctor/bundle', 'settings/export', 'health'];
  for (const part of parts) await get(`GET /api/${part}`);
  assert.equal(asked, 0);
  assert.ok((await prove()).body.includes('198.51.100.77'));
  await until(() => asked === 1, 'the request');
  for (const part of parts) assert.ok(!(await get(`GET /api/${part}`)).body.includes('198.51.100.77'), part);
  assert.ok(!JSON.stringify(daemon.state.snapshot()).includes('198.51.100.77'));
});
