// Carries the contract over the daemon's Unix socket with nothing but node:http.
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { type Transport, Unreachable } from '../api/client.ts';

export interface Limits {
  /** For a GET to be answered, in milliseconds. */
  readMs: number;
  /** For a POST: registering with an organisation takes its time. */
  writeMs: number;
  /** For silence on an event stream, which carries a heartbeat every 15 s. */
  silenceMs: number;
}
const LIMITS: Limits = { readMs: 30_000, writeMs: 180_000, silenceMs: 45_000 };

/**
 * A transport over the Unix socket at `socketPath`; each request has a connection of its own.
 * Both methods reject with Unreachable: nothing listens there, no answer in time, or the connection broke.
 */
export function createTransport(socketPath: string, limits: Partial<Limits> = {}): Transport {
  const { readMs, writeMs, silenceMs } = { ...LIMITS, ...limits };

  /** Resolves with the response once its head has arrived. */
  function send(method: string, path: string, headers: Record<string, string>, limitMs: number, body?: string) {
    return new Promise<{ call: ClientRequest; response: IncomingMessage; done(): void }>((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const call = request({
        socketPath,
        method,
        path,
        headers: { host: 'localhost', ...headers, ...length },
        agent: false,
      });
      const timer = setTimeout(() => call.destroy(new Silence(limitMs)), limitMs);
      const done = () => clearTimeout(timer);
      call.on('response', response => resolve({ call, response, done }));
      call.on('error', error => {
        done();
        reject(unreachable(error, socketPath));
      });
      call.end(body);
    });
  }

  return {
    async request(method, path, headers, body) {
      const { response, done } = await send(method, path, headers, method === 'GET' ? readMs : writeMs, body);
      try {
        response.setEncoding('utf8');
        let text = '';
        for await (const chunk of response) text += chunk;
        return { status: response.statusCode ?? 0, etag: response.headers.etag ?? null, body: text };
      } catch (error) {
        throw unreachable(error, socketPath);
      } finally {
        done();
      }
    },

    async stream(path, headers) {
      const { call, response, done } = await send('GET', path, headers, readMs);
      done();
      call.setTimeout(silenceMs, () => call.destroy(new Silence(silenceMs)));
      let closed = false;
      return {
        status: response.statusCode ?? 0,
        chunks: chunks(response, socketPath, () => closed),
        close() {
          closed = true;
          call.destroy();
        },
      };
    },
  };
}

class Silence extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms / 1000} s`);
  }
}

async function* chunks(response: IncomingMessage, socketPath: string, closed: () => boolean): AsyncGenerator<string> {
  try {
    response.setEncoding('utf8');
    for await (const chunk of response) yield chunk;
  } catch (error) {
    if (!closed()) throw unreachable(error, socketPath);
  }
}

function unreachable(error: unknown, socketPath: string): Unreachable {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new Unreachable('The Culvert daemon is not running.', error);
    case 'EACCES':
    case 'EPERM':
      return new Unreachable(`No permission to use ${socketPath}: it belongs to another user's Culvert.`, error);
    case 'ECONNRESET':
    case 'EPIPE':
      return new Unreachable('The Culvert daemon ended the connection before it had answered.', error);
    default:
      return new Unreachable(`The Culvert daemon can't be reached at ${socketPath}: ${message}.`, error);
  }
}
