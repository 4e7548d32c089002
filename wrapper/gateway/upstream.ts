// Sends a request to the provider with the key of an account.
import {
  type ClientRequest,
  type Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { HttpProvider } from '../catalog/programs.ts';
import type { Using } from '../run/turn.ts';
import type { Plan } from '../store/plan.ts';
import { Connections, type Way } from '../system/connections.ts';
import { parseDuration } from '../system/notation.ts';
import { whyNot } from '../system/proxy.ts';
import type { Consumer } from './admit.ts';
import type { Consumers } from './consumers.ts';
import { isForMcp, keyValue, mayHoldOtherKey, withKeyInAddress, withKeyInBody } from './key-places.ts';
import type { Ledger } from './ledger.ts';
import { baseOf, passedOn, readStart, without } from './messages.ts';

/** Idle connections are closed before most providers close them, so that few requests use a closing connection. */
const IDLE_MS = 4_000;
/** Time for a body whose length is not said, before its start goes out: most are whole by then. */
const PART_MS = 250;
/** Requests that change nothing when they are made twice (RFC 9110, 9.2.2). */
const SAFE = /^(?:GET|HEAD|OPTIONS)$/;

const NO_BODY = Buffer.alloc(0);

/** Headers that are made for each request to the provider. */
const OWN = /^(?:content-length|sec-websocket-.*)$/i;

/** Things that all requests of a gateway share. */
export interface Route {
  plan: Plan;
  http: HttpProvider;
  ledger: Ledger;
  reach: Reach;
  /** The gateway's own address. */
  url: string;
  /** The placeholder with which the program came. */
  placeholder: string;
  consumer: Consumer;
  consumers: Consumers;
}

/** A request, and the account that it goes out with. */
export interface Passing {
  using: Using;
  route: Route;
}

/** The body of a request: it goes out as it comes, and is kept while it is small enough to be sent again. */
export class Body {
  /** `bytes` is all of it. */
  isWhole = false;
  /** `bytes` is all that has come. */
  isKept = true;
  readonly #req: IncomingMessage;
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #size = 0;
  #stop = () => {};

  private constructor(req: IncomingMessage, limit: number) {
    this.#req = req;
    this.#limit = limit;
  }

  /**
   * Reads a body as far as it is kept. A program that sends no length may wait for an answer to the first part.
   * @param isNeeded the gateway has to read the body, so it waits for all of it
   */
  static async read(req: IncomingMessage, limit: number, isNeeded: boolean): Promise<Body> {
    const body = new Body(req, limit);
    const ms = isNeeded || req.headers['transfer-encoding'] === undefined ? undefined : PART_MS;
    const { bytes, isWhole } = await readStart(req, limit, ms);
    body.#chunks = [bytes];
    body.#size = bytes.length;
    body.isKept = body.#size <= limit;
    body.isWhole = isWhole;
    return body;
  }

  get bytes(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]!;
  }

  /**
   * Sends the received part and the rest as it comes, until the body is sent to another account.
   * @param onMore called for each part that goes up
   */
  sendTo(upstream: ClientRequest, onMore: () => void): void {
    this.#stop();
    upstream.write(this.bytes);
    if (!this.isKept) this.#chunks = [];
    const keep = (chunk: Buffer) => {
      onMore();
      this.#keep(chunk);
    };
    const end = () => {
      this.isWhole = this.isKept;
    };
    // not `pipeline`: an early answer must still reach a program that is sending
    this.#req.on('data', keep).once('end', end).pipe(upstream);
    this.#stop = () => void this.#req.off('data', keep).off('end', end).unpipe(upstream).pause();
  }

  #keep(chunk: Buffer): void {
    this.#size += chunk.length;
    this.isKept = this.#size <= this.#limit;
    if (this.isKept) this.#chunks.push(chunk);
    else this.#chunks = [];
  }
}

/** The provider has no answer. Whether the request reached it decides whether a program may make it again. */
export class NoAnswer extends Error {
  readonly wasSent: boolean;

  constructor(cause: Error, wasSent: boolean) {
    super(whyNot(cause), { cause });
    this.wasSent = wasSent;
  }
}

/** The provider answered a request with what can't be read, or must not be passed on unread. */
export class BrokenAnswer extends NoAnswer {}

