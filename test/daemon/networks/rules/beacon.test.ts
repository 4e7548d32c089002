// A beacon proves a network by its key alone.
import assert from 'node:assert/strict';
import { createServer as createTcp, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createServer } from 'node:tls';
import { directSource, fingerprintOf, isProven } from '../../../../daemon/networks/rules/beacon.ts';
import { parseRouteGet } from '../../../../daemon/routes/explain.ts';
import { listen } from '../../../support/listen.ts';
import { makeCertificate } from '../../../support/networks/certificate.ts';

async function beaconAt(t: TestContext, server: Server, host = '127.0.0.1'): Promise<string> {
  const port = await listen(t, server, host);
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

test('a beacon with the certificate is there; one with another key, and one that does not answer, is not', async t => {
  const [right, wrong] = [makeCertificate(t), makeCertificate(t)];
  const address = await beaconAt(t, createServer(right));
  const imposter = await beaconAt(t, createServer(wrong));
  const { sha256 } = right;
  assert.equal(await fingerprintOf(address), sha256);
  assert.equal(await isProven({ address, sha256 }, 'lo'), true);
  assert.equal(await isProven({ address: imposter, sha256 }, 'lo'), false);
  const plain = await beaconAt(
    t,
    createTcp(socket => void socket.end('HTTP/1.1 200 OK\r\n\r\n')),
  );
  assert.equal(await isProven({ address: plain, sha256 }, 'lo'), false);
  assert.equal(await isProven({ address: '127.0.0.1:1', sha256 }, 'lo'), false);
  const silent = await beaconAt(
    t,
    createTcp(socket => t.after(() => socket.destroy())),
  );
  await assert.rejects(fingerprintOf(silent, { limitMs: 20 }), /no answer within 0\.02 s/);
});

test('a beacon may have an IPv6 address', async t => {
  const own = makeCertificate(t);
  const address = await beaconAt(t, createServer(own), '::1').catch(() => null);
  if (address === null) return t.skip('this machine has no IPv6');
  assert.equal(await isProven({ address, sha256: own.sha256 }, 'lo'), true);
});

test('a beacon that another device or a router leads to proves nothing', async t => {
  const own = makeCertificate(t);
  for (const host of ['127.0.0.1', '::1']) {
    const address = await beaconAt(t, createServer(own), host).catch(() => null);
    if (address) assert.equal(await isProven({ address, sha256: own.sha256 }, 'wlan0'), false, host);
  }
  const direct = { dst: '192.0.2.1', dev: 'wlan0', prefsrc: '192.0.2.7', flags: [], uid: 1000, cache: [] };
  const source = (...routes: unknown[]) => directSource(parseRouteGet(JSON.stringify(routes)), 'wlan0');
  assert.equal(source(direct), '192.0.2.7');
  assert.equal(source({ ...direct, dev: 'CloudflareWARP' }), null);
  assert.equal(source({ ...direct, gateway: '192.0.2.254' }), null);
  assert.equal(source({ ...direct, via: { family: 'inet6', host: 'fe80::1' } }), null);
  assert.equal(source(), null);
});
