// Mounts the contract on Koa: reads and validates queries and bodies, and writes answers, problems and ETags.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import * as z from 'zod/mini';
import en from 'zod/v4/locales/en.js';
import { endpoints, type QueryOf, type RequestLine } from '../api/contract.ts';
import { Empty, type Endpoint } from '../api/endpoint.ts';
import { bodyLimit, METRICS_TYPE, splitRequestLine } from '../api/requests.ts';
import { errno } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import { runsSystemd } from '../core/process.ts';
import { Problem } from '../problem.ts';
import type { EventStreams } from './event-streams.ts';
import { TOKEN_COOKIE, tokenOf, tooLarge, type Via } from './guard.ts';
import { type Client, type Daemon, etagMatches, etagOf, handlers } from './handlers.ts';

z.config(en());

export type RoutedHandler = (request: IncomingMessage, response: ServerResponse, via: Via) => Promise<void>;

/**
 * Creates a request handler for every route of the contract, for requests that the guard has admitted. Every failure becomes a
 * problem document; no failure ends the process.
 */
export function createServer(daemon: Daemon, streams: EventStreams): RoutedHandler {
  const vias = new WeakMap<IncomingMessage, Via>();
  const router = new Router({ strict: true, sensitive: true });
  for (const [line, endpoint] of Object.entries(endpoints) as [RequestLine, Endpoint][]) {
    if (endpoint.kind === 'stream') continue;
    const { method, path } = splitRequestLine(line);
    router.register(path, method === 'GET' ? ['GET', 'HEAD'] : [method], async ctx => {
      const query = queryOf(ctx, endpoint);
      const body =
        endpoint.body &&
        validate(endpoint.body, parseBody(await readBody(ctx.req, ctx.res)), 'invalid-body', 'The body');
      const ifMatch = ctx.get('if-match');
      if (endpoint.etag && method === 'POST' && ifMatch) checkUnchanged(daemon, ifMatch);
      reply(
        ctx,
        daemon,
        endpoint,
        await answer(daemon, line, { body, query, client: clientOf(ctx, vias.get(ctx.req)!) }),
      );
    });
  }
  router.get('/api/events', async (ctx, next) => {
    if (ctx.method === 'HEAD') return next(); // the length of a stream is not known
    const { only, brief, quiet } = queryOf(ctx, endpoints['GET /api/events']) as QueryOf<'GET /api/events'>;
    const names = only === undefined ? null : new Set(only.split(','));
    await streams.open(ctx.req, ctx.res, { only: names, brief: brief === '1', quiet: quiet === '1' });
    ctx.respond = false;
    if (names?.has('accounts')) await followAccounts(daemon, ctx.req.socket);
  });

  const app = new Koa();
  app.silent = true;
  app.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const problem = asProblem(error);
      ctx.status = problem.status;
      ctx.set(problem.headers());
      ctx.body = JSON.stringify(problem);
    }
  });
  app.use(router.routes());
  app.use(ctx => {
    const allowed = allowedMethods(ctx.path);
    if (!allowed)
      throw new Problem('not-found', `There is nothing at ${printable(ctx.path).slice(0, 80)}.`, {
        hint: 'See /api/openapi.json.',
      });
    ctx.set('allow', allowed);
    throw new Problem('method-not-allowed', `${ctx.method} is not possible at ${ctx.path}; ${allowed} is.`);
  });
  const serve = app.callback();
  return (request, response, via) => {
    vias.set(request, via);
    return serve(request, response);
  };
}

/** Calls the function of a request line, from a feature or from `handlers`. The input has been validated. */
function answer(daemon: Daemon, line: RequestLine, input: { body: unknown; query: unknown; client: Client }) {
  const { handlers: ofFeatures } = daemon.features;
  type Answer = object | string | Promise<object | string>;
  if (line in ofFeatures) return (ofFeatures as Record<string, (given: unknown) => Answer>)[line]!(input);
  return (handlers as Record<string, (daemon: Daemon, given: never) => Answer>)[line]!(daemon, input as never);
}

/** Watches the store of accounts for a client that asked for its event by name. */
async function followAccounts({ features }: Daemon, socket: Socket): Promise<void> {
  const unfollow = await features.toolAccounts.follow();
  if (socket.destroyed) unfollow();
  else socket.once('close', unfollow);
}

/** Time for which a browser keeps the token, in seconds. */
const TOKEN_LIFETIME_S = 90 * 24 * 3600;

function clientOf(ctx: Context, via: Via): Client {
  return {
    keepToken() {
      const token = via.kind === 'remote' && tokenOf(ctx.headers, via.access);
      if (!token) return;
      // a page always sends its origin; a proxy's connection to the daemon does not show the scheme
      const secure = ctx.get('origin').startsWith('https:') ? '; Secure' : '';
      ctx.set(
        'set-cookie',
        `${TOKEN_COOKIE}=${token}; Max-Age=${TOKEN_LIFETIME_S}; Path=/; HttpOnly; SameSite=Strict${secure}`,
      );
    },
  };
}

