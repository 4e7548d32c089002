// Fetches from a source that may be hostile: one address, no redirects, no encodings, and an end to bytes and to time.
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { authorities } from '../authorities.ts';
import { Refused } from './refused.ts';

export interface Limits {
  /** Without a byte for so long, in milliseconds, the fetch is given up. */
  stallMs: number;
  /** For the whole of manifest or signature, in milliseconds. */
  metadataMs: number;
  /** The slowest download that is waited for, in bytes per second, beyond `metadataMs`. */
  bytesPerSecond: number;
}
export const LIMITS: Limits = { stallMs: 15_000, metadataMs: 20_000, bytesPerSecond: 8_192 };

export interface Fetching {
  limits: Limits;
  signal: AbortSignal;
  env: NodeJS.ProcessEnv;
  /** What the source is told of this client. */
  agent: string;
}

/**
 * Fetches a small file whole.
 * @param most the size in bytes beyond which it is refused
 * @returns undefined when the source has no such file (404, 410)
 * @throws Refused
 */
export async function fetchSmall(url: URL, most: number, by: Fetching): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  const wanted = { most, totalMs: by.limits.metadataMs };
  const found = await receive(url, wanted, by, piece => void pieces.push(piece));
  return found ? Buffer.concat(pieces) : undefined;
}

/**
 * Fetches a file of a known size, piece by piece. Who takes the pieces is waited for.
 * @throws Refused, also when the source has no such file, or one of another size
 */
export async function fetchArtifact(
  url: URL,
  size: number,
  by: Fetching,
  take: (piece: Buffer) => void,
): Promise<void> {
  const totalMs = by.limits.metadataMs + (size / by.limits.bytesPerSecond) * 1_000;
  if (!(await receive(url, { most: size, exact: size, totalMs }, by, take)))
    throw new Refused('release-missing', `${url.href} is in the manifest, but the source does not have it.`);
}

interface Wanted {
  most: number;
  exact?: number;
  totalMs: number;
}

/** @returns whether there was such a file; false leaves `take` uncalled. */
async function receive(url: URL, { most, exact, totalMs }: Wanted, by: Fetching, take: (piece: Buffer) => void) {
  const secure = url.protocol === 'https:';
  if (!secure && !(url.protocol === 'http:' && LOOPBACK.has(url.hostname)))
    throw new Refused('source-insecure', `${url.origin} is neither https nor this machine.`);
  const { request } = secure ? await import('node:https') : await import('node:http');

  const ending = new AbortController();
  const giveUp = (why: Refused) => ending.abort(why);
  const stopped = () => giveUp(new Refused('stopped', 'The daemon is stopping.'));
  if (by.signal.aborted) stopped();
  by.signal.addEventListener('abort', stopped, { once: true });
  const { stallMs } = by.limits;
  const seconds = (ms: number) => `${Math.round(ms / 100) / 10} s`;
  const late = () => giveUp(new Refused('timeout', `${url.href} did not arrive within ${seconds(totalMs)}.`));
  const total = setTimeout(late, totalMs);
  const silent = () => giveUp(new Refused('stalled', `${url.origin} sent nothing for ${seconds(stallMs)}.`));
  const stall = setTimeout(silent, stallMs);

  let received = 0;
  let taking = false;
  let response: IncomingMessage | undefined;
  try {
    response = await head(request, url, {
      agent: false, // a connection of its own; and no proxy that a variable names
      headers: { 'accept-encoding': 'identity', 'user-agent': by.agent, connection: 'close' },
      maxHeaderSize: 16_384,
      signal: ending.signal,
      // said here, so that NODE_TLS_REJECT_UNAUTHORIZED says nothing
      ...(secure ? { ca: authorities(by.env), rejectUnauthorized: true } : {}),
      ...(url.hostname === 'localhost' ? { lookup: loopback } : {}),
    } as RequestOptions);
    if (!judge(url, response, most, exact)) return false;
    for await (const piece of response as AsyncIterable<Buffer>) {
      received += piece.length;
      if (received > most) throw tooLarge(url, most);
      stall.refresh();
      taking = true;
      take(piece);
      taking = false;
    }
    // a body that ends with the connection tells no truncation, so the size has to
    if (!response.complete || (exact !== undefined && received < exact)) throw truncated(url, received, exact);
    return true;
  } catch (error) {
    if (ending.signal.aborted) throw ending.signal.reason;
    if (error instanceof Refused || taking) throw error; // what the taker fails at is no fault of the source
    if (response && isNetwork(error) && !isNoHttp(error)) throw truncated(url, received, exact, error);
    throw isNetwork(error) ? unreached(url, error as NodeJS.ErrnoException) : error;
  } finally {
    clearTimeout(total);
    clearTimeout(stall);
    by.signal.removeEventListener('abort', stopped);
    response?.destroy();
  }
}

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** `localhost` is this machine whatever a resolver says. */
const loopback: RequestOptions['lookup'] = (_host, options, done) => {
  const found = { address: '127.0.0.1', family: 4 };
  if (options.all) (done as unknown as (e: null, all: object[]) => void)(null, [found, { address: '::1', family: 6 }]);
  else done(null, found.address, found.family);
};

