// Fetches files from a source that may be hostile: only from named hosts, unencoded, and within limits on size and time.
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { createSecureContext, type SecureContext } from 'node:tls';
import { authorities } from '../core/ca-certificates.ts';
import { errno, Failure } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import { networkFailure, wordMessage } from '../view/message.ts';
import { english } from '../view/translator.ts';
import { refused } from './errors.ts';

export interface Limits {
  /** Maximum time without a byte, in milliseconds. */
  stallMs: number;
  /** Maximum time for a small file, or the window in which an artifact's speed is measured, in milliseconds. */
  metadataMs: number;
  /** Minimum speed of an artifact in each window, in bytes per second. */
  bytesPerSecond: number;
}
/** Default limits. An AppImage of 80 MB takes at most 85 minutes. */
export const LIMITS: Limits = { stallMs: 15_000, metadataMs: 20_000, bytesPerSecond: 16_384 };

/** Options of a fetch. */
export interface Fetching extends Client {
  limits: Limits;
  signal: AbortSignal;
}

/**
 * Fetches a small file.
 * @param most maximum size in bytes
 * @returns the content, or undefined if the source does not have the file (404, 410)
 * @throws Failure
 */
export async function fetchSmall(url: URL, most: number, by: Fetching): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  const exists = await receive({ url, most, take: piece => void pieces.push(piece) }, by);
  return exists ? Buffer.concat(pieces) : undefined;
}

/**
 * Fetches a file of a known size, piece by piece.
 * @param take called with each piece; an error that it throws ends the fetch
 * @throws Failure, including when the source does not have the file or its size differs
 */
export async function fetchArtifact(
  url: URL,
  size: number,
  take: (piece: Buffer) => void,
  by: Fetching,
): Promise<void> {
  if (!(await receive({ url, most: size, exact: size, take }, by)))
    throw refused('release-missing', `${url.href} is in the manifest, but the source does not have it.`);
}

interface Wanted {
  url: URL;
  most: number;
  /** The exact size, if it is known. */
  exact?: number;
  take(piece: Buffer): void;
}

/** @returns false, without calling `take`, if the source does not have the file */
async function receive(wanted: Wanted, by: Fetching): Promise<boolean> {
  const watch = startWatch(wanted, by);
  const taker = { failed: false };
  let response: IncomingMessage | undefined;
  try {
    response = await open(wanted.url, watch.signal, by);
    if (!checkHead(wanted, response)) return false;
    await readBody(wanted, response, watch, taker);
    return true;
  } catch (error) {
    if (watch.signal.aborted) throw watch.signal.reason;
    if (error instanceof Failure || taker.failed) throw error; // an error of `take` is not the source's fault
    if (response && isNetwork(error) && !isNotHttp(error)) throw truncated(wanted, watch.received(), error);
    throw isNetwork(error) ? unreachable(wanted.url, error as NodeJS.ErrnoException) : error;
  } finally {
    watch.end();
    response?.destroy();
  }
}

async function readBody(wanted: Wanted, response: IncomingMessage, watch: Watch, taker: { failed: boolean }) {
  for await (const piece of response as AsyncIterable<Buffer>) {
    watch.arrived(piece.length);
    if (watch.received() > wanted.most) throw tooLarge(wanted);
    taker.failed = true;
    wanted.take(piece);
    taker.failed = false;
  }
  // the end of a connection does not reveal a truncated body, but the size does
  if (!response.complete || (wanted.exact !== undefined && watch.received() < wanted.exact))
    throw truncated(wanted, watch.received());
}

interface Watch {
  /** Aborted with a Failure as the reason. */
  signal: AbortSignal;
  arrived(bytes: number): void;
  received(): number;
  end(): void;
}

/** Starts a watch that aborts when the daemon stops, or when no data or too little data arrives in time. */
function startWatch({ url, exact }: Wanted, { limits, signal }: Fetching): Watch {
  const ending = new AbortController();
  const { stallMs, metadataMs, bytesPerSecond } = limits;
  const seconds = (ms: number) => `${Math.round(ms / 100) / 10} s`;
  const stopped = () => ending.abort(refused('stopped', 'The daemon is stopping.'));
  if (signal.aborted) stopped();
  signal.addEventListener('abort', stopped, { once: true });
  let received = 0;
  let before = 0;
  const perWindow = exact === undefined ? Number.POSITIVE_INFINITY : (bytesPerSecond * metadataMs) / 1_000;
  const window = setInterval(() => {
    if (received - before < perWindow) {
      const why =
        exact === undefined
          ? `did not arrive within ${seconds(metadataMs)}`
          : `arrives with less than ${bytesPerSecond} bytes per second`;
      ending.abort(refused('timeout', `${url.href} ${why}.`));
    }
    before = received;
  }, metadataMs);
  const stall = setTimeout(
    () => ending.abort(refused('stalled', `${url.origin} sent nothing for ${seconds(stallMs)}.`)),
    stallMs,
  );
  return {
    signal: ending.signal,
    arrived(bytes) {
      received += bytes;
      stall.refresh();
    },
    received: () => received,
    end() {
      clearInterval(window);
      clearTimeout(stall);
      signal.removeEventListener('abort', stopped);
    },
  };
}

/** @returns true if the body is the requested file, or false if the server does not have it */
function checkHead(wanted: Wanted, { statusCode, headers }: IncomingMessage): boolean {
  const { url, most, exact } = wanted;
  if (statusCode === 404 || statusCode === 410) return false;
  if (statusCode !== 200) throw refused('http-status', `${url.href} was answered with status ${statusCode}.`);
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw refused('encoded', `${url.origin} responded with an unsupported Content-Encoding (${shown(encoding)}).`);
  if (headers['content-length'] === undefined) return true;
  const length = Number(headers['content-length']);
  if (length > most) throw tooLarge(wanted);
  if (exact !== undefined && length < exact) throw truncated(wanted, length);
  return true;
}

