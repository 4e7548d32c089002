// The listeners, and the part of a request that every request pays for: limits, guard, and the two reads that prompts,
// bars and probes repeat, answered from ready bytes. Koa is loaded when something else is asked for.
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { etagMatches, etagOf } from './etag.ts';
import { createEventStreams, type EventStreams } from './events.ts';
import { type Facts, judge, LIMITS, type Limits, type TokenCheck, type Via } from './guard.ts';
import { type Daemon, handlers } from './handlers.ts';
import { createPeerCheck } from './peer.ts';
import { Problem } from './problem.ts';

export interface Front {
  /** Serves the API on a Unix socket; its directory has to be private to the user. */
  listenUnix(path: string): Promise<void>;
  /**
   * Serves the API on one port of all these addresses, or of none of them.
   * @throws NodeJS.ErrnoException EADDRINUSE, EACCES … of the address that failed.
   */
  listenTcp(port: number, addresses: readonly string[], remote: TokenCheck | null): Promise<void>;
  streams: EventStreams;
  /** Stops accepting, says goodbye to event streams, lets requests finish for `graceMs`, then cuts. */
  close(reason: string, graceMs: number): Promise<void>;
}

/** The daemon's front. `limits` is the contract's, except where a benchmark raises them. */
export function createFront(daemon: Daemon, limits: Limits = LIMITS, uid = process.getuid!()): Front {
  const servers: Server[] = [];
  const open = new Map<Socket, Via | Promise<Via>>();
  const streams = createEventStreams(daemon.state, limits);
  const peerIsUser = createPeerCheck(uid);
  const ready = readyAnswers(daemon);
  let koa: Promise<(request: IncomingMessage, response: ServerResponse) => Promise<void>> | undefined;

  function serve(viaOf: (socket: Socket) => Via | Promise<Via>): Server {
    const server = createHttpServer({
      maxHeaderSize: 2 * limits.headerBytes, // room for the guard to tell an overlong address from overlong headers
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(2_000, limits.headersTimeoutMs),
      requireHostHeader: false, // the guard answers that, as a problem document
    });
    // who has sent all and closed that direction (`nc -N`, `ncat`) still gets the answer
    (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
    server.maxHeadersCount = 0; // Node would drop the rest silently; the guard counts them instead
    server.on('connection', (socket: Socket) => {
      socket.on('error', () => {}); // a client that vanishes is no event
      if (open.size >= limits.connections) {
        refuseRaw(socket, new Problem('busy', `${limits.connections} connections are open, and no more are allowed.`));
        return;
      }
      const via = viaOf(socket);
      open.set(socket, via);
      if (via instanceof Promise) void via.then(v => admit(socket, v));
      socket.once('close', () => open.delete(socket));
    });
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      const via = open.get(request.socket);
      if (via === undefined) return; // refused above
      if (via instanceof Promise) void via.then(v => handle(request, response, v));
      else handle(request, response, via);
    };
    server.on('request', answer);
    server.on('checkExpectation', answer); // may be ignored (RFC 9110, 10.1.1); Node's own 417 would precede the guard
    server.on('connect', async (request, socket: Socket) => {
      const via = await open.get(socket);
      refuseRaw(socket, (via && judge(factsOf(request, via))) ?? MALFORMED);
    });
    server.on('clientError', (error: ClientError, socket: Socket) => {
      if (socket.writable && !streams.has(socket)) refuseRaw(socket, clientProblem(error));
      else socket.destroy();
    });
    servers.push(server);
    return server;
  }

  /** Another user may knock, but not take the places of this one's clients. */
  function admit(socket: Socket, via: Via) {
    if (!open.has(socket)) return; // gone already
    open.set(socket, via);
    if (!isStranger(via)) return;
    const strangers = [...open.values()].filter(isStranger).length;
    if (strangers > limits.strangers) socket.destroy();
  }

  function handle(request: IncomingMessage, response: ServerResponse, via: Via) {
    const { method, url = '' } = request;
    const problem = judge(factsOf(request, via));
    if (problem) return refuse(request, response, problem);
    if (method === 'GET') {
      if (ready(request, response)) return;
      if (url === '/api/events' || url.startsWith('/api/events?')) {
        // a stream's bytes go to the socket itself, so the answers to earlier requests of the connection come first
        if (!response.socket) return void response.once('socket', () => handle(request, response, via));
        try {
          return streams.open(request, response);
        } catch (error) {
          return refuse(request, response, error as Problem);
        }
      }
    }
    koa ??= import('./server.ts').then(({ createServer }) => createServer(daemon));
    koa
      .then(serve => serve(request, response))
      .catch(error => {
        koa = undefined;
        console.error('culvert: internal error:', error);
        if (response.headersSent) response.destroy();
        else refuse(request, response, FAILED);
      });
  }

  return {
    streams,
    async listenUnix(path) {
      await listening(
        serve(() => ({ kind: 'unix' })),
        { path },
      );
    },
    async listenTcp(port, addresses, remote) {
      const bound: Server[] = [];
      let settle: (taken: boolean) => void = () => {};
      const taken = new Promise<boolean>(resolve => {
        settle = resolve;
      });
      try {
        for (const host of addresses) {
          // who waits for the port is in as soon as the first address is bound; the answer waits for the last
          if (bound.length) await new Promise(setImmediate);
          const server = serve(async socket => {
            const via = tcpVia(socket, remote);
            if (!(await taken)) socket.destroy();
            return via;
          });
          try {
            await listening(server, { port, host, ipv6Only: true });
            bound.push(server);
          } catch (error) {
            // a machine without IPv6 has no ::1 that anybody could take
            if (!NO_SUCH_ADDRESS.has((error as NodeJS.ErrnoException).code!) || !host.includes(':')) throw error;
          }
        }
        settle(true);
      } catch (error) {
        settle(false);
        for (const server of bound) server.close();
        throw error;
      }
    },
    async close(reason, graceMs) {
      streams.close(reason);
      const closed = servers.map(server => new Promise(resolve => server.close(resolve)));
      for (const server of servers) server.closeIdleConnections();
      const cut = setTimeout(() => servers.forEach(s => void s.closeAllConnections()), graceMs);
      await Promise.all(closed);
      clearTimeout(cut);
    },
  };

  function tcpVia(socket: Socket, remote: TokenCheck | null): Via | Promise<Via> {
    const { address, port } = socket.address() as AddressInfo;
    const { remoteAddress, remotePort } = socket;
    if (!remoteAddress || !remotePort) return { kind: 'loopback', port, address, peerIsUser: false }; // gone already
    if (remote && !(isLoopback(address) && isLoopback(remoteAddress)))
      return { kind: 'remote', port, address: address.replace(/^::ffff:/, ''), admits: remote };
    return peerIsUser({ localAddress: address, localPort: port, remoteAddress, remotePort })
      .catch(() => null)
      .then(peerIsUser => ({ kind: 'loopback', port, address, peerIsUser }));
  }
}

