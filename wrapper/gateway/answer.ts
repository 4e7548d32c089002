// Sends the provider's answer on to the program, without the key.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { HttpProvider } from '../catalog/catalog.ts';
import type { Turn } from '../run/turn.ts';
import { readStart, type Start } from '../system/read-start.ts';
import { hide, Mask } from './mask.ts';
import { atGateway, briefly, passedOn, type Refused, readAnswer, withLength, withRest } from './messages.ts';
import type { Room } from './room.ts';
import { keyOf, type Passing, type Route } from './upstream.ts';

const ERROR_BYTES = 65_536;
/** A page of Firecrawl has up to 10 MiB. A larger answer is passed on as it is. */
const JSON_BYTES = 16_777_216;
/** Size of the room in which answers are read, by all requests of a gateway together. */
export const ROOM_BYTES = 8 * JSON_BYTES;
/** This much of each answer needs no room, so that small answers never wait. */
const SMALL_BYTES = 65_536;
/** Time for the provider to send a large answer, and for the program to take it: a stalled one may not keep its room. */
const LARGE_MS = 300_000;
/** Length up to which copying a body costs less than writing it on its own. */
const ONE_WRITE_BYTES = 16_384;
/** Time for the rest of an error's body. */
const ERROR_MS = 5_000;

/** Answers in the gateway's own words. */
export function deny(res: ServerResponse, status: number, message: string): void {
  if (res.headersSent || res.destroyed) return void res.destroy();
  const body = JSON.stringify({ success: false, error: message });
  const own = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-should-retry': 'false',
  };
  res.writeHead(status, own).end(body);
}

/** Sends a good answer on: as it comes, or whole where the gateway has to read or change it. */
export async function passAnswer(
  answer: IncomingMessage,
  res: ServerResponse,
  {
    turn,
    using,
    route,
    creator,
    lowered,
  }: Passing & { turn: Turn; creator: HttpProvider['creators'][number] | undefined; lowered: string | undefined },
): Promise<void> {
  const { http, url, ledger } = route;
  const isJson = /^application\/json\b/i.test(answer.headers['content-type'] ?? '');
  const headers = headersOf(answer, { using, route });
  if (lowered !== undefined) headers.push('x-culvert-lowered', lowered);
  const status = answer.statusCode ?? 200;
  const isRead = isJson && res.req.method !== 'HEAD' && (creator !== undefined || http.rewrite.length > 0);
  const read = () => (isRead ? readJson(answer, res, route.room) : readStart(answer, SMALL_BYTES));
  // a small answer is often there as a whole
  const start = isRead || answer.complete ? await read() : undefined;
  if (!start?.isWhole) {
    res.writeHead(status, headers);
    return pass(answer, res, { using, route }, start?.bytes);
  }
  if (!isRead) {
    res.writeHead(status, headers);
    return end(res, hidden(start.bytes, { using, route }));
  }
  const { body, job } = readAnswer(start.bytes, { http, id: creator?.id, url });
  if (job !== undefined) {
    await turn.job(creator?.brief ? briefly(job) : job, using.name);
    // the program may ask immediately, and the gateway may be killed before its next write
    if (!creator?.brief) ledger.write();
  }
  const sent = hidden(body, { using, route });
  res.writeHead(status, body === start.bytes ? headers : withLength(headers, sent.length));
  end(res, sent);
}

/** Reads an answer whole, in its turn if it is large. What is too large, or takes too long, is not whole. */
async function readJson(answer: IncomingMessage, res: ServerResponse, room: Room): Promise<Start> {
  const start = await readStart(answer, SMALL_BYTES);
  const length = Number(answer.headers['content-length'] ?? JSON_BYTES);
  if (start.isWhole || length > JSON_BYTES) return start;
  await room.take(length, res);
  const rest = await readStart(answer, JSON_BYTES - start.bytes.length, LARGE_MS);
  res.setTimeout(LARGE_MS).once('drain', () => res.setTimeout(0));
  return { bytes: Buffer.concat([start.bytes, rest.bytes]), isWhole: rest.isWhole };
}

/** Sends an error on as it is. With `rest`, in seconds, no account is left, and asking again immediately is no use. */
export async function passError(
  answer: IncomingMessage,
  error: Start,
  res: ServerResponse,
  { using, route, rest }: Passing & { rest?: number },
): Promise<void> {
  const { status, headers, body } = refusedBy(answer, error, { using, route, rest });
  res.writeHead(status, headers);
  if (error.isWhole) end(res, body);
  else await pass(answer, res, { using, route }, error.bytes);
}

/**
 * An error of the provider for the program.
 * @param rest as for `passError`; the answer is then repeated when the pool has no account to ask with
 */
export function refusedBy(
  answer: IncomingMessage,
  error: Start,
  { using, route, rest }: Passing & { rest?: number | undefined },
): Refused {
  const status = answer.statusCode ?? 500;
  const headers = headersOf(answer, { using, route });
  const body = hidden(error.bytes, { using, route });
  if (rest === undefined) return { status, headers, body };
  if (route.plan.pool && error.isWhole) {
    // it may be for another program, which gets no placeholder but its own
    const kept = hide(error.bytes, Buffer.from(keyOf({ using, route })), '');
    const type = answer.headers['content-type'];
    route.ledger.lastRefused = { status, headers: type === undefined ? [] : ['content-type', type], body: kept };
  }
  return { status, headers: withRest(headers, rest), body };
}

/** The answer to a request for which there is no account: what the provider said last, where its accounts are all used up. */
export function refusedByPool({ ledger }: Route, { refusal, usedUp }: Turn): Refused {
  const own = { success: false, error: refusal || 'No account can be used.' };
  const last = usedUp === undefined ? undefined : ledger.lastRefused;
  const { status, headers, body } = last ?? {
    status: refusal ? 429 : 401,
    headers: ['content-type', 'application/json'],
    body: Buffer.from(JSON.stringify(own)),
  };
  return { status, headers: withRest(withLength(headers, body.length), usedUp ?? 0), body };
}

/** The first 64 KiB of an error's body, or what came of it in time. */
export function readError(answer: IncomingMessage): Promise<Start> {
  return readStart(answer, ERROR_BYTES, ERROR_MS);
}

/** Headers for the program. */
export function headersOf(answer: IncomingMessage, { using, route }: Passing): string[] {
  const { http, placeholder, url } = route;
  const key = keyOf({ using, route });
  const encoded = encodeURIComponent(key);
  const shown = (text: string) => (key ? text.replaceAll(key, placeholder).replaceAll(encoded, placeholder) : text);
  return passedOn(answer.rawHeaders, http).map((text, index, all) => {
    const own = shown(text);
    return index % 2 === 1 && /^location$/i.test(all[index - 1]!) ? (atGateway(own, http, url) ?? own) : own;
  });
}

/** Node writes a text together with the headers. */
function end(res: ServerResponse, body: Buffer): void {
  if (body.length > ONE_WRITE_BYTES) res.end(body);
  else res.end(body.toString('latin1'), 'latin1');
}

function hidden(body: Buffer, passing: Passing): Buffer {
  return hide(body, Buffer.from(keyOf(passing)), passing.route.placeholder);
}

/** An answer that breaks off breaks off for the program as well. */
async function pass(answer: IncomingMessage, res: ServerResponse, passing: Passing, start?: Buffer): Promise<void> {
  const mask = new Mask(keyOf(passing), passing.route.placeholder);
  if (start) mask.write(start);
  else if (answer.readableLength === 0) res.flushHeaders();
  await pipeline(answer, mask, res).catch(() => res.destroy());
}
