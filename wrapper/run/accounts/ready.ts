// Prepares an account for an attempt: reads its credentials, builds its environment, and runs its prepare command.
import { join } from 'node:path';
import { readOptional } from '../../../daemon/core/files.ts';
import { sha256 } from '../../../daemon/core/hash.ts';
import { failureOf, runHelper } from '../../../daemon/core/run-helper.ts';
import type { Provider } from '../../catalog/provider.ts';
import type { Context, Credentials } from '../../context.ts';
import type { Account } from '../../store/config.ts';
import { loginProblem, ownDirectory, pointToLogin } from '../../store/logins.ts';
import { configDirectory, directoryFile, type Paths } from '../../store/paths.ts';
import type { Plan } from '../../store/plan.ts';
import { addRun, type Resolved, resolveAccount, startsProgram } from '../../store/secrets.ts';
import { type CliState, fingerprint } from '../../store/state.ts';
import { parseDuration } from '../../system/notation.ts';
import { redact } from '../../system/redact.ts';
import { stripAnsi } from '../rules/classify.ts';
import { isChosen, isOtherHost } from './own-choice.ts';
import { pinForChildren } from './select-account.ts';

/** Maximum number of calls of a credential program in one run: the second call shows whether the value rotates. */
const MAX_READINGS = 2;
/** Number of characters to quote from a prepare command's output. */
const MAX_QUOTED = 200;

/** An account that is ready for an attempt. */
export interface Usable {
  ok: true;
  environment(): NodeJS.ProcessEnv;
  credentials: Record<string, string>;
  /** Digest of the prepare command, if it has run. */
  digest?: string;
}

interface Needs {
  plan: Plan;
  state: CliState;
  context: Context;
  credentials: Credentials;
}

/** Returns a run's credentials. Keeps the values of a credential program, because it may mint a new value on each call. */
export function openCredentials(
  { secretTimeoutMs }: Pick<Plan, 'secretTimeoutMs'>,
  { env }: Pick<Context, 'env'>,
): Credentials {
  const caller = callerEnvironment(env);
  const readings = new Map<string, { count: number; isOld: boolean; value: Promise<Resolved> }>();
  const credentials: Credentials = {
    of: account => {
      const reading = readings.get(account.name);
      return reading && !reading.isOld ? reading.value : credentials.again(account);
    },
    again: account => {
      const reading = readings.get(account.name);
      if (reading && reading.count >= MAX_READINGS) return reading.value;
      const value = resolveAccount(account, caller, secretTimeoutMs);
      if (startsProgram(account)) readings.set(account.name, { count: (reading?.count ?? 0) + 1, isOld: false, value });
      return value;
    },
    forget: () => {
      for (const reading of readings.values()) reading.isOld = true;
    },
  };
  return credentials;
}

/** Returns an account's credentials and the environment for a program that uses it, or why the account can't be used. */
export async function makeReady(
  account: Account,
  { plan, state, context, credentials }: Needs,
): Promise<Usable | { ok: false; problem: string }> {
  const { provider } = plan;
  const resolved = await credentials.of(account);
  if (!resolved.ok) return resolved;
  const isLogin = account.login !== undefined;
  const missing = isLogin ? [] : provider.inject.filter(name => !resolved.env[name]);
  if (missing.length > 0) return { ok: false, problem: `it provides no ${missing.join(', ')}` };
  const unusable = loginProblem(provider, account, context.env);
  if (unusable !== undefined) return { ok: false, problem: unusable };
  const switched = Object.keys(resolved.env).length + provider.home.length + provider.arguments.length > 0;
  if (!switched && !provider.prepare_command) return { ok: false, problem: 'it provides no credential' };
  const { env: own } = resolved;
  const { env, paths, cwd } = context;
  // many requests need no environment
  const environment = () => accountEnvironment(plan, account, own, { caller: callerEnvironment(env), paths, cwd });
  const prepared = await prepare(provider, { name: account.name, env: own }, environment, state);
  if (!prepared.ok) return prepared;
  return { ok: true, environment, credentials: own, ...(prepared.digest && { digest: prepared.digest }) };
}

type Prepared = { ok: true; digest?: string } | { ok: false; problem: string };

/**
 * Runs `prepare_command` when due. `once`: once for every rendered command. `switch`: if the last command was different.
 * `always`: every time. `{NAME}` reaches sh as `"$NAME"`, so that argument lists contain no credential.
 * @param environment returns the account's whole environment
 * @param account name and credentials to render the command with
 * @returns the digest to remember, if the command ran
 */