function tooLarge({ url, most }: Wanted): Failure {
  return refused('too-large', `${url.href} is larger than ${most} bytes.`);
}

function truncated({ url, exact }: Wanted, received: number, cause?: unknown): Failure {
  const of = exact === undefined ? '' : ` of ${exact}`;
  return refused('truncated', `${url.href} ended after ${received}${of} bytes.`, cause);
}

/** Settings of requests. */
interface Client {
  env: NodeJS.ProcessEnv;
  /** The `User-Agent`. */
  agent: string;
  /** Hosts (`name` or `name:port`) that the source may redirect to. By default, redirects are refused. */
  redirectHosts?: readonly string[];
}

/** Maximum number of redirects. GitHub needs two to reach an asset, GitLab up to three. */
const MAX_REDIRECTS = 5;

/** Follows redirects only to allowed hosts. The signature protects the files from these hosts. */
async function open(first: URL, signal: AbortSignal, by: Client): Promise<IncomingMessage> {
  let url = first;
  for (let redirects = 0; ; redirects++) {
    const response = await requestOnce(url, signal, by);
    const next = redirectOf(url, response);
    if (next === null) return response;
    response.destroy();
    const allowed =
      next.url !== null &&
      by.redirectHosts?.includes(next.url.host) &&
      (next.url.protocol === 'https:' || url.protocol === 'http:');
    if (!allowed || redirects === MAX_REDIRECTS)
      throw refused('redirected', `${url.origin} redirects to another address (${next.shown}).`);
    url = next.url!;
  }
}

function redirectOf(url: URL, { statusCode = 0, headers }: IncomingMessage) {
  if (statusCode < 300 || statusCode >= 400) return null;
  const { location } = headers;
  if (location === undefined) return { url: null, shown: 'which it does not name' };
  return { url: URL.canParse(location, url.href) ? new URL(location, url) : null, shown: shown(location) };
}

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

type Request = (url: URL, options: RequestOptions) => ClientRequest;

async function requestOnce(url: URL, signal: AbortSignal, { env, agent }: Client): Promise<IncomingMessage> {
  const secure = url.protocol === 'https:';
  if (!secure && !(url.protocol === 'http:' && LOOPBACK.has(url.hostname)))
    throw refused('source-insecure', `${url.origin} is neither https nor this machine.`);
  const { request } = (secure ? await import('node:https') : await import('node:http')) as { request: Request };
  const options = {
    agent: false, // a separate connection, without proxies from environment variables
    headers: { 'accept-encoding': 'identity', 'user-agent': agent, connection: 'close' },
    maxHeaderSize: 16_384,
    signal,
    // overrides NODE_TLS_REJECT_UNAUTHORIZED
    ...(secure ? { secureContext: tlsContext(env), rejectUnauthorized: true } : {}),
    ...(url.hostname === 'localhost' ? { lookup: loopback } : {}),
  } as RequestOptions;
  return responseTo(request(url, options), url);
}

/** Resolves `localhost` to this machine without a resolver. */
const loopback: RequestOptions['lookup'] = (_host, options, done) => {
  const ipv4 = { address: '127.0.0.1', family: 4 };
  if (options.all) (done as unknown as (e: null, all: object[]) => void)(null, [ipv4, { address: '::1', family: 6 }]);
  else done(null, ipv4.address, ipv4.family);
};

function responseTo(call: ClientRequest, url: URL): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let response: IncomingMessage | undefined;
    call.on('response', incoming => {
      response = incoming;
      resolve(incoming);
    });
    call.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(refused('response-malformed', `${url.origin} answered in another protocol.`));
    });
    // only this event reports a protocol error in the body; without it, the body would just end
    call.on('error', error => (response ? response.destroy(error) : reject(error)));
    call.end();
  });
}

/** True for an error of the network or the protocol. */
function isNetwork(error: unknown): boolean {
  return typeof errno(error) === 'string';
}

/** True for an error of Node's HTTP parser. */
function isNotHttp(error: unknown): boolean {
  return errno(error)?.startsWith('HPE_') === true;
}

/** Returns the refusal for a network error. */
function unreachable(url: URL, error: NodeJS.ErrnoException): Failure {
  const { code = '', message } = error;
  const why = shown(message || code); // an AggregateError of several addresses has only a code
  if (isNotHttp(error)) return refused('response-malformed', `${url.origin} does not answer in HTTP: ${why}.`, error);
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code))
    return refused('certificate-invalid', `The certificate of ${url.origin} is not trusted: ${why}.`, error);
  if (/^(EPROTO|ERR_SSL|ERR_TLS)/.test(code))
    return refused('tls-failed', `No secure connection to ${url.origin}: ${why}.`, error);
  const failure = networkFailure(error, url.hostname);
  const what = failure ? `${wordMessage(failure, english)} (${code})` : why;
  return refused('network-failed', `${url.origin} can't be reached: ${what}.`, error);
}

/** Shortens a source's text to one line of at most 200 characters. */
function shown(text: string): string {
  return printable(text).slice(0, 200);
}

let cached: { list: string; context: SecureContext } | undefined;

/**
 * Returns a context that trusts this machine's certificate authorities. Requests share it until the list of authorities
 * changes, because each context takes 0.7 MB, which OpenSSL's allocator does not return.
 * @param env SSL_CERT_FILE can name another list
 */
export function tlsContext(env: NodeJS.ProcessEnv): SecureContext {
  const ca = authorities(env);
  const list = ca.join('\n');
  if (cached?.list !== list) cached = { list, context: createSecureContext({ ca }) };
  return cached.context;
}
