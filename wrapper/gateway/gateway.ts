/**
 * Starts gateways. Programs reach a provider through a gateway on 127.0.0.1 with a placeholder, and never get a key.
 *
 *     const placeholder = newPlaceholder(http);
 *     const gateway = await startGateway('firecrawl', context, { placeholder });
 *     spawn(program, { env: { ...env, ...variablesFor(http, { url: gateway.url, placeholder }, env) } });
 *     await gateway.close();
 *
 * `gateway.url` replaces the provider's address without a path. Each provider has a port, because programs drop a path.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errno, reason } from '../../daemon/core/errors.ts';
import { digest } from '../../daemon/core/hash.ts';
import { createPeerLookup } from '../../daemon/core/peer.ts';
import type { HttpProvider } from '../catalog/programs.ts';
import type { Context } from '../context.ts';
import { callerEnvironment } from '../run/accounts/ready.ts';
import type { Plan } from '../store/plan.ts';
import { PLACEHOLDER_ID } from '../store/tokens.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { urlOf } from './address.ts';
import { ACCEPTED, admit, type Consumer, type OwnAnswer } from './admit.ts';
import { deny } from './answer.ts';
import { Consumers, type Log } from './consumers.ts';
import { forward } from './forward.ts';
import { Ledger } from './ledger.ts';
import { Reach, type Route } from './upstream.ts';
import { end, forwardUpgrade, isForWebsocket, withoutUpgrade } from './websocket.ts';

/** A gateway that listens in this process. */
export interface Gateway {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** Ends the gateway and its current requests. */
  close(): Promise<void>;
}

/** Time for idle connections. It is longer than in programs, so no connection is closed during a request. */
const KEEP_ALIVE_MS = 65_000;
const MAX_CONNECTIONS = 4_096;
/**
 * Maximum number of idle connections. Above it, the oldest idle connection is closed, so that programs can always connect. A
 * connection is idle until its request has been read, so the number is more than a program opens in parallel.
 */
const MAX_IDLE = 3_072;
const REVOKED_MS = 1_000;
/** Number of attempts to look up a peer. The kernel may omit a row of a table that changes during the read. */
const LOOKUPS = 3;

export interface GatewayOptions {
  /** The only valid placeholder. By default, the placeholders of `serve token` are valid. */
  placeholder?: string;
  /** Name of the program with the placeholder. */
  name?: string;
  /** Port to listen on; 0 means any free port. */
  port?: number;
  /** File descriptor of a listening socket, instead of a port. */
  fd?: number | undefined;
  /** `then` is called after this time without a connection. */
  idle?: { ms: number; then(): void };
}

/** Creates a placeholder with the prefix of a provider's keys, because programs refuse a placeholder without it. */
export function newPlaceholder({ key_prefix }: Pick<HttpProvider, 'key_prefix'>): string {
  return `${key_prefix}${randomUUID()}`;
}

/** Reports whether a value is certainly a placeholder, because keys have another form after the same prefix. */
export function isPlaceholder(value: string, { key_prefix }: Pick<HttpProvider, 'key_prefix'>): boolean {
  const id = value.slice(key_prefix.length);
  return key_prefix !== '' && value.startsWith(key_prefix) && PLACEHOLDER_ID.test(id);
}

/** @throws WrapError `no-gateway` if the catalog entry has no `http` */
export function httpOf({ cli, provider }: Pick<Plan, 'cli' | 'provider'>): HttpProvider {
  if (provider.http) return provider.http;
  throw new WrapError('no-gateway', EXIT.usage, `the catalog does not say how programs reach ${cli} over HTTP`, {
    hint: `add [providers.${cli}.http] to ~/.config/culvert-wrap/providers.toml`,
  });
}

/**
 * Starts a gateway for a tool's provider.
 * @throws WrapError `no-gateway`, `port-in-use`, and those of `loadPlan`
 */
