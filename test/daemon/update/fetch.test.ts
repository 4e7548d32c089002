// Whom the fetching side trusts: certificates, schemes, and no variable of the environment that would lead it elsewhere.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import * as path from 'node:path';
import { test } from 'node:test';
import { type Fetching, fetchSmall, LIMITS } from '../../../daemon/update/fetch.ts';
import type { Refused } from '../../../daemon/update/refused.ts';
import { createSource, type Ends, temporary } from './source.ts';

const by = (env: NodeJS.ProcessEnv = {}): Fetching => ({
  limits: LIMITS,
  signal: new AbortController().signal,
  env,
  agent: 'culvert/test',
});
const refusedAs = (code: string) => (error: Refused) => {
  assert.equal(error.code, code, error.message);
  return true;
};

/** A server with a certificate for `name` that signs itself. */
async function secureServer(t: Ends, name: string, days = '2') {
  const directory = temporary(t);
  const [key, cert] = [path.join(directory, 'key.pem'), path.join(directory, 'cert.pem')];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', days];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  execFileSync('openssl', [...request, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
  const server = createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) }, (_, response) => {
    response.end('hello');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { url: new URL(`https://localhost:${(server.address() as AddressInfo).port}/x`), cert };
}
const openssl = spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed';

test('a certificate that nobody vouches for is refused, and one of the machine’s own authorities is not', {
  skip: openssl,
}, async t => {
  const { url, cert } = await secureServer(t, 'localhost');
  await assert.rejects(fetchSmall(url, 100, by()), refusedAs('certificate-invalid'));
  assert.equal(String(await fetchSmall(url, 100, by({ SSL_CERT_FILE: cert }))), 'hello');
});

test('a certificate for another name is refused', { skip: openssl }, async t => {
  const { url, cert } = await secureServer(t, 'culvert.example');
  await assert.rejects(fetchSmall(url, 100, by({ SSL_CERT_FILE: cert })), refusedAs('certificate-invalid'));
});

test('NODE_TLS_REJECT_UNAUTHORIZED is not heeded', {
  skip: openssl,
}, async t => {
  const { url } = await secureServer(t, 'localhost');
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.after(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  });
  await assert.rejects(fetchSmall(url, 100, by()), refusedAs('certificate-invalid'));
});

test('what speaks no TLS behind an https address is refused', async t => {
  const source = await createSource(t);
  const url = new URL(source.url.replace('http:', 'https:'));
  await assert.rejects(fetchSmall(url, 100, by()), refusedAs('tls-failed'));
});

test('http is for this machine alone, and for no other scheme at all', async () => {
  for (const address of [
    'http://192.0.2.1/x',
    'http://culvert.example/x',
    'http://127.0.0.1.example/x',
    'ftp://127.0.0.1/x',
    'file:///etc/passwd',
  ])
    await assert.rejects(fetchSmall(new URL(address), 100, by()), refusedAs('source-insecure'));
});

test('proxies named by variables are not used', async t => {
  let met = 0;
  const proxy = createTcpServer(socket => {
    met++;
    socket.destroy();
  });
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
  t.after(() => proxy.close());
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const names = [
    'http_proxy',
    'https_proxy',
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'all_proxy',
    'ALL_PROXY',
    'NODE_USE_ENV_PROXY',
  ];
  const kept = Object.fromEntries(names.map(name => [name, process.env[name]]));
  t.after(() => {
    for (const name of names) {
      if (kept[name] === undefined) delete process.env[name];
      else process.env[name] = kept[name];
    }
  });
  for (const name of names) process.env[name] = name.startsWith('NODE') ? '1' : address;
  const source = await createSource(t);
  source.files.set('/releases/x', Buffer.from('hello'));
  assert.equal(String(await fetchSmall(new URL(`${source.url}/x`), 100, by(process.env))), 'hello');
  assert.equal(met, 0);
});

test('localhost is this machine, and nobody is asked about it', async t => {
  const source = await createSource(t);
  source.files.set('/releases/x', Buffer.from('hello'));
  const url = new URL(`${source.url.replace('127.0.0.1', 'localhost')}/x`);
  assert.equal(String(await fetchSmall(url, 100, by())), 'hello');
});

test('a name that does not exist and a port where nobody listens are told apart from refusals', async () => {
  await assert.rejects(fetchSmall(new URL('https://culvert.invalid/x'), 100, by()), refusedAs('network-failed'));
  await assert.rejects(fetchSmall(new URL('http://127.0.0.1:1/x'), 100, by()), refusedAs('network-failed'));
});
