// Sends requests to the provider with an account's key.
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
import { baseOf, passedOn, pathOfBase, readStart, without } from './messages.ts';

/** Time for idle connections. Most providers close them later, so few requests use a closing connection. */
const IDLE_MS = 4_000;
/** Time to wait for a body of unknown length before its start is sent. Most bodies are complete by then. */
const PART_MS = 250;
/** Methods of requests that can be repeated without harm (RFC 9110, 9.2.2). */
const SAFE = /^(?:GET|HEAD|OPTIONS)$/;

const NO_BODY = Buffer.alloc(0);

/** Headers that the gateway sets for each request to the provider. */
const OWN = /^(?:content-length|sec-websocket-.*)$/i;

/** Data of a gateway and of the program that makes a request. */
export interface Route {
  plan: Plan;
  http: HttpProvider;
  ledger: Ledger;
  reach: Reach;
  /** The gateway's own address. */
  url: string;
  /** The placeholder in the program's request. */
  placeholder: string;
  consumer: Consumer;
  consumers: Consumers;
}

/** The account and the route of a request. */
export interface Passing {
  using: Using;
  route: Route;
}

/** A request's body, which is sent as it arrives, and is kept while it is small enough to be sent again. */
export class Body {
  /** True if `bytes` is the complete body. */
  isWhole = false;
  /** True if `bytes` is everything received so far. */
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
   * Reads a body up to the limit. Without a length, it waits only briefly, because the program may wait for an answer.
   * @param isNeeded true if the gateway must read the body, and so waits for all of it
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
   * Sends the received part, and then the rest as it arrives, until the body is sent again with another account.
   * @param onMore called for each further part
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
    // `pipeline` would keep an early answer from a program that is still sending
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

/** The error of a request without an answer. A program may repeat a request that was not sent. */
export class NoAnswer extends Error {
  readonly wasSent: boolean;
  /** `broken`: an answer came, but can't be passed on. `stale`: the provider had closed the kept connection. */
  readonly kind: 'broken' | 'stale' | undefined;

  constructor(cause: Error, wasSent: boolean, kind?: NoAnswer['kind']) {
    super(whyNot(cause), { cause });
    this.wasSent = wasSent;
    this.kind = kind;
  }
}

/** @throws NoAnswer for a compressed answer, which the gateway did not ask for, because it could hide a key */
export function checkEncoding({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding']?.trim();
  if (encoding && !/^identity$/i.test(encoding))
    throw new NoAnswer(new Error(`it is compressed, though "identity" was asked for`), true, 'broken');
}

const idleSince = new WeakMap<Duplex, number>();

/** The connections to a provider's addresses, which all requests share. */
export class Reach {
  readonly #kept: Connections;
  readonly #fresh: Connections;
  readonly #ways = new Map<string, Way & { host: string }>();
  readonly #now: () => number;

  /** @param env the caller's environment */
  constructor(env: NodeJS.ProcessEnv, now: () => number) {
    this.#kept = new Connections(env, { keepAlive: true, timeout: IDLE_MS });
    this.#fresh = new Connections(env);
    this.#now = now;
    for (const agent of this.#kept.agents) agent.on('free', socket => idleSince.set(socket, now()));
  }

  /**
   * Returns the way to an address of the provider.
   * @param isFresh true for a new connection
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

/** Closes connections that were idle during the machine's sleep, when no timer ran; the provider may have closed them. */
function closeOld({ freeSockets }: HttpAgent, now: number): void {
  for (const sockets of Object.values(freeSockets)) {
    // the oldest first
    for (const socket of sockets ?? []) {
      if (now - (idleSince.get(socket) ?? now) <= IDLE_MS) break;
      socket.destroy();
    }
  }
}

/** Returns the account's key. */
export function keyOf({ using, route }: Passing): string {
  return using.credentials[route.http.key_variable] ?? '';
}

/** Reports whether a request may contain a key besides the account's. */
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
 * Begins a request with the account's key, and with only the headers that may reach the provider.
 * @param more additional headers, with names and values in turn
 * @param isFresh true for a new connection
 * @throws NoAnswer if there is no way to the provider
 */
export function ask(req: IncomingMessage, passing: Passing, more: readonly string[], isFresh = false): ClientRequest {
  const { http, placeholder, reach } = passing.route;
  const key = keyOf(passing);
  const target = req.url ?? '/';
  const base = baseOf(http, key, isForMcp(target, http, placeholder));
  const { host, options, prefix, headers: ofProxy } = wayTo(reach, base, isFresh);
  const headers = without(passedOn(req.rawHeaders, http), OWN);
  const path = withKeyInAddress(target, http, placeholder, encodeURIComponent(key));
  headers.push('host', host, 'accept-encoding', 'identity');
  // a program that sends the key in the address sends no header
  if (path === target || req.headers[http.key_header] !== undefined) headers.push(http.key_header, keyValue(http, key));
  headers.push(...Object.entries(ofProxy).flat(), ...more);
  const begin = options.protocol === 'https:' ? httpsRequest : httpRequest;
  return begin({ ...options, method: req.method, path: `${prefix}${pathOfBase(base, http)}${path}`, headers });
}

function wayTo(reach: Reach, base: string, isFresh: boolean) {
  try {
    return reach.to(base, isFresh);
  } catch (error) {
    throw new NoAnswer(error as Error, false);
  }
}

/**
 * Sends a request with a body that has begun. The request ends if the program leaves.
 * @throws NoAnswer
 */
export async function send(res: ServerResponse, body: Body, passing: Passing): Promise<IncomingMessage> {
  const isSafe = SAFE.test(res.req.method ?? '');
  // a kept connection may have been closed in this turn, and Node notices in the next
  if (!isSafe) await setImmediate();
  try {
    return await sendOnce(res, body, passing);
  } catch (error) {
    const again = error instanceof NoAnswer && (!error.wasSent || error.kind === 'stale') && isSafe;
    if (!again || !body.isKept || res.destroyed) throw error;
    return await sendOnce(res, body, passing);
  }
}

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
    // each sent part restarts the timer
    const goOn = () => void limit.refresh();
    upstream.once('finish', goOn);
    upstream.on('response', answer => {
      clearTimeout(limit);
      // an answer may break off before it has a reader, which must not end the process
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
    // an error after the start of the answer also occurs on the answer
    upstream.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(limit);
      // the parser reports an answer that breaks the protocol, for example with two lengths
      if (error.code?.startsWith('HPE_')) return reject(new NoAnswer(error, true, 'broken'));
      const isStale = upstream.reusedSocket && error.code === 'ECONNRESET';
      reject(new NoAnswer(error, wasSent, isStale ? 'stale' : undefined));
    });
    if (text !== undefined) upstream.end(text, 'latin1');
    else body.sendTo(upstream, goOn);
  });
}
