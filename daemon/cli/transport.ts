// Sends requests over the daemon's Unix socket with only node:http, and follows events across restarts of the daemon.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type Client, createClient, type Event, type Transport, Unreachable } from '../api/client.ts';
import { errno, reason } from '../core/errors.ts';
import type { Context } from './context.ts';
import { Failure } from './errors.ts';

interface Limits {
  /** Limit for the answer to a GET, in milliseconds. */
  readMs: number;
  /** Limit for a POST: registering with an organization takes long. */
  writeMs: number;
  /** Limit to set a list of routes: thousands of entries, with a process each. */
  routesMs: number;
  /** Limit without data on an event stream: a heartbeat comes every 15 s. */
  silenceMs: number;
}
const SETS_ROUTES = /^\/api\/(routes(\/undo)?|changes\/revert|settings\/(apply|undo))$/;
/** Time after which a request counts as slow. */
const SLOW_MS = 5_000;
const LIMITS: Limits = { readMs: 30_000, writeMs: 180_000, routesMs: 1_800_000, silenceMs: 45_000 };

interface Outgoing {
  method: string;
  path: string;
  headers: Record<string, string>;
  /** Time limit for the head of the response, in milliseconds. */
  limitMs: number;
  body?: string | undefined;
}

/**
 * Creates a transport over the Unix socket at `socketPath`, with a connection per request.
 * Both methods reject with Unreachable if nothing listens, no answer comes in time, or the connection breaks.
 * @param onSlow called when a request has no answer after 5 s; `isLong` is true if it can take minutes. An error that it throws
 *   ends the request.
 */
export function createTransport(
  socketPath: string,
  limits: Partial<Limits> = {},
  onSlow: (isLong: boolean) => void = () => {},
): Transport {
  const { readMs, writeMs, routesMs, silenceMs } = { ...LIMITS, ...limits };

  /** Resolves with the response once its head has arrived. */
  async function send({ method, path, headers, limitMs, body }: Outgoing) {
    // imported here: takes a twentieth of a start, and only commands with a daemon need it
    const { request } = await import('node:http');
    return new Promise<{ call: ClientRequest; response: IncomingMessage; done(): void }>((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const call = request({
        socketPath,
        method,
        path,
        headers: { host: 'localhost', ...headers, ...length },
        agent: false,
      });
      const timer = setTimeout(() => call.destroy(noAnswer(limitMs)), limitMs);
      const slow = setTimeout(() => {
        try {
          onSlow(SETS_ROUTES.test(path));
        } catch (error) {
          call.destroy(error as Error);
        }
      }, SLOW_MS);
      const done = () => {
        clearTimeout(timer);
        clearTimeout(slow);
      };
      call.on('response', response => {
        clearTimeout(slow);
        resolve({ call, response, done });
      });
      call.on('error', error => {
        done();
        reject(unreachable(error, socketPath));
      });
      call.end(body);
    });
  }

  return {
    async request(method, path, headers, body) {
      const limitMs = method === 'GET' ? readMs : SETS_ROUTES.test(path) ? routesMs : writeMs;
      const { response, done } = await send({ method, path, headers, limitMs, body });
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
      const { call, response, done } = await send({ method: 'GET', path, headers, limitMs: readMs });
      done();
      call.setTimeout(silenceMs, () => call.destroy(noAnswer(silenceMs)));
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

function noAnswer(ms: number): Unreachable {
  return new Unreachable(`The Culvert daemon gave no answer within ${ms / 1000} s.`, undefined, 'silent');
}

async function* chunks(response: IncomingMessage, socketPath: string, closed: () => boolean): AsyncGenerator<string> {
  try {
    response.setEncoding('utf8');
    for await (const chunk of response) yield chunk;
  } catch (error) {
    if (!closed()) throw unreachable(error, socketPath);
  }
}

function unreachable(error: unknown, socketPath: string): Error {
  if (error instanceof Failure || error instanceof Unreachable) return error;
  switch (errno(error)) {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new Unreachable('The Culvert daemon is not running.', error);
    case 'EACCES':
    case 'EPERM':
      return new Unreachable(`No permission to use ${socketPath}: it belongs to another user's Culvert.`, error);
    case 'ECONNRESET':
    case 'EPIPE':
      return new Unreachable('The Culvert daemon ended the connection before it answered.', error, 'silent');
    default:
      return new Unreachable(`The Culvert daemon can't be reached at ${socketPath}: ${reason(error)}.`, error);
  }
}

/** Limit for the health check, which waits for nothing. */
const HEALTH_MS = 2_000;

export const DAEMON = 'The Culvert daemon';

/** Returns the program that delays an answer: `WARP`, `The demo`, or {@link DAEMON}. */
export async function slowProgram({ paths, isDemo }: Pick<Context, 'paths' | 'isDemo'>): Promise<string> {
  const client = createClient(createTransport(paths.socket, { readMs: HEALTH_MS }));
  const isAnswering = await client.call('GET /api/health').then(
    () => true,
    () => false,
  );
  if (!isAnswering) return DAEMON;
  return isDemo() ? 'The demo' : 'WARP';
}

type Followed = { kind: 'event'; event: Event } | { kind: 'lost'; why: string } | { kind: 'back' };

/** Pauses between attempts to reconnect, in milliseconds; the last pause repeats. */
const PAUSES = [100, 250, 500, 1000, 2000];

/**
 * Yields events until `signal` is aborted. Reports a lost stream once, then resumes it after the last event seen.
 * @param isWhole starts every stream with a whole snapshot instead of the events since the loss
 * @param isPatient retries the first attempt as well
 * @throws Unreachable or ApiError when the first attempt fails; later failures are retried
 */
export async function* follow(
  client: Client,
  signal: AbortSignal,
  { isWhole = false, isPatient = false } = {},
): AsyncGenerator<Followed> {
  let last: string | undefined;
  let attempt = isPatient ? 0 : -1;
  let lost = false;
  while (!signal.aborted) {
    let why = 'The daemon ended the event stream.';
    try {
      const stream = await client.events(isWhole ? undefined : last);
      const close = () => stream.close();
      signal.addEventListener('abort', close, { once: true });
      try {
        if (lost) yield { kind: 'back' };
        [lost, attempt] = [false, 0];
        for await (const event of stream.events) {
          if (signal.aborted) return;
          if (event.id) last = event.id;
          if (event.event === 'bye') why = 'The daemon is stopping.';
          yield { kind: 'event', event };
        }
      } finally {
        signal.removeEventListener('abort', close);
        stream.close();
      }
    } catch (error) {
      if (attempt < 0 || !(error instanceof Unreachable || error instanceof ApiError)) throw error;
      why = error.message;
    }
    if (signal.aborted) return;
    if (!lost) yield { kind: 'lost', why };
    lost = true;
    await delay(PAUSES[Math.min(attempt++, PAUSES.length - 1)], undefined, { signal }).catch(() => {});
  }
}
