// Opens the listeners of the API, a Unix socket and one TCP port: how many connections each admits, and whose they are.
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Problem } from '../problem.ts';
import { errno } from '../system/errno.ts';
import { createPeerCheck } from '../system/peer.ts';
import { createEventStreams, type EventStreams } from './event-streams.ts';
import { checkRequest, LIMITS, type Limits, type RemoteAccess, type Via } from './guard.ts';
import type { Daemon } from './handlers.ts';
import { type ClientError, clientProblem, MALFORMED, refuse, refuseRaw } from './refusals.ts';
import { createRequestHandler, requestInfo } from './request-handler.ts';
import type { Tls } from './tls.ts';

export interface Listeners {
  /** Serves the API on a Unix socket; its directory has to be private to the user. */
  listenUnix(path: string): Promise<void>;
  /**
   * Serves the API on one port of all these addresses, or of none of them.
   * @throws NodeJS.ErrnoException EADDRINUSE, EACCES … of the address that failed.
   */
  listenTcp(port: number, addresses: readonly string[], remote: TcpAccess | null): Promise<void>;
  /** Closes every connection from another machine; what may still use the API connects again. */
  closeRemote(): void;
  streams: EventStreams;
  /** Stops accepting, says goodbye to event streams, lets requests finish for `graceMs`, then closes connections. */
  close(reason: string, graceMs: number): Promise<void>;
}

/** What other machines are let in with; without `tls`, unencrypted. */
export type TcpAccess = RemoteAccess & { tls: Tls | null };

/** What is known of a connection; a promise until the kernel has said whose it is. */
type Connection = Via | Promise<Via> | typeof SURPLUS;
/** Over the quota: its first request is answered with `busy`. */
const SURPLUS: unique symbol = Symbol('surplus');
const SURPLUS_MS = 2_000;

