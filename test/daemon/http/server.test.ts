// The routes: what each answers, ETags, preconditions, the token for other addresses, and the derived documents.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import Ajv from 'ajv/dist/2020.js';
import * as z from 'zod/mini';
import { endpoints } from '../../../daemon/api/contract.ts';
import type { Endpoint } from '../../../daemon/api/endpoint.ts';
import { openapi } from '../../../daemon/api/openapi.ts';
import { type Logs, PROBLEM_CODES } from '../../../daemon/api/schema.ts';
import { Problem } from '../../../daemon/problem.ts';
import { OUTPUT, raw, request, startListeners, type Target } from '../../support/daemon/listeners.ts';
import { FULL } from '../../support/thoroughness.ts';

const BODIES: Record<string, object> = {
  'POST /api/action': { action: 'setMode', value: 'warp' },
  'POST /api/killswitch': { enabled: true, allowLan: false },
  'POST /api/config/session': { ui: { theme: 'dark' } },
  'POST /api/config/user': { ui: { theme: 'dark' } },
  'POST /api/killswitch/pause': { seconds: 60 },
  'POST /api/apps/proxy-launcher': { appId: 'x' },
  'POST /api/apps/tunnel-launcher': { appId: 'x' },
  'POST /api/apps/outside-launcher': { appId: 'x' },
  'POST /api/doctor/fix': { id: 'display', fixId: 'x' },
  'POST /api/apps/shortcut': { appId: 'x', present: true },
  'POST /api/why': { target: '127.0.0.1' },
  'POST /api/routes/preview': { document: '10.0.0.0/8\n' },
  'POST /api/routes': { document: '10.0.0.0/8\n' },
  'POST /api/networks': { document: '' },
  'POST /api/networks/answer': { rule: 'x', answer: 'always' },
  'POST /api/changes/extend': { seconds: 60 },
  'POST /api/accounts': { change: 'refresh' },
  'POST /api/restart': { demo: false },
  'POST /api/account/sign-in': { address: 'com.cloudflare.warp://acme.cloudflareaccess.com/auth?token=x' },
  'POST /api/settings/diff': { toml: '' },
  'POST /api/settings/apply': { toml: '' },
};
/** Code of the refusal by routes that have nothing to do here. */
const REFUSED: Record<string, string> = {
  'GET /api/metrics': 'not-found',
  'POST /api/account/sign-in': 'precondition-failed',
  'POST /api/networks/answer': 'not-found',
  'POST /api/routes/undo': 'nothing-to-undo',
  'POST /api/settings/undo': 'nothing-to-undo',
  'POST /api/changes/confirm': 'nothing-pending',
  'POST /api/changes/revert': 'nothing-pending',
  'POST /api/changes/extend': 'nothing-pending',
};

test('every route answers what its schema says', async t => {
  const { port, socket, daemon } = await startListeners(t);
  daemon.settings.setSession({ warp: { traceUrl: 'http://127.0.0.1:1' } });
  daemon.state.set('splitTunnel', { mode: 'exclude', ips: [{ value: '10.0.0.0/8', description: null }], hosts: [] });
  const listeners: [Target, string][] = [
    [{ port }, `localhost:${port}`],
    [{ path: socket }, 'localhost'],
  ];
  for (const [at, [line, endpoint]] of (Object.entries(endpoints) as [string, Endpoint][]).entries()) {
    if (endpoint.kind === 'stream') continue;
    // in a short run each listener answers half of them
    for (const [target, host] of FULL ? listeners : [listeners[at % 2]!]) {
      const body = line.startsWith('POST') ? JSON.stringify(BODIES[line] ?? {}) : undefined;
      const answer = await raw(target, request(line, host, {}, body));
      if (REFUSED[line]) {
        assert.equal(answer.json().code, REFUSED[line], line);
        continue;
      }
      assert.equal(answer.status, 200, `${line} ${answer.body}`);
      assert.match(answer.headers['content-type']!, /^application\/json/);
      const result = z.safeParse(endpoint.response, answer.json());
      assert.ok(result.success, `${line}: ${JSON.stringify(result.error?.issues)}`);
    }
  }
});

test('HEAD answers as GET does, without a body', async t => {
  const { port } = await startListeners(t);
  for (const path of ['/api/health', '/api/snapshot', '/api/config', '/api/nope']) {
    const host = `localhost:${port}`;
    const get = await raw({ port }, request(`GET ${path}`, host, { connection: 'close' }));
    const head = await raw({ port }, request(`HEAD ${path}`, host, { connection: 'close' })).catch(e => e);
    assert.equal(head.status, get.status, path);
    assert.equal(head.body, '', path);
  }
});

