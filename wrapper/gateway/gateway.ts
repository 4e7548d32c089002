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
import { createServer, Agent as HttpAgent, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Context } from '../context.ts';
import { loadPlan } from '../run/load-plan.ts';
import { EXIT, reason, say, WrapError } from '../system/errors.ts';
import { digest } from '../system/hash.ts';
import { createPeerLookup } from '../system/peer.ts';
import { type Door, refuse } from './admit.ts';
import { deny, forward, type Route } from './forward.ts';

/** A gateway that listens in this process. */
export interface Gateway {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** What a program needs to use it; holds the placeholder and no key. */
  env: Record<string, string>;
  /** Ends it, and the requests under way. */
  close(): Promise<void>;
}

/** Longer than programs keep an idle connection, so that none is closed under a request. */
const KEEP_ALIVE_MS = 65_000;

/**
 * Starts a gateway for a tool's provider, with a placeholder of its own.
 * @param port 0 for any
 * @throws WrapError `no-gateway` where the catalog has no `http`, `no-account`, and those of `loadPlan`
 */
export async function startGateway(cli: string, context: Context, port = 0): Promise<Gateway> {
  const { http } = (await loadPlan(cli, context)).provider;
  if (!http) {
    throw new WrapError('no-gateway', EXIT.usage, `the catalog does not say how programs reach ${cli} over HTTP`, {
      hint: `add [providers.${cli}.http] to ~/.config/culvert-wrap/providers.toml`,
    });
  }
  const placeholder = `${http.key_prefix}${randomUUID()}`;
  const Agent = http.base.startsWith('https:') ? HttpsAgent : HttpAgent;
  const agent = new Agent({ keepAlive: true });
  const isOurs = peerCheck();
  const door: Door = { placeholder: digest(Buffer.from(placeholder)), port, keyHeader: http.key_header };
  let url = '';
  const serve = async (req: IncomingMessage, res: ServerResponse) => {
    if (!(await isOurs(req.socket))) return void req.socket.destroy();
    const refusal = refuse(req.url ?? '', req.headersDistinct, door);
    if (refusal) return deny(res, refusal.status, refusal.message);
    // accounts may have changed since the start
    const plan = await loadPlan(cli, context);
    if (!plan.accounts.some(({ enabled }) => enabled)) return deny(res, 401, `${cli} has no enabled account.`);
    const route: Route = { plan, http: plan.provider.http ?? http, context, agent, url, placeholder };
    await forward(req, res, route);
  };
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, (req, res) => {
    serve(req, res).catch(error => {
      if (!res.destroyed) say(`${cli}: a request failed: ${reason(error)}`);
      deny(res, 500, error instanceof WrapError ? error.message : 'The gateway failed.');
    });
  });
  server.on('connection', socket => {
    isOurs(socket).then(ours => ours || socket.destroy());
  });
  // clients fall back to asking again and again
  server.on('upgrade', (_req, socket) => void socket.end('HTTP/1.1 501 Not Implemented\r\nConnection: close\r\n\r\n'));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  door.port = (server.address() as AddressInfo).port;
  url = `http://127.0.0.1:${door.port}`;
  const env: Record<string, string> = { [http.key_variable]: placeholder, NO_PROXY: directly(context.env.NO_PROXY) };
  if (http.base_variable) env[http.base_variable] = url;
  const close = async () => {
    const end = once(server, 'close');
    server.close();
    server.closeAllConnections();
    agent.destroy();
    await end;
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
