// The choice of a port, and which daemons count as another Culvert.
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { test } from 'node:test';
import { findOnPorts, searchPort } from '../../daemon/port-search.ts';
import { listen } from '../support/listen.ts';
import { freePort } from '../support/ports.ts';

async function busyPort(t: { after(end: () => void): unknown }): Promise<number> {
  const server = createServer((_, response) =>
    response.end(JSON.stringify({ ok: true, app: 'culvert', version: '9', pid: 1, port: 1 })),
  );
  return listen(t, server);
}
const busy = () => Promise.reject(Object.assign(new Error('in use'), { code: 'EADDRINUSE' }));

test('a Culvert of this user that answers on a busy port is used', async t => {
  const port = await busyPort(t);
  const search = await searchPort(port, busy);
  assert.ok('running' in search && search.running.version === '9');
});

test('finds a Culvert of this user on a later port without taking a port, and ignores a Culvert of another user', async t => {
  const port = await busyPort(t);
  assert.deepEqual(await findOnPorts(port), { pid: 1, port: 1, version: '9', demo: false });
  assert.equal((await findOnPorts(port - 1))?.version, '9');
  assert.equal(await findOnPorts(port, process.getuid!() + 1), null);
  assert.equal(await findOnPorts(65_535), null);
});

test('another user’s listener is passed over, even if it claims to be Culvert', async t => {
  const port = await busyPort(t);
  const onlyFirst = (candidate: number) => (candidate === port ? busy() : Promise.resolve());
  const search = await searchPort(port, onlyFirst, process.getuid!() + 1);
  assert.deepEqual(search, { taken: port + 1 });
});

for (const [behavior, listener] of [
  ['never answer', () => {}],
  [
    'never end their answer',
    (_, response) => {
      const drip = setInterval(() => response.write(' '), 100);
      response.once('close', () => clearInterval(drip));
    },
  ],
] as [string, RequestListener][])
  test(`ports whose listeners ${behavior} are passed over within seconds, all together`, async t => {
    const first = freePort(20);
    const servers = Array.from({ length: 20 }, () => createServer(listener));
    t.after(() => servers.forEach(server => void server.close().closeAllConnections()));
    await Promise.all(
      servers.map((server, i) => new Promise<void>(done => server.listen(first + i, '127.0.0.1', done))),
    );
    const begin = performance.now();
    const search = await searchPort(first, candidate => (candidate < first + 20 ? busy() : Promise.resolve()));
    const ms = performance.now() - begin;
    assert.deepEqual(search, { taken: first + 20 });
    assert.ok(ms < 15_000, `${ms} ms`);
    t.diagnostic(`${ms.toFixed()} ms`);
  });

test('an address that this machine does not have is named, and no other port is advised', async () => {
  const missing = () => Promise.reject(Object.assign(new Error('listen 192.0.2.7'), { code: 'EADDRNOTAVAIL' }));
  await assert.rejects(searchPort(4173, missing), /server\.bind is not an address of this machine.*192\.0\.2\.7/);
});