export async function startGateway(cli: string, context: Context, options: GatewayOptions = {}): Promise<Gateway> {
  const { placeholder: given, name = 'program', fd, idle } = options;
  let { port = 0 } = options;
  const ledger = new Ledger(cli, context);
  const http = httpOf(await ledger.plan());
  const reach = new Reach(callerEnvironment(context.env), context.now);
  const only = given === undefined ? undefined : { name, digest: digest(Buffer.from(given)) };
  const refused = { cli, command: 'http', account: null, outcome: 'refused' } as const;
  const log: Log = (why, more) => ledger.save([], [{ at: context.now(), ...refused, why, ...more }]);
  const consumers = new Consumers(cli, context, { only, log });
  let url = '';
  /** @returns the route of a request, or the gateway's own answer */
  const routeOf = async (req: IncomingMessage): Promise<Route | OwnAnswer> => {
    const admitted = admit(req.url ?? '', req.headersDistinct, { consumers: consumers.all, port, http });
    if ('status' in admitted) {
      consumers.turnAway(admitted.why);
      return admitted;
    }
    if (req.url === '*') return ACCEPTED;
    const { consumer, placeholder } = admitted;
    const plan = await ledger.plan();
    if (!plan.accounts.some(({ enabled }) => enabled)) {
      log('no-account', { consumer: consumer.name });
      return { status: 401, message: `${cli} has no enabled account.` };
    }
    return { plan, http: plan.provider.http ?? http, ledger, reach, url, consumers, consumer, placeholder };
  };
  /** Current answers and websockets. */
  const open = new Map<ServerResponse | Duplex, Consumer | undefined>();
  let watching: NodeJS.Timeout | undefined;
  const endRevoked = () => {
    for (const [each, consumer] of open) if (consumer && !consumers.has(consumer)) each.destroy();
    if (open.size > 0) return;
    clearInterval(watching);
    watching = undefined;
  };
  const isOurs = peerCheck();
  const enter = (each: ServerResponse | Duplex, consumer?: Consumer) => {
    if (each.destroyed) return;
    if (!open.has(each)) each.once('close', () => open.delete(each));
    open.set(each, consumer);
    // a token is checked when a request arrives; the timer ends requests with a token revoked later
    watching ??= setInterval(endRevoked, REVOKED_MS).unref();
  };
  const idleSockets = new IdleSockets();
  const serve = async (req: IncomingMessage, res: ServerResponse) => {
    idleSockets.delete(req.socket);
    res.once('close', () => idleSockets.add(req.socket));
    if (!(await isOurs(req.socket))) return void req.socket.destroy();
    const route = await routeOf(req);
    if ('status' in route) return deny(res, route.status, route.message);
    enter(res, route.consumer);
    await forward(req, res, route);
  };
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, (req, res) => {
    serve(req, res).catch(error => {
      if (!res.destroyed) say(`${cli}: a request failed: ${reason(error)}`);
      deny(res, 500, error instanceof WrapError ? error.message : 'The gateway failed.', true);
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('connection', socket => {
    idleSockets.add(socket);
    socket.once('close', () => idleSockets.delete(socket));
    isOurs(socket).then(ours => {
      if (ours || socket.destroyed) return;
      consumers.turnAway('other-user');
      socket.destroy();
    });
  });
  const upgrade = async (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    idleSockets.delete(req.socket);
    if (!(await isOurs(req.socket))) return void socket.destroy();
    const route = await routeOf(req);
    if ('status' in route) return end(socket, route);
    enter(socket, route.consumer);
    await forwardUpgrade(req, socket, head, route);
  };
  server.on('upgrade', (req, socket, head) => {
    if (!isForWebsocket(req)) {
      socket.unshift(withoutUpgrade(req, head));
      return void server.emit('connection', socket);
    }
    enter(socket);
    upgrade(req, socket, head).catch(error => {
      say(`${cli}: a websocket failed: ${reason(error)}`);
      socket.destroy();
    });
  });
  // programs may open a thousand connections in parallel
  server.listen(fd === undefined ? { port, host: '127.0.0.1', backlog: MAX_CONNECTIONS } : { fd });
  await once(server, 'listening').catch(error => {
    throw cannotListen(cli, port, error);
  });
  port = (server.address() as AddressInfo).port;
  url = urlOf(port);
  const stopWaiting = idle && whenIdle(server, idle);
  const close = async () => {
    stopWaiting?.();
    clearInterval(watching);
    const end = once(server, 'close');
    server.close();
    server.closeAllConnections();
    for (const each of open.keys()) each.destroy();
    reach.close();
    await end;
    consumers.close();
    await ledger.close();
  };
  return { url, close };
}

/** Connections without a current request, in the order in which they became idle. */
class IdleSockets {
  readonly #sockets = new Set<Socket>();

  add(socket: Socket): void {
    if (socket.destroyed) return;
    this.#sockets.add(socket);
    if (this.#sockets.size <= MAX_IDLE) return;
    const [oldest] = this.#sockets;
    this.#sockets.delete(oldest!);
    oldest!.destroy();
  }

  delete(socket: Socket): void {
    this.#sockets.delete(socket);
  }
}

/** Calls `then` after a time without a connection. @returns a function that ends the wait */
function whenIdle(server: Server, { ms, then }: NonNullable<GatewayOptions['idle']>): () => void {
  let connections = 0;
  let timer = setTimeout(then, ms);
  server.on('connection', socket => {
    connections += 1;
    clearTimeout(timer);
    socket.once('close', () => {
      connections -= 1;
      if (connections === 0) timer = setTimeout(then, ms);
    });
  });
  return () => clearTimeout(timer);
}

function cannotListen(cli: string, port: number, error: unknown): unknown {
  if (errno(error) !== 'EADDRINUSE') return error;
  return new WrapError('port-in-use', EXIT.unavailable, `port ${port} is in use, perhaps by the gateway of ${cli}`, {
    hint: `run \`culvert-wrap serve status\`, or choose another port with --port`,
    cause: error,
  });
}

/** Creates a check of whether a connection comes from this user. It looks up each connection once. */
function peerCheck(): (socket: Socket) => Promise<boolean> {
  const lookUp = createPeerLookup();
  const answers = new WeakMap<Socket, Promise<boolean>>();
  const isOurs = async (socket: Socket): Promise<boolean> => {
    const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = socket;
    for (let attempt = 0; attempt < LOOKUPS && !socket.destroyed; attempt += 1) {
      const uid = await lookUp({ localAddress, localPort, remoteAddress, remotePort });
      if (uid !== undefined) return uid === process.getuid!();
    }
    return false;
  };
  return socket => {
    const earlier = answers.get(socket);
    if (earlier) return earlier;
    const answer = isOurs(socket).catch(() => false);
    answers.set(socket, answer);
    return answer;
  };
}
