// Fetching from a source: certificates, schemes, redirects, speed, and variables that must not count.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Failure } from '../../../daemon/core/errors.ts';
import { type Fetching, fetchArtifact, fetchSmall, LIMITS, tlsContext } from '../../../daemon/update/fetch.ts';
import { addressOf } from '../../../daemon/update/release.ts';
import { listen } from '../../support/listen.ts';
import { createSource, type Ends, temporary } from '../../support/update/source.ts';

const by = (env: NodeJS.ProcessEnv = {}, more: Partial<Fetching> = {}): Fetching => ({
  limits: LIMITS,
  signal: new AbortController().signal,
  env,
  agent: 'culvert/test',
  ...more,
});
const refusedAs = (code: string) => (error: Failure) => {
  assert.equal(error.code, code, error.message);
  return true;
};

/** A server with a certificate for `name` that signs itself. */
async function secureServer(t: Ends, name: string, { location }: { location?: string } = {}) {
  const directory = temporary(t);
  const [key, cert] = [path.join(directory, 'key.pem'), path.join(directory, 'cert.pem')];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  execFileSync('openssl', [...request, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
  const server = createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) }, (_, response) => {
    if (location) response.writeHead(302, { location });
    response.end('hello');
  });
  const port = await listen(t, server);
  return { url: new URL(`https://localhost:${port}/x`), cert };
}
const openssl = spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed';

