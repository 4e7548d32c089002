// Sends the network requests of the doctor's probes: datagrams, connections, pages and traces.
import { createSocket } from 'node:dgram';
import { type RequestOptions, request } from 'node:http';
import { connect, isIPv6 } from 'node:net';
import type { Trace } from '../../apps/trace.ts';
import { errno, reason } from '../../core/errors.ts';

/** `refused`: the other end or a firewall rejected the request. `silent`: nothing came back in time. */
export type Reached = 'answered' | 'refused' | 'silent' | 'unreachable';

export interface Network {
  /** Sends a datagram and waits for one back. Never rejects. */
  datagram(to: Address, payload: Uint8Array, limitMs: number, signal: AbortSignal): Promise<Reached>;
  /** Opens a connection and closes it. Never rejects. */
  connection(to: Address, limitMs: number, signal: AbortSignal): Promise<Reached>;
  /** Reads a page over plain HTTP, without following redirects. @throws Error */
  page(url: string, options: { localAddress?: string; signal: AbortSignal }): Promise<Page>;
  /** Reports whether a request, through the local proxy if there is one, leaves through the tunnel. Never rejects. */
  trace(url: string, proxyPort: number | null, limitMs: number): Promise<Trace>;
  /** Finds the protocols of a local proxy. Never rejects. */
  proxy(port: number, limitMs: number): Promise<{ open: boolean; socks5: boolean; http: boolean }>;
}

interface Address {
  host: string;
  port: number;
}
interface Page {
  status: number;
  location: string | null;
}

const BODY_BYTES = 16 * 1024;
const REFUSED = new Set(['ECONNREFUSED', 'EPERM', 'EACCES', 'ECONNRESET']);

export function createNetwork(env: NodeJS.ProcessEnv): Network {
  return {
    datagram,
    connection,
    page,
    trace: async (url, proxyPort, limitMs) => {
      const { traceThrough } = await import('../../apps/trace.ts');
      return traceThrough(proxyPort, url, env, limitMs);
    },
    proxy: async (port, limitMs) => (await import('../../warp/actions/ports.ts')).probeProxy(port, limitMs),
  };
}

function datagram(
  { host, port }: Address,
  payload: Uint8Array,
  limitMs: number,
  signal: AbortSignal,
): Promise<Reached> {
  return new Promise(resolve => {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    const end = (reached: Reached) => {
      clearTimeout(limit);
      signal.removeEventListener('abort', silent);
      socket.removeAllListeners();
      socket.on('error', () => {});
      socket.close();
      resolve(reached);
    };
    const silent = () => end('silent');
    const limit = setTimeout(silent, limitMs);
    signal.addEventListener('abort', silent, { once: true });
    socket.once('error', error => end(outcome(error)));
    socket.once('message', () => end('answered'));
    // only a connected socket reports a rejection (ICMP)
    socket.connect(port, host, () => socket.send(payload, error => error && end(outcome(error))));
  });
}

function connection({ host, port }: Address, limitMs: number, signal: AbortSignal): Promise<Reached> {
  return new Promise(resolve => {
    const socket = connect({ host, port });
    const end = (reached: Reached) => {
      clearTimeout(limit);
      signal.removeEventListener('abort', silent);
      socket.destroy();
      resolve(reached);
    };
    const silent = () => end('silent');
    const limit = setTimeout(silent, limitMs);
    signal.addEventListener('abort', silent, { once: true });
    socket.once('connect', () => end('answered'));
    socket.on('error', error => end(outcome(error)));
  });
}

function outcome(error: Error): Reached {
  return REFUSED.has(errno(error) ?? '') ? 'refused' : 'unreachable';
}

function page(url: string, { localAddress, signal }: { localAddress?: string; signal: AbortSignal }): Promise<Page> {
  const options: RequestOptions = { signal, agent: false, ...(localAddress ? { localAddress } : {}) };
  return new Promise((resolve, reject) => {
    const call = request(url, options, response => {
      let length = 0;
      const done = () => {
        resolve({ status: response.statusCode ?? 0, location: response.headers.location ?? null });
        call.destroy();
      };
      response.on('data', (piece: Buffer) => {
        length += piece.length;
        if (length > BODY_BYTES) done();
      });
      response.once('end', done);
      response.once('error', error => reject(new Error(reason(error), { cause: error })));
    });
    call.once('error', reject);
    call.end();
  });
}

/** A version of the pattern that RFC 9000, section 15, reserves for version negotiation. */
const VERSION = [0x1a, 0x2a, 0x3a, 0x4a];
const ID = [0x63, 0x75, 0x6c, 0x76, 0x65, 0x72, 0x74, 0x21];
/** A server answers only datagrams of at least this size. */
const LEAST = 1200;

/**
 * A datagram that every QUIC server answers: a long header of a version that does not exist (RFC 9000, section 6.1).
 * @param size payload size in bytes, raised to at least 1,200
 */
export function quicProbe(size = LEAST): Uint8Array {
  const packet = Buffer.alloc(Math.max(size, LEAST));
  Buffer.from([0xc0, ...VERSION, ID.length, ...ID, ID.length, ...ID]).copy(packet);
  return packet;
}
