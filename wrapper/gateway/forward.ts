// Forwards one request: with the account whose turn it is, and with the next one after a limit, until the first byte goes out.
import {
  type Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http';
import { type Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import type { HttpProvider } from '../catalog/catalog.ts';
import type { Context } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { sha256 } from '../system/hash.ts';
import { createdBy, isBilled, keyValue, partsOf, passedOn, readAnswer, verdictOf } from './messages.ts';
import { BODY, Turn, type Using } from './turn.ts';

const ERROR_BYTES = 65_536;
/** A page of Firecrawl has up to 10 MiB. A larger answer is passed on as it is. */
const JSON_BYTES = 16_777_216;
/** Time for the rest of an error's body. */
const ERROR_MS = 5_000;

/** What all requests of a gateway share. */
export interface Route {
  plan: Plan;
  http: HttpProvider;
  context: Context;
  agent: HttpAgent | HttpsAgent;
  /** The gateway's own address. */
  url: string;
  placeholder: string;
}

interface Body {
  start: Buffer;
  /** `start` is all of it, so that it can be sent again. */
  isWhole: boolean;
}

/** The provider has no answer. Whether the request reached it decides whether a program may make it again. */
class NoAnswer extends Error {
  readonly wasSent: boolean;

  constructor(cause: Error, wasSent: boolean) {
    super(cause.message, { cause });
    this.wasSent = wasSent;
  }
}

/** Forwards an admitted request, and ends its answer. */
export async function forward(req: IncomingMessage, res: ServerResponse, route: Route): Promise<void> {
  const { plan, http, context } = route;
  const method = req.method ?? 'GET';
  const path = (req.url ?? '/').split('?', 1)[0]!;
  const gone = new AbortController();
  res.once('close', () => res.writableFinished || gone.abort());
  const body = await readStart(req, http.replay_bytes);
  // a body that is sent again goes to the account that may still work on it
  const again = body.isWhole && body.start.length > 0 ? `${BODY}${sha256(method, path, body.start.toString('latin1'))}` : '';
  const word = partsOfName(path).find(part => Object.hasOwn(plan.provider.costs, part)) ?? 'http';
  const turn = await Turn.open(plan, context, { command: word, ids: [...partsOf(path), again].filter(id => id !== '') });
  try {
    let using = await turn.take();
    if (!using) return deny(res, 401, 'No account can be used.');
    for (;;) {
      const started = context.now();
      const answer = await send(req, body, using, route, gone.signal);
      const status = answer.statusCode ?? 500;
      if (status < 400) {
        turn.answered(using.name, true, started);
        return await passAnswer(answer, res, { turn, using, route, id: createdBy(method, path, http) });
      }
      const error = await readError(answer);
      const text = error.body.toString();
      const verdict = verdictOf({ status, body: text, retryAfter: answer.headers['retry-after'] }, http);
      if (!verdict) {
        turn.answered(using.name, false, started);
        if (status === 408 && again !== '') turn.job(again, using.name);
        return await passError(answer, error, res, { using, route });
      }
      const { more, rest } = await turn.refused(using, verdict, started);
      const following = more && body.isWhole && !isBilled(text, http) ? await turn.take() : undefined;
      if (!following) return await passError(answer, error, res, { using, route, rest: rest ?? 0 });
      answer.destroy();
      using = following;
    }
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    // programs repeat a 502, and a request that was sent may have been billed
    const status = error.wasSent ? 500 : 502;
    deny(res, status, `The provider gave no answer: ${error.message}`);
  } finally {
    await turn.finish();
  }
}

/** Answers in the gateway's own words. */
export function deny(res: ServerResponse, status: number, message: string): void {
  if (res.headersSent || res.destroyed) return void res.destroy();
  const body = JSON.stringify({ success: false, error: message });
  const own = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), 'x-should-retry': 'false' };
  res.writeHead(status, own).end(body);
}

/** Parts of a path that name the request, without the version in front. */
function partsOfName(path: string): string[] {
  return path.split('/').slice(1, 3);
}

/** Reads the body up to a limit; the rest stays in the stream. */
async function readStart(req: IncomingMessage, limit: number): Promise<Body> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > limit) return { start: Buffer.concat(chunks), isWhole: false };
  }
  return { start: Buffer.concat(chunks), isWhole: true };
}

