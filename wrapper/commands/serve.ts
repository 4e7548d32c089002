// Implements `serve`, which runs the gateway of a tool's provider and manages the tokens of programs.
import { once } from 'node:events';
import { randomHex, sha256 } from '../../daemon/core/hash.ts';
import type { HttpProvider } from '../catalog/programs.ts';
import type { Context } from '../context.ts';
import { isFree, portOf, urlOf, variablesFor } from '../gateway/address.ts';
import { httpOf, newPlaceholder, startGateway } from '../gateway/gateway.ts';
import { reportNoAccount, runBehindGateway } from '../gateway/run-program.ts';
import { installUnits, passedSocket, removeUnits } from '../gateway/unit.ts';
import { loadPlan } from '../run/invocation.ts';
import { exitLike } from '../run/upstream/attempt.ts';
import type { Programs } from '../shims/shim.ts';
import { ACCOUNT_NAME } from '../store/config.ts';
import { quote } from '../store/plan.ts';
import { describeConsumers, gatewayClis, isValid, readGateway, type Token, updateGateway } from '../store/tokens.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { DURATION, formatDuration, parseDuration } from '../system/notation.ts';
import { preventCoreDumps } from '../system/redact.ts';
import { emit, number, table, time } from './print.ts';

export interface ServeOptions {
  port?: string;
  /** Print variables for a shell. */
  env?: boolean;
  /** Lifetime of the token in the printed variables. */
  expires?: string;
  /** Have systemd start the gateway with the first connection. */
  install?: boolean;
  /** Undo `install`. */
  uninstall?: boolean;
  /** Time without a connection after which a gateway started by systemd ends. */
  idle?: string;
}

export interface TokenOptions {
  json?: boolean;
  expires?: string;
  budget?: string;
}

const SHELL_LASTS = '12h';
const IDLE = '1m';

/**
 * `serve <cli> [command…]`: runs a program with a private gateway or, without a command, the tool's gateway until Ctrl+C.
 * @throws WrapError `no-gateway`, `port-in-use`, `bad-port`, `bad-duration`
 */
export async function serve(
  cli: string,
  command: readonly string[],
  options: ServeOptions,
  { context, programs }: { context: Context; programs: Programs },
): Promise<void> {
  if (options.uninstall) return uninstall(cli, context);
  if (command.length > 0) {
    const end = await runBehindGateway(cli, command, context);
    return exitLike(end.exit, end.signal);
  }
  const plan = await loadPlan(cli, context);
  const http = httpOf(plan);
  const port = await portOf(cli, options.port, context);
  reportNoAccount(plan);
  if (options.env) return printVariables({ cli, http, port }, options, context);
  if (options.install) return install(cli, port, { context, programs });
  const fd = passedSocket(context.env);
  if (fd !== undefined) return serveUntilIdle(cli, fd, options, context);
  await preventCoreDumps();
  const gateway = await startGateway(cli, context, { port });
  process.stdout.write(`${cli}: programs reach it at ${gateway.url}, with a placeholder in place of the key.
For a shell:    eval "$(culvert-wrap serve ${cli} --env)"
For a program:  culvert-wrap serve token add ${cli} NAME
${http.in_code.map(line => `In its code:    ${line}\n`).join('')}Ctrl+C ends it.
`);
  await untilSignal();
  await gateway.close();
}

