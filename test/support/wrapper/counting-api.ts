// A provider that counts what each key uses, over HTTP on the loopback interface, to check what a pool promises.
import { createServer } from 'node:http';
import { listen } from '../listen.ts';
import type { Ends } from '../temporary.ts';

export interface CountingApi {
  url: string;
  /** Units that each key has used. */
  used: Map<string, number>;
  /** Requests that were refused because the key had nothing left. */
  refused: Map<string, number>;
  /** Questions for what is left. */
  questions: Map<string, number>;
  /** Requests by their number, each of which must come once. */
  served: Map<string, number>;
}

/**
 * Answers `POST /use?key=K&id=N` with 200, or with 402 when the key has used its limit, and `GET /usage?key=K` with
 * `{ remaining, limit }`.
 * @param limits credits of each key
 */
export async function countingApi(t: Ends, limits: Record<string, number>): Promise<CountingApi> {
  const api = { used: new Map(), refused: new Map(), questions: new Map(), served: new Map() } as Omit<
    CountingApi,
    'url'
  >;
  const add = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const key = url.searchParams.get('key') ?? request.headers.authorization?.replace('Bearer ', '') ?? '';
    const limit = limits[key] ?? 0;
    const used = api.used.get(key) ?? 0;
    if (url.pathname === '/usage') {
      add(api.questions, key);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ remaining: Math.max(0, limit - used), limit }));
      return;
    }
    if (used >= limit) {
      add(api.refused, key);
      response.writeHead(402).end();
      return;
    }
    add(api.used, key);
    const id = url.searchParams.get('id');
    if (id) add(api.served, id);
    response.end('ok');
  });
  server.keepAliveTimeout = 60_000;
  return { url: `http://127.0.0.1:${await listen(t, server)}`, ...api };
}
