// The wrapper's own questions through a proxy that wants a login, to providers with and without TLS.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Provider } from '../../../wrapper/catalog/provider.ts';
import { confirmRefusal } from '../../../wrapper/manage/confirm.ts';
import { checkCredential, queryUsage } from '../../../wrapper/manage/usage.ts';
import { proxyFor } from '../../../wrapper/system/proxy.ts';
import { temporary } from '../../support/temporary.ts';

/** File of the certificates that the questions trust. */
let trusted: string | undefined;
const LOGIN = 'us%40er:p%3Ass-canary';
const EXPECTED = `Basic ${Buffer.from('us@er:p:ss-canary').toString('base64')}`;

async function listening(t: TestContext, server: Server, host: string): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', socket => sockets.add(socket));
  await new Promise<void>(resolve => server.listen(0, host, resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Key and certificate of `localhost` or other names, which the questions trust with those that are trusted already. */
function certificate(t: TestContext, names = 'DNS:localhost,IP:127.0.0.1,IP:::1') {
  const directory = temporary(t, 'proxy');
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const subject = names.slice(4).split(',')[0];
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const request = ['req', '-x509', ...newKey, '-nodes', '-days', '2', '-subj', `/CN=${subject}`];
  const alternatives = `subjectAltName=${names}`;
  execFileSync('openssl', [...request, '-keyout', key, '-out', cert, '-addext', alternatives], { stdio: 'ignore' });
  const all = readFileSync(cert, 'utf8') + (trusted ? readFileSync(trusted, 'utf8') : '');
  trusted = join(directory, 'trusted.pem');
  writeFileSync(trusted, all);
  t.after(() => {
    trusted = undefined;
  });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

/** A proxy that asks for a login; `seen` holds what it was asked for. */
async function proxy(t: TestContext, host = '127.0.0.1', status?: number) {
  const seen: string[] = [];
  const refuses = ({ headers }: http.IncomingMessage) => headers['proxy-authorization'] !== EXPECTED;
  const server = http.createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    if (status ?? refuses(request)) {
      response.writeHead(status ?? 407).end();
      return;
    }
    const { 'proxy-authorization': _, ...headers } = request.headers;
    http.get(request.url!, { headers }, answer => {
      response.writeHead(answer.statusCode!);
      answer.pipe(response);
    });
  });
  server.on('connect', (request, socket, head) => {
    seen.push(`CONNECT ${request.url}`);
    if (status ?? refuses(request)) {
      socket.end(`HTTP/1.1 ${status ?? 407} No\r\n\r\n`);
      return;
    }
    const { hostname, port } = new URL(`http://${request.url}`);
    const target = connect(Number(port), hostname.replace(/[[\]]/g, ''), () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      target.write(head);
      target.pipe(socket).pipe(target);
    });
    target.on('error', () => socket.destroy());
    socket.on('error', () => target.destroy());
  });
  return { port: await listening(t, server, host), seen };
}

/** A server that answers the first bytes with the first text, what follows with the second, and then ends. */
function answering(first: string, second?: string): Server {
  return createServer(socket => {
    socket.on('error', () => {});
    socket.once('data', () => {
      if (second === undefined) socket.end(first);
      else {
        socket.write(first);
        socket.once('data', () => socket.end(second));
      }
    });
  });
}

const answer: http.RequestListener = (request, response) => {
  const good = request.headers.authorization === 'Bearer k1' && !request.headers['proxy-authorization'];
  response.writeHead(good ? 200 : 401).end('{"left":7}');
};
const provider = (url: string) =>
  Provider.parse({ bin: 'x', inject: ['KEY'], usage: { url, remaining: 'left' }, check: { url } });
const ask = (url: string, env: Record<string, string>) => queryUsage(provider(url), { ...own(), ...env }, 0);
const own = () => ({ KEY: 'k1', ...(trusted !== undefined && { NODE_EXTRA_CA_CERTS: trusted }) });

