// Mounts the contract on Koa: validation on the way in, problems and ETags on the way out.
import type { IncomingMessage, ServerResponse } from 'node:http';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import * as z from 'zod/mini';
import en from 'zod/v4/locales/en.js';
import { type Endpoint, endpoints, type RequestLine } from './api/contract.ts';
import { etagMatches, etagOf } from './etag.ts';
import { LIMITS, parseBody, tooLarge } from './guard.ts';
import { type Daemon, type Handlers, handlers } from './handlers.ts';
import { Problem } from './problem.ts';

z.config(en());

/**
 * A request handler for every route of the contract but the event stream, for requests that the guard has admitted.
 * Every failure becomes a problem document; none ends the process.
 */
export function createServer(daemon: Daemon): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const router = new Router({ strict: true, sensitive: true });
  for (const [line, handler] of Object.entries(handlers) as [keyof Handlers, Handlers[keyof Handlers]][]) {
    const [method, path] = line.split(' ') as ['GET' | 'POST', string];
    const endpoint: Endpoint = endpoints[line];
    router.register(path, method === 'GET' ? ['GET', 'HEAD'] : [method], async ctx => {
      const query = endpoint.query && validate(endpoint.query, { ...ctx.query }, 'invalid-query', 'The query');
      const body =
        endpoint.body && validate(endpoint.body, parseBody(await readBody(ctx.req)), 'invalid-body', 'The body');
      const ifMatch = ctx.get('if-match');
      if (endpoint.etag && method === 'POST' && ifMatch) checkUnchanged(daemon, ifMatch);
      reply(ctx, daemon, endpoint, await handler(daemon, { body, query } as never));
    });
  }

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
      throw new Problem('not-found', `There is nothing at ${ctx.path}.`, { hint: 'See /api/openapi.json.' });
    ctx.set('allow', allowed);
    throw new Problem('method-not-allowed', `${ctx.method} is not possible at ${ctx.path}; ${allowed} is.`);
  });
  return app.callback();
}

/** A failure as a problem; an unforeseen one is logged whole and told without its inside. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if ((error as NodeJS.ErrnoException).code === 'ECONNRESET')
    return new Problem('malformed-request', 'The client left before its request was complete.');
  console.error('culvert: internal error:', error);
  return new Problem('internal-error', 'Something went wrong inside the daemon.', {
    hint: 'Its log (journalctl --user -u culvert, or the terminal it runs in) says more.',
  });
}

function reply(ctx: Context, { settings }: Daemon, endpoint: Endpoint, value: object) {
  ctx.type = 'application/json';
  ctx.set('x-content-type-options', 'nosniff');
  if (endpoint.etag) {
    const etag = 'revision' in value ? etagOf(value as { revision: number }) : settings.etag();
    ctx.set({ etag, 'cache-control': 'no-cache' });
    if (ctx.method !== 'POST' && etagMatches(ctx.get('if-none-match'), etag)) {
      ctx.status = 304;
      return;
    }
  } else ctx.set('cache-control', 'no-store');
  ctx.body = JSON.stringify(value);
}

/** If-Match of a change to the configuration is held against what GET /api/config answers now. */
function checkUnchanged({ settings }: Daemon, ifMatch: string) {
  if (!etagMatches(ifMatch, settings.etag()))
    throw new Problem('precondition-failed', 'The configuration has changed since it was read.', {
      hint: 'Read GET /api/config again, and repeat the change on it.',
    });
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
  throw new Problem(code, `${what} is not as the contract says: ${first.path && `${first.path}: `}${first.message}.`, {
    errors,
  });
}

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // a reader that stops early must not take the connection with it: the refusal still has to get out
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > LIMITS.bodyBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function allowedMethods(path: string): string | null {
  const lines = (Object.keys(endpoints) as RequestLine[]).filter(line => line.split(' ')[1] === path);
  if (!lines.length) return null;
  // a stream has no length to tell beforehand, so it is not answered to HEAD
  const headless = lines.some(line => line.startsWith('GET ') && (endpoints[line] as Endpoint).kind !== 'stream');
  return [...lines.map(line => line.split(' ')[0]), ...(headless ? ['HEAD'] : [])].join(', ');
}
