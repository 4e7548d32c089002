// Finds the directories and profiles in which CLIs keep the logins of accounts, and says what keeps a login from being used.
import { lstatSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { reason } from '../../daemon/core/errors.ts';
import { readOptional } from '../../daemon/core/files.ts';
import type { Login, Provider } from '../catalog/provider.ts';
import { expandHome, expandVariables } from '../system/notation.ts';
import type { Paths } from './paths.ts';

type Known = Pick<Provider, 'home' | 'login'>;

/** The fields of an account that concern its login; see `Account`. */
interface Account {
  cli: string;
  enabled: boolean;
  login?: string | undefined;
}

/** Reports whether an account is a login of the CLI. No other account then takes over automatically, whatever the user has set. */
export function hasLogins(accounts: readonly Pick<Account, 'enabled' | 'login'>[]): boolean {
  return accounts.some(({ enabled, login }) => enabled && login !== undefined);
}

/** Returns the directory or the profile of a login, without `~/`. */
export function placeOf({ kind }: Pick<Login, 'kind'>, login: string, env: NodeJS.ProcessEnv): string {
  return kind === 'directory' ? resolve('/', expandHome(login, env)) : login;
}

/** Returns the directory or profile that the CLI uses without its variables. */
export function usualPlace({ kind, usual }: Pick<Login, 'kind' | 'usual'>, env: NodeJS.ProcessEnv): string {
  return placeOf({ kind }, expandVariables(usual, env), env);
}

/** Reports whether a login is in the directory that the CLI uses without its variables. */
export function isUsual({ login }: Known, account: Pick<Account, 'login'>, env: NodeJS.ProcessEnv): boolean {
  return login !== undefined && placeOf(login, account.login ?? '', env) === usualPlace(login, env);
}

/**
 * Points an environment to an account's login. The variables are unset for the CLI's usual directory, because with them some CLIs
 * keep their files elsewhere than without (claude: `.claude.json`).
 */
export function pointToLogin(env: NodeJS.ProcessEnv, provider: Known, account: Pick<Account, 'login'>): void {
  const { home, login } = provider;
  if (!login || account.login === undefined) return;
  const place = placeOf(login, account.login, env);
  // a profile is always named, because a directory may be bound to another one
  const isUnset = login.kind === 'directory' && isUsual(provider, account, env);
  for (const name of home) {
    if (isUnset) delete env[name];
    else env[name] = place;
  }
}

/** Returns the arguments that select an account's profile. @param command the leading words that are not options */
export function loginArguments({ login }: Known, account: Pick<Account, 'login'>, command: string): string[] {
  const place = account.login;
  if (!login || place === undefined) return [];
  if (login.bare.some(name => command === name || command.startsWith(`${name} `))) return [];
  return login.arguments.map(word => word.replaceAll('{login}', () => place));
}

/** Returns why an account that is a login can't be used, or `undefined`. */
export function loginProblem(
  { login }: Known,
  account: Pick<Account, 'login' | 'cli'>,
  env: NodeJS.ProcessEnv,
): string | undefined {
  if (account.login === undefined) return undefined;
  if (!login) return `the catalog knows no logins of ${account.cli}`;
  if (login.kind === 'profile') return undefined;
  const directory = placeOf(login, account.login, env);
  if (!account.login.startsWith('/') && !account.login.startsWith('~/')) return `${account.login} is no directory`;
  try {
    if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) return `there is no directory ${directory}`;
    const isNeeded = login.stored?.needed && directory !== usualPlace(login, env);
    if (isNeeded && !hasStored(login, directory))
      return `${join(directory, login.stored!.file)} holds no login, and ${account.cli} would use another one`;
    return undefined;
  } catch (error) {
    return `${directory} can't be read: ${reason(error)}`;
  }
}

/** Reports whether a directory holds a stored login that can be read. `true` where the catalog names no file. */
export function hasStored({ stored }: Pick<Login, 'stored'>, directory: string): boolean {
  if (!stored) return true;
  try {
    const text = readOptional(join(directory, stored.file));
    return text !== undefined && new RegExp(stored.pattern).test(text);
  } catch {
    return false;
  }
}

/** Returns the directory that culvert-wrap makes for an account. */
export function ownDirectory(cli: string, name: string, { state }: Pick<Paths, 'state'>): string {
  return join(state, 'homes', cli, name);
}

/** Reports whether culvert-wrap made a login's directory. It does not own a link in that place. */
export function isOwnDirectory({ cli }: Pick<Account, 'cli'>, directory: string, paths: Pick<Paths, 'state'>): boolean {
  const parent = dirname(ownDirectory(cli, 'x', paths));
  try {
    return (
      lstatSync(directory).isDirectory() &&
      dirname(directory) === parent &&
      realpathSync(directory) === join(realpathSync(parent), directory.slice(parent.length + 1))
    );
  } catch {
    // it is gone
    return false;
  }
}

/** Returns a path with `~/` in place of the home directory. */
export function shortened(path: string, { HOME = '' }: NodeJS.ProcessEnv): string {
  if (HOME === '' || (path !== HOME && !path.startsWith(`${HOME}/`))) return path;
  return `~/${path.slice(HOME.length + 1)}`;
}
