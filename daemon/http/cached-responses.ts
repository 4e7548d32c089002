// Answers health, metrics, the OpenAPI document and the unchanged snapshot, which prompts, bars and probes repeat, from bytes made once per change.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { METRICS_TYPE } from '../api/request-line.ts';
import { etagMatches, etagOf } from './etag.ts';
import { type Client, type Daemon, handlers, readyDocument } from './handlers.ts';

const CLIENT: Client = { keepToken() {} };
const NO_INPUT = { body: undefined, query: undefined, client: CLIENT };

/** Answers a GET and returns true; false for another route, and for a snapshot with parts to read first. */
export function cachedResponses(daemon: Daemon): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { state, tunnel, features } = daemon;
  let health: { of: unknown; head: string[]; body: Buffer } | undefined;
  let snapshot: { of: unknown; head: string[]; body: Buffer; etag: string } | undefined;
  let metrics: { head: string[]; body: Buffer } | undefined;
  let document: { head: string[]; body: Buffer } | undefined;
  return (request, response) => {
    if (request.url === '/api/health') {
      const { tunnelCli } = state.snapshot();
      if (health?.of !== tunnelCli) {
        const body = Buffer.from(JSON.stringify(handlers['GET /api/health'](daemon, NO_INPUT)));
        health = { of: tunnelCli, head: head(body, JSON_TYPE, 'cache-control', 'no-store'), body };
      }
      response.writeHead(200, health.head);
      response.end(health.body);
      return true;
    }
    if (request.url === '/api/metrics') {
      const body = features.metrics.ready();
      if (!body) return false;
      if (metrics?.body !== body) metrics = { head: head(body, METRICS_TYPE, 'cache-control', 'no-store'), body };
      response.writeHead(200, metrics.head);
      response.end(body);
      return true;
    }
    if (request.url === '/api/openapi.json') {
      const value = readyDocument();
      if (!value) return false;
      if (!document) {
        const body = Buffer.from(JSON.stringify(value));
        document = { head: head(body, JSON_TYPE, 'cache-control', 'no-store'), body };
      }
      response.writeHead(200, document.head);
      response.end(document.body);
      return true;
    }
    if (request.url !== '/api/snapshot' || !tunnel.isFresh()) return false;
    const current = state.snapshot();
    if (snapshot?.of !== current) {
      const body = Buffer.from(JSON.stringify(current));
      const etag = etagOf(current);
      snapshot = { of: current, head: head(body, JSON_TYPE, 'cache-control', 'no-cache', 'etag', etag), body, etag };
    }
    const etags = request.headers['if-none-match'];
    if (etags !== undefined && etagMatches(etags, snapshot.etag)) {
      response.writeHead(304, ['etag', snapshot.etag]);
      response.end();
    } else {
      response.writeHead(200, snapshot.head);
      response.end(snapshot.body);
    }
    return true;
  };
}

const JSON_TYPE = 'application/json; charset=utf-8';

function head(body: Buffer, type: string, ...more: string[]): string[] {
  return ['content-type', type, 'content-length', String(body.length), 'x-content-type-options', 'nosniff', ...more];
}
