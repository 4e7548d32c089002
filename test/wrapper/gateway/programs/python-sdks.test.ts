/**
 * The requests of the Python SDKs through a gateway: all that the provider gets is what it would get directly, with another key.
 *
 * Paths, bodies and headers of the SDKs are read in their public sources: tavily-python (`tavily/tavily.py`, 01d5e709), firecrawl-py
 * (`v2/utils/http_client.py`, 0241b9ac, `v2/methods/crawl.py`, 0adc66b4, and `v2/methods/parse.py`, 2d862a5e) and exa-py 1.12.1
 * (`exa_py/api.py`, d0e1c5c2, and `exa_py/research`, 2623db7c). All of them use `requests`, whose own headers, their order and the
 * multipart form are as version 2.34.2 sent them to a socket. Asynchronous clients are in httpx.test.ts.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { test } from 'node:test';
import { listen } from '../../../support/listen.ts';
import { json, openShippedAt } from '../../../support/wrapper/gateway.ts';

type Headers = Record<string, string>;

interface Asked {
  request: string;
  body?: string;
  /** In place of those of the SDK. */
  headers?: Headers;
  answer: object;
}

interface Sdk {
  cli: string;
  /** `KEY` stands for the key. */
  headers: Headers;
  /** Status with which the first account is refused. */
  limit: number;
  asked: Asked[];
}

const JSON_TYPE = { 'Content-Type': 'application/json' };
const REQUESTS = {
  'User-Agent': 'python-requests/2.34.2',
  'Accept-Encoding': 'gzip, deflate',
  Accept: '*/*',
  Connection: 'keep-alive',
};
const BEARER = { Authorization: 'Bearer KEY' };
const JOB = '0199aaaa-0000-4000-8000-000000000000';
const BOUNDARY = '02845f652ea44c76da63e4dd3f055542';
const ORIGIN = '"origin": "python-sdk@4.1.2"';