test('the snapshot has an ETag that holds until something changes', async t => {
  const { port, daemon } = await startListeners(t);
  const host = `localhost:${port}`;
  const get = (headers = {}) => raw({ port }, request('GET /api/snapshot', host, headers));
  const first = await get();
  const etag = first.headers.etag!;
  assert.match(etag, /^"\d+"$/);
  assert.equal((await get({ 'if-none-match': etag })).status, 304);
  assert.equal((await get({ 'if-none-match': `"x", W/${etag}` })).status, 304);
  assert.equal((await get({ 'if-none-match': '"x"' })).status, 200);
  daemon.state.set('status', { ...daemon.state.snapshot().status, state: 'connected' });
  const changed = await get({ 'if-none-match': etag });
  assert.equal(changed.status, 200);
  assert.notEqual(changed.headers.etag, etag);
  const koa = await raw({ port }, request('GET /api/snapshot?fresh=0', host));
  assert.equal(koa.headers.etag, changed.headers.etag, 'the ready answer and the routed one agree');
  assert.equal(koa.body, changed.body);
});

test('a stale snapshot is read again before it is answered, and all of it with fresh=1', async t => {
  const refreshed: string[] = [];
  let fresh = false;
  const { port } = await startListeners(t, {
    tunnel: {
      isFresh: () => fresh,
      async refresh(which) {
        refreshed.push(which);
        fresh = true;
      },
    },
  });
  const get = (query = '') => raw({ port }, request(`GET /api/snapshot${query}`, `localhost:${port}`));
  await get();
  await get();
  await get('?fresh=1');
  assert.deepEqual(refreshed, ['stale', 'all']);
});

test('an action reaches the tunnel with its value, and its failure comes back as a problem', async t => {
  const { port, performed } = await startListeners(t, {
    tunnel: {
      async runAction({ action, value }) {
        performed.push([action, value]);
        if (action === 'connect')
          throw new Problem('tunnel-cli-failed', 'warp-cli failed.', { exitCode: 1, stderr: 'boom', hint: 'Look.' });
        if (action === 'disconnect') throw new Error('secret inside');
        return OUTPUT;
      },
    },
  });
  const post = (body: object) =>
    raw({ port }, request('POST /api/action', `localhost:${port}`, {}, JSON.stringify(body)));
  const done = await post({ action: 'setMode', value: 'doh' });
  assert.deepEqual([done.json().action, done.json().result], ['setMode', OUTPUT]);
  const failed = await post({ action: 'connect' });
  assert.equal(failed.status, 502);
  const { code, exitCode, stderr, hint } = failed.json() as Record<string, unknown>;
  assert.deepEqual([code, exitCode, stderr, hint], ['tunnel-cli-failed', 1, 'boom', 'Look.']);
  const error = t.mock.method(console, 'error', () => {});
  const broken = await post({ action: 'disconnect' });
  assert.equal(broken.status, 500);
  assert.equal(broken.json().code, 'internal-error');
  assert.ok(!broken.body.includes('secret inside'));
  assert.equal(error.mock.callCount(), 1);
  assert.deepEqual(performed, [
    ['setMode', 'doh'],
    ['connect', undefined],
    ['disconnect', undefined],
  ]);
});

test('a change to the configuration can be conditional on the configuration that was read', async t => {
  const { port, directory } = await startListeners(t);
  const host = `localhost:${port}`;
  const etag = (await raw({ port }, request('GET /api/config', host))).headers.etag!;
  const post = (ifMatch: string, theme: string) =>
    raw({ port }, request('POST /api/config/user', host, { 'if-match': ifMatch }, JSON.stringify({ ui: { theme } })));
  const first = await post(etag, 'dark');
  assert.equal(first.status, 200);
  const second = await post(etag, 'light');
  assert.equal(second.status, 412);
  assert.equal(second.json().code, 'precondition-failed');
  assert.equal((await post(first.headers.etag!, 'light')).status, 200);
  assert.deepEqual(JSON.parse(readFileSync(join(directory, 'user.json'), 'utf8')), { ui: { theme: 'light' } });
});

test('a broken configuration file is reported by the API and never overwritten', async t => {
  const { port, directory, daemon } = await startListeners(t);
  const file = join(directory, 'user.json');
  await daemon.settings.setUser({ ui: { theme: 'dark' } });
  writeFileSync(file, '{\n"ui": nope\n}');
  const body = JSON.stringify({ ui: { theme: 'light' } });
  const answer = await raw({ port }, request('POST /api/config/user', `localhost:${port}`, {}, body));
  assert.equal(answer.status, 409);
  assert.equal(answer.json().code, 'config-broken');
  assert.match(String(answer.json().detail), /user\.json, line 2: .*left as it is/);
  assert.equal(readFileSync(file, 'utf8'), '{\n"ui": nope\n}');
});

test('the log is paged: newer than since, oldest first', async t => {
  const { port, daemon } = await startListeners(t);
  for (let i = 1; i <= 12; i++) daemon.log.append({ ...OUTPUT, source: 'read', stdout: String(i) });
  const get = async (query: string) =>
    (await raw({ port }, request(`GET /api/logs${query}`, `localhost:${port}`))).json() as unknown as {
      entries: { id: number; stdout: string }[];
      next: number;
      capacity: number;
    };
  const all = await get('?since=0');
  assert.equal(all.capacity, 10);
  assert.deepEqual(
    all.entries.map(e => e.stdout),
    ['3', '4', '5', '6', '7', '8', '9', '10', '11', '12'],
  );
  const page = await get(`?since=${all.entries[1]!.id}&limit=3`);
  assert.deepEqual(
    page.entries.map(e => e.stdout),
    ['5', '6', '7'],
  );
  assert.deepEqual(
    (await get(`?since=${page.next}`)).entries.map(e => e.stdout),
    ['8', '9', '10', '11', '12'],
  );
  const end = await get(`?since=${all.next}`);
  assert.deepEqual([end.entries, end.next], [[], all.next]);
});