/** @throws BrokenAnswer for an answer that is compressed although that was not asked for: it could hide a key */
export function checkEncoding({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding']?.trim();
  if (encoding && !/^identity$/i.test(encoding))
    throw new BrokenAnswer(new Error(`it is compressed, though "identity" was asked for`), true);
}

/** An answer that breaks the protocol, for example with two lengths or too many headers, ends in an error of the parser. */
function failed(error: NodeJS.ErrnoException, wasSent: boolean): NoAnswer {
  return error.code?.startsWith('HPE_') ? new BrokenAnswer(error, true) : new NoAnswer(error, wasSent);
}

const idleSince = new WeakMap<Duplex, number>();

/** The ways to a provider's addresses: there are few, and each request needs one. */
export class Reach {
  readonly #kept: Connections;
  readonly #fresh: Connections;
  readonly #ways = new Map<string, Way & { host: string }>();
  readonly #now: () => number;

  /** @param env that of the caller */
  constructor(env: NodeJS.ProcessEnv, now: () => number) {
    this.#kept = new Connections(env, { keepAlive: true, timeout: IDLE_MS });
    this.#fresh = new Connections(env);
    this.#now = now;
    for (const agent of this.#kept.agents) agent.on('free', socket => idleSince.set(socket, now()));
  }

  /**
   * The way to an address of the provider.
   * @param isFresh over a connection that no other request has used
   */
  to(base: string, isFresh: boolean): Way & { host: string } {
    const name = `${isFresh} ${base}`;
    const way = this.#ways.get(name) ?? this.#find(base, isFresh);
    this.#ways.set(name, way);
    if (!isFresh) closeOld(way.options.agent as HttpAgent, this.#now());
    return way;
  }

  close(): void {
    this.#kept.close();
    this.#fresh.close();
  }

  #find(base: string, isFresh: boolean): Way & { host: string } {
    const url = new URL(base);
    return { ...(isFresh ? this.#fresh : this.#kept).to(url), host: url.host };
  }
}

/** Closes connections that were idle while the machine slept: timers stood still, and the other end may be gone. */
function closeOld({ freeSockets }: HttpAgent, now: number): void {
  for (const sockets of Object.values(freeSockets)) {
    // the oldest first
    for (const socket of sockets ?? []) {
      if (now - (idleSince.get(socket) ?? now) <= IDLE_MS) break;
      socket.destroy();
    }
  }
}

/** The key in use. */
export function keyOf({ using, route }: Passing): string {
  return using.credentials[route.http.key_variable] ?? '';
}

/** Reports whether the provider may have found another key in a request than the account's. */
export function hasOtherKey(req: IncomingMessage, passing: Passing, body?: Body): boolean {
  const { http, placeholder } = passing.route;
  const bytes = body ? body.bytes : NO_BODY;
  return mayHoldOtherKey(req, {
    body: body?.isWhole === false ? undefined : bytes,
    http,
    placeholder,
    key: keyOf(passing),
  });
}

/**
 * Begins a request, with the key of an account and without the headers that are not the provider's.
 * @param more headers of this request only, names and values in turn
 * @param isFresh it gets its own connection
 * @throws NoAnswer where no way leads to the provider
 */
export function ask(req: IncomingMessage, passing: Passing, more: readonly string[], isFresh = false): ClientRequest {
  const { http, placeholder, reach } = passing.route;
  const key = keyOf(passing);
  const target = req.url ?? '/';
  const {
    host,
    options,
    prefix,
    headers: ofProxy,
  } = wayTo(reach, baseOf(http, key, isForMcp(target, http, placeholder)), isFresh);
  const headers = without(passedOn(req.rawHeaders, http), OWN);
  const path = withKeyInAddress(target, http, placeholder, encodeURIComponent(key));
  headers.push('host', host, 'accept-encoding', 'identity');
  // a program that sends the key in the address sends no header
  if (path === target || req.headers[http.key_header] !== undefined) headers.push(http.key_header, keyValue(http, key));
  headers.push(...Object.entries(ofProxy).flat(), ...more);
  const begin = options.protocol === 'https:' ? httpsRequest : httpRequest;
  return begin({ ...options, method: req.method, path: `${prefix}${path}`, headers });
}

function wayTo(reach: Reach, base: string, isFresh: boolean) {
  try {
    return reach.to(base, isFresh);
  } catch (error) {
    throw new NoAnswer(error as Error, false);
  }
}

/**
 * Sends a request whose body has begun. It ends with the answer to the program.
 * @throws NoAnswer
 */
export async function send(res: ServerResponse, body: Body, passing: Passing): Promise<IncomingMessage> {
  const isSafe = SAFE.test(res.req.method ?? '');
  // the end of a kept connection may have arrived together with this request, and is read first
  if (!isSafe) await setImmediate();
  try {
    return await sendOnce(res, body, passing);
  } catch (error) {
    const again = error instanceof NoAnswer && (!error.wasSent || error instanceof Stale) && isSafe;
    if (!again || !body.isKept || res.destroyed) throw error;
    return await sendOnce(res, body, passing);
  }
}

/** A connection that was kept has been closed by the provider. */
class Stale extends NoAnswer {}

function sendOnce(res: ServerResponse, body: Body, passing: Passing): Promise<IncomingMessage> {
  const { req } = res;
  const { http } = passing.route;
  const key = keyOf(passing);
  const text = body.isWhole ? withKeyInBody(body.bytes, http, key).toString('latin1') : undefined;
  const headers: string[] = [];
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  if (text !== undefined && (length !== undefined || encoding !== undefined))
    headers.push('content-length', String(text.length));
  else if (length !== undefined) headers.push('content-length', length);
  else if (encoding !== undefined) headers.push('transfer-encoding', 'chunked');
  return new Promise((resolve, reject) => {
    let wasSent = false;
    const upstream = ask(req, passing, headers);
    const leave = () => void (res.writableFinished || upstream.destroy(new Error('the program has left')));
    res.once('close', leave);
    upstream.once('close', () => res.off('close', leave));
    const limit = setTimeout(() => upstream.destroy(new Error('it took too long')), parseDuration(http.answer_within));
    // the time begins with the last byte that goes up
    const goOn = () => void limit.refresh();
    upstream.once('finish', goOn);
    upstream.on('response', answer => {
      clearTimeout(limit);
      // an answer that breaks off before it is read ends nothing else
      answer.on('error', () => {});
      try {
        checkEncoding(answer);
        resolve(answer);
      } catch (error) {
        answer.destroy();
        reject(error);
      }
    });
    upstream.on('socket', socket => {
      const connected = () => {
        wasSent = true;
      };
      if (!socket.connecting) connected();
      else socket.once(upstream.protocol === 'https:' ? 'secureConnect' : 'connect', connected);
    });
    // an error after the answer has begun arrives at the answer as well
    upstream.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(limit);
      const stale = upstream.reusedSocket && error.code === 'ECONNRESET';
      reject(stale ? new Stale(error, wasSent) : failed(error, wasSent));
    });
    if (text !== undefined) upstream.end(text, 'latin1');
    else body.sendTo(upstream, goOn);
  });
}
