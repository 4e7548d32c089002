// Names the wrapper's files and directories (XDG base directories).
import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';

declare const __NAME__: string | undefined;

/** Name of directories and keyring entries; development builds use a different name (data/build/profiles.mjs). */
export const NAME = typeof __NAME__ === 'string' ? `${__NAME__}-wrap` : 'culvert-wrap';

/** Name of the file that chooses accounts for a directory. */
export const DIRECTORY_FILE = '.culvert-wrap.toml';

export interface Paths {
  /** `~/.config/culvert-wrap`, 0700. */
  configDir: string;
  /** `config.toml`: accounts and capacity, 0600. */
  config: string;
  /** The user's catalog entries, which override the shipped catalog. */
  userCatalog: string;
  /** Signed catalogs that `catalog update` took; see `catalog/updated.ts`. */
  catalogUpdates: string;
  /** Credentials kept in a file at the user's request, 0700. */
  secrets: string;
  /** `$XDG_STATE_HOME/culvert-wrap`, 0700. */
  state: string;
  /** Original programs, by command name. */
  originals: string;
  /** One compiled plan per shimmed command; empty while it has no account. */
  plans: string;
  /** One state file per CLI. */
  accounts: string;
  queue: string;
  /** One file per provider with a gateway: its port, and digests of the placeholders. */
  gateways: string;
  /** Addresses of MCP servers, including keys, before `mcp install` replaced them, 0600. */
  mcpOriginals: string;
  /** Locally cached state of the pool. */
  pool: string;
  installs: string;
  trust: string;
  audit: string;
  /** Counts that `metrics` keeps from the audit log. */
  tally: string;
  /** Key for hashing names in metrics, 0600. */
  metricsKey: string;
}

/**
 * Returns the wrapper's paths. Ignores relative XDG values, as the base directory specification requires.
 * @param env usually `process.env`
 */
export function pathsFor(env: NodeJS.ProcessEnv): Paths {
  return pathsIn(configDirectory(env), stateDirectory(env));
}

/**
 * Returns the paths that the shim passed to this process, if `HOME` or `XDG_CONFIG_HOME` leads to another configuration
 * directory.
 */
export function hiddenPaths(env: NodeJS.ProcessEnv): Paths | undefined {
  const { CULVERT_WRAP_CONFIG_DIR: configDir, CULVERT_WRAP_STATE_DIR: state } = env;
  return configDir && state && !isSameDirectory(configDirectory(env), configDir)
    ? pathsIn(configDir, state)
    : undefined;
}

/** Returns `Paths.state`: the directory that the shim passed, unless `hiddenPaths` applies. */
export function stateDirectory(env: NodeJS.ProcessEnv): string {
  const { CULVERT_WRAP_STATE_DIR: own } = env;
  return own && !hiddenPaths(env) ? own : join(base(env, 'XDG_STATE_HOME', '.local/state'), NAME);
}

export function configDirectory(env: NodeJS.ProcessEnv): string {
  return join(base(env, 'XDG_CONFIG_HOME', '.config'), NAME);
}

/** Returns the nearest `.culvert-wrap.toml` in `directory` or above it. */
export function directoryFile(directory: string): string | undefined {
  for (let dir = resolve(directory); ; dir = dirname(dir)) {
    const file = join(dir, DIRECTORY_FILE);
    if (existsSync(file)) return file;
    if (dir === dirname(dir)) return undefined;
  }
}

function pathsIn(configDir: string, state: string): Paths {
  return {
    configDir,
    config: join(configDir, 'config.toml'),
    userCatalog: join(configDir, 'providers.toml'),
    catalogUpdates: join(state, 'catalog'),
    secrets: join(configDir, 'secrets'),
    state,
    originals: join(state, 'originals'),
    plans: join(state, 'plans'),
    accounts: join(state, 'accounts'),
    queue: join(state, 'queue'),
    gateways: join(state, 'gateways'),
    mcpOriginals: join(state, 'mcp-originals.json'),
    pool: join(state, 'pool.json'),
    installs: join(state, 'installs.json'),
    trust: join(state, 'trust.json'),
    audit: join(state, 'audit.jsonl'),
    tally: join(state, 'metrics.json'),
    metricsKey: join(state, 'metrics.key'),
  };
}

function isSameDirectory(a: string, b: string): boolean {
  if (a === b) return true;
  try {
    const [one, other] = [statSync(a), statSync(b)];
    return one.ino === other.ino && one.dev === other.dev;
  } catch {
    // a directory is missing or not accessible
    return false;
  }
}

function base(env: NodeJS.ProcessEnv, name: string, fallback: string): string {
  const value = env[name];
  if (value && isAbsolute(value)) return value;
  return join(env.HOME || homedir(), fallback);
}
