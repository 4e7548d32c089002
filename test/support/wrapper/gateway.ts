// A gateway in this process, in front of a provider on loopback that counts.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadCatalog } from '../../../wrapper/catalog/catalog.ts';
import type { Context } from '../../../wrapper/context.ts';
import { type Gateway, httpOf, newPlaceholder, startGateway } from '../../../wrapper/gateway/gateway.ts';
import { pathsFor } from '../../../wrapper/store/paths.ts';
import { listen } from '../listen.ts';
import { type Sandbox, sandbox } from './sandbox.ts';

export type Respond = (key: string, req: IncomingMessage, res: ServerResponse) => void;

export interface Provider {
  server: Server;
  port: number;
  /** `KEY METHOD PATH` of each request. */
  calls: string[];
}

/** A provider that answers a request when it has read it. */
export async function startProvider(t: TestContext, respond: Respond): Promise<Provider> {
  const calls: string[] = [];
  const server = createServer((req, res) => {
    const { authorization, 'x-api-key': own, 'xi-api-key': other, 'x-subscription-token': token } = req.headers;
    const key = String(authorization ?? own ?? other ?? token ?? '').replace(/^\S+ /, '');
    calls.push(`${key} ${req.method} ${req.url}`);
    req.resume().on('end', () => respond(key, req, res));
  });
  return { server, port: await listen(t, server), calls };
}

/** A home with accounts of the tool `fake`, whose provider that is. */
export function homeFor(t: TestContext, port: number, keys: Record<string, string>, more = ''): Sandbox {
  const box = sandbox(t);
  box.script('fake', '#!/bin/sh\n');
  box.provider(
    'fake',
    `inject = ["FAKE_KEY"]
${more}
[providers.fake.http]
base = "http://127.0.0.1:${port}"
base_variable = "FAKE_URL"
key_variable = "FAKE_KEY"
key_prefix = "fk-"
billed = "chargeId"
creators = [{ request = "POST /crawl", id = "id", wants = "limit" }]
rewrite = ["next"]`,
  );
  box.accounts('fake', keys);
  return box;
}

/** The context of the wrapper in a sandbox. */
export function contextOf({ env, home }: Pick<Sandbox, 'env' | 'home'>): Context {
  return {
    env,
    cwd: home,
    paths: pathsFor(env),
    catalog: fileURLToPath(new URL('../../../wrapper/catalog/providers', import.meta.url)),
    now: Date.now,
    signals: { forwardTo: start => start(), stop: () => {}, received: undefined },
    load: () => import('../../../wrapper/manage/lazy.ts'),
    loadPool: () => import('../../../wrapper/pool/leases.ts'),
    loadCommands: () => import('../../../wrapper/commands/main.ts'),
  };
}

/** Asks through a gateway. */
export type Ask = (path: string, init?: RequestInit) => Promise<Response>;

/** A gateway, and how its program asks. */
export async function openGateway(
  t: TestContext,
  box: Sandbox,
  now = Date.now,
): Promise<{ gateway: Gateway; ask: Ask; key: string }> {
  const key = newPlaceholder({ key_prefix: 'fk-' });
  const gateway = await startGateway('fake', { ...contextOf(box), now }, { placeholder: key });
  t.after(() => gateway.close());
  const ask: Ask = (path, init = {}) => {
    const headers = { authorization: `Bearer ${key}`, ...init.headers };
    return fetch(path.startsWith('http') ? path : `${gateway.url}${path}`, { ...init, headers });
  };
  return { gateway, ask, key };
}

/** A gateway for a tool of the shipped catalog, in front of a provider on loopback, and how its program asks. */
export async function openShipped(t: TestContext, cli: string, keys: Record<string, string>, respond: Respond) {
  const seen: IncomingHttpHeaders[] = [];
  const provider = await startProvider(t, (key, req, res) => {
    seen.push(req.headers);
    respond(key, req, res);
  });
  const { http, ...opened } = await openShippedAt(t, cli, keys, provider.port);
  const scheme = http.key_header === 'authorization' ? `${http.key_scheme} ` : '';
  const ask = async (request: string, body?: string, headers: Record<string, string> = {}) => {
    const [method, where] = request.split(' ');
    const own = { [http.key_header]: `${scheme}${opened.placeholder}`, ...headers };
    const init = { method: method!, headers: own, ...(body !== undefined && { body }) };
    const answer = await fetch(`${opened.url}${where}`, init);
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  return { ...provider, ...opened, seen, ask, http };
}

/** The same in front of a provider that runs already. */
export async function openShippedAt(t: TestContext, cli: string, keys: Record<string, string>, port: number) {
  const { box, http } = shippedHome(t, cli, keys, port);
  const placeholder = newPlaceholder(http);
  const gateway = await startGateway(cli, contextOf(box), { placeholder });
  t.after(() => gateway.close());
  return { box, http, url: gateway.url, placeholder, gateway };
}

/** A home with accounts of a tool of the shipped catalog, whose provider is on loopback; `/usage` has the figures of an account. */
export function shippedHome(t: TestContext, cli: string, keys: Record<string, string>, port: number) {
  const box = sandbox(t);
  const provider = loadCatalog(contextOf(box).catalog, '').providers[cli]!;
  const http = httpOf({ cli, provider });
  box.script(cli, '#!/bin/sh\n');
  const bases = http.bases.map(({ key_ends: end }) => `{ key_ends = "${end}", base = "http://localhost:${port}" }`);
  box.provider(
    cli,
    `${provider.usage ? `usage = { url = "http://127.0.0.1:${port}/usage" }` : ''}
[providers.${cli}.http]
base = "http://127.0.0.1:${port}"
bases = [${bases.join(', ')}]
${http.mcp ? `mcp = { base = "http://localhost:${port}" }` : ''}`,
  );
  box.accounts(cli, keys, http.key_variable);
  return { box, http };
}

/** Answers with JSON. */
export function json(res: ServerResponse, status: number, value: object): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
