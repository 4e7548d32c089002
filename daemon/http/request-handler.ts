// Checks each parsed request, and answers it with a quick response, an event stream, the browser page, or Koa. Loads Koa on
// first use.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from '../problem.ts';
import type { Assets } from './assets.ts';
import type { Connection } from './connections.ts';
import type { EventStreams } from './event-streams.ts';
import { API_ADDRESS, CLOSING, checkRequest, isApi, type RequestInfo, type Via } from './guard.ts';
import { type Daemon, quickResponses } from './handlers.ts';
import { INTERNAL_ERROR, refuse, refuseRaw } from './refusals.ts';
import type { RoutedHandler } from './server.ts';

type RequestHandler = (request: IncomingMessage, response: ServerResponse, connection: Connection) => void;

export function createRequestHandler(daemon: Daemon, streams: EventStreams): RequestHandler {
  const answersQuickly = quickResponses(daemon);
  let koa: Promise<RoutedHandler> | undefined;
  let page: Promise<Assets> | undefined;

  /** Serves the browser page if it is enabled. Its code is loaded on the first request. */
  function servePage(request: IncomingMessage, response: ServerResponse): void {
    if (!daemon.settings.config.webui.enabled) {
      if (readsHtml(request)) refuseWithPage(request, response);
      else refuse(request, response, PAGE_IS_OFF);
      return;
    }
    page ??= import('./assets.ts').then(({ createAssets }) => createAssets(daemon.webui));
    page
      .then(serve => serve(request, response))
      .catch(error => {
        page = undefined;
        fail(request, response, error);
      });
  }

  function leadToPage(request: IncomingMessage, response: ServerResponse): void {
    if (daemon.settings.config.webui.enabled) response.writeHead(302, { location: '/', 'content-length': 0 }).end();
    else servePage(request, response);
  }

  return (request, response, { via, pipeline }) => {
    daemon.features.metrics.count(response);
    const problem = checkRequest(requestInfo(request, via));
    if (problem && CLOSING.has(problem.code)) {
      response.statusCode = problem.status; // for the metrics
      return pipeline.refuse(() => refuseRaw(request.socket, problem, request.method === 'HEAD'));
    }
    if (problem) return refuse(request, response, problem);
    if (!isApi(request.url!)) return servePage(request, response);
    if (`${request.method} ${request.url}` === API_ADDRESS && readsHtml(request)) return leadToPage(request, response);
    if (request.method === 'GET') {
      if (answersQuickly(request, response)) return;
      // open the streams of Culvert's own clients without loading the router and its schemas
      const brief = request.url === BRIEF_STREAM;
      if (brief || request.url === '/api/events') return openStream(request, response, streams, brief);
    }
    koa ??= import('./server.ts').then(({ createServer }) => createServer(daemon, streams));
    koa
      .then(serve => serve(request, response, via))
      .catch(error => {
        koa = undefined;
        fail(request, response, error);
      });
  };
}

/** Target of the event stream that the browser page (daemon/webui) requests. */
const BRIEF_STREAM = '/api/events?brief=1';

const PAGE_IS_OFF = new Problem('not-found', 'The browser page is off.', {
  hint: 'Turn it on with: culvert web. The API is at /api/; see /api/openapi.json.',
});

/** Page for a person at a browser. It is in English, because the translations belong to the disabled page. */
const OFF_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Culvert</title>
<h1>The browser page is off.</h1>
<p>Turn it on: <code>culvert web</code></p>
</html>
`;

/** True for a request from a browser that shows the answer as a page. */
function readsHtml({ headers }: IncomingMessage): boolean {
  return /\btext\/html\b/.test(headers.accept ?? '');
}

function refuseWithPage(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(PAGE_IS_OFF.status, {
    ...PAGE_IS_OFF.headers(),
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'content-length': Buffer.byteLength(OFF_PAGE),
  });
  response.end(request.method === 'HEAD' ? undefined : OFF_PAGE);
}

function fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (!(error instanceof Problem)) console.error('culvert: internal error:', error);
  if (response.headersSent) response.destroy();
  else refuse(request, response, error instanceof Problem ? error : INTERNAL_ERROR);
}

/** Returns the guard's view of a request. */
export function requestInfo({ method = '', url = '', rawHeaders }: IncomingMessage, via: Via): RequestInfo {
  return { method, target: url, rawHeaders, via };
}

function openStream(request: IncomingMessage, response: ServerResponse, streams: EventStreams, brief: boolean): void {
  streams.open(request, response, { only: null, quiet: false, brief }).catch(error => {
    if (error instanceof Problem) refuse(request, response, error);
    else throw error;
  });
}
