// Finds problems of gateways and their programs, such as a refused placeholder, a proxy or a leftover key.
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { readOptional } from '../../daemon/core/files.ts';
import { sha256 } from '../../daemon/core/hash.ts';
import { listenerOf, readTable } from '../../daemon/core/peer.ts';
import type { HttpProvider } from '../catalog/programs.ts';
import type { Context } from '../context.ts';
import { callerEnvironment } from '../run/accounts/ready.ts';
import { loadPlan } from '../run/invocation.ts';
import type { Finding } from '../shims/check.ts';
import type { Plan } from '../store/plan.ts';
import { resolveAccount, SOURCE_TIMEOUT_MS } from '../store/secrets.ts';
import { type GatewayFile, gatewayClis, isValid, readGateway } from '../store/tokens.ts';
import { urlOf } from './address.ts';
import { ACCEPTED } from './admit.ts';
import { isPlaceholder } from './gateway.ts';
import { keyValue } from './key-places.ts';
import { missingInUnit } from './unit.ts';

/** A program, with the environment that it started with. */
interface Program {
  name: string;
  env: Record<string, string | undefined>;
}

/** Data for the checks of one gateway. */
interface Gateway {
  cli: string;
  http: HttpProvider;
  /** Address for programs with a token, or `undefined` without one. */
  url: string | undefined;
  file: GatewayFile;
  keys: ReadonlySet<string>;
  now: number;
}

/** Checks the gateways of this user, and the programs that run with their variables. */
export async function checkGateways(context: Context): Promise<Finding[]> {
  const findings: Finding[] = [];
  let programs: Program[] | undefined;
  for (const cli of gatewayClis(context.paths)) {
    const missing = missingInUnit(cli, context);
    if (missing.length > 0) {
      const what = `${cli}: the unit of its gateway lacks ${missing.join(', ')} as in this shell, so it may not reach the provider`;
      findings.push({ level: 'warning', what, fix: `run \`culvert-wrap serve ${cli} --install\` again` });
    }
    const file = readGateway(context.paths, cli);
    const plan = await loadPlan(cli, context);
    const { http } = plan.provider;
    if (!http) continue;
    const url = file.port === undefined || file.tokens.length === 0 ? undefined : urlOf(file.port);
    const keys = await keysOf(plan, http, context);
    const gateway = { cli, http, url, file, keys, now: context.now() };
    programs ??= [{ name: 'this shell', env: context.env }, ...otherPrograms()];
    const users = programs.filter(program => usesIt(program, gateway));
    const listener = await checkListener(gateway);
    const faults = users.flatMap(program => checkProgram(program, gateway));
    if (listener.length === 0) faults.push(...(await checkPlaceholders(users, gateway)));
    findings.push(...listener, ...faults);
    if (users.length > 0 && faults.length === 0) {
      const what = `${cli}: running programs that use the gateway and hold no key: ${users.length}`;
      findings.push({ level: 'ok', what });
    }
  }
  return findings;
}

/** Checks that this user listens on the gateway's port, if programs have a token for it. */
async function checkListener({ cli, url, file: { port, tokens }, now }: Gateway): Promise<Finding[]> {
  if (port === undefined || !tokens.some(token => isValid(token, now))) return [];
  const owner = listenerOf(await readTable('tcp'), port);
  if (owner === undefined) {
    const what = `${cli}: nothing listens at ${url}, which programs have a token for`;
    return [{ level: 'warning', what, fix: `run \`culvert-wrap serve ${cli}\`` }];
  }
  if (owner === process.getuid!()) return [];
  const what = `${cli}: another user listens at ${url}, where your programs send their requests`;
  return [{ level: 'problem', what, fix: `choose another port: \`culvert-wrap serve ${cli} --port PORT\`` }];
}

/** Tests each valid placeholder at the gateway. Call it after `checkListener`, because no other user may get a placeholder. */
async function checkPlaceholders(programs: Program[], { cli, http, url, file, now }: Gateway): Promise<Finding[]> {
  const { port } = file;
  if (port === undefined) return [];
  const users = new Map(programs.map(({ name, env }) => [env[http.key_variable] ?? '', name]));
  const asked = [...users].filter(([placeholder]) => isAdmitted(placeholder, file, now));
  const findings = asked.map(async ([placeholder, name]): Promise<Finding[]> => {
    if (await accepts(port, placeholder, http)) return [];
    const what = `${cli}: what listens at ${url} does not accept the placeholder of ${name}, as the gateway would`;
    return [{ level: 'problem', what, fix: `end it, and run \`culvert-wrap serve ${cli}\`` }];
  });
  return (await Promise.all(findings)).flat();
}

