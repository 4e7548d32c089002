// Every connection that the wrapper makes goes through an inspecting proxy with its own authority, as those of other programs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Provider } from '../../../wrapper/catalog/provider.ts';
import { startGateway } from '../../../wrapper/gateway/gateway.ts';
import { checkCredential, queryUsage } from '../../../wrapper/manage/usage.ts';
import { callerEnvironment } from '../../../wrapper/run/accounts/ready.ts';
import { listen, proxyTo } from '../../support/listen.ts';
import { temporary } from '../../support/temporary.ts';
import { contextOf, homeFor, json } from '../../support/wrapper/gateway.ts';
import { sandbox } from '../../support/wrapper/sandbox.ts';

const HOST = 'api.example';
type Env = Record<string, string>;

/** An authority, and what it has signed for the provider. */
function authority(t: TestContext) {
  const directory = temporary(t, 'authority');
  const file = (name: string) => join(directory, name);
  const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: directory, stdio: 'ignore' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...key, '-days', '2', '-subj', '/CN=Inspection', '-keyout', 'ca.key', '-out', 'ca.pem');
  openssl('req', ...key, '-subj', `/CN=${HOST}`, '-keyout', 'own.key', '-out', 'own.csr');
  writeFileSync(file('own.ext'), `subjectAltName=DNS:${HOST}\n`);
  const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'own.ext'];
  openssl('x509', '-req', '-in', 'own.csr', ...signing, '-out', 'own.pem');
  mkdirSync(file('certs'));
  copyFileSync(file('ca.pem'), file('certs/inspection.pem'));
  const tls = { key: readFileSync(file('own.key')), cert: readFileSync(file('own.pem')) };
  return { tls, file: file('ca.pem'), directory: file('certs') };
}

/** A proxy that shows its own certificate for the provider. */
async function inspecting(t: TestContext, tls: https.ServerOptions) {
  const provider = https.createServer(tls, (req, res) => {
    const isGood = `${req.headers.authorization}` === 'Bearer real-a';
    json(res, isGood ? 200 : 401, { left: 7 });
  });
  provider.on('upgrade', (_req, socket) =>
    socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello'),
  );
  const inside = await listen(t, provider);
  const { url, asked } = await proxyTo(t, inside);
  return { url, seen: asked };
}

const entry = Provider.parse({
  bin: 'x',
  inject: ['KEY'],
  usage: { url: `https://${HOST}/usage`, remaining: 'left' },
  check: { url: `https://${HOST}/check` },
});

async function throughGateway(t: TestContext, env: Env, headers: Env = {}) {
  const box = homeFor(t, 1, { a: 'real-a' });
  const catalog = join(box.config, 'providers.toml');
  writeFileSync(catalog, readFileSync(catalog, 'utf8').replace('http://127.0.0.1:1"', `https://${HOST}"`));
  const context = contextOf({ ...box, env: { ...box.env, ...env } });
  const gateway = await startGateway('fake', context, { placeholder: 'fk-1' });
  t.after(() => gateway.close());
  return http.request(`${gateway.url}/x`, { headers: { authorization: 'Bearer fk-1', ...headers } }).end();
}

/** Parts of the wrapper that connect to a provider; each reports whether it got there. */
const MAKERS: Record<string, (t: TestContext, env: Env) => Promise<boolean>> = {
  'a question for what is left': async (_t, env) =>
    (await queryUsage(entry, { KEY: 'real-a', ...callerEnvironment(env) }, 0))!.ok,
  'a question whether a key works': async (_t, env) =>
    (await checkCredential(entry, { KEY: 'real-a', ...callerEnvironment(env) }))!.ok,
  'a request through a gateway': async (t, env) => {
    const [answer] = await once(await throughGateway(t, env), 'response');
    return answer.resume().statusCode === 200;
  },
  'a websocket through a gateway': async (t, env) => {
    const handshake = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' };
    const asking = await throughGateway(t, env, { connection: 'Upgrade', upgrade: 'websocket', ...handshake });
    asking.on('response', answer => answer.resume());
    const event = await Promise.race([once(asking, 'upgrade'), once(asking, 'response').then(() => undefined)]);
    event?.[1].destroy();
    return event !== undefined;
  },
};

for (const [maker, reaches] of Object.entries(MAKERS))
  test(`${maker} takes the proxy and the authorities of the caller`, async t => {
    const { tls, file, directory } = authority(t);
    const proxy = await inspecting(t, tls);
    const home = sandbox(t).home;
    const trusted = join(home, '.config/environment.d');
    mkdirSync(trusted, { recursive: true });
    const trust: Env[] = [
      { NODE_EXTRA_CA_CERTS: file },
      { CULVERT_WRAP_KEPT_NODE_EXTRA_CA_CERTS: file },
      { SSL_CERT_FILE: file },
      { SSL_CERT_DIR: `/nowhere:${directory}` },
    ];
    const ways: Env[] = [
      ...['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'].map(name => ({ ...trust[0], [name]: proxy.url })),
      ...trust.map(each => ({ ...each, HTTPS_PROXY: proxy.url })),
    ];
    for (const env of ways) assert.equal(await reaches(t, env), true, JSON.stringify(env));
    assert.deepEqual(
      proxy.seen,
      ways.map(() => `${HOST}:443`),
    );
    // `culvert trust apply` writes this for programs that start later
    writeFileSync(join(trusted, '60-culvert-trust.conf'), `NODE_EXTRA_CA_CERTS="${file}"\n`);
    const applied = { HTTPS_PROXY: proxy.url, XDG_CONFIG_HOME: join(home, '.config') };
    if (!maker.includes('gateway')) assert.equal(await reaches(t, { ...applied, HOME: home }), true);
    assert.equal(await reaches(t, { HTTPS_PROXY: proxy.url }), false, 'an unknown authority');
    const besides = { ...ways[0]!, NO_PROXY: HOST };
    assert.equal(await reaches(t, besides), false, 'the host has no address without the proxy');
    const socks = { ALL_PROXY: 'socks5://127.0.0.1:1', NODE_EXTRA_CA_CERTS: file };
    assert.equal(await reaches(t, socks), false);
  });

test('nothing else in the wrapper makes a connection with TLS or to another machine', () => {
  const MAKES = /from 'node:(?:https|tls)'|import\('node:(?:https|tls)'\)|\bfetch\(|import \* as http from 'node:http'/;
  const own = readdirSync('wrapper', { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && MAKES.test(readFileSync(join('wrapper', name), 'utf8')))
    .sort();
  assert.deepEqual(own, [
    // to a gateway in this process
    'commands/catalog/http-bench.ts',
    'gateway/upstream.ts',
    // a signed catalog, over a connection of `system/connections.ts`
    'manage/fetch.ts',
    // a server on loopback, in place of a provider
    'manage/probe.ts',
    'manage/usage.ts',
    'system/connections.ts',
    'system/proxy.ts',
  ]);
});
