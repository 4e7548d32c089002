// Fetches a small file from a server that may be hostile: over TLS, from one host, unencoded, and within limits on size and time.
import * as http from 'node:http';
import * as https from 'node:https';
import { errno, reason } from '../../daemon/core/errors.ts';
import { printable } from '../../daemon/core/printable.ts';
import { Connections } from '../system/connections.ts';
import { EXIT, WrapError } from '../system/errors.ts';

const LIMIT_MS = 30_000;
const MAX_REDIRECTS = 5;
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

interface Fetching {
  /** The caller's environment, for its proxy and its certificates. */
  env: NodeJS.ProcessEnv;
  /** Maximum size in bytes. */
  limit: number;
  /** Hosts besides the first one to which a redirect may lead. */
  redirectHosts?: readonly string[];
  limitMs?: number;
}

/**
 * Fetches a file with the caller's proxy and certificates. A redirect stays with https and the same host, or a host of the list.
 * @throws WrapError `address-insecure`, `redirected`, `fetch-failed`
 */
export async function fetchFile(address: URL, by: Fetching): Promise<Buffer> {
  const connections = new Connections(by.env);
  const ending = AbortSignal.timeout(by.limitMs ?? LIMIT_MS);
  try {
    let url = address;
    for (let redirects = 0; ; redirects++) {
      assertSecure(url);
      const response = await requestOnce(url, connections, ending);
      const next = redirectOf(url, response);
      if (next === undefined) return await bodyOf(url, response, by.limit);
      response.destroy();
      const isAllowed =
        next.protocol === url.protocol &&
        (next.host === address.host || by.redirectHosts?.includes(next.host) === true);
      if (!isAllowed || redirects === MAX_REDIRECTS)
        throw failed(
          'redirected',
          `${url.origin} redirects to ${printable(next.origin).slice(0, 200)}, which is not followed`,
        );
      url = next;
    }
  } catch (error) {
    if (error instanceof WrapError) throw error;
    const why = ending.aborted
      ? `it took more than ${(by.limitMs ?? LIMIT_MS) / 1000} s`
      : printable(reason(error) || (errno(error) ?? ''));
    throw failed('fetch-failed', `${address.origin} can't be asked: ${why.slice(0, 200)}`, error);
  } finally {
    connections.close();
  }
}

function assertSecure({ protocol, hostname, origin, username, password }: URL): void {
  if (username !== '' || password !== '')
    throw failed('address-insecure', 'the address has a login, which would stand in the list of processes');
  if (protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname))) return;
  throw failed('address-insecure', `${protocol === 'http:' ? origin : protocol} is neither https nor this machine`);
}

function requestOnce(url: URL, connections: Connections, signal: AbortSignal): Promise<http.IncomingMessage> {
  const { options, prefix, headers } = connections.to(url);
  const fetcher = options.protocol === 'https:' ? https : http;
  const all = { Host: url.host, 'accept-encoding': 'identity', 'user-agent': 'culvert-wrap', ...headers };
  const path = `${prefix}${url.pathname}${url.search}`;
  return new Promise((resolve, reject) => {
    const request = fetcher.get({ ...options, path, headers: all, maxHeaderSize: 16_384, signal }, resolve);
    request.on('error', reject);
    request.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Error('it answered in another protocol'));
    });
  });
}

function redirectOf(url: URL, { statusCode = 0, headers: { location } }: http.IncomingMessage): URL | undefined {
  if (statusCode < 300 || statusCode >= 400) return undefined;
  if (location === undefined || !URL.canParse(location, url.href))
    throw failed('redirected', `${url.origin} redirects without an address`);
  return new URL(location, url);
}

async function bodyOf(url: URL, response: http.IncomingMessage, limit: number): Promise<Buffer> {
  const { statusCode, headers } = response;
  const { 'content-encoding': encoding = 'identity', 'content-length': length } = headers;
  const fail = (why: string) => {
    response.destroy();
    return failed('fetch-failed', `${url.origin} ${why}`);
  };
  if (statusCode !== 200) throw fail(`answered with status ${statusCode}`);
  if (encoding.toLowerCase() !== 'identity') throw fail('sent an encoded file');
  const tooLarge = `sent more than ${limit} bytes`;
  if (Number(length ?? 0) > limit) throw fail(tooLarge);
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > limit) throw fail(tooLarge);
    pieces.push(piece);
  }
  if (!response.complete) throw fail('sent a part of the file only');
  return Buffer.concat(pieces);
}

function failed(code: string, why: string, cause?: unknown): WrapError {
  return new WrapError(code, EXIT.unavailable, why, {
    hint: 'nothing was changed; name another address, or a file that you have fetched',
    cause,
  });
}
