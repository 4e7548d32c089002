// Sends the provider's answer on to the program, without the key.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { isText } from '../../daemon/core/shape.ts';
import type { HttpProvider } from '../catalog/programs.ts';
import { at, parseJson } from '../run/rules/classify.ts';
import { inHeaders } from '../run/rules/http-errors.ts';
import { firstToCome, waitUntil } from '../run/rules/moments.ts';
import type { Refusal, Turn } from '../run/turn.ts';
import { formsOf } from '../system/redact.ts';
import { JsonPass } from './json-pass.ts';
import { hide, Mask } from './mask.ts';
import {
  atGateway,
  briefly,
  passedOn,
  type Refused,
  readStart,
  type Start,
  withLength,
  without,
  withoutRetry,
} from './messages.ts';
import { keyOf, type Passing, type Route } from './upstream.ts';

type Creator = HttpProvider['creators'][number];

const ERROR_BYTES = 65_536;
/** An answer of this size that is there as a whole is sent with its length. */
const SMALL_BYTES = 65_536;
/** Length up to which copying a body costs less than a separate write. */
const ONE_WRITE_BYTES = 16_384;
/** Time for the rest of an error's body. */
const ERROR_MS = 5_000;

/**
 * Answers in the gateway's own words.
 * @param isFinal a program must not make the request again: it may have been billed, or nothing is left for it
 */
export function deny(res: ServerResponse, status: number, message: string, isFinal = false): void {
  if (res.headersSent || res.destroyed) return void res.destroy();
  const body = JSON.stringify({ success: false, error: message });
  const own = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(isFinal && { 'x-should-retry': 'false' }),
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
    reader,
    lowered,
  }: Passing & Finding & { reader?: Reader; lowered?: string | undefined },
): Promise<void> {
  const { http } = route;
  const isJson = /^application\/json\b/i.test(answer.headers['content-type'] ?? '');
  const headers = headersOf(answer, { using, route });
  if (lowered !== undefined) headers.push('x-culvert-lowered', lowered);
  const status = answer.statusCode ?? 200;
  const isRead = isJson && !reader && res.req.method !== 'HEAD' && (creator !== undefined || http.rewrite.length > 0);
  const reading = isRead ? jsonReader({ turn, using, route, creator }) : reader;
  // a small answer is often there as a whole
  const start = isRead || answer.complete ? await readStart(answer, SMALL_BYTES) : undefined;
  if (!start?.isWhole) {
    res.writeHead(status, http.rewrite.length > 0 && isRead ? without(headers, /^content-length$/i) : headers);
    return pass(answer, res, { using, route, start: start?.bytes, reader: reading });
  }
  const body = reading ? Buffer.concat([await reading.write(start.bytes), reading.end()]) : start.bytes;
  res.writeHead(status, body.length === start.bytes.length ? headers : withLength(headers, body.length));
  end(res, hidden(body, { using, route }));
}

/** Means to find the jobs in an answer. */
interface Finding {
  turn: Turn;
  creator?: Creator | undefined;
}

/** Reads an answer that passes, and stores its findings before the answer goes out. */
export interface Reader {
  write(chunk: Buffer): Promise<Buffer>;
  end(): Buffer;
}

/** Turns the provider's addresses in a JSON answer to the gateway. */
function jsonReader(finding: Passing & Finding): Reader {
  const { route, creator } = finding;
  const { http, url } = route;
  const found: string[] = [];
  const json = new JsonPass([...http.rewrite, ...(creator ? [creator.id] : [])], (path, value) => {
    if (path === creator?.id && value !== '') found.push(value);
    return http.rewrite.includes(path) ? atGateway(value, http, url) : undefined;
  });
  const write = async (chunk: Buffer) => {
    const passed = json.write(chunk);
    await keepJobs(found.splice(0), finding);
    return passed;
  };
  return { write, end: () => json.end() };
}

/** Stores the jobs of an answer with its account. */
export async function keepJobs(
  found: readonly string[],
  { turn, using, route, creator }: Passing & Finding,
): Promise<void> {
  for (const job of found) {
    if (!creator?.brief) await turn.job(job, using.name);
    // an answer does not wait for what matters for minutes
    else void turn.job(briefly(job), using.name);
  }
  // the program may ask immediately, and the gateway may be killed before its next write
  if (found.length > 0 && !creator?.brief) await route.ledger.stored();
}

/** Why the provider makes no request with any account. */
interface Pause extends Refusal {
  isBilled: boolean;
}

/** A program's own retries outlast a shorter limit. */
const SHORT_S = 60;

