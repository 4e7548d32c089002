// The gateway reads messages, and decides which of them it lets through.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digest } from '../../../daemon/core/hash.ts';
import { admit } from '../../../wrapper/gateway/admit.ts';
import {
  atGateway,
  baseOf,
  entryFor,
  isBilled,
  namedIn,
  passedOn,
  pathOfBase,
  plainPath,
} from '../../../wrapper/gateway/messages.ts';
import { providers } from '../../support/wrapper/shipped.ts';

const http = providers.firecrawl!.http!;

test('only a program with the placeholder is let in, by the one name of the gateway', () => {
  const consumers = [{ name: 'app', placeholder: 'fc-1', digest: digest(Buffer.from('fc-1')) }];
  const door = { consumers, port: 7, http };
  const good = { host: ['127.0.0.1:7'], authorization: ['Bearer fc-1'] };
  const statusOf = (headers: NodeJS.Dict<string[]>, target = '/v2/scrape') => {
    const result = admit(target, headers, door);
    return 'status' in result ? result.status : undefined;
  };
  assert.equal(statusOf(good), undefined);
  assert.equal(statusOf({ ...good, host: ['evil.example:7'] }), 421);
  assert.equal(statusOf({ ...good, host: ['127.0.0.1:7', '127.0.0.1:7'] }), 421);
  assert.equal(statusOf({ ...good, origin: ['http://127.0.0.1:7'] }), 403);
  assert.equal(statusOf({ ...good, 'sec-fetch-site': ['cross-site'] }), 403);
  assert.equal(statusOf(good, 'http://evil.example/'), 400);
  assert.equal(statusOf({ host: good.host }), 401);
  assert.equal(statusOf({ ...good, authorization: ['Bearer fc-12'] }), 401);
  assert.equal(statusOf({ ...good, authorization: ['Bearer fc-1', 'Bearer fc-1'] }), 401);
  assert.equal(statusOf({ host: good.host, 'x-firecrawl-api-key': ['fc-1'] }), undefined);
  assert.equal(statusOf({ host: good.host, 'x-api-key': ['fc-1', 'fc-1'] }), 401);
  assert.equal(statusOf({ ...good, authorization: ['Bearer fc-2'], 'x-api-key': ['fc-1'] }), 401);
  const websocket = { host: good.host, upgrade: ['websocket'], 'sec-websocket-protocol': ['fc-1'] };
  assert.equal(statusOf(websocket), undefined);
  assert.equal(statusOf({ ...websocket, 'sec-websocket-protocol': ['fc-2'] }), 401);
  const realtime = 'realtime, openai-insecure-api-key.fc-1, v1';
  assert.equal(statusOf({ ...websocket, 'sec-websocket-protocol': [realtime] }), undefined);
  assert.equal(statusOf({ host: good.host, 'sec-websocket-protocol': ['fc-1'] }), 401);
  assert.equal(statusOf({ host: good.host }, '/fc-1/v2/mcp'), undefined);
  for (const elsewhere of ['/fc-1/v2/scrape', '/v2/fc-1/mcp', '/fc-1/fc-1/v2/mcp', '/v2/mcp?key=fc-1'])
    assert.equal(statusOf({ host: good.host }, elsewhere), 401, elsewhere);
});

test('headers of the connection and of the account stay behind', () => {
  const raw = [
    'Host',
    'x',
    'Connection',
    'close, X-Hop',
    'X-Hop',
    '1',
    'Authorization',
    'Bearer fc-1',
    'Cookie',
    'a',
    'X-Firecrawl-API-Key',
    'fc-2',
    'Accept',
    'y',
  ];
  assert.deepEqual(passedOn(raw, http), ['Accept', 'y']);
});

test('a failure with a charge has been billed', () => {
  assert.equal(isBilled('{"success":false,"chargeId":"c"}', http), true);
  assert.equal(isBilled('{"success":false}', http), false);
  assert.equal(isBilled('no JSON', http), false);
});

test('a request that creates a job is known by its method and path', () => {
  assert.equal(entryFor(http.creators, 'POST', '/v2/crawl')?.id, 'id');
  assert.equal(entryFor(http.creators, 'GET', '/v2/crawl'), undefined);
  assert.equal(entryFor(http.creators, 'POST', '/v2/crawl/x'), undefined);
});

test('addresses of the provider alone are turned to the gateway', () => {
  const url = 'http://127.0.0.1:7';
  assert.equal(atGateway('https://api.firecrawl.dev/v2/crawl/j?skip=100', http, url), `${url}/v2/crawl/j?skip=100`);
  assert.equal(atGateway('https://example.com/', http, url), undefined);
  assert.equal(atGateway('no address', http, url), undefined);
  const openrouter = providers.openrouter!.http!;
  assert.equal(atGateway('https://openrouter.ai/api/v1/files?x=1', openrouter, url), `${url}/files?x=1`);
  for (const other of ['https://openrouter.ai/api/v10/files', 'https://openrouter.ai/docs'])
    assert.equal(atGateway(other, openrouter, url), undefined);
});

test('the path of an address is left out by programs, but for its end that they write themselves', () => {
  assert.equal(pathOfBase('https://api.example', { base_path: '/v1' }), '');
  assert.equal(pathOfBase('https://api.example/api/v1', { base_path: '' }), '/api/v1');
  assert.equal(pathOfBase('https://api.example/api/v1', { base_path: '/v1' }), '/api');
  assert.equal(pathOfBase('https://api.example/api/v1', { base_path: '/v2' }), '/api/v1');
});

test('a job is named in a field of a body or a query', () => {
  assert.deepEqual(namedIn('/translate', '{"glossary":{"id":"g"}}', 'glossary.id'), ['g']);
  assert.deepEqual(namedIn('/translate', 'text=x&glossary_id=g', 'glossary_id'), ['g']);
  assert.deepEqual(namedIn('/items?job=j', '', 'job'), ['j']);
  assert.deepEqual(namedIn('/items', '{"job":""}', 'job'), []);
});

test('the end of a key says which address of the provider it is for', () => {
  const bases = [{ key_ends: ':fx', base: 'https://free.example' }];
  assert.equal(baseOf({ base: 'https://api.example', bases }, 'key:fx'), 'https://free.example');
  assert.equal(baseOf({ base: 'https://api.example', bases }, 'key'), 'https://api.example');
});

test('a path is compared in one form, however it is written', () => {
  for (const path of [
    '/V2/Crawl',
    '/v2/crawl/',
    '//v2///crawl',
    '/v2/%63rawl',
    '/v2%2fcrawl',
    '/v1/../v2/./crawl',
    '/v2\\crawl',
  ])
    assert.equal(plainPath(path), '/v2/crawl', path);
  for (const path of ['/', '/v2/a%3fb', '/v2/a%', '/v2/%ff', '/v2/%20']) assert.equal(plainPath(path), path);
});
