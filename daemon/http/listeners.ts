// Opens the listeners of the API, a Unix socket and one TCP port, determines the owner of each connection, and answers.
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { errno } from '../core/errors.ts';
import { createPeerLookup } from '../core/peer.ts';
import { Problem } from '../problem.ts';
import type { Assets } from './assets.ts';
import { type Connection, type Connections, createConnections, createPipeline, type Peer } from './connections.ts';
import { createEventStreams, type EventStreams } from './event-streams.ts';
import { API_ADDRESS, CLOSING, checkRequest, isApi, LIMITS, type Limits, type RequestInfo, type Via } from './guard.ts';
import { type Daemon, quickResponses } from './handlers.ts';
import { type ClientError, clientProblem, INTERNAL_ERROR, MALFORMED, refuse, refuseRaw } from './refusals.ts';
import type { RoutedHandler } from './server.ts';
import type { RemoteAccess } from './token.ts';

export interface Listeners {
  /** Serves the API on a Unix socket. Its directory must be private to the user. */
  listenUnix(path: string): Promise<void>;
  /**
   * Serves the API on one port of all these addresses, or on none of them.
   * @throws NodeJS.ErrnoException EADDRINUSE, EACCES … for the address that failed.
   */
  listenTcp(port: number, addresses: readonly string[], remote: RemoteAccess | null): Promise<void>;
  streams: EventStreams;
  /** Stops accepting, says goodbye to event streams, lets requests finish for `graceMs`, then closes connections. */
  close(reason: string, graceMs: number): Promise<void>;
}

/** @param limits the contract's limits, except where a benchmark raises them. */
export function createListeners(daemon: Daemon, limits: Limits = LIMITS, uid = process.getuid!()): Listeners {
  const servers: Server[] = [];
  const streams = createEventStreams(daemon.state, limits, {
    config: () => daemon.settings.response(),
    // a new client gets current values
    onOpen() {
      void daemon.tunnel.refresh('stale');
      daemon.features.toolAccounts.offer();
    },
  });
  const handle = createRequestHandler(daemon, streams);
  const lookUp = createPeerLookup();
  // separate quotas, so that TCP connections can't lock the command line out
  const unix = createConnections({ own: limits.unixConnections, remote: 0 }, limits);
  const tcp = createConnections({ own: limits.connections, remote: limits.remoteConnections }, limits);
  const admitted = [unix, tcp];

  function createServer(connections: Connections, peerOf: (socket: Socket) => Peer | Promise<Peer | null>): Server {
    const server = createHttpServer({
      maxHeaderSize: 2 * limits.headerBytes, // lets the guard tell an overlong address from overlong headers
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(2_000, limits.headersTimeoutMs),
      requireHostHeader: false, // the guard refuses it, with a problem document
    });
    // half-closed clients (`nc -N`) still get a response; nothing is read before a connection is admitted
    Object.assign(server, { httpAllowHalfOpen: true, pauseOnConnect: true });
    server.maxHeadersCount = 0; // Node would drop the rest silently; the guard counts them instead
    const [parse] = server.listeners('connection') as ((socket: Socket) => void)[];
    const serve = (socket: Socket) => {
      parse!.call(server, socket);
      const pipeline = createPipeline(socket, () => streams.has(socket));
      socket.resume();
      return pipeline;
    };
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => connections.add(socket, peerOf(socket), serve));
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      const connection = connections.get(request.socket);
      if (!connection) return; // closed already
      connections.watch(response);
      connection.pipeline.take(request, response, () => handle(request, response, connection));
    };
    server.on('request', answer);
    server.on('checkContinue', answer); // see readBody
    server.on('checkExpectation', answer); // may be ignored (RFC 9110, 10.1.1); Node's own 417 would precede the guard
    const end = (socket: Socket, problemOf: (connection: Connection) => Problem) => {
      const connection = connections.get(socket);
      if (!connection || streams.has(socket)) return void socket.destroy();
      const problem = problemOf(connection);
      connection.pipeline.end(() => refuseRaw(socket, problem));
    };
    server.on('connect', (request, socket: Socket) =>
      end(socket, ({ via }) => checkRequest(requestInfo(request, via)) ?? MALFORMED),
    );
    server.on('clientError', (error: ClientError, socket: Socket) =>
      end(socket, ({ pipeline }) => clientProblem(error, pipeline.lineBytes())),
    );
    servers.push(server);
    return server;
  }

  function tcpPeer(socket: Socket, remote: RemoteAccess | null): Peer | Promise<Peer> {
    const { address, port } = socket.address() as AddressInfo;
    const { remoteAddress, remotePort } = socket;
    if (!remoteAddress || !remotePort) return { via: { kind: 'loopback', port, address, peerIsUser: false } }; // closed already
    const fromOutside = (access: RemoteAccess): Via => ({ kind: 'remote', port, address: plain(address), access });
    if (remote && !isLocal(socket)) return { via: fromOutside(remote) };
    return lookUp({ localAddress: address, localPort: port, remoteAddress, remotePort }).then(
      // another user of this machine, such as a reverse proxy's, needs the token, as another machine does
      owner =>
        remote && owner !== uid
          ? { via: fromOutside(remote) }
          : { via: { kind: 'loopback', port, address, peerIsUser: owner === uid }, uid: owner },
      () => ({ via: { kind: 'loopback', port, address, peerIsUser: null } }),
    );
  }

  return {
    streams,
    async listenUnix(path) {
      await listening(
        createServer(unix, () => ({ via: { kind: 'unix' } })),
        { path },
      );
    },
    async listenTcp(port, addresses, remote) {
      const serveOnce = (taken: Promise<boolean>) =>
        createServer(tcp, async socket => {
          const peer = tcpPeer(socket, remote);
          return (await taken) ? peer : null;
        });
      await listenOnAll(serveOnce, port, addresses);
    },
    async close(reason, graceMs) {
      streams.close(reason);
      const closed = servers.map(server => new Promise(resolve => server.close(resolve)));
      for (const server of servers) server.closeIdleConnections();
      for (const connections of admitted) connections.closeRefused();
      const cut = setTimeout(() => {
        for (const server of servers) server.closeAllConnections();
        for (const connections of admitted) connections.closeRefused();
      }, graceMs);
      await Promise.all(closed);
      clearTimeout(cut);
    },
  };
}

