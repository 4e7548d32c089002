// Queries the remaining quota of an account from its provider, and checks credentials.
import * as http from 'node:http';
import * as https from 'node:https';
import { errno, Failure, reason } from '../../daemon/core/errors.ts';
import { sha256 } from '../../daemon/core/hash.ts';
import { failureOf, runHelper } from '../../daemon/core/run-helper.ts';
import { isTime } from '../../daemon/core/shape.ts';
import type { Provider } from '../catalog/provider.ts';
import { at, isForeign, parseJson } from '../run/rules/classify.ts';
import { type Seen, verdictOf } from '../run/rules/http-errors.ts';
import { readMoment } from '../run/rules/moments.ts';
import { causeOf, SHORT_CAUSES } from '../run/rules/refusal-causes.ts';
import type { Remaining } from '../store/state.ts';
import { Connections } from '../system/connections.ts';
import { expandVariables, parseDuration } from '../system/notation.ts';
import { proxyFailure, refusal, whyNot } from '../system/proxy.ts';

export type UsageAnswer = { ok: true; remaining: Remaining } | ({ ok: false } & UsageProblem);

/** Result of checking a credential. */
export type CheckAnswer = { ok: true } | ({ ok: false } & UsageProblem);

/** The reason why the quota of an account is unknown. */
export interface UsageProblem {
  problem: string;
  /** True if no command can use the account, because its credential can't be read or was refused. */
  unusable: boolean;
}

type Answer = Seen;

const TIMEOUT_MS = 5_000;
const MAX_BODY = 1024 * 1024;
const UNLIMITED = 2_147_483_647;

/**
 * Queries the remaining quota of one account, from the provider's usage endpoint or the catalog's `status_command`.
 * @param env the account's environment, credentials included
 * @param now milliseconds since the epoch
 * @returns `undefined` if the catalog has no way to query it
 */
export async function queryUsage(
  provider: Provider,
  env: NodeJS.ProcessEnv,
  now: number,
): Promise<UsageAnswer | undefined> {
  try {
    if (provider.usage) return { ok: true, remaining: await fromEndpoint(provider, provider.usage, env, now) };
    if (provider.status_command) return { ok: true, remaining: await fromCommand(provider.status_command, env, now) };
    return undefined;
  } catch (error) {
    return { ok: false, problem: reason(error), unusable: errno(error) === 'refused' };
  }
}

/** Reports whether an earlier answer is recent enough and belongs to the same credential. */
export function isFresh(
  remaining: Remaining | undefined,
  provider: Provider,
  credential: string,
  now: number,
): boolean {
  if (!remaining || remaining.credential !== credential) return false;
  const age = now - remaining.at;
  return age >= 0 && age < parseDuration(provider.usage?.cache ?? '60s');
}

/** Reads the numbers in an answer at the catalog's paths. Of several limits, it returns the limit with the least left. */
export function readUsage(body: unknown, usage: NonNullable<Provider['usage']>, now: number): Remaining {
  const paths = (value: string | string[] | undefined) => (value === undefined ? [] : [value].flat());
  const [limits, uses, rests] = [paths(usage.limit), paths(usage.used), paths(usage.remaining)];
  const bounds = Array.from({ length: Math.max(limits.length, uses.length, rests.length) }, (_, index) =>
    boundOf(body, { limit: limits[index], used: uses[index], remaining: rests[index] }),
  ).filter(bound => bound.remaining !== null);
  const tightest = bounds.sort((a, b) => a.remaining! - b.remaining!)[0];
  const text = (path: string | undefined) => (path === undefined ? undefined : at(body, path));
  const resets = text(usage.resets);
  const identity = text(usage.identity);
  return {
    remaining: tightest?.remaining ?? null,
    limit: tightest?.limit ?? null,
    used: tightest?.used ?? numberAt(body, uses[0]),
    resets: resetTime(resets, now),
    at: now,
    ...((typeof identity === 'string' || typeof identity === 'number') && { identity: String(identity) }),
  };
}

/** Returns a date as the provider wrote it, or converts any other form of time to a date. */
export function resetTime(value: unknown, now: number): string | null {
  const moment = readMoment(value);
  if (moment === undefined) return null;
  const at = moment.until === 'time' ? moment.at : now + moment.ms;
  if (!isTime(at)) return null;
  return typeof value === 'string' && !Number.isNaN(Date.parse(value)) && moment.until === 'time' && /\D/.test(value)
    ? value
    : new Date(at).toISOString();
}

