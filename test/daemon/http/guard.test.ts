// The guard as a pure function: each check at its limit, for each kind of connection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpoints } from '../../../daemon/api/contract.ts';
import { checkRequest, LIMITS, tokenOf, tooLarge, type Via } from '../../../daemon/http/guard.ts';
import type { RemoteAccess } from '../../../daemon/http/token.ts';

const access: RemoteAccess = { token: given => given === 'secret', address: null };
const unix: Via = { kind: 'unix' };
const loopback: Via = { kind: 'loopback', port: 4173, address: '127.0.0.1', peerIsUser: true };
const remote: Via = { kind: 'remote', port: 4173, address: '192.0.2.7', access };
const remote6: Via = { ...remote, address: '2001:db8::7' };

/** The code of the refusal, or null if the request is admitted. */
function code(via: Via, line: string, headers: Record<string, string> = {}, more: string[] = []): string | null {
  const [method = '', ...rest] = line.split(' ');
  const host = via.kind === 'unix' ? 'localhost' : `${via.kind === 'remote' ? via.address : '127.0.0.1'}:4173`;
  const rawHeaders = [...Object.entries({ Host: host, ...headers }).flat(), ...more];
  return checkRequest({ method, target: rest.join(' '), rawHeaders, via })?.code ?? null;
}

const POST = { 'content-type': 'application/json' };

test('has the limits of the contract', () => {
  assert.deepEqual(LIMITS, {
    targetBytes: 2048,
    headerBytes: 8192,
    headers: 64,
    headersTimeoutMs: 5_000,
    requestTimeoutMs: 15_000,
    connections: 256,
    unixConnections: 256,
    remoteConnections: 128,
    strangers: 16,
    streams: 64,
    streamBacklogBytes: 65_536,
    unreadBytes: 33_554_432,
  });
  for (const [target, bytes] of [
    ['/api/action', 65_536],
    ['/api/routes', 2_097_152],
    ['/api/routes/preview', 2_097_152],
    ['/api/routes/undo', 65_536],
  ] as const)
    assert.equal(tooLarge(target).message, `A request body may have at most ${bytes} bytes here.`);
});

test('only the user of the daemon is admitted over loopback', () => {
  assert.equal(code(loopback, 'GET /'), null);
  assert.equal(code({ ...loopback, peerIsUser: false }, 'GET /'), 'peer-not-allowed');
  assert.equal(code({ ...loopback, peerIsUser: null }, 'GET /'), 'busy');
});

test('a Host has to be an address of the listener', () => {
  const table: [Via, host: string, admitted: boolean][] = [
    ...(['127.0.0.1', 'localhost', '[::1]'] as const).flatMap((name): [Via, string, boolean][] => [
      [unix, name, true],
      [unix, `${name}:4173`, false],
      [loopback, `${name}:4173`, true],
      [loopback, `${name}:4174`, false],
      [loopback, name, false],
    ]),
    [remote, 'localhost:4173', false],
    [remote, '192.0.2.7:4173', true],
    [remote, '192.0.2.9:4173', false],
    [{ ...loopback, address: '127.0.0.2' }, '127.0.0.2:4173', true],
    [remote6, '[2001:db8::7]:4173', true],
    [remote6, '2001:db8::7:4173', false],
    [unix, '', false],
  ];
  for (const [via, Host, admitted] of table) {
    const result = code(via, 'GET /', { Host, authorization: 'Bearer secret' });
    assert.equal(result, admitted ? null : 'host-not-allowed', `${via.kind} ${Host}`);
  }
  assert.equal(checkRequest({ method: 'GET', target: '/', rawHeaders: [], via: unix })?.code, 'host-not-allowed');
  assert.equal(code(unix, 'GET /', {}, ['host', 'localhost']), 'host-not-allowed', 'twice');
});

test('quotes up to 80 characters of a refused Host, and names the address to use', () => {
  const problem = (via: Via, host: string) =>
    checkRequest({ method: 'GET', target: '/', rawHeaders: ['host', host], via })!;
  assert.match(problem(unix, 'x'.repeat(90)).message, /"x{80}"/);
  assert.match(problem(unix, `y${'x'.repeat(90)}`).message, /"yx{79}"/);
  assert.match(problem(unix, 'x').extras.hint ?? '', /localhost/);
  assert.match(problem(loopback, 'x').extras.hint ?? '', /127\.0\.0\.1:4173/);
});