for (const [host, bound] of [
  ['localhost', '127.0.0.1'],
  ['127.0.0.1', '127.0.0.1'],
  ['[::1]', '::1'],
] as const) {
  test(`a provider at ${host} is asked through a proxy with a login, with TLS to its end and without`, async t => {
    const tls = certificate(t);
    const { port, seen } = await proxy(t, bound);
    const via = bound === '::1' ? `http://${LOGIN}@[::1]:${port}` : `http://${LOGIN}@127.0.0.1:${port}`;
    const secure = await listening(t, https.createServer(tls, answer), bound);
    const plain = await listening(t, http.createServer(answer), bound);
    for (const [url, name] of [
      [`https://${host}:${secure}/usage`, 'HTTPS_PROXY'],
      [`http://${host}:${plain}/usage`, 'http_proxy'],
    ] as const) {
      const asked = await ask(url, { [name]: via });
      assert.ok(asked?.ok, JSON.stringify(asked));
      assert.equal(asked.remaining.remaining, 7);
      assert.deepEqual(await checkCredential(provider(url), { ...own(), [name]: via }), { ok: true });
      assert.ok((await ask(url, { [name]: via, NO_PROXY: `other, ${host}` }))?.ok);
    }
    const [tunnel, whole] = [`CONNECT ${host}:${secure}`, `GET http://${host}:${plain}/usage`];
    assert.deepEqual(seen, [tunnel, tunnel, whole, whole]);
  });
}

test('a proxy with TLS is used over TLS, and a provider with an untrusted certificate is refused', async t => {
  const tls = certificate(t);
  const secure = await listening(t, https.createServer(tls, answer), '127.0.0.1');
  const { port } = await proxy(t);
  const outer = https.createServer(tls);
  outer.on('connect', (request, socket) => {
    const inner = connect(port, '127.0.0.1', () => {
      const login = request.headers['proxy-authorization'];
      inner.write(`CONNECT ${request.url} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${login}\r\n\r\n`);
      inner.pipe(socket).pipe(inner);
    });
  });
  const via = `https://${LOGIN}@localhost:${await listening(t, outer, '127.0.0.1')}`;
  assert.ok((await ask(`https://localhost:${secure}/`, { https_proxy: via }))?.ok);
  trusted = undefined;
  const asked = await ask(`https://localhost:${secure}/`, { https_proxy: `http://${LOGIN}@127.0.0.1:${port}` });
  assert.ok(asked && !asked.ok && !asked.unusable && /self.signed/.test(asked.problem), JSON.stringify(asked));
});

for (const host of ['localhost', '127.0.0.1']) {
  test(`a proxy with TLS at ${host} proves its own name, and not that of the provider`, async t => {
    const tls = certificate(t);
    const provided = certificate(t, 'DNS:api.example');
    const secure = await listening(t, https.createServer(provided, answer), '127.0.0.1');
    const seen: string[] = [];
    const outer = https.createServer(tls, (request, response) => {
      seen.push(`${request.method} ${request.url}`);
      delete request.headers['proxy-authorization'];
      answer(request, response);
    });
    outer.on('connect', (request, socket) => {
      seen.push(`CONNECT ${request.url}`);
      const target = connect(secure, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        target.pipe(socket).pipe(target);
      });
      target.on('error', () => socket.destroy());
    });
    const via = `https://${LOGIN}@${host}:${await listening(t, outer, '127.0.0.1')}`;
    for (const [url, name] of [
      ['https://api.example/usage', 'HTTPS_PROXY'],
      ['http://api.example/usage', 'http_proxy'],
    ] as const) {
      const asked = await ask(url, { [name]: via });
      assert.ok(asked?.ok, JSON.stringify(asked));
    }
    assert.deepEqual(seen, ['CONNECT api.example:443', 'GET http://api.example/usage']);
  });
}

