// Tests what a catalog entry says about HTTP: a gateway in a home of its own, in front of a stand-in for the provider.
import { once } from 'node:events';
import * as fs from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { stringify } from 'smol-toml';
import type { HttpProvider, Provider } from '../../catalog/catalog.ts';
import type { Context } from '../../context.ts';
import { newPlaceholder, startGateway } from '../../gateway/gateway.ts';
import { keyValue } from '../../gateway/key-places.ts';
import { pathsFor } from '../../store/paths.ts';
import { readState } from '../../store/state.ts';

/** Result of one check. */
export interface HttpResult {
  what: string;
  expect: string;
  got: string;
  ms: number;
}

/** Answer of the stand-in. */
interface Answer {
  status: number;
  body?: string | undefined;
}

/** A gateway, and how its program asks it. */
interface Bench {
  http: HttpProvider;
  url: string;
  base: string;
  /** Answers of the stand-in, by key. */
  answers: Map<string, Answer>;
  /** Key header of each request, and the request. */
  seen: { key: string; headers: IncomingMessage['headers'] }[];
  ask(method: string, where: string): Promise<{ status: number; text: string }>;
  /** Class of the pause of an account, after the gateway has ended. */
  close(): Promise<string | undefined>;
}

const KEYS = { a: 'culvert-probe-a', b: 'culvert-probe-b' };
const JOB = 'culvert-job-1';

/** Runs all checks of an entry's `http`. */
export async function testHttp(
  cli: string,
  provider: Provider & { http: HttpProvider },
  context: Context,
): Promise<HttpResult[]> {
  const { http } = provider;
  const results: HttpResult[] = [];
  const check = async (what: string, expect: string, run: (bench: Bench) => Promise<string>) => {
    const started = Date.now();
    const bench = await openBench(cli, provider, context);
    try {
      results.push({ what, expect, got: await run(bench), ms: Date.now() - started });
    } finally {
      await bench.close();
    }
  };
  await check('key', keyValue(http, KEYS.a), async ({ ask, seen }) => {
    await ask('GET', '/culvert-test');
    return seen[0]?.key ?? 'no request';
  });
  for (const { expect, ...answer } of statusesOf(http)) {
    await check(`status ${answer.status}`, expect, async ({ ask, answers, seen, close }) => {
      answers.set(keyValue(http, KEYS.a), answer);
      const { status } = await ask('POST', '/culvert-test');
      const failure = (await close()) ?? 'other';
      const goesOn = failure !== 'other' && provider.accounts !== 'one-per-person';
      return goesOn === (seen.length > 1 && status === 200) ? failure : `${failure}, with the wrong account`;
    });
  }
  for (const { request, id } of http.creators) {
    await check(`job of ${request}`, keyValue(http, KEYS.a), async ({ ask, answers, seen }) => {
      const [method = '', pattern = ''] = request.split(' ');
      const where = pattern.replaceAll('*', 'x');
      answers.set(keyValue(http, KEYS.a), { status: 200, body: JSON.stringify(nested(id, JOB)) });
      await ask(method, where);
      answers.set(keyValue(http, KEYS.a), { status: 402 });
      await ask('GET', '/culvert-test');
      await ask('GET', `${where}/${JOB}`);
      return seen.at(-1)!.key;
    });
  }
  for (const name of http.rewrite) {
    await check(`address in ${name}`, 'the gateway', async ({ ask, answers, url, base }) => {
      answers.set(keyValue(http, KEYS.a), { status: 200, body: JSON.stringify({ [name]: `${base}/x?y=1` }) });
      const { text } = await ask('GET', '/culvert-test');
      return text.includes(`"${url}/x?y=1"`) ? 'the gateway' : text;
    });
  }
  return results;
}

/** Answers of the entry's probes, and those whose meaning its rules and the gateway's own give. */
function statusesOf({ probes, retry }: HttpProvider): HttpProvider['probes'] {
  const own = [401, 402, 429].map((status, index) => ({
    status,
    expect: (['auth', 'quota', 'rate'] as const)[index]!,
  }));
  const ofRules = retry.flatMap(({ status, body, class: expect }) => (body === undefined ? [{ status, expect }] : []));
  const statuses = [...ofRules, ...own, { status: 500, expect: 'other' as const }];
  const first = statuses.filter(({ status }, index) => statuses.findIndex(each => each.status === status) === index);
  return [...probes, ...first];
}

async function openBench(cli: string, provider: Provider & { http: HttpProvider }, context: Context): Promise<Bench> {
  const { http } = provider;
  const answers: Bench['answers'] = new Map();
  const seen: Bench['seen'] = [];
  const server = createServer((req, res) => {
    const key = String(req.headers[http.key_header] ?? '');
    seen.push({ key, headers: req.headers });
    const { status, body = '{}' } = answers.get(key) ?? { status: 200 };
    req.resume().on('end', () => res.writeHead(status, { 'content-type': 'application/json' }).end(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'culvert-wrap-probe-'));
  const env = { HOME: home, PATH: context.env.PATH ?? '' };
  const own = { ...context, env, paths: pathsFor(env), catalog: writeHome(home, { cli, provider, base }) };
  const placeholder = newPlaceholder(http);
  const gateway = await startGateway(cli, own, { placeholder });
  let end: Promise<string | undefined> | undefined;
  return {
    http,
    url: gateway.url,
    base,
    answers,
    seen,
    ask: async (method, where) => {
      const body = method === 'POST' ? { body: '{}' } : {};
      const headers = { [http.key_header]: keyValue(http, placeholder) };
      const answer = await fetch(`${gateway.url}${where}`, { method, headers, ...body });
      return { status: answer.status, text: await answer.text() };
    },
    close: () => {
      end ??= gateway.close().then(() => {
        server.close();
        server.closeAllConnections();
        const failure = readState(own.paths, cli).resting.a?.class;
        fs.rmSync(home, { recursive: true, force: true });
        return failure;
      });
      return end;
    },
  };
}

/** Writes two accounts and the entry, whose provider is the stand-in. @returns path of the catalog */
function writeHome(
  home: string,
  { cli, provider, base }: { cli: string; provider: Provider & { http: HttpProvider }; base: string },
): string {
  const { http } = provider;
  const { usage: _usage, prepare_command: _prepare, status_command: _status, ...entry } = provider;
  const mcp = http.mcp && { ...http.mcp, base };
  const ofStandIn = { ...http, base, bases: http.bases.map(each => ({ ...each, base })), mcp };
  const catalog = path.join(home, 'catalog.toml');
  const config = path.join(home, '.config/culvert-wrap');
  const keys = path.join(config, 'keys.env');
  fs.mkdirSync(config, { recursive: true, mode: 0o700 });
  // without the values that are undefined
  fs.writeFileSync(
    catalog,
    stringify(JSON.parse(JSON.stringify({ providers: { [cli]: { ...entry, http: ofStandIn } } }))),
  );
  fs.writeFileSync(
    keys,
    Object.entries(KEYS)
      .map(([name, key]) => `${name}=${key}\n`)
      .join(''),
    { mode: 0o600 },
  );
  const variables = [...new Set([...provider.inject, http.key_variable])];
  const accounts = Object.keys(KEYS).map(name => ({
    cli,
    name,
    env: Object.fromEntries(variables.map(variable => [variable, `file:${keys}#${name}`])),
  }));
  fs.writeFileSync(path.join(config, 'config.toml'), stringify({ accounts }), { mode: 0o600 });
  return catalog;
}

/** A value at a path such as `data.id`. */
function nested(at: string, value: string): unknown {
  return at.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
}