/** @throws NoAnswer */
function send(
  req: IncomingMessage,
  { start, isWhole }: Body,
  { credentials }: Using,
  { http, agent }: Route,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { protocol, host } = new URL(http.base);
  const headers = passedOn(req.rawHeaders, http);
  headers.push('host', host, 'accept-encoding', 'identity', http.key_header, keyValue(http, credentials[http.key_variable] ?? ''));
  const hasLength = req.headers['content-length'] !== undefined;
  if (!hasLength && req.headers['transfer-encoding'] !== undefined) {
    if (isWhole) headers.push('content-length', String(start.length));
    else headers.push('transfer-encoding', 'chunked');
  }
  const options: RequestOptions = { method: req.method, path: req.url, headers, agent, signal };
  return new Promise((resolve, reject) => {
    const request = protocol === 'https:' ? httpsRequest : httpRequest;
    let wasSent = false;
    const upstream = request(http.base, options, answer => {
      // one that breaks off while nobody reads it ends nothing else
      answer.on('error', () => {});
      resolve(answer);
    });
    upstream.on('socket', socket => {
      const connected = () => {
        wasSent = true;
      };
      if (!socket.connecting) connected();
      else socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', connected);
    });
    // an error after the answer has begun arrives at the answer as well
    upstream.on('error', error => reject(new NoAnswer(error, wasSent)));
    if (isWhole) upstream.end(start);
    else {
      upstream.write(start);
      // not `pipeline`: an early answer must still reach a program that is sending
      req.pipe(upstream);
    }
  });
}

interface Passing {
  using: Using;
  route: Route;
}

/** Sends a good answer on: as it comes, or whole where the gateway has to read or change it. */
async function passAnswer(
  answer: IncomingMessage,
  res: ServerResponse,
  { turn, using, route, id }: Passing & { turn: Turn; id: string | undefined },
): Promise<void> {
  const { http, url } = route;
  const isJson = /^application\/json\b/i.test(answer.headers['content-type'] ?? '');
  const headers = passedOn(answer.rawHeaders, http);
  const status = answer.statusCode ?? 200;
  if (!isJson || res.req.method === 'HEAD' || (id === undefined && http.rewrite.length === 0)) {
    res.writeHead(status, headers);
    res.flushHeaders();
    return pass(answer, res);
  }
  const start = await readStart(answer, JSON_BYTES);
  if (!start.isWhole) {
    res.writeHead(status, headers);
    res.write(start.start);
    return pass(answer, res);
  }
  const { body, job } = readAnswer(start.start, { http, id, url });
  if (job !== undefined) turn.job(job, using.name);
  res.writeHead(status, body === start.start ? headers : withLength(headers, body.length)).end(body);
}

/** Sends an error on as it is. With `rest`, no account is left, and asking again at once is no use. */
async function passError(
  answer: IncomingMessage,
  error: { body: Buffer; isWhole: boolean },
  res: ServerResponse,
  { using, route, rest }: Passing & { rest?: number },
): Promise<void> {
  const headers = passedOn(answer.rawHeaders, route.http);
  if (rest !== undefined) {
    headers.push('x-should-retry', 'false');
    if (rest > 0 && answer.headers['retry-after'] === undefined) headers.push('retry-after', String(rest));
  }
  const status = answer.statusCode ?? 500;
  if (!error.isWhole) {
    res.writeHead(status, headers);
    res.write(error.body);
    return pass(answer, res);
  }
  // an error may quote the key
  const body = hide(error.body, using, route);
  res.writeHead(status, body === error.body ? headers : withLength(headers, body.length)).end(body);
}

function hide(body: Buffer, { credentials }: Using, { http, placeholder }: Route): Buffer {
  const key = credentials[http.key_variable];
  const text = body.toString('latin1');
  return key && text.includes(key) ? Buffer.from(text.replaceAll(key, placeholder), 'latin1') : body;
}

/** An answer that breaks off breaks off for the program as well. */
async function pass(answer: IncomingMessage, res: ServerResponse): Promise<void> {
  await pipeline(answer, res).catch(() => res.destroy());
}

/** The first 64 KiB of an error's body, or what came of it in time. */
async function readError(answer: IncomingMessage): Promise<{ body: Buffer; isWhole: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const end = Date.now() + ERROR_MS;
  for (;;) {
    const chunk = answer.read() as Buffer | null;
    if (chunk) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= ERROR_BYTES) break;
    } else if (answer.readableEnded) return { body: Buffer.concat(chunks), isWhole: true };
    else if (answer.destroyed) break;
    else if (!(await isReadable(answer, end - Date.now()))) break;
  }
  return { body: Buffer.concat(chunks), isWhole: false };
}

/** Waits for more or the end, at most this long. */
function isReadable(answer: IncomingMessage, ms: number): Promise<boolean> {
  return new Promise(resolve => {
    const settle = (more: boolean) => () => {
      clearTimeout(timer);
      for (const event of ['readable', 'end', 'close', 'error']) answer.off(event, onMore);
      resolve(more);
    };
    const onMore = settle(true);
    const timer = setTimeout(settle(false), Math.max(0, ms));
    for (const event of ['readable', 'end', 'close', 'error']) answer.once(event, onMore);
  });
}

function withLength(headers: readonly string[], bytes: number): string[] {
  const kept = headers.flatMap((name, index) =>
    index % 2 === 0 && name.toLowerCase() !== 'content-length' ? [name, headers[index + 1]!] : [],
  );
  return [...kept, 'content-length', String(bytes)];
}