test('a refusal by the proxy does not blame the credential, and no text holds the login', async t => {
  const { port } = await proxy(t);
  const blocked = await proxy(t, '127.0.0.1', 403);
  const unauthorized = await proxy(t, '127.0.0.1', 401);
  const garbage = await listening(t, answering('\0garbage\r\n\r\n'), '127.0.0.1');
  const silent = await listening(t, answering(''), '127.0.0.1');
  const empty = await listening(t, answering('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'), '127.0.0.1');
  const babble = await listening(t, answering('HTTP/1.1 200 OK\r\n\r\n', 'no TLS at all\r\n'), '127.0.0.1');
  const cases: [string, RegExp][] = [
    [`http://us:wrong-canary@127.0.0.1:${port}`, /the proxy 127\.0\.0\.1:\d+ asks for another login/],
    [`http://${LOGIN}@127.0.0.1:${blocked.port}`, /the proxy 127\.0\.0\.1:\d+ answered with HTTP status 403/],
    [`http://${LOGIN}@127.0.0.1:${unauthorized.port}`, /the proxy 127\.0\.0\.1:\d+ answered with HTTP status 401/],
    [
      `http://${LOGIN}@127.0.0.1:1`,
      /^the proxy 127\.0\.0\.1:1 can't be used: connection refused; start it, or correct HTTPS_PROXY$/,
    ],
    [
      `https://${LOGIN}@127.0.0.1:${port}`,
      /can't be used: it does not speak TLS; write it as http:\/\/ in HTTPS_PROXY$/,
    ],
    [
      `http://${LOGIN}@127.0.0.1:${garbage}`,
      /the proxy 127\.0\.0\.1:\d+ can't be used: it does not speak HTTP; start it/,
    ],
    [
      `http://${LOGIN}@127.0.0.1:${silent}`,
      /the proxy 127\.0\.0\.1:\d+ can't be used: it closed the connection; start it/,
    ],
    [
      `http://${LOGIN}@127.0.0.1:${babble}`,
      /^localhost:1 can't be asked through the proxy 127\.0\.0\.1:\d+: it does not speak TLS$/,
    ],
    ...['12/34', '12?34', '12#34', 'a/b', '12\\34'].map((password): [string, RegExp] => [
      `http://us%40er:${password}-canary@127.0.0.1:${port}`,
      /^the login in HTTPS_PROXY can't be read; write \/ as %2F/,
    ]),
    [`socks5://${LOGIN}@127.0.0.1:1`, /HTTPS_PROXY is not the address of an HTTP proxy/],
    [`http://${LOGIN}@:bad:`, /the login in HTTPS_PROXY can't be read/],
    ['http://:bad:', /HTTPS_PROXY is not the address of an HTTP proxy/],
    [`http://us%:er-canary@127.0.0.1:${port}`, /asks for another login/],
  ];
  for (const [via, expected] of cases) {
    for (const asked of [
      await ask('https://localhost:1/', { HTTPS_PROXY: via }),
      await checkCredential(provider('https://localhost:1/'), { KEY: 'k1', HTTPS_PROXY: via }),
    ]) {
      assert.ok(asked && !asked.ok && !asked.unusable, via);
      assert.match(asked.problem, expected);
      assert.doesNotMatch(asked.problem, /canary|us@er|us%40er|Basic/);
    }
  }
  for (const [via, expected] of [
    [
      `http://${LOGIN}@127.0.0.1:1`,
      /^the proxy 127\.0\.0\.1:1 can't be used: connection refused; .* correct http_proxy$/,
    ],
    [
      `https://${LOGIN}@127.0.0.1:${port}`,
      /^the proxy 127.* can't be used: it does not speak TLS; write .* http_proxy$/,
    ],
    [`http://${LOGIN}@127.0.0.1:${garbage}`, /^the proxy 127.* can't be used: it does not speak HTTP; /],
    [`http://${LOGIN}@127.0.0.1:${empty}`, /^localhost:1 answered with nothing$/],
  ] as const) {
    const asked = await ask('http://localhost:1/', { http_proxy: via });
    assert.ok(asked && !asked.ok && !asked.unusable, via);
    assert.match(asked.problem, expected);
  }
  const plain = await ask('http://localhost:1/', { http_proxy: `http://us:wrong-canary@127.0.0.1:${port}` });
  assert.ok(plain && !plain.ok && /asks for another login/.test(plain.problem), JSON.stringify(plain));
});

test('a page or a named proxy in place of the provider neither blames the credential nor says that it works', async t => {
  const page = '<!DOCTYPE html><html><head><title>Sign in to continue</title></head></html>';
  const answers: [status: number, headers: Record<string, string>, body: string][] = [
    [200, { 'content-type': 'text/html' }, page],
    [200, {}, `\uFEFF<!-- portal -->${page}`],
    [200, { server: 'Zscaler/6.2' }, '{"left":7}'],
    [200, { 'content-type': 'application/captive+json' }, '{"captive":true}'],
    [401, { 'content-type': 'text/html' }, page],
    [401, { server: 'squid/6.1', 'x-squid-error': 'ERR_ACCESS_DENIED 0' }, '{}'],
    [403, { 'x-netskope-activity': '1' }, '{"message":"blocked for your location"}'],
    [511, {}, '{}'],
  ];
  for (const [status, headers, body] of answers) {
    const server = http.createServer((_req, res) => void res.writeHead(status, headers).end(body));
    const url = `http://localhost:${await listening(t, server, '127.0.0.1')}/`;
    const verdict = await confirmRefusal(
      { provider: provider(url) },
      { kind: 'retry', class: 'auth', rest: { until: 'credential' }, text: 'x' },
      { KEY: 'k1' },
      0,
    );
    assert.ok(verdict.kind === 'final' && /login page on the way/.test(verdict.note ?? ''), JSON.stringify(verdict));
    for (const asked of [await ask(url, {}), await checkCredential(provider(url), { KEY: 'k1' })]) {
      assert.ok(asked && !asked.ok && !asked.unusable, `${status} ${JSON.stringify(headers)}`);
      assert.match(asked.problem, /^a proxy, a filter or a login page has answered in place of localhost:\d+ \(/);
    }
  }
});

test('NO_PROXY and the names of the variables work as with curl', () => {
  const via = (url: string, env: Record<string, string>) => proxyFor(new URL(url), env)?.url.host;
  const excluded = (url: string, list: string) => via(url, { HTTPS_PROXY: 'p:1', NO_PROXY: list }) === undefined;
  const yes: [string, string][] = [
    ['https://a.example.com', 'example.com'],
    ['https://a.example.com', '.example.com'],
    ['https://example.com', '.example.com'],
    ['https://EXAMPLE.com.', 'other  Example.COM'],
    ['https://x', '*'],
    ['https://10.1.2.3', '10.0.0.0/8'],
    ['https://10.1.2.3', '10.1.2.3'],
    ['https://[fd00::1]', 'fd00::/8'],
    ['https://[::1]:8443', '[::1]'],
    ['https://[::1]', '0:0:0:0:0:0:0:1'],
  ];
  const no: [string, string][] = [
    ['https://notexample.com', 'example.com'],
    ['https://example.com', 'a.example.com'],
    ['https://x', '*.x, y'],
    ['https://11.1.2.3', '10.0.0.0/8'],
    ['https://110.1.2.3', '10.1.2.3'],
    ['https://[fe80::1]', 'fd00::/8,10.0.0.0/8'],
    ['https://x', ''],
    ['https://10.1.2.3', '10.0.0.0/99'],
  ];
  for (const [url, list] of yes) assert.ok(excluded(url, list), `${url} ${list}`);
  for (const [url, list] of no) assert.ok(!excluded(url, list), `${url} ${list}`);
  assert.equal(via('https://x', { https_proxy: 'lower:1', HTTPS_PROXY: 'upper:1' }), 'lower:1');
  assert.equal(via('https://x', { https_proxy: '', HTTPS_PROXY: 'upper:1' }), undefined);
  assert.equal(via('https://x', { HTTP_PROXY: 'p:1' }), undefined);
  assert.equal(via('http://x', { HTTP_PROXY: 'p:1' }), 'p:1');
  assert.equal(via('http://x', { HTTP_PROXY: 'p:1', REQUEST_METHOD: 'GET' }), undefined);
});
