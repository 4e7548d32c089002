/**
 * The door of the gateway: programs reach a provider through 127.0.0.1 with a placeholder, and never hold a key.
 *
 *     const gateway = await startGateway('firecrawl', context);
 *     spawn(program, { env: { ...env, ...gateway.env } }); // FIRECRAWL_API_URL, FIRECRAWL_API_KEY, NO_PROXY
 *     await gateway.close();
 *
 * `gateway.url` is the provider's address without a path: one port for each provider, because programs lose a path.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Context } from '../context.ts';
import { EXIT, reason, say, WrapError } from '../system/errors.ts';
import { digest } from '../system/hash.ts';
import { createPeerLookup } from '../system/peer.ts';
import { admit, type Consumer, type Door } from './admit.ts';
import { deny } from './answer.ts';
import { forward } from './forward.ts';
import { Ledger } from './ledger.ts';
import { connectionsTo, type Route } from './upstream.ts';
import { end, forwardUpgrade } from './websocket.ts';

/** A gateway that listens in this process. */
export interface Gateway {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** Variables for a program that uses it; they hold the placeholder and no key. */
  env: Record<string, string>;
  /** Ends it, and the requests under way. */
  close(): Promise<void>;
}

/** Longer than programs keep an idle connection, so that none is closed under a request. */
const KEEP_ALIVE_MS = 65_000;
const MOST_CONNECTIONS = 4_096;

/**
 * Starts a gateway for a tool's provider, with a placeholder of its own.
 * @param port 0 for any
 * @throws WrapError `no-gateway` where the catalog has no `http`, `no-account`, and those of `loadPlan`
 */
export async function startGateway(cli: string, context: Context, port = 0): Promise<Gateway> {
  const ledger = new Ledger(cli, context);
  const { http } = (await ledger.plan()).provider;
  if (!http) {
    throw new WrapError('no-gateway', EXIT.usage, `the catalog does not say how programs reach ${cli} over HTTP`, {
      hint: `add [providers.${cli}.http] to ~/.config/culvert-wrap/providers.toml`,
    });
  }
  const placeholder = `${http.key_prefix}${randomUUID()}`;
  const agent = connectionsTo(http);
  const own: Consumer = { name: 'program', placeholder, digest: digest(Buffer.from(placeholder)) };
  const door: Door = { consumers: [own], port, keyHeader: http.key_header };
  let url = '';
  /** @returns how to forward a request, or why it is not forwarded */
  const routeOf = async (req: IncomingMessage): Promise<Route | { status: number; message: string }> => {
    const consumer = admit(req.url ?? '', req.headersDistinct, door);
    if ('status' in consumer) return consumer;
    const plan = await ledger.plan();
    if (!plan.accounts.some(({ enabled }) => enabled))
      return { status: 401, message: `${cli} has no enabled account.` };
    return { plan, http: plan.provider.http ?? http, ledger, agent, url, placeholder: consumer.placeholder };
  };
  const serve = async (req: IncomingMessage, res: ServerResponse) => {
    if (!(await isOurs(req.socket))) return void req.socket.destroy();
    const route = await routeOf(req);
    if ('status' in route) return deny(res, route.status, route.message);
    await forward(req, res, route);
  };
  const isOurs = peerCheck();
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, (req, res) => {
    serve(req, res).catch(error => {
      if (!res.destroyed) say(`${cli}: a request failed: ${reason(error)}`);
      deny(res, 500, error instanceof WrapError ? error.message : 'The gateway failed.');
    });
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.on('connection', socket => {
    isOurs(socket).then(ours => ours || socket.destroy());
  });
  const upgraded = new Set<Duplex>();
  const upgrade = async (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!(await isOurs(req.socket))) return void socket.destroy();
    const route = await routeOf(req);
    if ('status' in route) return end(socket, route.status);
    await forwardUpgrade(req, socket, head, route);
  };
  server.on('upgrade', (req, socket, head) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    upgrade(req, socket, head).catch(error => {
      say(`${cli}: a websocket failed: ${reason(error)}`);
      socket.destroy();
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  door.port = (server.address() as AddressInfo).port;
  url = `http://127.0.0.1:${door.port}`;
  const direct = directly(context.env.NO_PROXY ?? context.env.no_proxy);
  const env: Record<string, string> = { [http.key_variable]: placeholder, NO_PROXY: direct, no_proxy: direct };
  if (http.base_variable) env[http.base_variable] = url;
  const close = async () => {
    const end = once(server, 'close');
    server.close();
    server.closeAllConnections();
    for (const socket of upgraded) socket.destroy();
    agent.destroy();
    await end;
    ledger.write();
  };
  return { url, env, close };
}

/** Reports whether a connection comes from this user; a connection is looked up once. */
function peerCheck(): (socket: Socket) => Promise<boolean> {
  const lookUp = createPeerLookup();
  const answers = new WeakMap<Socket, Promise<boolean>>();
  return socket => {
    const earlier = answers.get(socket);
    if (earlier) return earlier;
    const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = socket;
    const answer = lookUp({ localAddress, localPort, remoteAddress, remotePort }).then(
      uid => uid === process.getuid!(),
      () => false,
    );
    answers.set(socket, answer);
    return answer;
  };
}

/** Programs send requests for this machine to a proxy as well, unless it is named here. */
function directly(value = ''): string {
  return [...new Set([...value.split(',').filter(name => name !== ''), '127.0.0.1', 'localhost'])].join(',');
}
