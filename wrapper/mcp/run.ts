// Implements `culvert-wrap mcp -- SERVER…`, which runs an MCP server on stdio with its provider's accounts.
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { type Catalog, catalogOf, providerOf } from '../catalog/catalog.ts';
import type { Context, End } from '../context.ts';
import { withoutGateway } from '../gateway/address.ts';
import { chooseAccount, rulingFor } from '../run/accounts/select-account.ts';
import { withAccounts } from '../run/attempts.ts';
import { invocationOfRequest, loadPlan } from '../run/invocation.ts';
import { passThrough } from '../run/original.ts';
import { Turn, type Using } from '../run/turn.ts';
import { type Why, writeAudit } from '../store/audit.ts';
import { withoutReferences } from '../store/key-texts.ts';
import type { Plan } from '../store/plan.ts';
import { readState } from '../store/state.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { preventCoreDumps } from '../system/redact.ts';
import { type Entry, entryFor } from './entry.ts';
import { McpProxy } from './proxy.ts';
import { Lines } from './server.ts';

/** Time for a client that has closed stdin to read the last answers. */
const FLUSH_MS = 5_000;

/** The server that the user describes, where the catalog does not know it. */
interface ChosenServer {
  /** The tool whose accounts the server uses. */
  cli?: string;
  /** The variable in which the server reads its key. */
  env?: string;
}

/**
 * Runs a server until its client closes stdin. The server runs unchanged if the tool has no accounts and the caller names none,
 * or if the client's user names another host.
 * @param command the server's command line
 * @throws WrapError `unknown-server`, `no-tool`, `nothing-left`, and those of accounts, of `rulingFor` and of the pool
 */
export async function runServer(command: readonly string[], chosen: ChosenServer, given: Context): Promise<End> {
  const entry = findEntry(command, chosen, given);
  const plan = await loadPlan(entry.cli, given);
  const context = { ...given, env: withoutGateway(plan, withoutReferences(given.env)) };
  const [program, ...args] = command;
  const ruling = await rulingFor(plan, { args, command: '' }, context);
  if (ruling) say(ruling.line);
  if (ruling?.runs === 'original') {
    reportOriginal(plan, { why: ruling.why, choice: ruling.choice }, context);
    return passThrough(program!, args, context, plan);
  }
  if (!plan.accounts.some(({ enabled }) => enabled)) {
    await reportNoAccount(plan, entry, context);
    return passThrough(program!, args, context, plan);
  }
  await preventCoreDumps();
  const own = entry.server.gateway && plan.provider.http ? await behindGateway(entry, plan, context) : undefined;
  const { serve, finish, ...service } = own ?? (await withKeys(plan, entry, context));
  const input = process.stdin;
  const lines = new Lines();
  const out = clientOutput();
  const read = (on: boolean) => void (on ? input.resume() : input.pause());
  const proxy = new McpProxy({ command, entry, ...service, context, out, read });
  input.on('data', (chunk: Buffer) => {
    const whole = lines.add(chunk);
    if (!whole) {
      say('the client wrote a line that is too long');
      proxy.clientGone();
    } else for (const line of whole) proxy.fromClient(line);
  });
  input.on('end', () => {
    const rest = lines.rest();
    if (rest.length > 0) proxy.fromClient(rest);
    proxy.clientGone();
  });
  out.on('error', () => proxy.clientGone());
  serve(proxy).catch(error => proxy.fail(error));
  const end = await proxy.end;
  input.pause();
  await Promise.race([
    new Promise(resolve => out.write('', resolve)),
    new Promise(resolve => setTimeout(resolve, FLUSH_MS).unref()),
  ]);
  await finish();
  return end;
}

/** @throws WrapError `unknown-account` if the user named an account */
async function reportNoAccount(plan: Plan, { server }: Entry, context: Context): Promise<void> {
  const { cli } = plan;
  const { notice } = await chooseAccount(plan, { args: [], command: '' }, readState(context.paths, cli), context);
  if (notice) say(notice);
  say(`${cli} has no enabled account; running ${server.package} without one`);
  reportOriginal(plan, { why: 'no-account' }, context);
}

/** Logs a server that runs without an account. */
function reportOriginal({ cli, audit }: Plan, why: { why: Why; choice?: string }, { paths, now }: Context): void {
  if (audit) writeAudit(paths, [{ at: now(), cli, command: 'mcp', account: null, outcome: 'original', ...why }]);
}