test('from another address only the token admits, and the page of that address may use it', async t => {
  const address = Object.values(networkInterfaces())
    .flat()
    .find(i => i && !i.internal && i.family === 'IPv4')?.address;
  if (!address) return t.skip('this machine has no address beyond loopback');
  const token = 'a'.repeat(43);
  const { port } = await startListeners(t, { remote: token });
  const target = { port, host: address };
  const host = `${address}:${port}`;
  const get = (headers: Record<string, string>, h = host) => raw(target, request('GET /api/health', h, headers));
  for (const authorization of [undefined, 'Bearer', `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${token}`]) {
    const answer = await get(authorization ? { authorization } : {});
    assert.equal(answer.status, 401, authorization);
    assert.equal(answer.json().code, 'token-required');
    assert.equal(answer.headers['www-authenticate'], 'Bearer');
    assert.ok(!answer.body.includes(token));
  }
  const admitted = { authorization: `Bearer ${token}` };
  assert.equal((await get(admitted)).status, 200);
  assert.equal((await get({ ...admitted, origin: `http://${host}` })).status, 200);
  assert.equal((await get({ ...admitted, origin: 'http://evil.example' })).status, 403);
  assert.equal((await get(admitted, `evil.example:${port}`)).status, 421);
  const local = await raw({ port }, request('GET /api/health', `127.0.0.1:${port}`));
  assert.equal(local.status, 200, 'loopback still needs none');
});

test('requests are closed; responses, problems and events are open for fields to come', () => {
  const { paths, components } = openapi('1') as unknown as {
    paths: Record<string, Record<string, { requestBody?: object; responses: object }>>;
    components: { schemas: Record<string, object> };
    'x-events': object;
  };
  const reachable = (schema: unknown): object[] => {
    if (typeof schema !== 'object' || schema === null) return [];
    const name = '$ref' in schema && String(schema.$ref).split('/').at(-1);
    return [schema, ...(name ? reachable(components.schemas[name]) : Object.values(schema).flatMap(reachable))];
  };
  const closed = (schema: unknown) =>
    reachable(schema).filter(part => 'additionalProperties' in part && part.additionalProperties === false);
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { requestBody, responses }] of Object.entries(operations)) {
      assert.deepEqual(closed(responses), [], `${method} ${path}`);
      if (requestBody)
        for (const part of reachable(requestBody))
          if ('type' in part && part.type === 'object')
            assert.equal('additionalProperties' in part && part.additionalProperties, false, `${method} ${path}`);
    }
  assert.deepEqual(closed((openapi('1') as Record<string, unknown>)['x-events']), []);
});

test('logs name the oldest entry and count those that are lost, and end where the log ends', async t => {
  const { port, daemon } = await startListeners(t);
  const get = async (query = '') =>
    (await raw({ port }, request(`GET /api/logs${query}`, `localhost:${port}`))).json() as unknown as Logs;
  const view = ({ entries, next, oldest, lost }: Logs) => [entries.map(({ id }) => id), next, oldest, lost];
  assert.deepEqual(view(await get('?since=99')), [[], 0, null, 0], 'a poller of an earlier run starts over');
  for (let i = 0; i < 13; i++) daemon.log.append({ source: 'read', ...OUTPUT });
  const ids = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
  assert.deepEqual(view(await get()), [ids, 13, 4, 3]);
  assert.deepEqual(view(await get('?since=2')), [ids, 13, 4, 1]);
  assert.deepEqual(view(await get('?since=3&limit=2')), [[4, 5], 5, 4, 0]);
  assert.deepEqual(view(await get('?since=13')), [[], 13, 4, 0]);
  assert.deepEqual(view(await get('?since=500')), [[], 13, 4, 0]);
});

test('the OpenAPI document covers the contract, resolves every reference and is the committed one', () => {
  const committed = JSON.parse(readFileSync(new URL('../../../data/openapi.json', import.meta.url), 'utf8'));
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  const document = openapi(version) as Record<string, never> & { paths: object; components: { schemas: object } };
  assert.deepEqual(committed, JSON.parse(JSON.stringify(document)), 'run: node --import tsx data/build/openapi.ts');
  const lines = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations as object).map(method => `${method.toUpperCase()} ${path}`),
  );
  assert.deepEqual(lines.sort(), Object.keys(endpoints).sort());
  for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g))
    assert.ok(Object.hasOwn(document.components.schemas, name!), name);
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'api');
  for (const name of Object.keys(document.components.schemas)) ajv.compile({ $ref: `api#/components/schemas/${name}` });
  const codes = (document.components.schemas as { ProblemCode: { enum: string[] } }).ProblemCode.enum;
  assert.deepEqual(codes, [...PROBLEM_CODES]);
});
