// A stand-in for Firecrawl that counts credits: crawls in pages, scrapes, uploads, and the websocket of a crawl.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import { listen } from '../listen.ts';
import { json } from './gateway.ts';

/** Answers a scrape in place of the provider. @returns false to leave it to the provider */
type Answer = (key: string, url: string, res: ServerResponse) => boolean;

const PAGE = 100;

/**
 * @param credits what each key has
 * @param answer for scrapes, by the page that they ask for
 */
export async function startFirecrawl(t: TestContext, credits: number, answer: Answer = () => false) {
  const spent = new Map<string, number>();
  const jobs = new Map<string, { key: string; limit: number }>();
  /** `KEY METHOD PATH` of each request. */
  const calls: string[] = [];
  const uploads: { key: string; bytes: number; ends: string }[] = [];
  const left = (key: string) => credits - (spent.get(key) ?? 0);
  const spend = (key: string, amount: number) => spent.set(key, (spent.get(key) ?? 0) + amount);
  const documents = (count: number) => Array.from({ length: count }, (_, index) => ({ markdown: `page ${index}` }));
  const page = (id: string, skip: number, host: string) => {
    const { limit } = jobs.get(id)!;
    const data = documents(Math.min(PAGE, limit - skip));
    const next = skip + PAGE < limit ? { next: `https://${host}/v2/crawl/${id}?skip=${skip + PAGE}` } : {};
    return { success: true, status: 'completed', total: limit, completed: limit, creditsUsed: limit, data, ...next };
  };
  const handle = async (req: IncomingMessage, res: ServerResponse) => {
    const key = keyIn(req);
    const { pathname, searchParams } = new URL(req.url!, 'http://x');
    calls.push(`${key} ${req.method} ${pathname}`);
    if (pathname === '/v2/parse') {
      uploads.push({ key, ...(await readUpload(req)) });
      return json(res, 200, { success: true, data: { markdown: 'parsed' } });
    }
    let text = '';
    for await (const chunk of req) text += chunk;
    const body = text === '' ? {} : JSON.parse(text);
    if (pathname === '/usage') return json(res, 200, { data: { remainingCredits: left(key), planCredits: credits } });
    if (req.method === 'GET') {
      const id = pathname.split('/').at(-1)!;
      if (jobs.get(id)?.key !== key) return json(res, 404, { success: false, error: 'Job not found' });
      return json(res, 200, page(id, Number(searchParams.get('skip')), req.headers.host!));
    }
    if (pathname === '/v2/scrape' && answer(key, body.url, res)) return;
    if (left(key) <= 0)
      return json(res, 402, { success: false, error: 'Insufficient credits to perform this request.' });
    if (pathname !== '/v2/crawl') {
      spend(key, 1);
      return json(res, 200, { success: true, data: pathname === '/v2/search' ? { web: [] } : { markdown: key } });
    }
    const id = `0199aaaa-0000-4000-8000-${String(jobs.size).padStart(12, '0')}`;
    // it does less where there is less, and says nothing
    const limit = Math.min(body.limit, left(key));
    jobs.set(id, { key, limit });
    spend(key, limit);
    json(res, 200, { success: true, id, url: `https://${req.headers.host}/v2/crawl/${id}` });
  };
  const server = createServer((req, res) => void handle(req, res));
  server.on('upgrade', (req, socket) => {
    calls.push(`${keyIn(req)} WEBSOCKET ${req.url}`);
    watch(req, socket, page(req.url!.split('/').at(-1)!, 0, req.headers.host!));
  });
  return { port: await listen(t, server), calls, spent, uploads };
}

function keyIn({ headers }: IncomingMessage): string {
  return String(headers.authorization ?? headers['sec-websocket-protocol'] ?? '').replace(/^Bearer /, '');
}

/** Size of a multipart body, and a digest of its file. */
async function readUpload(req: IncomingMessage): Promise<{ bytes: number; ends: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of req) {
    bytes += chunk.length;
    hash.update(chunk);
  }
  return { bytes, ends: hash.digest('hex') };
}

/** Answers a websocket as Firecrawl does: it repeats a key that came as the subprotocol, and sends what there is. */
function watch(req: IncomingMessage, socket: Duplex, status: object): void {
  const accept = createHash('sha1')
    .update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  socket.on('error', () => {});
  // the only frame of a program is its last one
  socket.once('data', () => socket.end(Buffer.from([0x88, 0])));
  const protocol = req.headers['sec-websocket-protocol'];
  const chosen = protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`;
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n${chosen}\r\n`,
  );
  socket.write(frame({ type: 'catchup', data: { ...status, status: 'scraping' } }));
  socket.write(frame({ type: 'document', data: { markdown: 'one more' } }));
  socket.write(frame({ type: 'done', data: { data: [] } }));
}

/** A text frame of a server (RFC 6455, 5.2). */
function frame(value: object): Buffer {
  const data = Buffer.from(JSON.stringify(value));
  const head = data.length < 126 ? Buffer.from([0x81, data.length]) : Buffer.from([0x81, 126, 0, 0]);
  if (data.length >= 126) head.writeUInt16BE(data.length, 2);
  return Buffer.concat([head, data]);
}
