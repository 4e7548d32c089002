// TLS for other machines: the files that are refused and why, renewal, and real connections with and without it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { before, type TestContext, test } from 'node:test';
import { connect, type SecureVersion } from 'node:tls';
import { loadConfig } from '../../../../daemon/config/layers.ts';
import { openRemoteAccess } from '../../../../daemon/http/access/remote-access.ts';
import { loadTls, type TlsFiles } from '../../../../daemon/http/access/tls.ts';
import { createState } from '../../../../daemon/state/store.ts';
import { paths } from '../../../../daemon/system/paths.ts';
import { wordMessages } from '../../../../daemon/view/message.ts';
import { english } from '../../../../daemon/view/translator.ts';
import { raw, request, startListeners } from '../../../support/daemon/listeners.ts';
import { temporary } from '../../../support/temporary.ts';
import { settled } from '../../../support/until.ts';

/** Two pairs of a certificate and its key, made once. */
const pairs: Record<'a' | 'b', TlsFiles> = { a: { certificate: '', key: '' }, b: { certificate: '', key: '' } };
before(() => {
  const directory = temporary({ after: end => process.on('exit', end as () => void) }, 'tls');
  for (const name of ['a', 'b'] as const) {
    const [certificate, key] = [join(directory, `${name}.pem`), join(directory, `${name}.key`)];
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', `/CN=${name}`];
    execFileSync('openssl', ['req', '-x509', ...made, '-days', '2', '-keyout', key, '-out', certificate], {
      stdio: 'pipe',
    });
    pairs[name] = { certificate, key };
  }
});

/** Copies of the files of pair `a`, to be changed. */
function copies(t: TestContext): TlsFiles {
  const directory = temporary(t, 'tls');
  const files = { certificate: join(directory, 'chain.pem'), key: join(directory, 'key.pem') };
  put(files, 'a');
  return files;
}
function put(files: TlsFiles, name: 'a' | 'b') {
  copyFileSync(pairs[name].certificate, files.certificate);
  copyFileSync(pairs[name].key, files.key);
  chmodSync(files.key, 0o600);
}
const load = (files: TlsFiles) => loadTls(files, () => {});

test('a certificate with its key is read, with the end of its validity', t => {
  const left = Date.parse(load(copies(t)).expiresAt()) - Date.now();
  assert.ok(left > 1.9 * 86_400_000 && left < 2.1 * 86_400_000);
});

const REFUSED: [what: string, change: (files: TlsFiles) => unknown, says: RegExp][] = [
  ['a key alone', files => ({ ...files, certificate: '' }), /tlsCertificate is not set.*go together/],
  ['a certificate alone', files => ({ ...files, key: '' }), /tlsKey is not set.*go together/],
  [
    'a missing file',
    files => ({ ...files, certificate: `${files.certificate}.none` }),
    /chain\.pem\.none can't be read: .*Correct webui/,
  ],
  ['a key that everyone can read', files => chmodSync(files.key, 0o644), /not safe\. Run: chmod o= /],
  ['a certificate of something else', files => writeFileSync(files.certificate, 'hello'), /no certificate in PEM form/],
  ['a key of something else', files => writeFileSync(files.key, 'hello'), /no private key in PEM form/],
  ['the key of another certificate', files => copyFileSync(pairs.b.key, files.key), /does not belong to/],
  [
    'a key behind a passphrase',
    files => {
      const words = ['pkcs8', '-topk8', '-passout', 'pass:x', '-in', pairs.a.key, '-out', files.key];
      execFileSync('openssl', words, { stdio: 'pipe' });
    },
    /passphrase.*openssl pkey/,
  ],
];
for (const [what, change, says] of REFUSED)
  test(`refuses ${what}, and says what to do`, t => {
    const files = copies(t);
    const changed = change(files);
    assert.throws(() => load((changed as TlsFiles | undefined) ?? files), { code: 'tls-unusable', message: says });
  });

test('renewed files are used from the next connection on, and broken ones leave the earlier', async t => {
  const files = copies(t);
  let now = 0;
  const said: (string | null)[] = [];
  const tls = loadTls(
    files,
    problem => said.push(problem && wordMessages(problem, english)),
    () => now,
  );
  const first = tls.context();
  writeFileSync(files.certificate, 'torn');
  await settled(files.certificate);
  assert.equal(tls.context(), first, 'the files are not looked at for each connection');
  now += 10_000;
  assert.equal(tls.context(), first);
  assert.match(said[0]!, /no certificate/);
  now += 10_000;
  assert.equal(tls.context(), first);
  assert.equal(said.length, 1, 'the same files are reported once');
  put(files, 'b');
  now += 10_000;
  assert.notEqual(tls.context(), first);
  assert.deepEqual(said.slice(1), [null]);
});