/** Waits for a signal that ends programs. */
function untilSignal(): Promise<unknown> {
  return Promise.race((['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map(signal => once(process, signal)));
}

/** Runs a unit's gateway until no program uses it. The next connection makes systemd start it again. */
async function serveUntilIdle(cli: string, fd: number, { idle = IDLE }: ServeOptions, context: Context): Promise<void> {
  let then: () => void = () => {};
  const unused = new Promise<void>(resolve => {
    then = resolve;
  });
  const gateway = await startGateway(cli, context, { fd, idle: { ms: durationOf(idle), then } });
  await Promise.race([untilSignal(), unused]);
  await gateway.close();
}

async function install(
  cli: string,
  port: number,
  { context, programs }: { context: Context; programs: Programs },
): Promise<void> {
  const { socket } = await installUnits(cli, port, { context, programs });
  process.stdout.write(`${cli}: systemd listens at ${urlOf(port)}, and starts the gateway with the first connection.
Unit: ${socket}
Remove it with: culvert-wrap serve ${cli} --uninstall
`);
}

async function uninstall(cli: string, context: Context): Promise<void> {
  const removed = await removeUnits(cli, context);
  process.stdout.write(`${cli}: ${removed ? 'the units are removed' : 'there are no units'}\n`);
}

/** Creates a token for one shell, and prints variables for the shell to evaluate. */
async function printVariables(
  { cli, http, port }: { cli: string; http: HttpProvider; port: number },
  { expires = SHELL_LASTS }: ServeOptions,
  context: Context,
): Promise<void> {
  const name = `shell-${randomHex(3)}`;
  const placeholder = addToken(cli, name, { expires }, { http, context });
  process.stdout.write(`${exportsOf(variablesOf({ http, port, placeholder }, context))}\n`);
  say(`${cli}: "${name}" ends in ${formatDuration(parseDuration(expires))}`);
  if (await isFree(port)) say(`${cli}: nothing listens yet; run \`culvert-wrap serve ${cli}\``);
}

/**
 * `serve token add <cli> <name>`: prints the placeholder, which is not stored and can't be shown again.
 * @throws WrapError `token-name`, `token-exists`, `bad-duration`, `bad-budget`, `no-gateway`
 */
export async function newToken(cli: string, name: string, options: TokenOptions, context: Context): Promise<void> {
  const http = httpOf(await loadPlan(cli, context));
  const port = await portOf(cli, undefined, context);
  const placeholder = addToken(cli, name, options, { http, context });
  const variables = variablesOf({ http, port, placeholder }, context);
  const inCode = http.in_code.map(line => `\nIn the code: ${line}`).join('');
  const address = http.base_variable ? inCode : `\n\nThe address is an option of the program: ${urlOf(port)}`;
  const mcp = http.mcp && `${urlOf(port)}${http.mcp.address.replace('{key}', placeholder)}`;
  emit(
    options.json,
    { cli, name, placeholder, url: urlOf(port), variables, mcp },
    `Placeholder of "${name}". It is shown only now.\n\n${exportsOf(variables)}${address}${mcp ? `\n\nFor an MCP client, over HTTP: ${mcp}` : ''}`,
  );
}

/** `serve token list [cli]`: shows the tokens and their use. */
export function listTokens(cli: string | undefined, options: TokenOptions, context: Context): void {
  const now = context.now();
  const tokens = (cli === undefined ? gatewayClis(context.paths) : [cli]).flatMap(each =>
    readGateway(context.paths, each).tokens.map(({ digest: _, ...token }) => ({ cli: each, ...token })),
  );
  const rows = tokens.map(token => [
    token.cli,
    token.name,
    endText(token.expires, now),
    number(token.budget),
    number(token.used),
    number(token.requests),
    time(token.lastAt),
  ]);
  const headings = ['TOOL', 'TOKEN', 'ENDS', 'BUDGET', 'USED', 'REQUESTS', 'LAST'];
  emit(options.json, { tokens }, rows.length > 0 ? table([headings, ...rows]) : 'no program has a token');
}

/** `serve status [cli]`: shows the gateways, their state, and the use by each program. */
export async function gatewayStatus(
  cli: string | undefined,
  options: { json?: boolean },
  context: Context,
): Promise<void> {
  const now = context.now();
  const gateways = await Promise.all(
    (cli === undefined ? gatewayClis(context.paths) : [cli]).map(async each => {
      const file = readGateway(context.paths, each);
      const { port, turnedAway } = file;
      return {
        cli: each,
        url: port === undefined ? null : urlOf(port),
        running: port !== undefined && !(await isFree(port)),
        consumers: describeConsumers(file),
        turnedAway,
      };
    }),
  );
  const text = gateways.map(({ cli: name, url, running, consumers, turnedAway }) => {
    const heading = `${name}: ${running ? `listens at ${url}` : 'does not run'}`;
    const rows = consumers.map(({ name: program, ends, requests, failures, refused, used, budget, last, accounts }) => [
      program,
      endText(ends, now),
      number(requests),
      countsText(failures),
      number(refused),
      budget === null ? number(used) : `${number(used)} of ${number(budget)}`,
      time(last),
      countsText(accounts),
    ]);
    const headings = ['PROGRAM', 'ENDS', 'REQUESTS', 'FAILED', 'REFUSED', 'USED', 'LAST', 'ACCOUNTS'];
    const others = turnedAway > 0 ? [`turned away, without a valid placeholder or as another user: ${turnedAway}`] : [];
    return [heading, ...(rows.length > 0 ? [table([headings, ...rows])] : []), ...others].join('\n');
  });
  emit(
    options.json,
    { gateways },
    text.join('\n\n') || 'No gateway has been used.\nStart with: culvert-wrap serve firecrawl',
  );
}

/** Formats counts by account or class of failure, with the highest first. */
function countsText(accounts: Record<string, number>): string {
  const sorted = Object.entries(accounts).sort(([, a], [, b]) => b - a);
  return sorted.map(([account, count]) => `${account} ${count}`).join(', ') || '-';
}

/**
 * `serve token revoke <cli> <name>`: revokes a token. A running gateway then refuses it, and ends its requests in about a second.
 * @throws WrapError `unknown-token`
 */
export function revokeToken(cli: string, name: string, options: TokenOptions, { paths }: Context): void {
  if (!readGateway(paths, cli).tokens.some(token => token.name === name)) {
    throw new WrapError('unknown-token', EXIT.usage, `${cli} has no token "${name}"`, {
      hint: 'run `culvert-wrap serve token list`',
    });
  }
  updateGateway(paths, cli, gateway => {
    gateway.tokens = gateway.tokens.filter(token => token.name !== name);
  });
  emit(options.json, { cli, name }, `revoked "${name}" of ${cli}`);
}

function endText(ends: number | string | null | undefined, now: number): string {
  if (ends === null || ends === undefined) return 'never';
  return isValid({ expires: new Date(ends).getTime() }, now) ? time(ends) : 'ended';
}

/**
 * Stores a new token with a digest of its placeholder, and returns the placeholder.
 * @throws WrapError `token-name`, `token-exists`, `bad-duration`, `bad-budget`
 */
export function addToken(
  cli: string,
  name: string,
  options: Pick<TokenOptions, 'expires' | 'budget'>,
  { http, context }: { http: HttpProvider; context: Context },
): string {
  if (!ACCOUNT_NAME.test(name)) {
    throw new WrapError('token-name', EXIT.usage, `${JSON.stringify(name)} can't be the name of a token`, {
      hint: 'use letters, digits, ".", "_" and "-"; at most 64',
    });
  }
  const now = context.now();
  const placeholder = newPlaceholder(http);
  const token: Token = {
    name,
    digest: sha256(placeholder),
    created: now,
    used: 0,
    requests: 0,
    refused: 0,
  };
  if (options.expires !== undefined) token.expires = now + durationOf(options.expires);
  if (options.budget !== undefined) token.budget = amountOf(options.budget);
  updateGateway(context.paths, cli, gateway => {
    gateway.tokens = gateway.tokens.filter(each => isValid(each, now));
    if (gateway.tokens.some(each => each.name === name)) {
      throw new WrapError('token-exists', EXIT.usage, `${cli} already has a token "${name}"`, {
        hint: `run \`culvert-wrap serve token revoke ${cli} ${name}\` first`,
      });
    }
    gateway.tokens.push(token);
  });
  return placeholder;
}

function durationOf(text: string): number {
  if (DURATION.test(text)) return parseDuration(text);
  throw new WrapError('bad-duration', EXIT.usage, `${JSON.stringify(text)} is not a length of time`, {
    hint: 'write for example 12h or 30d',
  });
}

function amountOf(text: string): number {
  const amount = Number(text);
  if (text.trim() !== '' && Number.isFinite(amount) && amount >= 0) return amount;
  throw new WrapError('bad-budget', EXIT.usage, `${JSON.stringify(text)} is not a budget`, {
    hint: "write a number in the provider's unit, for example 500",
  });
}

function variablesOf(
  { http, port, placeholder }: { http: HttpProvider; port: number; placeholder: string },
  { env }: Context,
): Record<string, string> {
  return variablesFor(http, { url: urlOf(port), placeholder }, env);
}

function exportsOf(variables: Record<string, string>): string {
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quote(value)}`)
    .join('\n');
}
