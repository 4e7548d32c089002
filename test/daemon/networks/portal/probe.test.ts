// Login pages of networks: a redirect, a form, status 511, and networks that let some pages through.
import assert from 'node:assert/strict';
import dns from 'node:dns/promises';
import type { RequestListener } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { createServer as createTcp } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type TestContext, test } from 'node:test';
import {
  answerOf,
  judge,
  leadsHere,
  probeNetwork,
  TARGETS,
  type Target,
} from '../../../../daemon/networks/portal/probe.ts';
import { listen, serve as serveAt } from '../../../support/listen.ts';

const serve = async (t: TestContext, listener: RequestListener) => `${await serveAt(t, listener)}/`;
const good: RequestListener = (_, response) => void response.end('success\n');
const target = (url: string): Target => ({ url, status: 200, body: 'success' });
const redirect =
  (location: string): RequestListener =>
  (_, response) =>
    void response.writeHead(302, { location }).end();

/** The verdict on three pages that answer so. */
async function verdict(t: TestContext, ...listeners: RequestListener[]) {
  const urls = await Promise.all(listeners.map(listener => serve(t, listener)));
  return probeNetwork(urls.map(target), 2_000);
}

test('a network where the pages answer exactly is open, though one of them fails', async t => {
  const failing: RequestListener = (_, response) => void response.writeHead(503).end();
  assert.deepEqual(await verdict(t, good, good, failing), { network: 'open', loginPage: null });
});

test('a redirect, a form with status 200, and status 511 are login pages', async t => {
  const login = 'http://10.231.253.1/?from=here';
  assert.deepEqual(await verdict(t, redirect(login), redirect(login), redirect(login)), {
    network: 'login',
    loginPage: login,
  });
  const form: RequestListener = (_, response) => void response.end(`<form>${'x'.repeat(100_000)}`);
  assert.deepEqual(await verdict(t, form, form, form), { network: 'login', loginPage: null });
  const required: RequestListener = (_, response) => void response.writeHead(511).end();
  assert.deepEqual(await verdict(t, required, required, required), { network: 'login', loginPage: null });
});

test('a network that lets one page through does not count as open, and an address without a page is not opened', async t => {
  assert.deepEqual(await verdict(t, good, redirect('javascript:alert(1)'), good), {
    network: 'login',
    loginPage: null,
  });
});

test('only the exact page is open, and only addresses of the web are opened', () => {
  const answer = (body: string, status = 200, location: string | null = null) =>
    answerOf(TARGETS[1]!, { status, body, location });
  assert.equal(answer('success\n').result, 'open');
  assert.equal(answer('success!').result, 'login');
  assert.equal(answer('', 503).result, 'silent');
  for (const location of [
    'javascript:alert(1)',
    'file:///etc/passwd',
    '/login',
    'http://',
    'http://a b/',
    `http://${'a'.repeat(3000)}`,
  ])
    assert.deepEqual(answer('', 302, location), { result: 'login', location: null });
});

/** An IPv4 address in each form that IPv6 has for one. */
function inIPv6(address: string): string[] {
  const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number];
  const groups = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  const starts = ['::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::'];
  return [...starts.flatMap(start => [`[${start}${address}]`, `[${start}${groups}]`]), `[2002:${groups}::1]`];
}

test('a network names no page of this machine, however it is written, and a page of the router', async t => {
  const own = Object.values(networkInterfaces()).flatMap(each => each ?? []);
  const here = [
    '127.0.0.1',
    '127.1',
    '127.0.0.2',
    '0x7f.1',
    '2130706433',
    '017700000001',
    '0',
    '0.0.0.0',
    '127.0.0.1.',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    '%6cocalhost',
    'localhost..',
    'a.localhost...',
    '127.0.0.1..',
    '127.1...',
    '0x7f.1..',
    '0.1.2.3',
    'login.example@127.0.0.1',
    'login.example:80@[::1]',
    ...['127.0.0.1', '0.0.0.0', ...own.filter(({ family }) => family === 'IPv4').map(({ address }) => address)].flatMap(
      inIPv6,
    ),
    ...own.map(({ address, family }) => (family === 'IPv6' ? `[${address.replace(/%.*/, '')}]` : address)),
  ];
  for (const host of here) {
    const page = redirect(`http://${host}:4173/api/trust?host=collect.example`);
    assert.deepEqual(await verdict(t, page, page, page), { network: 'login', loginPage: null }, host);
  }
  for (const host of [
    '192.168.231.254',
    '10.231.254.1',
    '[fd00:231::254]',
    '[64:ff9b::ae7:fe01]',
    '[2001:db8::7f00:1]',
  ])
    assert.equal((await verdict(t, redirect(`http://${host}/`), good, good)).loginPage, `http://${host}/`);
});

test('does not open a page if its name leads, or may lead, to this machine', async t => {
  const answer = (...addresses: string[]) => addresses.map(address => ({ address, family: 4 }));
  const others = Array.from({ length: 20 }, (_, index) => `10.231.253.${index}`);
  const failed = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));
  const lookups: [result: string, lookup: () => Promise<unknown>, isHere: boolean][] = [
    ['another machine', async () => answer('10.231.253.1'), false],
    ['a router', async () => answer('192.168.231.254'), false],
    ['many machines', async () => answer(...others), false],
    ['this machine', async () => answer('127.0.0.1'), true],
    ['this machine, behind many others', async () => answer(...others, '127.0.0.1'), true],
    ['this machine in IPv6, behind another', async () => answer('10.231.253.1', '::ffff:127.0.0.1'), true],
    ['no address', async () => [], true],
    ['no such name', failed('ENOTFOUND'), true],
    ['no name server', failed('EAI_AGAIN'), true],
    ['no answer in time', () => new Promise(() => {}), true],
  ];
  let lookup: () => Promise<unknown>;
  t.mock.method(dns, 'lookup', (() => lookup()) as never);
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const [result, each, isHere] of lookups) {
    lookup = each;
    const found = leadsHere('http://login.example/', true);
    t.mock.timers.tick(60_000);
    assert.equal(await found, isHere, result);
    assert.equal(await leadsHere('http://login.example/', false), false, 'a name that is not looked up');
  }
});

test('a network that answers nothing, or not in HTTP, is unreachable', async t => {
  const silent = createTcp(socket => t.after(() => socket.destroy()));
  const url = `http://127.0.0.1:${await listen(t, silent)}/`;
  const targets = [url, 'http://127.0.0.1:1/', 'http://name.invalid/'].map(target);
  assert.deepEqual(await probeNetwork(targets, 100), { network: 'unreachable', loginPage: null });
  assert.equal(judge([{ result: 'open', location: null }]).network, 'unreachable', 'one page is not believed alone');
});
