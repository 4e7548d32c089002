// Debian's httpx and websockets, which the asynchronous Python SDKs use, through a gateway.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { temporary } from '../../../support/temporary.ts';
import { FULL } from '../../../support/thoroughness.ts';
import { startFirecrawl } from '../../../support/wrapper/firecrawl-provider.ts';
import { json, openShippedAt, startProvider } from '../../../support/wrapper/gateway.ts';

const PACKAGES = ['httpx', 'httpcore', 'h11', 'anyio', 'sniffio', 'certifi', 'idna', 'rfc3986', 'websockets'];
const modules = temporary({ after }, 'httpx');
const skip = await install();

/** Unpacks the packages into a new directory. @returns why that failed */
async function install(): Promise<string | false> {
  if (!FULL) return 'only in a full run';
  const run = promisify(execFile);
  try {
    await run('python3', ['--version']);
    await run('apt-get', ['download', ...PACKAGES.map(name => `python3-${name}`)], { cwd: modules });
    for (const name of fs.readdirSync(modules)) await run('dpkg', ['-x', name, '.'], { cwd: modules });
    return false;
  } catch (error) {
    return `python3 or apt can't be used here: ${String(error).slice(0, 200)}`;
  }
}

/** Runs the body of an asynchronous function with a client. @returns the value that it prints */
async function runPython(opened: Awaited<ReturnType<typeof openShippedAt>>, body: string) {
  const { box, http, url, placeholder } = opened;
  const script = `
import asyncio, json, os, httpx, websockets
async def main():
    url, key = os.environ['URL'], os.environ['KEY']
    headers = {'${http.key_header}': ${http.key_header === 'authorization' ? `'Bearer ' + key` : 'key'}}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
${body.replaceAll(/^/gm, '        ')}
asyncio.run(main())
`;
  const file = path.join(box.home, 'program.py');
  fs.writeFileSync(file, script);
  const env = { URL: url, KEY: placeholder, PYTHONPATH: path.join(modules, 'usr/lib/python3/dist-packages') };
  const run = await box.run('/usr/bin/python3', [file], { env });
  assert.equal(run.exit, 0, run.stderr);
  assert.doesNotMatch(run.stdout + run.stderr, /canary/);
  return JSON.parse(run.stdout.trim().split('\n').at(-1)!);
}

test('a crawl, its websocket, an upload in chunks and simultaneous requests of httpx', { skip }, async t => {
  const { port, calls, spent, uploads } = await startFirecrawl(t, 300);
  const opened = await openShippedAt(t, 'firecrawl', { a: 'fc-canary-a', b: 'fc-canary-b' }, port);
  const seen = await runPython(
    opened,
    `
job = (await client.post('/v2/crawl', json={'url': 'https://site.example', 'limit': 250})).json()['id']
documents, address = 0, '/v2/crawl/' + job
while address:
    page = (await client.get(address)).json()
    documents, address = documents + len(page['data']), page.get('next')
async with websockets.connect(url.replace('http', 'ws') + '/v2/crawl/' + job, extra_headers=headers) as socket:
    types = [json.loads(await socket.recv())['type'] for _ in range(3)]
async def chunks():
    for _ in range(50): yield b'x' * 65536
parsed = (await client.post('/v2/parse', content=chunks())).status_code
statuses = await asyncio.gather(*[client.post('/v2/scrape', json={'url': str(i)}) for i in range(300)])
print(json.dumps([documents, types, parsed, sorted({answer.status_code for answer in statuses})]))
`,
  );
  assert.deepEqual(seen, [250, ['catchup', 'document', 'done'], 200, [200]]);
  const used = [...spent.values()];
  assert.ok(used.every(credits => credits <= 300) && used.reduce((a, b) => a + b) === 550, String(used));
  assert.equal(uploads[0]!.bytes, 50 * 65_536);
  const ofJob = calls.filter(call => call.includes('/v2/crawl/'));
  assert.equal(ofJob.length, 4);
  assert.ok(ofJob.every(call => call.startsWith('fc-canary-a ')));
});

test('httpx gets an answer of Exa while it is written', { skip }, async t => {
  let go: () => void = () => {};
  const { port, calls } = await startProvider(t, (_key, req, res) => {
    if (req.url === '/go') {
      go();
      return json(res, 200, {});
    }
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"content": "one"}\n\n');
    // the second event waits until the program has the first
    go = () => void res.end('data: {"content": "two"}\n\ndata: [DONE]\n\n');
  });
  const seen = await runPython(
    await openShippedAt(t, 'exa', { a: 'canary-a' }, port),
    `
events = []
async with client.stream('POST', '/answer', json={'query': 'x', 'text': False, 'stream': True}) as answer:
    async for line in answer.aiter_lines():
        if not line.strip(): continue
        events.append(line.strip())
        if len(events) == 1: await client.get('/go')
print(json.dumps(events))
`,
  );
  assert.deepEqual(seen, ['data: {"content": "one"}', 'data: {"content": "two"}', 'data: [DONE]']);
  assert.deepEqual(
    calls.filter(call => !call.includes('/usage')),
    ['canary-a POST /answer', 'canary-a GET /go'],
  );
});