function boundOf(
  body: unknown,
  path: { limit?: string | undefined; used?: string | undefined; remaining?: string | undefined },
) {
  const told = numberAt(body, path.limit);
  const limit = told === UNLIMITED ? null : told;
  const used = numberAt(body, path.used);
  const remaining =
    numberAt(body, path.remaining) ?? (limit !== null && used !== null ? Math.max(0, limit - used) : null);
  return {
    remaining,
    limit,
    used: used ?? (limit !== null && remaining !== null ? Math.max(0, limit - remaining) : null),
  };
}

/** Reads the number at a path, or the sum of the numbers at `a + b`. A missing part adds nothing. */
function numberAt(body: unknown, path: string | undefined): number | null {
  const numbers = (path ?? '')
    .split('+')
    .map(part => at(body, part.trim()))
    .filter((value): value is number => typeof value === 'number' && Number.isFinite(value));
  return numbers.length === 0 ? null : numbers.reduce((sum, value) => sum + value, 0);
}

async function fromEndpoint(
  provider: Provider,
  usage: NonNullable<Provider['usage']>,
  env: NodeJS.ProcessEnv,
  now: number,
): Promise<Remaining> {
  const url = expandVariables(usage.url, env);
  const headers = headersFor(provider, usage, env);
  const ask = (address: string) => getJson(address, headers, { provider, env });
  if (!usage.moment) return readUsage(await ask(url), usage, now);
  // In parallel, because both answers must belong to the same moment.
  const second = ask(expandVariables(usage.moment.url, env)).catch(() => undefined);
  const document = await ask(url);
  const moment = momentOf({ ...record(document), ...record(await second) }, usage.moment.paths);
  return { ...readUsage(document, usage, now), ...(moment !== undefined && { moment }) };
}

/**
 * Checks a credential with the catalog's `check`.
 * @returns `undefined` when the catalog has no check
 */
export async function checkCredential(provider: Provider, env: NodeJS.ProcessEnv): Promise<CheckAnswer | undefined> {
  const { check } = provider;
  if (!check) return undefined;
  try {
    // An address from the environment may end with a slash.
    const url = expandVariables(check.url, env).replace(/(?<!:)\/{2,}/g, '/');
    const answer = await get(url, headersFor(provider, check, env), env);
    const { status } = answer;
    const foreign = foreignAnswer(url, answer, provider);
    if (foreign !== undefined) return { ok: false, problem: foreign, unusable: false };
    if (status >= 200 && status < 300) return { ok: true };
    const cause = otherCause(answer);
    const unusable = check.refused.includes(status) && !cause;
    const said = `${new URL(url).host} answered with HTTP status ${status}${cause ?? ''}`;
    return { ok: false, problem: unusable ? `${said}: the credential is refused` : said, unusable };
  } catch (error) {
    return { ok: false, problem: reason(error), unusable: false };
  }
}

function headersFor(
  { inject }: Pick<Provider, 'inject'>,
  { authorization, headers }: { authorization?: string | undefined; headers?: Record<string, string> | undefined },
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  // The variable's name may be invalid in a template, as npm's is.
  const bearer =
    authorization === undefined ? `Bearer ${env[inject[0] ?? ''] ?? ''}` : expandVariables(authorization, env);
  const own = Object.entries(headers ?? {}).map(([name, value]) => [name, expandVariables(value, env)]);
  return { Accept: 'application/json', ...(headers ? Object.fromEntries(own) : { Authorization: bearer }) };
}

/** Returns a digest of the values at these paths, or `undefined` without the first value. */
function momentOf(body: object, paths: readonly string[]): string | undefined {
  const values = paths.map(path => at(body, path) ?? null);
  return values[0] === null || values[0] === '' ? undefined : sha256(JSON.stringify(values)).slice(0, 16);
}

function record(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}

/**
 * Queries a provider about an account, and returns the answer whatever its status.
 * @returns `undefined` if the catalog has no address for the query
 */
export async function askEndpoint(provider: Provider, env: NodeJS.ProcessEnv): Promise<Answer | undefined> {
  const place = provider.usage ?? provider.check;
  return place && (await get(expandVariables(place.url, env), headersFor(provider, place, env), env));
}

