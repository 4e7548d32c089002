// Runs a gateway with two accounts of a catalog entry in a temporary home, with a stand-in server for the provider.
import { once } from 'node:events';
import * as fs from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { stringify } from 'smol-toml';
import type { HttpProvider } from '../../catalog/programs.ts';
import type { Provider } from '../../catalog/provider.ts';
import type { Context } from '../../context.ts';
import { newPlaceholder, startGateway } from '../../gateway/gateway.ts';
import { keyValue } from '../../gateway/key-places.ts';
import { pathsFor } from '../../store/paths.ts';
import { readState } from '../../store/state.ts';

/** An answer of the stand-in server. */
interface Answer {
  status: number;
  body?: string | undefined;
}

/** A request that the stand-in server received. */
export interface Seen {
  key: string;
  where: string;
  headers: IncomingMessage['headers'];
}

/** A gateway with its stand-in server, and a function that sends requests as a program. */
export interface Bench {
  url: string;
  base: string;
  placeholder: string;
  /** Key headers of the two accounts. */
  keys: Record<keyof typeof KEYS, string>;
  /** Answers of the stand-in server, by key header. */
  answers: Map<string, Answer>;
  seen: Seen[];
  ask(request: string, body?: unknown, headers?: Record<string, string>): Promise<{ status: number; text: string }>;
  /** Ends the gateway, and returns the class of the first account's pause. */
  close(): Promise<string | undefined>;
}

/** A catalog entry with HTTP access. */
export type Entry = Provider & { http: HttpProvider };

/** Options of the temporary home. */
export interface Home {
  /** Suffix of both keys. */
  keyEnd?: string;
  /** True if the stand-in server reports usage, with more left for the second account. */
  knowsUsage?: boolean;
}

/** Keys of the two accounts. */
export const KEYS = { a: 'culvert-probe-a', b: 'culvert-probe-b' };
/** Remaining units of the two accounts. */
const LEFT = { a: 10, b: 1_000 };
const USAGE = '/culvert-usage';

/** Starts a gateway and its stand-in server, which `close` ends. */
export async function openBench(
  cli: string,
  provider: Entry,
  context: Context,
  { keyEnd = '', knowsUsage = false }: Home,
): Promise<Bench> {
  const { http } = provider;
  const given = { a: `${KEYS.a}${keyEnd}`, b: `${KEYS.b}${keyEnd}` };
  const answers: Bench['answers'] = new Map();
  const seen: Bench['seen'] = [];
  const server = createServer((req, res) => {
    const key = String(req.headers[http.key_header] ?? '');
    const where = req.url ?? '';
    const name = JSON.stringify(req.headers).includes(given.b) ? 'b' : 'a';
    const usage = { status: 200, body: JSON.stringify({ remaining: LEFT[name], limit: LEFT.b }) };
    if (where !== USAGE) seen.push({ key, where, headers: req.headers });
    const { status, body = '{}' } = where === USAGE ? usage : (answers.get(key) ?? { status: 200 });
    req.resume().on('end', () => res.writeHead(status, { 'content-type': 'application/json' }).end(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'culvert-wrap-probe-'));
  const env = { HOME: home, PATH: context.env.PATH ?? '' };
  const own = {
    ...context,
    env,
    paths: pathsFor(env),
    catalog: writeHome(home, { cli, provider, base, given, knowsUsage }),
  };
  const placeholder = newPlaceholder(http);
  const gateway = await startGateway(cli, own, { placeholder });
  let end: Promise<string | undefined> | undefined;
  return {
    url: gateway.url,
    base,
    placeholder,
    keys: { a: keyValue(http, given.a), b: keyValue(http, given.b) },
    answers,
    seen,
    ask: async (request, value, more) => {
      const [method = '', where = ''] = request.split(' ');
      const body = value === undefined ? {} : { body: JSON.stringify(value) };
      const headers = { [http.key_header]: keyValue(http, placeholder), ...more };
      const answer = await fetch(`${gateway.url}${where}`, { method, headers, ...body });
      return { status: answer.status, text: await answer.text() };
    },
    close: () => {
      end ??= gateway.close().then(() => {
        server.close();
        server.closeAllConnections();
        const failure = readState(own.paths, cli).paused.a?.class;
        fs.rmSync(home, { recursive: true, force: true });
        return failure;
      });
      return end;
    },
  };
}

/** Writes two accounts, and the entry with the stand-in server's address. @returns path of the catalog */
function writeHome(
  home: string,
  {
    cli,
    provider,
    base,
    given,
    knowsUsage,
  }: { cli: string; provider: Entry; base: string; given: typeof KEYS; knowsUsage: boolean },
): string {
  const { http } = provider;
  const { usage: _usage, prepare_command: _prepare, status_command: _status, ...entry } = provider;
  const other = base.replace('127.0.0.1', 'localhost');
  const mcp = http.mcp && { ...http.mcp, base: other };
  const ofStandIn = { ...http, base, bases: http.bases.map(each => ({ ...each, base: other })), mcp };
  const usage = knowsUsage ? { usage: { url: `${base}${USAGE}`, remaining: 'remaining', limit: 'limit' } } : {};
  const catalog = path.join(home, 'catalog.toml');
  const config = path.join(home, '.config/culvert-wrap');
  const keys = path.join(config, 'keys.env');
  fs.mkdirSync(config, { recursive: true, mode: 0o700 });
  // the detour through JSON drops undefined values
  fs.writeFileSync(
    catalog,
    stringify(JSON.parse(JSON.stringify({ providers: { [cli]: { ...entry, ...usage, http: ofStandIn } } }))),
  );
  fs.writeFileSync(
    keys,
    Object.entries(given)
      .map(([name, key]) => `${name}=${key}\n`)
      .join(''),
    { mode: 0o600 },
  );
  const variables = [...new Set([...provider.inject, http.key_variable])];
  const accounts = Object.keys(given).map(name => ({
    cli,
    name,
    env: Object.fromEntries(variables.map(variable => [variable, `file:${keys}#${name}`])),
  }));
  fs.writeFileSync(path.join(config, 'config.toml'), stringify({ accounts }), { mode: 0o600 });
  return catalog;
}