test('a certificate is refused unless an authority of this machine signed it', {
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

test('NODE_TLS_REJECT_UNAUTHORIZED is ignored', {
  skip: openssl,
}, async t => {
  const { url } = await secureServer(t, 'localhost');
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.after(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  });
  await assert.rejects(fetchSmall(url, 100, by()), refusedAs('certificate-invalid'));
});

test('a server without TLS behind an https address is refused', async t => {
  const source = await createSource(t);
  const url = new URL(source.url.replace('http:', 'https:'));
  await assert.rejects(fetchSmall(url, 100, by()), refusedAs('tls-failed'));
});

test('http is accepted for this machine only, and other schemes never', async () => {
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
  const port = await listen(t, proxy);
  const address = `http://127.0.0.1:${port}`;
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

test('localhost is this machine, without asking a resolver', async t => {
  const source = await createSource(t);
  source.files.set('/releases/x', Buffer.from('hello'));
  const url = new URL(`${source.url.replace('127.0.0.1', 'localhost')}/x`);
  assert.equal(String(await fetchSmall(url, 100, by())), 'hello');
});

test('an unknown name and a closed port are failures of the network', async () => {
  await assert.rejects(fetchSmall(new URL('https://culvert.invalid/x'), 100, by()), refusedAs('network-failed'));
  await assert.rejects(fetchSmall(new URL('http://127.0.0.1:1/x'), 100, by()), refusedAs('network-failed'));
});

test('a redirect is followed to a host that is named in advance, and to no other', async t => {
  const [pages, storage] = [await createSource(t), await createSource(t)];
  const host = (source: typeof pages) => new URL(source.url).host;
  const to = (location: string) => (_: unknown, response: import('node:http').ServerResponse) =>
    void response.writeHead(302, { location, 'content-length': 0 }).end();
  storage.files.set('/asset', Buffer.from('hello'));
  pages.files.set('/releases/latest/x', to('/releases/v2/x'));
  pages.files.set('/releases/v2/x', to(storage.url.replace('/releases', '/asset')));
  const url = new URL(`${pages.url}/latest/x`);
  const fetch = (...redirectHosts: string[]) => fetchSmall(url, 100, by({}, { redirectHosts }));
  assert.equal(String(await fetch(host(pages), host(storage))), 'hello');
  await assert.rejects(fetch(), refusedAs('redirected'));
  await assert.rejects(fetch(host(pages)), refusedAs('redirected'));
  await assert.rejects(fetch(host(storage)), refusedAs('redirected'));
  // the name counts with its port
  await assert.rejects(fetch(host(pages), '127.0.0.1'), refusedAs('redirected'));
  pages.files.set('/releases/latest/x', to(url.href));
  await assert.rejects(fetch(host(pages)), refusedAs('redirected'));
  pages.files.set('/releases/latest/x', to('http://192.0.2.1/x'));
  await assert.rejects(fetch('192.0.2.1'), refusedAs('source-insecure'));
  for (const location of [
    'file:///etc/passwd',
    'ftp://127.0.0.1/x',
    'http://[',
    `//user@${host(storage)}.example/asset`,
  ]) {
    pages.files.set('/releases/latest/x', to(location));
    await assert.rejects(
      fetch(host(pages), host(storage)),
      (error: Failure) => /redirected|source-insecure/.test(error.code),
      location,
    );
  }
});

test('an encrypted source does not redirect to an unencrypted one', { skip: openssl }, async t => {
  const plain = await createSource(t);
  plain.files.set('/releases/x', Buffer.from('hello'));
  const { url, cert } = await secureServer(t, 'localhost', { location: `${plain.url}/x` });
  const redirectHosts = [new URL(plain.url).host];
  await assert.rejects(fetchSmall(url, 100, by({ SSL_CERT_FILE: cert }, { redirectHosts })), refusedAs('redirected'));
});

test('an artifact that arrives byte by byte is given up', async t => {
  const source = await createSource(t);
  source.files.set('/releases/x', (_, response) => {
    response.writeHead(200, { 'content-length': 10_000 });
    const timer = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(timer));
  });
  const limits = { stallMs: 20_000, metadataMs: 300, bytesPerSecond: 10_000 };
  const url = new URL(`${source.url}/x`);
  await assert.rejects(
    fetchArtifact(url, 10_000, () => {}, by({}, { limits })),
    refusedAs('timeout'),
  );
});

test('an artifact may take longer than the window in which its speed is measured', async t => {
  const source = await createSource(t);
  source.files.set('/releases/x', (_, response) => {
    response.writeHead(200, { 'content-length': 400 });
    let left = 20;
    const timer = setInterval(() => {
      response.write('x'.repeat(20));
      if (--left > 0) return;
      clearInterval(timer);
      response.end();
    }, 50);
    response.on('close', () => clearInterval(timer));
  });
  let received = 0;
  const limits = { stallMs: 20_000, metadataMs: 300, bytesPerSecond: 20 };
  await fetchArtifact(
    new URL(`${source.url}/x`),
    400,
    piece => {
      received += piece.length;
    },
    by({}, { limits }),
  );
  assert.equal(received, 400);
});

test('all connections share one TLS context until the authorities of the machine change', {
  skip: openssl,
}, async t => {
  const { cert } = await secureServer(t, 'localhost');
  const env = { SSL_CERT_FILE: path.join(temporary(t), 'list.pem') };
  fs.copyFileSync(cert, env.SSL_CERT_FILE);
  const first = tlsContext(env);
  assert.equal(tlsContext(env), first);
  fs.appendFileSync(env.SSL_CERT_FILE, fs.readFileSync(cert));
  assert.notEqual(tlsContext(env), first);
});

test('a source is a base address, or a pattern for the release pages of a forge', () => {
  const at = (source: string, name = 'culvert-2.0.0.deb') => addressOf({ source, channel: 'beta' }, name).href;
  assert.equal(at('https://a.example/releases'), 'https://a.example/releases/beta/culvert-2.0.0.deb');
  assert.equal(at('https://a.example/releases//'), 'https://a.example/releases/beta/culvert-2.0.0.deb');
  const github = 'https://github.com/you/culvert/releases/latest/download/{name}';
  assert.equal(at(github), 'https://github.com/you/culvert/releases/latest/download/culvert-2.0.0.deb');
  assert.equal(at('https://a.example/{channel}-{name}'), 'https://a.example/beta-culvert-2.0.0.deb');
});