/** Describes an answer, of any status, that does not come from the provider. */
function foreignAnswer(url: string, answer: Answer, { http }: Pick<Provider, 'http'>): string | undefined {
  if (!isForeign(answer, http ?? { key_scheme: 'Bearer' })) return undefined;
  const way = `HTTP status ${answer.status}`;
  return `a proxy, a filter or a login page has answered in place of ${new URL(url).host} (${way}); open a page in a browser to see what it wants`;
}

/** Reports whether an answer refuses the credential: it has status 401, and gives no other cause. */
function isRefusal(answer: Answer, { http }: Pick<Provider, 'http'>): boolean {
  if (answer.status !== 401 || otherCause(answer)) return false;
  const verdict = http && verdictOf(answer, http, true);
  return !http || (verdict?.kind === 'retry' && verdict.class === 'auth');
}

/** Describes the cause of a refusal, if it is not the credential. */
function otherCause({ status, body, headers }: Answer): string | undefined {
  if (status !== 401 && status !== 403 && status !== 451) return undefined;
  const cause = causeOf(parseJson(body) ?? body.slice(0, 4_000), headers['www-authenticate']);
  return cause && `: ${SHORT_CAUSES[cause]}`;
}

async function getJson(
  url: string,
  headers: Record<string, string>,
  { provider, env }: { provider: Provider; env: NodeJS.ProcessEnv },
): Promise<unknown> {
  const answer = await get(url, headers, env);
  const { status, body } = answer;
  const foreign = foreignAnswer(url, answer, provider);
  if (foreign !== undefined) throw new Error(foreign);
  const said = `${new URL(url).host} answered with HTTP status ${status}`;
  if (isRefusal(answer, provider)) throw new Failure(`${said}: the credential is refused`, { code: 'refused' });
  if (status !== 200) throw new Error(`${said}${otherCause(answer) ?? ''}`);
  try {
    return JSON.parse(body);
  } catch {
    throw new Error(
      `${new URL(url).host} answered with ${body.trim() === '' ? 'nothing' : 'something that is not JSON'}`,
    );
  }
}

async function fromCommand(command: string, env: NodeJS.ProcessEnv, now: number): Promise<Remaining> {
  const result = await runHelper(['sh', '-c', command], { env, timeoutMs: TIMEOUT_MS * 2 });
  if (result.timedOut) throw new Error('the status command gave no answer within 10 s');
  if (result.exit !== 0) throw new Error(`the status command ${failureOf(result)}`);
  try {
    return readUsage(
      JSON.parse(result.stdout),
      { url: '', cache: '60s', remaining: 'remaining', limit: 'limit', used: 'used', resets: 'resets' },
      now,
    );
  } catch {
    throw new Error('the status command printed no JSON');
  }
}

/** @param env environment with the proxy variables */
async function get(url: string, headers: Record<string, string>, env: NodeJS.ProcessEnv): Promise<Answer> {
  const address = new URL(url);
  const connections = new Connections(env, { tunnelMs: TIMEOUT_MS });
  const { options, prefix, headers: more, proxy } = connections.to(address);
  const server = prefix === '' ? 'the usage endpoint' : `the proxy ${proxy?.url.host}`;
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      if (errno(error) === undefined) reject(error);
      else if (proxy && prefix !== '') reject(proxyFailure(proxy, error));
      else {
        const through = proxy ? ` through the proxy ${proxy.url.host}` : '';
        reject(new Error(`${address.host} can't be asked${through}: ${whyNot(error)}`, { cause: error }));
      }
    };
    const fetcher = options.protocol === 'https:' ? https : http;
    const path = `${prefix}${address.pathname}${address.search}`;
    const all = { Host: address.host, ...headers, ...more };
    const request = fetcher.get({ ...options, path, timeout: TIMEOUT_MS, headers: all }, response => {
      if (proxy && response.statusCode === 407) {
        request.destroy(new Error(`the proxy ${proxy.url.host} ${refusal(407)}`));
        return;
      }
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_BODY) request.destroy(new Error('the usage endpoint sent more than 1 MiB'));
        else chunks.push(chunk);
      });
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).toString('utf8'),
          headers: response.headers,
        }),
      );
      response.on('error', fail);
    });
    const limit = setTimeout(() => request.destroy(new Error(`${server} gave no answer within 5 s`)), TIMEOUT_MS);
    request.on('timeout', () => request.destroy(new Error(`${server} gave no answer within 5 s`)));
    request.on('error', fail);
    request.on('close', () => clearTimeout(limit));
  });
}