const outside = Object.values(networkInterfaces())
  .flat()
  .find(each => each && !each.internal && each.family === 'IPv4')?.address;

test('another machine speaks TLS, is led to it without, and this machine needs none', async t => {
  if (!outside) return t.skip('this machine has no address beyond loopback');
  const tls = load(pairs.a);
  const { port, daemon } = await startListeners(t, { remote: 'a'.repeat(43), access: { tls } });
  daemon.settings.setSession({ webui: { enabled: true } });
  const host = `${outside}:${port}`;

  const plain = await raw({ port, host: outside }, request('GET /api/health', host));
  assert.deepEqual([plain.status, plain.headers.location], [307, `https://${host}/`]);
  assert.equal((await raw({ port }, request('GET /api/health', `127.0.0.1:${port}`))).status, 200);

  const ask = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ port, host: outside, ca: readFileSync(pairs.a.certificate), servername: 'a' });
      let answer = '';
      socket.setEncoding('utf8').on('data', piece => (answer += piece));
      socket.on('end', () => resolve(answer)).on('error', reject);
      socket.write(text);
    });
  const close = { connection: 'close' };
  assert.match(await ask(request('GET /api/snapshot', host, close)), /token-required/);
  const { code } = (
    await raw({ port }, request('POST /api/pair/code', `127.0.0.1:${port}`, {}, '{"manage":true}'))
  ).json() as unknown as { code: string };
  const origin = `https://${host}`;
  const body = JSON.stringify({ code, name: 'Phone' });
  const paired = await ask(request('POST /api/pair', host, { ...close, origin }, body));
  const [cookie] = /culvert-device=[^;]+/.exec(paired)!;
  assert.match(paired, /; SameSite=Strict; Secure\r\n/i);
  assert.match(await ask(request('GET /api/health', host, { ...close, cookie })), /^HTTP\/1\.1 200 /);
});

test('TLS older than 1.2 is refused', async t => {
  if (!outside) return t.skip('this machine has no address beyond loopback');
  const { port } = await startListeners(t, { remote: 'a'.repeat(43), access: { tls: load(pairs.a) } });
  const handshake = (version: SecureVersion) =>
    new Promise<string | null>((resolve, reject) => {
      const options = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0', servername: 'a' };
      const socket = connect({ port, host: outside, ca: readFileSync(pairs.a.certificate), ...options });
      socket.on('error', reject).on('secureConnect', () => resolve(socket.getProtocol()));
      t.after(() => socket.destroy());
    });
  assert.deepEqual([await handshake('TLSv1.2'), await handshake('TLSv1.3')], ['TLSv1.2', 'TLSv1.3']);
  await assert.rejects(handshake('TLSv1.1'));
});

test('a connection that never finishes its handshake is closed, and takes no other client’s place', async t => {
  if (!outside) return t.skip('this machine has no address beyond loopback');
  const limits = { headersTimeoutMs: 200 };
  const { port } = await startListeners(t, { remote: 'a'.repeat(43), access: { tls: load(pairs.a) }, limits });
  const silent = Array.from({ length: 100 }, () => connectTcp({ port, host: outside }));
  const closed = silent.map(socket => new Promise(resolve => void socket.on('error', () => {}).once('close', resolve)));
  silent[0]!.write('\x16\x03\x01');
  for (const socket of silent) socket.resume();
  await Promise.all(closed);
  const answer = await new Promise<boolean>(resolve => {
    const socket = connect({ port, host: outside, ca: readFileSync(pairs.a.certificate), servername: 'a' }, () => {
      resolve(socket.authorized);
      socket.destroy();
    });
  });
  assert.equal(answer, true);
});

test('a certificate that cannot be used lets no client in, and the state says so', async t => {
  const directory = temporary(t, 'tls');
  const files = { system: join(directory, 'system.json'), user: join(directory, 'user.json') };
  writeFileSync(
    files.user,
    JSON.stringify({ webui: { tlsCertificate: join(directory, 'none.pem'), tlsKey: join(directory, 'none.key') } }),
  );
  const settings = await loadConfig(files, {});
  const state = createState({ available: true, path: null, version: null, emulated: false });
  const context = {
    paths: paths({ HOME: directory }),
    state,
    config: settings.config,
    say() {},
    closeConnections() {},
  };
  assert.equal(await openRemoteAccess(context), null);
  const { open, tls, problem } = state.snapshot().remoteAccess!;
  assert.deepEqual([open, tls], [false, null]);
  assert.match(problem!, /Other machines are refused\. .*none\.pem can't be read/);
});