const SDKS: Record<string, Sdk> = {
  'tavily-python': {
    cli: 'tvly',
    headers: { ...REQUESTS, ...JSON_TYPE, ...BEARER, 'X-Client-Source': 'tavily-python', 'X-Project-ID': 'own' },
    limit: 432,
    asked: [
      { request: 'POST /search', body: '{"query": "caf\\u00e9", "max_results": 5}', answer: { results: [] } },
      { request: 'POST /extract', body: '{"urls": ["https://site.example"], "timeout": 30}', answer: { results: [] } },
      { request: 'POST /crawl', body: '{"url": "https://site.example", "timeout": 150}', answer: { results: [] } },
      {
        request: 'POST /research',
        body: '{"input": "x", "stream": false, "citation_format": "numbered"}',
        answer: { request_id: JOB, status: 'pending' },
      },
      { request: `GET /research/${JOB}`, answer: { request_id: JOB, status: 'completed' } },
    ],
  },
  'firecrawl-py': {
    cli: 'firecrawl',
    headers: { ...REQUESTS, ...JSON_TYPE, ...BEARER },
    limit: 402,
    asked: [
      {
        request: 'POST /v2/crawl',
        body: `{"url": "https://site.example", "limit": 150, ${ORIGIN}}`,
        answer: { success: true, id: JOB, url: `https://HOST/v2/crawl/${JOB}` },
      },
      { request: `GET /v2/crawl/${JOB}`, answer: { success: true, next: `https://HOST/v2/crawl/${JOB}?skip=100` } },
      // it puts its own address before the path of `next`
      { request: `GET /v2/crawl/${JOB}?skip=100`, answer: { success: true, data: [] } },
      { request: `DELETE /v2/crawl/${JOB}`, body: '', answer: { status: 'cancelled' } },
      {
        request: 'POST /v2/parse',
        headers: { ...REQUESTS, ...BEARER, 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` },
        body: [
          `--${BOUNDARY}`,
          'Content-Disposition: form-data; name="options"',
          '',
          `{${ORIGIN}}`,
          `--${BOUNDARY}`,
          'Content-Disposition: form-data; name="file"; filename="a.pdf"',
          'Content-Type: application/pdf',
          '',
          '%PDF \u00ff',
          `--${BOUNDARY}--`,
          '',
        ].join('\r\n'),
        answer: { success: true, data: { markdown: 'x' } },
      },
    ],
  },
  'exa-py': {
    cli: 'exa',
    headers: { ...REQUESTS, 'User-Agent': 'exa-py 1.12.1', 'x-api-key': 'KEY', ...JSON_TYPE },
    limit: 402,
    asked: [
      { request: 'POST /search', body: '{"query": "x", "numResults": 3}', answer: { results: [] } },
      {
        request: 'POST /research/v1',
        body: '{"instructions": "x", "model": "exa-research"}',
        answer: { researchId: 'r_1234567', status: 'pending' },
      },
      { request: 'GET /research/v1/r_1234567?stream=false', answer: { researchId: 'r_1234567', status: 'completed' } },
    ],
  },
};

/** Headers that belong to a connection or an account. */
const REPLACED = ['host', 'connection', 'accept-encoding', 'x-project-id', 'content-length'];

/** Pairs without those, by their lower-case names. */
function comparable(pairs: readonly (readonly [string, string])[]): string[] {
  const kept = pairs.filter(([name]) => !REPLACED.includes(name.toLowerCase()));
  return kept.map(([name, value]) => `${name.toLowerCase()}: ${value}`).sort();
}

function pairsOf(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1]!]] : []));
}

/** Sends headers as they are, in their order. */
async function send(url: string, what: string, headers: Headers, body: string | undefined) {
  const { hostname, port, host } = new URL(url);
  const [method, path] = what.split(' ');
  const bytes = Buffer.from(body ?? '', 'latin1');
  const length = body === undefined ? {} : { 'Content-Length': String(bytes.length) };
  const raw = Object.entries({ Host: host, ...headers, ...length }).flat();
  const asking = request({ hostname, port, method, path, headers: raw });
  const [answer] = await once(asking.end(bytes), 'response');
  let text = '';
  for await (const chunk of answer) text += chunk;
  return { status: answer.statusCode, text };
}

for (const [name, { cli, headers, limit, asked }] of Object.entries(SDKS))
  test(`the requests of ${name} reach the provider as they are, with the key of an account`, async t => {
    const seen: { what: string; pairs: [string, string][]; body: string; length: string | undefined }[] = [];
    const server = createServer(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk);
      const what = `${req.method} ${req.url}`;
      if (what === 'GET /usage') return json(res, 404, {});
      const body = Buffer.concat(chunks).toString('latin1');
      seen.push({ what, pairs: pairsOf(req.rawHeaders), body, length: req.headers['content-length'] });
      if (JSON.stringify(req.rawHeaders).includes('canary-a')) return json(res, limit, { error: 'limit' });
      const answer = JSON.stringify(asked.find(each => each.request === what)!.answer);
      json(res, 200, JSON.parse(answer.replaceAll('HOST', req.headers.host!)));
    });
    const port = await listen(t, server);
    const { url, placeholder } = await openShippedAt(t, cli, { a: 'canary-a', b: 'canary-b' }, port);
    const withKey = (all: Headers, key: string): Headers =>
      JSON.parse(JSON.stringify(all).replaceAll('KEY', key)) as Headers;
    for (const { request: what, body, headers: own = headers, answer } of asked) {
      seen.length = 0;
      const got = await send(url, what, withKey(own, placeholder), body);
      const text = JSON.stringify(answer).replaceAll('https://HOST', url);
      assert.deepEqual([got.status, JSON.parse(got.text)], [200, JSON.parse(text)], what);
      const keys = what === asked[0]!.request ? ['canary-a', 'canary-b'] : ['canary-b'];
      assert.equal(seen.length, keys.length, what);
      for (const [index, key] of keys.entries()) {
        const { pairs, ...rest } = seen[index]!;
        const length = body === undefined ? undefined : String(body.length);
        assert.deepEqual(rest, { what, body: body ?? '', length });
        assert.deepEqual(comparable(pairs), comparable(Object.entries(withKey(own, key))));
        assert.ok(!JSON.stringify(pairs).includes(placeholder));
      }
    }
  });