/** @param limits the contract's, except where a benchmark raises them. */
export function createListeners(daemon: Daemon, limits: Limits = LIMITS, uid = process.getuid!()): Listeners {
  const servers: Server[] = [];
  const streams = createEventStreams(daemon.state, limits, {
    config: () => daemon.settings.response(),
    onOpen: () => void daemon.tunnel.refresh('stale'), // who begins to look is shown what is current
  });
  const handle = createRequestHandler(daemon, streams);
  const peerIsUser = createPeerCheck(uid);
  // a quota each, so that idle TCP connections can't lock the command line out
  const unix = createConnections(limits.unixConnections, limits);
  const tcp = createConnections(limits.connections, limits);

  function serve(connections: Connections, viaOf: (socket: Socket) => Via | Promise<Via>): Server {
    const server = createHttpServer({
      maxHeaderSize: 2 * limits.headerBytes, // lets the guard tell an overlong address from overlong headers
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(2_000, limits.headersTimeoutMs),
      requireHostHeader: false, // the guard answers that, with a problem document
    });
    // half-closed clients (`nc -N`) still get a response
    (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
    server.maxHeadersCount = 0; // Node would drop the rest silently; the guard counts them instead
    server.on('connection', (socket: Socket) => connections.add(socket, viaOf));
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      const connection = connections.get(request.socket);
      if (connection === undefined) return; // closed already
      if (connection === SURPLUS) return refuseSurplus(request, response, connections.quota);
      if (connection instanceof Promise) void connection.then(via => handle(request, response, via));
      else handle(request, response, connection);
    };
    server.on('request', answer);
    server.on('checkContinue', answer); // see readBody
    server.on('checkExpectation', answer); // may be ignored (RFC 9110, 10.1.1); Node's own 417 would precede the guard
    server.on('connect', async (request, socket: Socket) => {
      const via = await connections.get(socket);
      refuseRaw(socket, (via && via !== SURPLUS && checkRequest(requestInfo(request, via))) || MALFORMED);
    });
    server.on('clientError', (error: ClientError, socket: Socket) => {
      if (socket.writable && !streams.has(socket)) refuseRaw(socket, clientProblem(error));
      else socket.destroy();
    });
    servers.push(server);
    return server;
  }

  function tcpVia(socket: Socket, remote: TcpAccess | null): Via | Promise<Via> {
    const { address, port } = socket.address() as AddressInfo;
    const { remoteAddress, remotePort } = socket;
    if (!remoteAddress || !remotePort) return { kind: 'loopback', port, address, peerIsUser: false }; // closed already
    const fromOutside = (access: RemoteAccess): Via => {
      const encrypted = 'encrypted' in socket; // of a TLSSocket; loading node:tls to ask for it costs a quarter of the start
      return { kind: 'remote', port, address: plain(address), from: plain(remoteAddress), access, encrypted };
    };
    if (remote && !isLocal(socket)) return fromOutside(remote);
    return peerIsUser({ localAddress: address, localPort: port, remoteAddress, remotePort })
      .catch(() => null)
      .then(peerIsUser =>
        // another user of this machine, such as a reverse proxy's, needs what another machine needs
        remote && peerIsUser === false ? fromOutside(remote) : { kind: 'loopback', port, address, peerIsUser },
      );
  }

  return {
    streams,
    async listenUnix(path) {
      await listening(
        serve(unix, () => ({ kind: 'unix' })),
        { path },
      );
    },
    async listenTcp(port, addresses, remote) {
      const encrypt = remote?.tls && (await import('./tls.ts')).encryptRemote;
      const serveOnce = (taken: Promise<boolean>) => {
        const server = serve(tcp, async socket => {
          const via = tcpVia(socket, remote);
          if (!(await taken)) socket.destroy();
          return via;
        });
        encrypt?.(server, remote!.tls!, isLocal, limits.headersTimeoutMs);
        return server;
      };
      await listenOnAll(serveOnce, port, addresses);
    },
    closeRemote() {
      for (const [socket, connection] of tcp.entries())
        if (connection !== SURPLUS && !(connection instanceof Promise) && connection.kind === 'remote')
          socket.destroy();
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
}

interface Connections {
  quota: number;
  add(socket: Socket, viaOf: (socket: Socket) => Via | Promise<Via>): void;
  get(socket: Socket): Connection | undefined;
  entries(): Iterable<[Socket, Connection]>;
}

/**
 * The open connections of one kind of listener, at most `quota`. Further ones, at most a quarter of that again, stay open
 * just long enough to be refused: a refusal that is sent before the request was read gets lost in the kernel's reset.
 */
function createConnections(quota: number, { strangers }: Limits): Connections {
  const open = new Map<Socket, Connection>();
  let surplus = 0;

  function addSurplus(socket: Socket) {
    if (surplus >= Math.max(quota / 4, 1)) return void socket.destroy();
    surplus += 1;
    open.set(socket, SURPLUS);
    const limit = setTimeout(() => socket.destroy(), SURPLUS_MS);
    socket.once('close', () => {
      clearTimeout(limit);
      surplus -= 1;
      open.delete(socket);
    });
  }

  /** Connections of other users must not take the places of this user's clients. */
  function admit(socket: Socket, via: Via) {
    if (!open.has(socket)) return; // closed already
    open.set(socket, via);
    if (!isStranger(via)) return;
    if ([...open.values()].filter(isStranger).length > strangers) socket.destroy();
  }

  return {
    quota,
    add(socket, viaOf) {
      socket.on('error', () => {}); // 'close' follows
      if (open.size - surplus >= quota) return addSurplus(socket);
      const via = viaOf(socket);
      open.set(socket, via);
      if (via instanceof Promise) void via.then(v => admit(socket, v));
      socket.once('close', () => open.delete(socket));
    },
    get: socket => open.get(socket),
    entries: () => [...open],
  };
}

function refuseSurplus(request: IncomingMessage, response: ServerResponse, quota: number) {
  response.setHeader('connection', 'close');
  refuse(request, response, new Problem('busy', `${quota} connections are open, and no more are allowed.`));
}

/** Binds one server per address, or none. Connections that arrive before the last is bound wait for `taken`. */
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

function isStranger(connection: Connection): boolean {
  return (
    connection !== SURPLUS &&
    !(connection instanceof Promise) &&
    connection.kind === 'loopback' &&
    connection.peerIsUser === false
  );
}

/** An IPv4 address as such, also on a socket of both families. */
function plain(address: string): string {
  return address.replace(/^::ffff:/, '');
}

/** Both ends are this machine. */
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