function factsOf({ method = '', url = '', rawHeaders }: IncomingMessage, via: Via): Facts {
  return { method, target: url, rawHeaders, via };
}

function isStranger(via: Via | Promise<Via>): boolean {
  return 'kind' in via && via.kind === 'loopback' && via.peerIsUser === false;
}

const NO_SUCH_ADDRESS = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL']);
const FAILED = new Problem('internal-error', 'Something went wrong inside the daemon.', {
  hint: 'If Culvert was upgraded or removed meanwhile, start it again: culvert stop, then culvert',
});
const MALFORMED = new Problem('malformed-request', 'This is not a request that the daemon understands.');

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

/**
 * Answers health and snapshot from bytes made once per change. False where nothing is ready: the snapshot has gone
 * stale, or another route is meant.
 */
function readyAnswers(daemon: Daemon): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { state, tunnel } = daemon;
  let health: { of: unknown; head: string[]; body: Buffer } | undefined;
  let snapshot: { of: unknown; head: string[]; body: Buffer; etag: string } | undefined;
  return (request, response) => {
    if (request.url === '/api/health') {
      const { tunnelCli } = state.snapshot();
      if (health?.of !== tunnelCli) {
        const body = Buffer.from(JSON.stringify(handlers['GET /api/health'](daemon, NO_INPUT)));
        health = { of: tunnelCli, head: head(body, 'cache-control', 'no-store'), body };
      }
      response.writeHead(200, health.head);
      response.end(health.body);
      return true;
    }
    if (request.url !== '/api/snapshot' || !tunnel.isFresh()) return false;
    const current = state.snapshot();
    if (snapshot?.of !== current) {
      const body = Buffer.from(JSON.stringify(current));
      const etag = etagOf(current);
      snapshot = { of: current, head: head(body, 'cache-control', 'no-cache', 'etag', etag), body, etag };
    }
    const known = request.headers['if-none-match'];
    if (known !== undefined && etagMatches(known, snapshot.etag)) {
      response.writeHead(304, ['etag', snapshot.etag]);
      response.end();
    } else {
      response.writeHead(200, snapshot.head);
      response.end(snapshot.body);
    }
    return true;
  };
}
const NO_INPUT = { body: undefined, query: undefined };

function head(body: Buffer, ...more: string[]): string[] {
  return [
    ...['content-type', 'application/json; charset=utf-8', 'content-length', String(body.length)],
    ...['x-content-type-options', 'nosniff', ...more],
  ];
}

/** Refuses before the body is read; what is still coming in is drained, within reason, so that the answer gets out. */
function refuse(request: IncomingMessage, response: ServerResponse, problem: Problem) {
  const body = JSON.stringify(problem);
  response.writeHead(problem.status, { ...problem.headers(), 'content-length': Buffer.byteLength(body) });
  response.end(request.method === 'HEAD' ? undefined : body);
  let drained = 0;
  request.on('data', (chunk: Buffer) => {
    drained += chunk.length;
    if (drained > 1 << 20) request.destroy();
  });
}

/** Answers a connection that has no parsed request, and ends it. */
function refuseRaw(socket: Socket, problem: Problem) {
  const body = JSON.stringify(problem);
  const headers = { ...problem.headers(), 'content-length': Buffer.byteLength(body), connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${problem.status} ${problem.title}\r\n${lines.join('')}\r\n${body}`);
  socket.destroySoon();
}

type ClientError = Error & { code?: string; rawPacket?: Buffer };

function clientProblem({ code, rawPacket }: ClientError): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem('request-timeout', 'The request did not arrive completely in time.');
  if (code !== 'HPE_HEADER_OVERFLOW') return MALFORMED;
  const firstLine = rawPacket?.subarray(0, rawPacket.indexOf('\r\n') < 0 ? undefined : rawPacket.indexOf('\r\n'));
  return firstLine && firstLine.length > LIMITS.targetBytes
    ? new Problem('uri-too-long', `The address is longer than ${LIMITS.targetBytes} bytes.`)
    : new Problem('headers-too-large', `At most ${LIMITS.headers} headers of ${LIMITS.headerBytes} bytes are read.`);
}
