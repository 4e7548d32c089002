// Makes the environment of an upstream: the caller's own, with the credentials of one account and no other.
import { join } from 'node:path';
import { readOptional } from '../../../daemon/core/files.ts';
import { addRun } from '../../store/active-runs.ts';
import type { Account } from '../../store/config.ts';
import { configDirectory, directoryFile, type Paths } from '../../store/paths.ts';
import type { Plan } from '../../store/plan.ts';
import { isChosen, isOtherHost } from './own-choice.ts';
import { pinForChildren } from './select-account.ts';

/** Variables that the shim sets for this process only. */
const OURS = [
  'CULVERT_WRAP_SHIM',
  'CULVERT_WRAP_FDS',
  'CULVERT_WRAP_REPORT',
  'CULVERT_WRAP_CONFIG_DIR',
  'CULVERT_WRAP_STATE_DIR',
];

/** Variables that `culvert trust` sets: a shell that began before then lacks them. */
const TRUST = /^(NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|REQUESTS_CA_BUNDLE)="(\/[^"]*)"$/gm;

function trustVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const text = readOptional(join(configDirectory(env), '..', 'environment.d', '60-culvert-trust.conf')) ?? '';
  return Object.fromEntries([...text.matchAll(TRUST)].map(([, name, value]) => [name, value]));
}

/**
 * The caller's environment as it was before the shim. The shim takes what would slow down or change our own Node
 * (NODE_EXTRA_CA_CERTS makes Node 20 start 2.8 times slower) and keeps it under another name. Upstreams get the certificates that
 * tools were made to trust, unless the caller names others.
 */
export function callerEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const result = { ...env };
  for (const name of ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'NODE_DEBUG']) {
    const variable = `CULVERT_WRAP_KEPT_${name}`;
    if (result[variable] !== undefined) result[name] = result[variable];
    delete result[variable];
  }
  for (const name of OURS) delete result[name];
  return { ...trustVariables(env), ...result };
}

/**
 * The environment for a run with one account. Every variable that carries a credential of this CLI or chooses one is unset first, the
 * sources of other accounts included.
 * @param caller see `callerEnvironment`
 * @param credentials the account's, resolved
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
  // a directory with a login, or a profile, would count next to the account
  for (const name of provider.choice.env) if (isChosen(name, provider, env)) delete env[name];
  // a credential goes to the hosts of its entry, or to the one that its account brings
  for (const name of provider.hosts.env) if (env[name] && isOtherHost(env[name], provider.hosts)) delete env[name];
  const home = join(paths.state, 'homes', cli, account.name);
  for (const name of provider.home) env[name] = home;
  if (env.CULVERT_WRAP_ACCOUNT) env.CULVERT_WRAP_ACCOUNT = pinForChildren(cli, env.CULVERT_WRAP_ACCOUNT, account.name);
  const file = cwd === undefined ? undefined : directoryFile(cwd);
  addRun(env, { cli, account: account.name, file: file && encodeURIComponent(file) });
  return Object.assign(env, credentials);
}