function checkProgram(program: Program, { cli, http, url, file, keys, now }: Gateway): Finding[] {
  const { name, env } = program;
  const findings: Finding[] = [];
  const left = Object.entries(env).find(([, value]) => value !== undefined && keys.has(value))?.[0];
  const fix = `start it with variables of \`culvert-wrap serve ${cli} --env\``;
  if (left !== undefined)
    findings.push({ level: 'problem', what: `${cli}: ${name} uses the gateway, and has a key in ${left}`, fix });
  const needsToken = isAt(baseOf(program, http), url);
  if (left !== http.key_variable && needsToken && !isAdmitted(env[http.key_variable], file, now)) {
    const what = `${cli}: ${name} uses the gateway, which refuses its ${http.key_variable}`;
    findings.push({ level: 'problem', what, fix });
  }
  const proxy = ['http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'].find(variable => env[variable]);
  const direct = (env.NO_PROXY ?? env.no_proxy ?? '').split(',').map(host => host.trim());
  if (proxy && !direct.some(host => host === '*' || host === '127.0.0.1' || host === '127.0.0.0/8')) {
    const what = `${cli}: ${name} sends requests for the gateway to the proxy in ${proxy}`;
    findings.push({ level: 'warning', what, fix: 'add 127.0.0.1 to its NO_PROXY' });
  }
  return findings;
}

/** Reports whether a program uses a gateway, even a private one: it has the gateway's address or a placeholder. */
function usesIt(program: Program, { http, url, file, now }: Gateway): boolean {
  const placeholder = program.env[http.key_variable] ?? '';
  return isAt(baseOf(program, http), url) || isAdmitted(placeholder, file, now) || isPlaceholder(placeholder, http);
}

/** Returns the provider's address in a program's environment. */
function baseOf({ env }: Program, { base_variable: variable }: HttpProvider): string | undefined {
  return variable === undefined ? undefined : env[variable];
}

function isAt(base: string | undefined, url: string | undefined): boolean {
  return url !== undefined && base !== undefined && (base === url || base.startsWith(`${url}/`));
}

function isAdmitted(placeholder: string | undefined, { tokens }: GatewayFile, now: number): boolean {
  const own = placeholder === undefined ? '' : sha256(placeholder);
  return tokens.some(token => token.digest === own && isValid(token, now));
}

async function keysOf(plan: Plan, { key_variable }: HttpProvider, { env }: Context): Promise<Set<string>> {
  const resolved = await Promise.all(
    plan.accounts.map(account => resolveAccount(account, callerEnvironment(env), SOURCE_TIMEOUT_MS)),
  );
  return new Set(resolved.flatMap(each => (each.ok && each.env[key_variable] ? [each.env[key_variable]] : [])));
}

/** Lists other processes of this user, with the environment that each started with. */
function otherPrograms(): Program[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap(pid => {
      try {
        const pairs = (readOptional(`/proc/${pid}/environ`) ?? '')
          .split('\0')
          .map(line => line.split(/=(.*)/s).slice(0, 2));
        const name = `${(readOptional(`/proc/${pid}/comm`) ?? '').trim()} (${pid})`;
        return [{ name, env: Object.fromEntries(pairs) }];
      } catch {
        // the process has ended, or belongs to another user
        return [];
      }
    });
}

/** Time for an answer, which is long because systemd may have to start the gateway first. */
const ANSWER_MS = 10_000;
const MAX_BYTES = 1_024;

/** Reports whether a gateway of this user accepts a placeholder. Nothing reaches the provider. */
export function accepts(port: number, placeholder: string, http: HttpProvider): Promise<boolean> {
  return new Promise(resolve => {
    const headers = { [http.key_header]: keyValue(http, placeholder) };
    const signal = AbortSignal.timeout(ANSWER_MS);
    const options = { host: '127.0.0.1', port, method: 'OPTIONS', path: '*', headers, agent: false, signal } as const;
    const asked = request(options, answer => {
      let text = '';
      answer.setEncoding('utf8').on('data', part => {
        text += part;
        if (text.length > MAX_BYTES) asked.destroy();
      });
      answer.on('error', () => resolve(false));
      answer.once('close', () => resolve(answer.statusCode === ACCEPTED.status && text.includes(ACCEPTED.message)));
    });
    asked.on('error', () => resolve(false)).end();
  });
}
