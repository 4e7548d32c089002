// Sends a request to the provider with the key of an account.
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { HttpProvider } from '../catalog/catalog.ts';
import type { Using } from '../run/turn.ts';
import type { Plan } from '../store/plan.ts';
import { parseDuration } from '../system/duration.ts';
import type { Consumer } from './admit.ts';
import type { Consumers } from './consumers.ts';
import type { Ledger } from './ledger.ts';
import { baseOf, isForMcp, keyValue, passedOn, withKey, without } from './messages.ts';

/** Idle connections are closed before most providers close them, so that few requests use one that is closing. */
const IDLE_MS = 4_000;
/** Requests that change nothing when they are made twice (RFC 9110, 9.2.2). */
const SAFE = /^(?:GET|HEAD|OPTIONS)$/;

/** Headers that are made for each request to the provider. */
const OWN = /^(?:content-length|sec-websocket-.*)$/i;

/** Connections to a provider, by protocol. */
type Agents = Record<string, HttpAgent>;

/** Things that all requests of a gateway share. */
export interface Route {
  plan: Plan;
  http: HttpProvider;
  ledger: Ledger;
  agents: Agents;
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

/** The start of a message. */
export interface Start {
  bytes: Buffer;
  /** `bytes` is the whole message, which can be sent again. */
  isWhole: boolean;
}

/** The provider has no answer. Whether the request reached it decides whether a program may make it again. */
export class NoAnswer extends Error {
  readonly wasSent: boolean;

  constructor(cause: Error, wasSent: boolean) {
    super(cause.message, { cause });
    this.wasSent = wasSent;
  }
}

/** Connections to a provider, none of them open. */
export function newAgents(): Agents {
  const options = { keepAlive: true, timeout: IDLE_MS };
  return { 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) };
}

/** The key in use. */
export function keyOf({ using, route }: Passing): string {
  return using.credentials[route.http.key_variable] ?? '';
}

/** Begins a request, with the key of an account and without the headers that are not the provider's. */
export function ask(req: IncomingMessage, using: Using, route: Route, more: RequestOptions): ClientRequest {
  const { http, placeholder, agents } = route;
  const key = keyOf({ using, route });
  const target = req.url ?? '/';
  const base = baseOf(http, key, isForMcp(target, http, placeholder));
  const { protocol, host } = new URL(base);
  const headers = without(passedOn(req.rawHeaders, http), OWN);
  const path = withKey(target, placeholder, encodeURIComponent(key));
  headers.push('host', host, 'accept-encoding', 'identity');
  // a program that sends the key in the address sends no header
  if (path === target || req.headers[http.key_header] !== undefined) headers.push(http.key_header, keyValue(http, key));
  const agent = agents[protocol]!;
  const options = {
    agent,
    method: req.method,
    path,
    ...more,
    headers: [...headers, ...((more.headers as string[]) ?? [])],
  };
  return (protocol === 'https:' ? httpsRequest : httpRequest)(base, options);
}

/**
 * Sends a request whose body has begun.
 * @throws NoAnswer
 */
export async function send(
  req: IncomingMessage,
  start: Start,
  using: Using,
  route: Route & { signal: AbortSignal },
): Promise<IncomingMessage> {
  try {
    return await sendOnce(req, start, using, route);
  } catch (error) {
    const again = error instanceof NoAnswer && (!error.wasSent || isStale(error)) && SAFE.test(req.method ?? '');
    if (!again || !start.isWhole || route.signal.aborted) throw error;
    return await sendOnce(req, start, using, route);
  }
}

/** A connection that was kept has been closed by the provider. */
class Stale extends NoAnswer {}

function isStale(error: NoAnswer): boolean {
  return error instanceof Stale;
}

function sendOnce(
  req: IncomingMessage,
  start: Start,
  using: Using,
  route: Route & { signal: AbortSignal },
): Promise<IncomingMessage> {
  const { http, signal, placeholder } = route;
  const key = keyOf({ using, route });
  const bytes = start.isWhole
    ? Buffer.from(withKey(start.bytes.toString('latin1'), placeholder, key), 'latin1')
    : start.bytes;
  const headers: string[] = [];
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  if (start.isWhole && (length !== undefined || encoding !== undefined))
    headers.push('content-length', String(bytes.length));
  else if (length !== undefined) headers.push('content-length', length);
  else if (encoding !== undefined) headers.push('transfer-encoding', 'chunked');
  return new Promise((resolve, reject) => {
    let wasSent = false;
    const upstream = ask(req, using, route, { signal, headers });
    const limit = setTimeout(() => upstream.destroy(new Error('it took too long')), parseDuration(http.answer_within));
    upstream.on('response', answer => {
      clearTimeout(limit);
      // an answer that breaks off before it is read ends nothing else
      answer.on('error', () => {});
      resolve(answer);
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
      reject(stale ? new Stale(error, wasSent) : new NoAnswer(error, wasSent));
    });
    if (start.isWhole) upstream.end(bytes);
    else {
      upstream.write(bytes);
      // not `pipeline`: an early answer must still reach a program that is sending
      req.pipe(upstream);
    }
  });
}

/** Reads the start of a message, up to a limit; the rest stays in the stream. */
export async function readStart(message: IncomingMessage, limit: number): Promise<Start> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > limit) return { bytes: Buffer.concat(chunks), isWhole: false };
  }
  return { bytes: Buffer.concat(chunks), isWhole: true };
}
