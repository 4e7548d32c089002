// Asks the vendor's trace page, directly or through the local proxy, to verify that traffic leaves through the tunnel.
import { request as httpRequest } from 'node:http';
import { connect, isIP, isIPv4, isIPv6, type Socket } from 'node:net';
import type { Message } from '../api/values.ts';
import { bytesOf } from '../core/address.ts';
import { authorities } from '../core/ca-certificates.ts';
import { message, networkFailure } from '../view/message.ts';

export interface Trace {
  /** True if the page answered `warp=on` or `warp=plus`. */
  through: boolean;
  /** True if the page said whether the tunnel was used. */
  answered: boolean;
  /** Result to show, without `address`. */
  seen: Message;
  /** The system's message about a network failure, for the log. */
  error: string | null;
  /** Client address and data center (IATA code) that the page reported; null if not reported. */
  address: string | null;
  dataCenter: string | null;
}

const LIMIT_MS = 15_000;
const BODY_BYTES = 16 * 1024;

/**
 * Asks a trace page whether the request came through the tunnel. Never rejects.
 * @param url https, or http on this machine (config `warp.traceUrl`)
 * @param env see `authorities`
 * @param port port of the SOCKS5 proxy on 127.0.0.1 (every release speaks SOCKS5); null to ask without a proxy
 */
export async function traceThrough(
  port: number | null,
  url: string,
  env: NodeJS.ProcessEnv,
  limitMs = LIMIT_MS,
): Promise<Trace> {
  try {
    const body = await fetchText(port, new URL(url), env, AbortSignal.timeout(limitMs));
    const warp = /^warp=(\S+)$/m.exec(body)?.[1];
    if (warp === undefined) return unanswered(message('%s did not say whether the tunnel was used', url));
    const address = /^ip=(\S+)$/m.exec(body)?.[1] ?? '';
    return {
      through: warp === 'on' || warp === 'plus',
      answered: true,
      seen: message('%s saw warp=%s', url, warp),
      error: null,
      address: isIP(address) ? address : null,
      dataCenter: /^colo=([A-Z]{3})$/m.exec(body)?.[1] ?? null,
    };
  } catch (error) {
    const { message: why, name } = error as Error;
    const late = name === 'TimeoutError' || name === 'AbortError';
    if (late) return unanswered(message('%s gave no answer within %s s', url, String(limitMs / 1000)));
    const failure = networkFailure(error, port === null ? new URL(url).hostname : `127.0.0.1:${port}`);
    if (failure) return unanswered(failure, why);
    return unanswered(
      port === null
        ? message('%s could not be read: %s', url, why)
        : message('%s could not be read through the proxy: %s', url, why),
    );
  }
}

function unanswered(seen: Message, error: string | null = null): Trace {
  return { through: false, answered: false, seen, error, address: null, dataCenter: null };
}

async function fetchText(port: number | null, url: URL, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<string> {
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const hostPort = Number(url.port || (secure ? 443 : 80));
  const tcp =
    port === null ? await openDirectly(host, hostPort, signal) : await throughSocks(port, host, hostPort, signal);
  try {
    const socket = secure
      ? (await import('node:tls')).connect({
          socket: tcp,
          ...(isIPv4(host) || isIPv6(host) ? {} : { servername: host }),
          ALPNProtocols: ['http/1.1'],
          ca: authorities(env),
          rejectUnauthorized: true, // regardless of NODE_TLS_REJECT_UNAUTHORIZED
        })
      : tcp;
    return await new Promise<string>((resolve, reject) => {
      const call = httpRequest(
        {
          path: url.pathname + url.search,
          headers: { host: url.host, connection: 'close' },
          createConnection: () => socket,
          signal,
        },
        response => {
          if (response.statusCode !== 200) reject(new Error(`HTTP status ${response.statusCode}`));
          let body = '';
          response.setEncoding('latin1').on('data', piece => {
            body += piece;
            if (body.length > BODY_BYTES) call.destroy(new Error('the answer is too long'));
          });
          response.once('end', () => resolve(body));
          response.once('error', reject);
        },
      );
      call.once('error', reject);
      call.end();
    });
  } finally {
    tcp.destroy();
  }
}

async function openDirectly(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host, port, signal });
  try {
    await waitFor(socket, 'connect');
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Connects through a SOCKS5 proxy without login (RFC 1928). The proxy resolves names. */
async function throughSocks(port: number, host: string, hostPort: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, signal });
  try {
    await waitFor(socket, 'connect');
    socket.write(Buffer.from([5, 1, 0]));
    if (!(await readBytes(socket, 2)).equals(Buffer.from([5, 0]))) throw new Error('the proxy does not speak SOCKS5');
    const name = Buffer.from(host, 'latin1');
    const bytes = bytesOf(host);
    const address = bytes
      ? Buffer.from([bytes.length === 4 ? 1 : 4, ...bytes])
      : Buffer.concat([Buffer.from([3, name.length]), name]);
    socket.write(Buffer.concat([Buffer.from([5, 1, 0]), address, Buffer.from([hostPort >> 8, hostPort & 255])]));
    const [, code, , type] = await readBytes(socket, 4);
    if (code !== 0) throw new Error(`the proxy answered with SOCKS5 code ${code}`);
    const length = type === 1 ? 4 : type === 4 ? 16 : (await readBytes(socket, 1))[0]!;
    await readBytes(socket, length + 2);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function readBytes(socket: Socket, count: number): Promise<Buffer> {
  for (;;) {
    const bytes: Buffer | null = socket.read(count);
    if (bytes?.length === count) return bytes;
    if (bytes || socket.readableEnded || socket.destroyed) throw new Error('the proxy closed the connection');
    await waitFor(socket, 'readable');
  }
}

/** Resolves at the event or when the socket ends; rejects with the socket's error. */
function waitFor(socket: Socket, name: 'connect' | 'readable'): Promise<void> {
  return new Promise((resolve, reject) => {
    const names = [name, 'end', 'close'];
    const settle = (error?: Error) => {
      for (const each of names) socket.off(each, done);
      socket.off('error', settle);
      if (error) reject(error);
      else resolve();
    };
    const done = () => settle();
    for (const each of names) socket.on(each, done);
    socket.on('error', settle);
  });
}
