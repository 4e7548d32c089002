// The launcher before the daemon proper: the choice of a port, and which daemons count as another Culvert.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { DEFAULTS } from '../../daemon/config/keys.ts';
import { addressesOf, FRUGAL, parseFlags, searchPort } from '../../daemon/launcher.ts';
import { freePort } from '../support/ports.ts';

async function busyPort(t: { after(end: () => void): unknown }): Promise<number> {
  const server = createServer((_, response) =>
    response.end(JSON.stringify({ ok: true, app: 'culvert', version: '9', pid: 1, port: 1 })),
  );
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}
const busy = () => Promise.reject(Object.assign(new Error('in use'), { code: 'EADDRINUSE' }));

test('a Culvert of this user that answers on a busy port is used', async t => {
  const port = await busyPort(t);
  const found = await searchPort(port, busy);
  assert.ok('running' in found && found.running.version === '9');
});

test('what another user listens with is passed over, even if it claims to be Culvert', async t => {
  const port = await busyPort(t);
  const found = await searchPort(port, at => (at === port ? busy() : Promise.resolve()), process.getuid!() + 1);
  assert.deepEqual(found, { taken: port + 1 });
});

for (const [what, listener] of [
  ['never answer', () => {}],
  [
    'never end their answer',
    (_, response) => {
      const drip = setInterval(() => response.write(' '), 100);
      response.once('close', () => clearInterval(drip));
    },
  ],
] as [string, RequestListener][])
  test(`ports whose listeners ${what} are passed over within seconds, all together`, async t => {
    const first = freePort(20);
    const servers = Array.from({ length: 20 }, () => createServer(listener));
    t.after(() => servers.forEach(server => void server.close().closeAllConnections()));
    await Promise.all(
      servers.map((server, i) => new Promise<void>(done => server.listen(first + i, '127.0.0.1', done))),
    );
    const begin = performance.now();
    const found = await searchPort(first, at => (at < first + 20 ? busy() : Promise.resolve()));
    const ms = performance.now() - begin;
    assert.deepEqual(found, { taken: first + 20 });
    assert.ok(ms < 15_000, `${ms} ms`);
    t.diagnostic(`${ms.toFixed()} ms`);
  });

test('an address that this machine does not have is named, and no other port is advised', async () => {
  const missing = () => Promise.reject(Object.assign(new Error('listen 192.0.2.7'), { code: 'EADDRNOTAVAIL' }));
  await assert.rejects(searchPort(4173, missing), /server\.bind is not an address of this machine.*192\.0\.2\.7/);
});

test('another loopback address is listened on beside the two by which the daemon is reached', () => {
  const bound = (bind: string) => addressesOf({ ...DEFAULTS, server: { port: 4173, bind } });
  assert.deepEqual(bound('127.0.0.2'), { addresses: ['127.0.0.2', '127.0.0.1', '::1'], remote: false });
  assert.deepEqual(bound('::1'), { addresses: ['127.0.0.1', '::1'], remote: false });
});

test('remote access listens everywhere, and behind a reverse proxy on loopback alone unless it is given more', () => {
  const bound = (webui: object, bind = '127.0.0.1') =>
    addressesOf({
      ...DEFAULTS,
      server: { port: 4173, bind },
      webui: { ...DEFAULTS.webui, enabled: true, allowRemote: true, ...webui },
    });
  const everywhere = { addresses: ['0.0.0.0', '::'], remote: true };
  const address = 'https://culvert.example.org';
  assert.deepEqual(bound({}), everywhere);
  assert.deepEqual(bound({ address }), { addresses: ['127.0.0.1', '::1'], remote: true });
  assert.deepEqual(bound({ address, tlsCertificate: '/c.pem', tlsKey: '/k.pem' }), everywhere);
  assert.deepEqual(bound({ address }, '0.0.0.0'), everywhere);
});

test('a port on the command line is a decimal number from 1 to 65535', () => {
  assert.equal(parseFlags(['--port', '4173']).port, 4173);
  for (const port of ['0', '65536', '0x1051', '1e3', '', '-1'])
    assert.throws(() => parseFlags([`--port=${port}`]), TypeError, port);
});

test('a panel that the session bus starts is as frugal as one that the launcher starts', () => {
  const service = readFileSync('data/org.culvert.Culvert.service.in', 'utf8');
  const [, settings] = /^Exec=\/usr\/bin\/env (.*) @GJS@ /m.exec(service)!;
  assert.deepEqual(Object.fromEntries(settings!.split(' ').map(setting => setting.split('='))), FRUGAL);
});
