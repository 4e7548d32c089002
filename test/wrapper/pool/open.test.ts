// A store behind TLS is trusted by the authorities of the pool, and by those that the machine adds, as an inspecting proxy needs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createServer } from 'node:tls';
import { openPool } from '../../../wrapper/pool/open.ts';
import { listen } from '../../support/listen.ts';
import { temporary } from '../../support/temporary.ts';

function makeCertificate(t: TestContext): { key: string; cert: string } {
  const directory = temporary(t, 'certificate');
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', ...kind, ...name, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { key, cert };
}

/** A server that only counts the clients that trust it. */
async function setUp(t: TestContext) {
  const { key, cert } = makeCertificate(t);
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) });
  let trusted = 0;
  server.on('secureConnection', socket => {
    socket
      .on('error', () => {})
      .on('data', () => {
        trusted++;
        socket.destroy();
      });
  });
  server.on('tlsClientError', () => {});
  const port = await listen(t, server);
  const home = temporary(t, 'home');
  const other = makeCertificate(t).cert;
  const broken = join(home, 'broken.pem');
  writeFileSync(
    broken,
    `${readFileSync(cert, 'utf8')}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
  );
  const isTrusted = async (ca: string | undefined, env: NodeJS.ProcessEnv) => {
    trusted = 0;
    const pool = { url: `rediss://127.0.0.1:${port}`, machine: 'm', timeout: '5s', ttl: '90s', accounts: {}, ca };
    const store = await openPool({ ...pool, offline: 'refuse' } as Parameters<typeof openPool>[0], {
      env: { HOME: home, ...env },
    });
    await assert.rejects(store.status('tool'));
    store.close();
    return trusted > 0;
  };
  return { cert, other, broken, isTrusted };
}

test('a pool trusts its own authority and those that the variables of the machine name', async t => {
  const { cert, other, broken, isTrusted } = await setUp(t);
  const cases: [ca: string | undefined, env: NodeJS.ProcessEnv, isTrusted: boolean][] = [
    [undefined, {}, false],
    [cert, {}, true],
    [other, {}, false],
    [undefined, { NODE_EXTRA_CA_CERTS: cert }, true],
    [undefined, { CULVERT_WRAP_KEPT_NODE_EXTRA_CA_CERTS: cert }, true],
    [undefined, { SSL_CERT_FILE: cert }, true],
    [undefined, { SSL_CERT_DIR: dirname(cert) }, true],
    [other, { NODE_EXTRA_CA_CERTS: cert }, true],
    [cert, { NODE_EXTRA_CA_CERTS: other }, true],
    [undefined, { NODE_EXTRA_CA_CERTS: other }, false],
    [undefined, { NODE_EXTRA_CA_CERTS: broken }, true],
    [cert, { NODE_EXTRA_CA_CERTS: '/missing.pem' }, true],
  ];
  for (const [ca, env, trusted] of cases) assert.equal(await isTrusted(ca, env), trusted, JSON.stringify([ca, env]));
});