function head(
  request: (url: URL, options: RequestOptions) => ClientRequest,
  url: URL,
  options: RequestOptions,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const call = request(url, options);
    let response: IncomingMessage | undefined;
    call.on('response', found => {
      response = found;
      resolve(found);
    });
    call.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Refused('response-malformed', `${url.origin} answered in another protocol.`));
    });
    // what breaks the protocol within a body is told here alone; the body only says that it was cut off
    call.on('error', error => (response ? response.destroy(error) : reject(error)));
    call.end();
  });
}

/** @returns whether the body is what was asked for; false when there is no such file. */
function judge(url: URL, { statusCode, headers }: IncomingMessage, most: number, exact: number | undefined): boolean {
  if (statusCode === 404 || statusCode === 410) return false;
  if (statusCode! >= 300 && statusCode! < 400)
    throw new Refused('redirected', `${url.origin} sends to another address (${place(headers.location)}).`);
  if (statusCode !== 200) throw new Refused('http-status', `${url.href} was answered with status ${statusCode}.`);
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new Refused('encoded', `${url.origin} sends in an encoding that was not asked for (${printable(encoding)}).`);
  if (headers['content-length'] === undefined) return true;
  const length = Number(headers['content-length']);
  if (length > most) throw tooLarge(url, most);
  if (exact !== undefined && length < exact) throw truncated(url, length, exact);
  return true;
}

function tooLarge(url: URL, most: number): Refused {
  return new Refused('too-large', `${url.href} is larger than ${most} bytes.`);
}

function truncated(url: URL, received: number, exact: number | undefined, cause?: unknown): Refused {
  const of = exact === undefined ? '' : ` of ${exact}`;
  return new Refused('truncated', `${url.href} ended after ${received}${of} bytes.`, cause);
}

function isNetwork(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).code === 'string';
}

function isNoHttp(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code!.startsWith('HPE_');
}

function unreached(url: URL, error: NodeJS.ErrnoException): Refused {
  const { code = '', message } = error;
  const why = printable(message || code); // an AggregateError of several addresses has a code alone
  if (isNoHttp(error))
    return new Refused('response-malformed', `${url.origin} does not answer in HTTP: ${why}.`, error);
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code))
    return new Refused('certificate-invalid', `The certificate of ${url.origin} is not trusted: ${why}.`, error);
  if (/^(EPROTO|ERR_SSL|ERR_TLS)/.test(code))
    return new Refused('tls-failed', `No secure connection to ${url.origin}: ${why}.`, error);
  return new Refused('network-failed', `${url.origin} can't be reached: ${why}.`, error);
}

function place(location: string | undefined): string {
  return location === undefined ? 'which it does not tell' : printable(location);
}

/** What a source says, on one line and not endless. */
function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, 200);
}