test('only the page of the daemon may send an Origin', () => {
  const table: [Via, origin: string, admitted: boolean][] = [
    [loopback, 'http://localhost:4173', true],
    [loopback, 'http://127.0.0.1:4173', true],
    [loopback, 'http://localhost:4174', false],
    [loopback, 'https://localhost:4173', false],
    [unix, 'http://localhost', false],
    [remote, 'http://192.0.2.7:4173', true],
    [remote, 'http://localhost:4173', false],
    [remote6, 'http://[2001:db8::7]:4173', true],
  ];
  for (const [via, origin, admitted] of table) {
    const own: Record<string, string> = via === remote6 ? { Host: '[2001:db8::7]:4173' } : {};
    const headers = { origin, authorization: 'Bearer secret', ...own };
    assert.equal(code(via, 'GET /', headers), admitted ? null : 'origin-not-allowed', `${via.kind} ${origin}`);
  }
  assert.equal(code(loopback, 'GET /', { origin: 'http://localhost:4173' }, ['Origin', 'x']), 'origin-not-allowed');
});

test('a browser may fetch from the page itself, or read an address that a person typed', () => {
  for (const [site, line, admitted] of [
    ['same-origin', 'GET /', true],
    ['same-origin', 'POST /', true],
    ['none', 'GET /', true],
    ['none', 'HEAD /', true],
    ['none', 'POST /', false],
    ['cross-site', 'GET /', false],
  ] as const)
    assert.equal(code(unix, line, { ...POST, 'sec-fetch-site': site }), admitted ? null : 'fetch-site-not-allowed');
});

test('a browser opens the page at an address, and nothing of the API', () => {
  const opened = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  const lines = Object.keys(endpoints).flatMap(line => [line, `${line}?x=y`]);
  for (const site of ['none', 'same-origin'])
    for (const line of [...lines, 'GET /api', 'HEAD /api/health', 'GET /api?x', 'GET /api/nope']) {
      const refusal = code(loopback, line, { ...POST, ...opened, 'sec-fetch-site': site });
      assert.equal(refusal, 'fetch-site-not-allowed', `${line} ${site}`);
    }
  for (const line of ['GET /', 'GET /?lang=de', 'GET /main.js', 'GET /apiary'])
    assert.equal(code(loopback, line, { ...opened, 'sec-fetch-site': 'none' }), null, line);
  assert.equal(code(loopback, 'GET /api/', { ...opened, 'sec-fetch-site': 'none' }), null);
  assert.equal(code(loopback, 'GET /api/', { ...opened, 'sec-fetch-site': 'cross-site' }), 'fetch-site-not-allowed');
  assert.equal(code(loopback, 'GET /api/health', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }), null);
});

test('a mutation needs JSON in UTF-8 of limited length, without content encoding', () => {
  const table: [headers: Record<string, string>, string | null][] = [
    [{}, 'unsupported-media-type'],
    [{ 'content-type': 'application/json' }, null],
    [{ 'content-type': 'Application/JSON ; charset="UTF-8" ' }, null],
    [{ 'content-type': 'application/json; charset=latin1' }, 'unsupported-media-type'],
    [{ 'content-type': 'text/plain' }, 'unsupported-media-type'],
    [{ ...POST, 'content-encoding': 'gzip' }, 'unsupported-media-type'],
    [{ ...POST, 'content-length': '65536' }, null],
    [{ ...POST, 'content-length': '65537' }, 'payload-too-large'],
  ];
  for (const [headers, expected] of table) {
    assert.equal(code(unix, 'POST /api/action', headers), expected, JSON.stringify(headers));
    assert.equal(code(unix, 'GET /api/action', headers), null, 'a read has no body');
  }
});