async function prepare(
  provider: Provider,
  account: { name: string; env: Record<string, string> },
  environment: () => NodeJS.ProcessEnv,
  state: Pick<CliState, 'prepared' | 'lastPrepared'>,
): Promise<Prepared> {
  const template = provider.prepare_command;
  if (!template) return { ok: true };
  const values: Record<string, string> = { ...account.env, account: account.name };
  const rendered = template.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
  const digest = sha256(rendered, JSON.stringify(account.env));
  if (provider.prepare_on === 'once' && state.prepared.includes(digest)) return { ok: true };
  if (provider.prepare_on === 'switch' && state.lastPrepared === digest) return { ok: true };

  const script = template.replace(/\{(\w+)\}/g, (whole, name: string) =>
    name === 'account' ? account.name : name in values ? `"$${name}"` : whole,
  );
  const timeoutMs = parseDuration(provider.prepare_timeout);
  const result = await runHelper(['sh', '-c', script], { env: environment(), timeoutMs });
  if (result.error) return { ok: false, problem: `its prepare command could not be started: ${result.error.message}` };
  if (result.timedOut) return { ok: false, problem: `its prepare command did not end within ${timeoutMs / 1000} s` };
  if (result.exit !== 0) {
    const last = redact(stripAnsi(result.stderr).trim().split('\n').at(-1) ?? '', Object.values(account.env)).slice(
      0,
      MAX_QUOTED,
    );
    return { ok: false, problem: `its prepare command ${failureOf(result)}${last && `: ${last}`}` };
  }
  return { ok: true, digest };
}

/** Removes, from `state`, the pauses of accounts whose refused credential has changed since. */
export async function clearChangedCredentials(
  { accounts }: Pick<Plan, 'accounts'>,
  state: CliState,
  credentials: Credentials,
): Promise<void> {
  for (const account of accounts) {
    const pause = state.paused[account.name];
    if (!account.enabled || pause?.class !== 'auth' || (pause.until !== null && !pause.credential)) continue;
    const resolved = await credentials.of(account);
    if (resolved.ok && fingerprint(state.salt, resolved.env) !== pause.credential) delete state.paused[account.name];
  }
}

/** Variables that the shim sets for this process only. */
const SHIM_VARIABLES = [
  'CULVERT_WRAP_SHIM',
  'CULVERT_WRAP_FDS',
  'CULVERT_WRAP_REPORT',
  'CULVERT_WRAP_CONFIG_DIR',
  'CULVERT_WRAP_STATE_DIR',
];

/** Variables that `culvert trust` sets. A shell that started earlier lacks them. */
const TRUST = /^(NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|REQUESTS_CA_BUNDLE)="(\/[^"]*)"$/gm;

function trustVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const text = readOptional(join(configDirectory(env), '..', 'environment.d', '60-culvert-trust.conf')) ?? '';
  return Object.fromEntries([...text.matchAll(TRUST)].map(([, name, value]) => [name, value]));
}

/**
 * Returns the caller's environment as it was before the shim. The shim renames variables that would slow down or change our Node
 * (NODE_EXTRA_CA_CERTS makes Node 20 start 2.8 times slower). Upstreams get the certificates from `culvert trust`, unless the
 * caller names other certificates.
 */
export function callerEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const result = { ...env };
  for (const name of ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'NODE_DEBUG']) {
    const variable = `CULVERT_WRAP_KEPT_${name}`;
    if (result[variable] !== undefined) result[name] = result[variable];
    delete result[variable];
  }
  for (const name of SHIM_VARIABLES) delete result[name];
  return { ...trustVariables(env), ...result };
}

/**
 * Returns the environment for a run with one account. Unsets every variable that carries or chooses a credential of this CLI,
 * including the sources of other accounts.
 * @param caller see `callerEnvironment`
 * @param credentials the account's resolved credentials
 */
export function accountEnvironment(
  plan: Pick<Plan, 'cli' | 'provider' | 'accounts'>,
  account: Account,
  credentials: Record<string, string>,
  { caller, paths, cwd }: { caller: NodeJS.ProcessEnv; paths: Pick<Paths, 'state'>; cwd?: string },
): NodeJS.ProcessEnv {
  const { provider, cli } = plan;
  const env = { ...caller };
  for (const name of [...provider.inject, ...provider.credentials]) delete env[name];
  for (const other of plan.accounts) {
    for (const [variable, source] of Object.entries(other.env)) {
      delete env[variable];
      if (source.startsWith('env:')) delete env[source.slice(4)];
    }
  }
  // a directory with a login, or a profile, would compete with the account
  for (const name of provider.choice.env) if (isChosen(name, provider, env)) delete env[name];
  // a credential may only go to the hosts of its catalog entry, or to the host that its account names
  for (const name of provider.hosts.env) if (env[name] && isOtherHost(env[name], provider.hosts)) delete env[name];
  const home = ownDirectory(cli, account.name, paths);
  if (!provider.login) for (const name of provider.home) env[name] = home;
  pointToLogin(env, provider, account);
  if (env.CULVERT_WRAP_ACCOUNT) env.CULVERT_WRAP_ACCOUNT = pinForChildren(cli, env.CULVERT_WRAP_ACCOUNT, account.name);
  const file = cwd === undefined ? undefined : directoryFile(cwd);
  addRun(env, { cli, account: account.name, file: file && encodeURIComponent(file) });
  return Object.assign(env, credentials);
}