/** Binds one server per address, or none. Connections that arrive before the last server is bound wait for `taken`. */
async function listenOnAll(
  create: (taken: Promise<boolean>) => Server,
  port: number,
  addresses: readonly string[],
): Promise<void> {
  const bound: Server[] = [];
  let settle: (taken: boolean) => void = () => {};
  const taken = new Promise<boolean>(resolve => {
    settle = resolve;
  });
  try {
    for (const host of addresses) {
      // clients that wait for the port connect as soon as the first address is bound
      if (bound.length) await new Promise(setImmediate);
      const server = create(taken);
      try {
        await listening(server, { port, host, ipv6Only: true });
        bound.push(server);
      } catch (error) {
        // a machine without IPv6 has no ::1 that another program could take
        if (!NO_SUCH_ADDRESS.has(errno(error) ?? '') || !host.includes(':')) throw error;
      }
    }
    settle(true);
  } catch (error) {
    settle(false);
    for (const server of bound) server.close();
    throw error;
  }
}

const NO_SUCH_ADDRESS = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL']);

/** Returns an IPv4 address without the IPv6 prefix that a socket of both families adds. */
function plain(address: string): string {
  return address.replace(/^::ffff:/, '');
}

/** True if both ends are on this machine. */
function isLocal(socket: Socket): boolean {
  const { address } = socket.address() as Partial<AddressInfo>;
  return isLoopback(address ?? '') && isLoopback(socket.remoteAddress ?? '');
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address);
}

function listening(server: Server, options: { path: string } | { port: number; host: string; ipv6Only: boolean }) {
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...options, backlog: 4096 }, () => {
      server.off('error', reject);
      server.on('error', error => console.error('culvert: listener:', error));
      resolve();
    });
  });
}

type RequestHandler = (request: IncomingMessage, response: ServerResponse, connection: Connection) => void;

/** Answers each request with a quick response, an event stream, the browser page, or Koa, which the first request loads. */
function createRequestHandler(daemon: Daemon, streams: EventStreams): RequestHandler {
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
function requestInfo({ method = '', url = '', rawHeaders }: IncomingMessage, via: Via): RequestInfo {
  return { method, target: url, rawHeaders, via };
}

function openStream(request: IncomingMessage, response: ServerResponse, streams: EventStreams, brief: boolean): void {
  streams.open(request, response, { only: null, quiet: false, brief }).catch(error => {
    if (error instanceof Problem) refuse(request, response, error);
    else throw error;
  });
}