/** A server that is started with the key of an account, and after a limit with the key of the next account. */
async function withKeys(plan: Plan, { variable }: Entry, context: Context) {
  const turn = await Turn.open(plan, context, { kind: 'server', invocation: invocationOfRequest('mcp') });
  const using = await turn.take();
  if (!using) {
    throw new WrapError('nothing-left', EXIT.unavailable, `${plan.cli}: no account can be used`, {
      hint: 'see `culvert-wrap accounts list`',
    });
  }
  return {
    using,
    environment: (used: Using) => renamed(used.environment(), plan, variable),
    answered: turn.answered.bind(turn),
    serve: (proxy: McpProxy) =>
      withAccounts(turn, { attempt: next => proxy.serve(next), judge: refused => refused, keepsLast: true }, using),
    finish: () => turn.finish(),
  };
}

/** Gives the server the account's key in the variable that it reads, and in no other. */
function renamed(env: NodeJS.ProcessEnv, { provider: { inject } }: Plan, variable: string | undefined) {
  const [own] = inject;
  if (variable === undefined || own === undefined || own === variable) return env;
  const { [own]: key, ...others } = env;
  return { ...others, [variable]: key };
}

/** A server whose requests get an account at the gateway, so that no error starts it again. */
async function behindGateway(entry: Entry, plan: Plan, context: Context) {
  const { startGateway, httpOf, newPlaceholder } = await import('../gateway/gateway.ts');
  const { environmentBehind } = await import('../gateway/run-program.ts');
  const placeholder = newPlaceholder(httpOf(plan));
  const name = `mcp -- ${entry.server.package}`;
  const gateway = await startGateway(plan.cli, context, { placeholder, name });
  const env = environmentBehind(plan, { url: gateway.url, placeholder }, context);
  const using: Using = { name: 'gateway', environment: () => env, credentials: {} };
  return {
    entry: { ...entry, server: { ...entry.server, rules: [] } },
    using,
    environment: () => env,
    answered: () => {},
    serve: async (proxy: McpProxy) => {
      while (await proxy.serve(using));
    },
    finish: () => gateway.close(),
  };
}

/** Node writes to a pipe of `process.stdout` synchronously: a client that does not read would stop both directions. */
function clientOutput(): Writable {
  try {
    return new Socket({ fd: 1, readable: false, writable: true });
  } catch {
    // a file
    return process.stdout;
  }
}

/** @throws WrapError `unknown-server`, `no-tool`, and those of `providerOf` */
function findEntry(command: readonly string[], { cli, env }: ChosenServer, context: Context): Entry {
  const catalog = catalogOf(context);
  if (env !== undefined) return describedEntry(command, { cli, env }, catalog);
  const chosen = cli === undefined ? catalog.providers : { [cli]: providerOf(catalog, cli) };
  const entry = entryFor(command, { providers: chosen });
  if (entry) return entry;
  const names = Object.values(chosen).flatMap(({ mcp }) => mcp.map(server => server.package));
  throw new WrapError('unknown-server', EXIT.usage, `${command.join(' ')} is no MCP server of the catalog`, {
    hint: `known: ${names.join(', ')}, started directly or by npx, bunx or another runner; for any other: culvert-wrap mcp --env VARIABLE --cli TOOL -- …`,
  });
}

/** Returns an entry for a server that the catalog does not know. Its errors count by their usual words and codes. */
function describedEntry(
  command: readonly string[],
  { cli, env }: { cli: string | undefined; env: string },
  catalog: Catalog,
): Entry {
  if (cli === undefined)
    throw new WrapError('no-tool', EXIT.usage, `--env ${env} does not say whose accounts the server uses`, {
      hint: 'name the tool with --cli',
    });
  const provider = providerOf(catalog, cli);
  if (provider.inject.length !== 1)
    throw new WrapError('no-tool', EXIT.usage, `an account of ${cli} has no single key for ${env}`, {
      hint: `give it one variable: inject = ["${env}"] in [providers.${cli}] of ~/.config/culvert-wrap/providers.toml`,
    });
  const server = { package: command[0] ?? '', gateway: false, usual_errors: true, once: [], rules: [] };
  return { cli, provider, server, variable: env };
}