/** Turns a failure into a problem. Unexpected errors are logged in full; the client sees only a generic message. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (errno(error) === 'ECONNRESET')
    return new Problem('malformed-request', 'The client left before its request was complete.');
  console.error('culvert: internal error:', error);
  return new Problem('internal-error', 'Something went wrong inside the daemon.', {
    hint: runsSystemd()
      ? 'Its log (journalctl --user -u culvert, or the terminal it runs in) says more.'
      : 'The output of the daemon says more: the terminal that it runs in, or the log of this container.',
  });
}

function reply(ctx: Context, { settings }: Daemon, endpoint: Endpoint, value: object | string) {
  if (typeof value === 'string') {
    ctx.set({ 'content-type': METRICS_TYPE, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    ctx.body = value;
    return;
  }
  ctx.type = 'application/json';
  ctx.set('x-content-type-options', 'nosniff');
  if (endpoint.etag && !('stale' in value)) {
    const etag = 'revision' in value ? etagOf(value as { revision: number }) : settings.etag();
    ctx.set({ etag, 'cache-control': 'no-cache' });
    if (ctx.method !== 'POST' && etagMatches(ctx.get('if-none-match'), etag)) {
      ctx.status = 304;
      return;
    }
  } else ctx.set('cache-control', 'no-store');
  ctx.body = endpoint.constant ? sharedText(value) : JSON.stringify(value);
}

const sharedTexts = new WeakMap<object, Buffer>();
/** Clients that do not read their answers hold one buffer together instead of one each. */
function sharedText(value: object): Buffer {
  const text = sharedTexts.get(value) ?? Buffer.from(JSON.stringify(value));
  sharedTexts.set(value, text);
  return text;
}

/** Compares If-Match of a configuration change with the present ETag of GET /api/config. */
function checkUnchanged({ settings }: Daemon, ifMatch: string) {
  if (!etagMatches(ifMatch, settings.etag()))
    throw new Problem('precondition-failed', 'The configuration has changed since it was read.', {
      hint: 'Read GET /api/config again, and repeat the change on it.',
    });
}

/** Returns the validated query; a route without a schema takes no parameters. @throws Problem invalid-query */
function queryOf(ctx: Context, { query }: Endpoint): unknown {
  return validate(query ?? Empty, { ...ctx.query }, 'invalid-query', 'The query');
}

function validate(
  schema: z.ZodMiniType,
  value: unknown,
  code: 'invalid-body' | 'invalid-query',
  what: string,
): unknown {
  const result = z.safeParse(schema, value);
  if (result.success) return result.data;
  const errors = result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  const first = errors[0]!;
  throw new Problem(code, `${what} does not match the contract: ${first.path && `${first.path}: `}${first.message}.`, {
    errors,
  });
}

function allowedMethods(path: string): string | null {
  const lines = (Object.keys(endpoints) as RequestLine[]).filter(line => splitRequestLine(line).path === path);
  if (!lines.length) return null;
  // no HEAD for streams: their length is unknown
  const headless = lines.some(line => line.startsWith('GET ') && (endpoints[line] as Endpoint).kind !== 'stream');
  return [...lines.map(line => splitRequestLine(line).method), ...(headless ? ['HEAD'] : [])].join(', ');
}

/**
 * Reads the whole body of a request that the guard has admitted.
 * @throws Problem payload-too-large
 */
async function readBody(request: IncomingMessage, response: ServerResponse): Promise<Uint8Array> {
  sendContinue(request, response);
  const target = request.url ?? '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  // `destroyOnReturn` would destroy the connection, and the refusal with it, when reading stops early
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > bodyLimit(target)) throw tooLarge(target);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Answers "100 Continue" if the client waits for it. After a final response without it, Node closes the connection, because the
 * body may still come (RFC 9110, 10.1.1).
 */
function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.expect?.toLowerCase() !== '100-continue' || request.httpVersionMinor === 0) return;
  response.writeContinue();
}

/**
 * Parses a JSON body.
 * @throws Problem malformed-json for invalid JSON, invalid-body for keys that reach prototypes.
 */
function parseBody(bytes: Uint8Array): unknown {
  let forbidden: string | undefined;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes), (key, inner) => {
      if (key === '__proto__' || key === 'constructor' || key === 'prototype') forbidden ??= key;
      return inner;
    });
  } catch (error) {
    throw new Problem('malformed-json', 'The request body is not valid JSON in UTF-8.', {}, error);
  }
  if (forbidden !== undefined)
    throw new Problem('invalid-body', `The key "${forbidden}" is not allowed.`, {
      errors: [{ path: forbidden, message: 'not allowed' }],
    });
  return value;
}