test('limits the length of the target, and the number and size of the headers', () => {
  assert.equal(code(unix, `GET /${'x'.repeat(2047)}`), null);
  assert.equal(code(unix, `GET /${'x'.repeat(2048)}`), 'uri-too-long');
  const many = (count: number) => Array.from({ length: count }, (_, i) => [`h${i}`, '']).flat();
  assert.equal(code(unix, 'GET /', {}, many(63)), null);
  assert.equal(code(unix, 'GET /', {}, many(64)), 'headers-too-large');
  // "Host: localhost" takes 4 + 9 bytes, each header 4 more for ": " and the end of its line
  const left = 8192 - (4 + 9 + 4) - (1 + 4);
  assert.equal(code(unix, 'GET /', {}, ['a', 'x'.repeat(left)]), null);
  assert.equal(code(unix, 'GET /', {}, ['a', 'x'.repeat(left + 1)]), 'headers-too-large');
});

test('the target is a path of visible ASCII', () => {
  for (const target of ['/', '/api/snapshot?fresh=1', '/~!']) assert.equal(code(unix, `GET ${target}`), null, target);
  for (const target of ['', '*', 'http://localhost/', '/a b', '/\x7f', '/\x1f', '/é'])
    assert.equal(code(unix, `GET ${target}`), 'malformed-request', target);
});

test('a request from another machine carries the token in its header or its cookie', () => {
  const cookie = 'culvert-token=secret';
  assert.equal(tokenOf({}, access), null);
  assert.equal(tokenOf({ authorization: 'Bearer secret' }, access), 'secret');
  assert.equal(tokenOf({ authorization: 'Bearer secret x' }, access), null);
  assert.equal(tokenOf({ authorization: 'Basic secret' }, access), null);
  assert.equal(tokenOf({ authorization: 'Bearer wrong', cookie: `other=1; ${cookie}` }, access), 'secret');
  for (const each of [
    '',
    'culvert-token=',
    'culvert-token=secre',
    `${cookie}t`,
    `x${cookie}`,
    'culvert-token="secret"',
  ])
    assert.equal(tokenOf({ cookie: each }, access), null, each);
});

test('without the token only the files of the page are open to other machines', () => {
  const token: Record<string, string>[] = [{ authorization: 'Bearer secret' }, { cookie: 'culvert-token=secret' }];
  const table: [line: string, expected: string | null][] = [
    ['GET /', null],
    ['HEAD /style.css', null],
    ['GET /style.css?x=/api', null],
    ['PUT /', 'token-required'],
    ['GET /api', 'token-required'],
    ...Object.keys(endpoints).map((line): [string, string] => [line, 'token-required']),
  ];
  for (const [line, expected] of table) {
    assert.equal(code(remote, line, POST), expected, line);
    assert.equal(code(remote, line, { ...POST, authorization: 'Bearer wrong' }), expected, line);
    for (const sent of token) assert.equal(code(remote, line, { ...POST, ...sent }), null, `${line} with the token`);
    assert.equal(code(loopback, line, POST), null, `${line} on this machine`);
  }
});

test('a proxy of the same user does not lend its clients the rights of this user', () => {
  for (const name of ['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Real-IP'])
    assert.equal(code(loopback, 'GET /api/snapshot', { [name]: '192.0.2.9' }), 'peer-not-allowed', name);
  assert.equal(code(remote, 'GET /', { 'X-Forwarded-For': '192.0.2.9' }), null);
});

test('accepts a configured address as Host and Origin only from other machines', () => {
  const proxied: Via = { ...remote, access: { ...access, address: 'https://culvert.example.org' } };
  const own = { host: 'culvert.example.org', origin: 'https://culvert.example.org', cookie: 'culvert-token=secret' };
  const ask = (via: Via, headers: Record<string, string>) => {
    const rawHeaders = Object.entries({ ...POST, ...headers }).flat();
    return checkRequest({ method: 'POST', target: '/api/action', rawHeaders, via })?.code ?? null;
  };
  assert.equal(ask(proxied, own), null);
  assert.equal(ask(remote, own), 'host-not-allowed');
  assert.equal(ask(loopback, own), 'host-not-allowed');
  assert.equal(ask(proxied, { ...own, host: 'evil.example' }), 'host-not-allowed');
  for (const origin of ['http://culvert.example.org', 'https://culvert.example.org:444', 'https://evil.example'])
    assert.equal(ask(proxied, { ...own, origin }), 'origin-not-allowed', origin);
});