/** Headers of an error after which no account is left. Of an account that is the only one, nothing is changed. */
function headersAfter(headers: string[], answer: IncomingMessage, pause: Pause, now: number): string[] {
  const { more, first } = pause;
  if (!more) return headers;
  const isShort =
    first && (first.seconds < SHORT_S || (first.class === 'rate' && !first.stated && first.seconds <= SHORT_S));
  // a time of the body is one for the program as well, and so is that of an account that is of use again sooner
  const own = Math.ceil(
    (waitUntil(firstToCome(inHeaders(answer.headers), now), now) ?? Number.POSITIVE_INFINITY) / 1_000,
  );
  const sooner = first?.stated && first.seconds < own ? first.seconds : undefined;
  if (pause.isBilled || !isShort) return withoutRetry(headers, sooner);
  // an answer without the header leaves the wait to the program, whatever else names a time
  if (sooner === undefined || answer.headers['retry-after'] === undefined) return headers;
  return [...without(headers, /^retry-after$/i), 'retry-after', String(sooner)];
}

/** Sends an error on as it is. With a pause no account is left. */
export async function passError(
  answer: IncomingMessage,
  error: Start,
  res: ServerResponse,
  { using, route, pause }: Passing & { pause?: Pause },
): Promise<void> {
  const { status, headers, body } = refusedBy(answer, error, { using, route, pause });
  res.writeHead(status, headers);
  if (error.isWhole) end(res, body);
  else await pass(answer, res, { using, route, start: error.bytes });
}

/**
 * An error of the provider for the program.
 * @param pause as for `passError`; during it, the answer is repeated when the pool has no account to ask with
 */
export function refusedBy(
  answer: IncomingMessage,
  error: Start,
  { using, route, pause }: Passing & { pause?: Pause | undefined },
): Refused {
  const { plan, ledger, consumer } = route;
  const status = answer.statusCode ?? 500;
  const headers = headersOf(answer, { using, route });
  const body = hidden(error.bytes, { using, route });
  if (!pause) return { status, headers, body };
  const { verdict, first } = pause;
  if (plan.pool && error.isWhole) {
    const type = answer.headers['content-type'];
    const until = first && ledger.context.now() + first.seconds * 1_000;
    const own = type === undefined ? [] : ['content-type', type];
    const isStated = first?.stated ?? false;
    ledger.lastRefused = { status, headers: own, body, consumer, class: verdict.class, until, isStated };
  }
  return { status, headers: headersAfter(headers, answer, pause, ledger.context.now()), body };
}

/** The answer to a request for which there is no account: what the provider said last, where its accounts are all used up. */
export function refusedByPool({ ledger, consumer }: Route, turn: Turn): Refused {
  const { refusal, usedUp } = turn.parts.leases;
  const { ms = 0, classes = [] } = usedUp ?? {};
  const seconds = Math.ceil(ms / 1_000);
  const { lastRefused } = ledger;
  const isOver = (lastRefused?.until ?? Number.POSITIVE_INFINITY) <= ledger.context.now();
  const last = lastRefused && !isOver && classes.includes(lastRefused.class) ? lastRefused : undefined;
  const own = { success: false, error: refusal || 'No account can be used.', code: last && codeIn(last.body) };
  const ownAnswer = { headers: ['content-type', 'application/json'], body: Buffer.from(JSON.stringify(own)) };
  const { headers, body } = last?.consumer.digest.equals(consumer.digest) ? last : ownAnswer;
  const status = last?.status ?? (refusal ? 429 : 401);
  const sized = withLength(headers, body.length);
  const isShort = !usedUp || (seconds > 0 && seconds <= SHORT_S && classes.includes('rate'));
  const named = last?.until && last.isStated ? Math.ceil((last.until - ledger.context.now()) / 1_000) : undefined;
  return { status, headers: isShort ? sized : withoutRetry(sized, named), body };
}

/** The one word by which an error is known: other texts may quote the request of another program. */
function codeIn(body: Buffer): string | undefined {
  const value = parseJson(body.toString());
  const found = ['code', 'error.code', 'error'].map(path => at(value, path));
  return found.filter(isText).find(text => /^[A-Za-z]\w{0,63}$/.test(text));
}

/** The first 64 KiB of an error's body, or what came of it in time. */
export function readError(answer: IncomingMessage): Promise<Start> {
  return readStart(answer, ERROR_BYTES, ERROR_MS);
}

/** Headers for the program. */
export function headersOf(answer: IncomingMessage, { using, route }: Passing): string[] {
  const { http, placeholder, url } = route;
  const key = keyOf({ using, route });
  const forms = key ? formsOf(key) : [];
  const shown = (text: string) => forms.reduce((rest, form) => rest.replaceAll(form, placeholder), text);
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
  return hide(body, keyOf(passing), passing.route.placeholder);
}

/** An answer that breaks off breaks off for the program as well. */
async function pass(
  answer: IncomingMessage,
  res: ServerResponse,
  { start, reader, ...passing }: Passing & { start?: Buffer | undefined; reader?: Reader | undefined },
): Promise<void> {
  const mask = new Mask(keyOf(passing), passing.route.placeholder);
  if (start) mask.write(reader ? await reader.write(start) : start);
  else if (answer.readableLength === 0) res.flushHeaders();
  const source = reader ? readWith(reader, answer) : answer;
  await pipeline(source, mask, res).catch(() => res.destroy());
}

async function* readWith(reader: Reader, answer: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of answer) yield await reader.write(chunk);
  yield reader.end();
}
