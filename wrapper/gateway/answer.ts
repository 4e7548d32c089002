// Passes the provider's answer on to the program without the key.
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
/** Size up to which an answer that has fully arrived is sent with its length. */
const SMALL_BYTES = 65_536;
/** Length up to which copying a body costs less than a separate write. */
const ONE_WRITE_BYTES = 16_384;
/** Time for the rest of an error's body. */
const ERROR_MS = 5_000;

/**
 * Sends an error of the gateway.
 * @param isFinal true if the program must not repeat the request, because it may have been billed or nothing is left for it
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

/** Passes a successful answer on, as a stream or, if it is small enough, as a whole. */
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
  // a small answer has often fully arrived
  const start = isRead || answer.complete ? await readStart(answer, SMALL_BYTES) : undefined;
  if (!start?.isWhole) {
    res.writeHead(status, http.rewrite.length > 0 && isRead ? without(headers, /^content-length$/i) : headers);
    return pass(answer, res, { using, route, start: start?.bytes, reader: reading });
  }
  const body = reading ? Buffer.concat([await reading.write(start.bytes), reading.end()]) : start.bytes;
  res.writeHead(status, body.length === start.bytes.length ? headers : withLength(headers, body.length));
  end(res, hidden(body, { using, route }));
}

/** Data for finding the jobs in an answer. */
interface Finding {
  turn: Turn;
  creator?: Creator | undefined;
}

/** Reads a passing answer, and stores its findings before the answer reaches the program. */
export interface Reader {
  write(chunk: Buffer): Promise<Buffer>;
  end(): Buffer;
}

/** Replaces the provider's addresses in a JSON answer with the gateway's, and finds jobs. */
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
    // a brief job matters only for minutes, so the answer does not wait for it
    else void turn.job(briefly(job), using.name);
  }
  // the program may ask for the job immediately, and the gateway may be killed before its next write
  if (found.length > 0 && !creator?.brief) await route.ledger.stored();
}

/** The refusal of a request for which no account is left. */
interface Pause extends Refusal {
  isBilled: boolean;
}

/** Length of a limit in seconds up to which a program's own retries are useful. */
const SHORT_S = 60;

/** Returns the headers of an error after which no account is left. With a single account, they stay unchanged. */
function headersAfter(headers: string[], answer: IncomingMessage, pause: Pause, now: number): string[] {
  const { more, first } = pause;
  if (!more) return headers;
  const isShort =
    first && (first.seconds < SHORT_S || (first.class === 'rate' && !first.stated && first.seconds <= SHORT_S));
  // the program also needs a time from the body, or that of an account that is available sooner
  const own = Math.ceil(
    (waitUntil(firstToCome(inHeaders(answer.headers), now), now) ?? Number.POSITIVE_INFINITY) / 1_000,
  );
  const sooner = first?.stated && first.seconds < own ? first.seconds : undefined;
  if (pause.isBilled || !isShort) return withoutRetry(headers, sooner);
  // without the header, the program chooses its own wait
  if (sooner === undefined || answer.headers['retry-after'] === undefined) return headers;
  return [...without(headers, /^retry-after$/i), 'retry-after', String(sooner)];
}

/** Passes an error on. With `pause`, no account is left. */
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
 * Prepares the provider's error for the program.
 * @param pause see `passError`; until it ends, the error may be repeated when the pool has no account
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

/** Returns the answer when the pool has no account: the provider's last error if the accounts are used up, or an own error. */
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

/** Returns an error's code, which is a single word; a longer text may quote another program's request. */
function codeIn(body: Buffer): string | undefined {
  const value = parseJson(body.toString());
  const found = ['code', 'error.code', 'error'].map(path => at(value, path));
  return found.filter(isText).find(text => /^[A-Za-z]\w{0,63}$/.test(text));
}

/** Reads the first 64 KiB of an error's body, or the part that arrives in time. */
export function readError(answer: IncomingMessage): Promise<Start> {
  return readStart(answer, ERROR_BYTES, ERROR_MS);
}

/** Returns an answer's headers for the program. */
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

/** Ends an answer. Node writes a string, but not a buffer, together with the headers. */
function end(res: ServerResponse, body: Buffer): void {
  if (body.length > ONE_WRITE_BYTES) res.end(body);
  else res.end(body.toString('latin1'), 'latin1');
}

function hidden(body: Buffer, passing: Passing): Buffer {
  return hide(body, keyOf(passing), passing.route.placeholder);
}

/** Streams an answer to the program. If the answer breaks off, so does the program's. */
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
