// Implements `accounts add --login`: an account that is a login of the tool, made by the tool itself in a new directory, or adopted.
import { spawn } from 'node:child_process';
import { chmodSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { isatty } from 'node:tty';
import type { Login, Provider } from '../../catalog/provider.ts';
import type { Context, End } from '../../context.ts';
import { callerEnvironment } from '../../run/accounts/ready.ts';
import { cannotStart } from '../../run/original.ts';
import { type Account, readConfig } from '../../store/config.ts';
import {
  hasStored,
  isOwnDirectory,
  loginProblem,
  ownDirectory,
  placeOf,
  pointToLogin,
  shortened,
  usualPlace,
} from '../../store/logins.ts';
import { EXIT, say, WrapError } from '../../system/errors.ts';
import { createDirectory } from '../../system/files.ts';
import { expandHome } from '../../system/notation.ts';
import { confirm } from '../prompt.ts';
import { toolOf } from '../run.ts';

type WithLogin = Provider & { login: Login };

/** An account to add, and the directory or profile to adopt: `true` to make a new one. */
interface Wanted {
  cli: string;
  name: string;
  login: string | true;
}

/**
 * Prepares an account that is a login. Without a directory or profile, runs the tool's own login in a new one; otherwise adopts it,
 * and moves nothing. A login that fails or is interrupted leaves nothing behind.
 * @returns the account, which is not stored yet
 * @throws WrapError `no-logins`, `login-exists`, `login-taken`, `login-unusable`, `login-failed`, `original-missing`, `bad-profile`
 */
export async function prepareLogin(
  wanted: Wanted,
  provider: Provider,
  options: { json?: boolean },
  context: Context,
): Promise<Account> {
  const { cli, name } = wanted;
  if (!hasLogin(provider)) {
    throw new WrapError('no-logins', EXIT.usage, `the catalog knows no way to keep several logins of ${cli}`, {
      hint: `\`culvert-wrap accounts add ${cli} ${name}\` adds a key`,
    });
  }
  const before = readConfig(context.paths.config).accounts.filter(account => account.cli === cli);
  const account: Account = { cli, name, enabled: true, env: {}, login: loginFor(wanted, provider, context) };
  const place = placeOf(provider.login, account.login!, context.env);
  const taken = before.find(
    ({ login }) => login !== undefined && placeOf(provider.login, login, context.env) === place,
  );
  if (taken) {
    throw new WrapError('login-taken', EXIT.usage, `${account.login} is the login of "${taken.name}" of ${cli}`, {
      hint: 'an account needs a login of its own',
    });
  }
  if (wanted.login === true) await makeLogin(account, provider, options, context);
  else assertUsable(account, provider, context);
  return account;
}

function hasLogin(provider: Provider): provider is WithLogin {
  return provider.login !== undefined && provider.home.length > 0;
}

/** Returns the directory or profile of a new account, as the configuration has it. */
function loginFor({ cli, name, login }: Wanted, provider: WithLogin, { paths, env, cwd }: Context): string {
  const { kind, names, usual } = provider.login;
  if (kind === 'directory') {
    const directory = login === true ? ownDirectory(cli, name, paths) : resolve(cwd, expandHome(login, env));
    return shortened(directory, env);
  }
  const profile = login === true ? name : login;
  if (profile === usual && login !== true) return profile;
  if (names === undefined || new RegExp(names).test(profile)) return profile;
  throw new WrapError(
    'bad-profile',
    EXIT.usage,
    `${JSON.stringify(profile)} can't be the name of a profile of ${cli}`,
    {
      hint: `choose another name, or \`--login ${usual}\` for the login that ${cli} has without a profile`,
    },
  );
}

/** @throws WrapError `login-unusable` unless the tool can use the directory without taking a login from elsewhere */
function assertUsable(account: Account, provider: WithLogin, { env }: Context): void {
  const { cli, name } = account;
  const problem = loginProblem(provider, account, env);
  if (problem !== undefined) {
    throw new WrapError('login-unusable', EXIT.noInput, `${cli} "${name}" was not added: ${problem}`, {
      hint: `leave the directory out of --login, and ${cli} logs in to a new one`,
    });
  }
  const { login } = provider;
  if (login.kind !== 'directory') return;
  const directory = placeOf(login, account.login!, env);
  if (directory !== usualPlace(login, env) && statSync(directory).uid !== process.getuid?.())
    say(`${directory} belongs to another user, who can change what ${cli} does there`);
  if (!hasStored(login, directory))
    say(`${directory} has no ${login.stored!.file}; if ${cli} keeps no login elsewhere for it, it will ask for one`);
}

/**
 * Runs the tool's own login in a new directory, or for a new profile.
 * @throws WrapError `login-exists`, `login-failed`, `original-missing`
 */
async function makeLogin(
  account: Account,
  provider: WithLogin,
  options: { json?: boolean },
  context: Context,
): Promise<void> {
  const { cli, name } = account;
  const { login } = provider;
  const program = toolOf({ cli, provider }, context);
  if (program === undefined) {
    throw new WrapError(
      'original-missing',
      EXIT.unavailable,
      `there is no command ${provider.bin} on PATH to log in with`,
      {
        hint: provider.package ? `npm install -g ${provider.package}` : `install ${cli} first`,
      },
    );
  }
  const place = placeOf(login, account.login!, context.env);
  const isDirectory = login.kind === 'directory';
  if (isDirectory) makeEmpty(place, account);
  const env = loginEnvironment(account, provider, context);
  if (login.command.length === 0) say(`${cli} starts now: log in, and then leave it`);
  try {
    const end = await runLogin(program, { provider, place, env }, options, context);
    const how = end.signal ?? `exit status ${end.exit}`;
    const why = end.exit !== 0 ? `it ended with ${how}` : context.signals.received;
    const isMissing = isDirectory && login.stored?.needed === true && !hasStored(login, place);
    if (why === undefined && !isMissing) return;
    throw new WrapError(
      'login-failed',
      EXIT.unavailable,
      `${cli} "${name}" was not added: ${why ?? 'no login was stored'}`,
      {
        hint: 'nothing was kept; try again',
      },
    );
  } catch (error) {
    if (isDirectory) rmSync(place, { recursive: true, force: true });
    throw error;
  }
}

/** Makes a directory that only this user can enter. @throws WrapError `login-exists` unless there is none, or an empty one */
function makeEmpty(directory: string, { cli, name }: Account): void {
  const stat = lstatSync(directory, { throwIfNoEntry: false });
  if (stat && (!stat.isDirectory() || readdirSync(directory).length > 0)) {
    throw new WrapError('login-exists', EXIT.usage, `${directory} is there already, from an earlier account`, {
      hint: `\`culvert-wrap accounts add ${cli} ${name} --login ${directory}\` uses it as it is; or remove it`,
    });
  }
  createDirectory(directory);
  chmodSync(directory, 0o700);
}

/** Returns the environment for a login: without any other credential or login. */
function loginEnvironment(account: Account, provider: WithLogin, context: Context): NodeJS.ProcessEnv {
  const { inject, credentials, choice, home, login } = provider;
  const env = callerEnvironment(context.env);
  for (const variable of [...inject, ...credentials, ...choice.env, ...home]) delete env[variable];
  // a profile is created by its name, and not selected
  if (login.kind === 'directory') pointToLogin(env, provider, account);
  return { ...env, ...login.env };
}

interface Making {
  provider: WithLogin;
  place: string;
  env: NodeJS.ProcessEnv;
}

/** Runs the tool's login at the caller's terminal. With `--json`, its output goes to stderr. */
function runLogin(
  program: string,
  { provider, place, env }: Making,
  options: { json?: boolean },
  context: Context,
): Promise<End> {
  const args = provider.login.command.map(word => word.replaceAll('{login}', () => place));
  // behind a shim, typing was hidden in case of a key
  if (process.stdin.isRaw) process.stdin.setRawMode(false);
  const child = context.signals.forwardTo(() =>
    spawn(program, args, { env, cwd: context.cwd, stdio: ['inherit', options.json ? 2 : 'inherit', 'inherit'] }),
  );
  return new Promise((done, failed) => {
    child.on('exit', (exit, signal) => done({ exit, signal }));
    child.on('error', error => failed(cannotStart(program, error)));
  });
}

/** Says, after the first account of a tool, that the login which the tool had before is not used anymore. */
export function sayOfUsual(
  { cli, name, login: own }: Account,
  { login }: Pick<Provider, 'login'>,
  { env }: Context,
): void {
  if (!login) return;
  const usual = usualPlace(login, env);
  if (placeOf(login, own!, env) === usual) return;
  if (login.kind === 'directory' && !statSync(usual, { throwIfNoEntry: false })?.isDirectory()) return;
  const given = login.kind === 'directory' ? shortened(usual, env) : usual;
  say(
    `${cli} now uses "${name}"; \`culvert-wrap accounts add ${cli} NAME --login ${given}\` adds the login that it had before`,
  );
}

/**
 * Returns what becomes of a login when its account is removed. Deletes a directory only if culvert-wrap made it, and after a yes.
 * @returns a clause for the message
 */
export async function leaveLogin(
  account: Account,
  { login }: Pick<Provider, 'login'>,
  options: { json?: boolean },
  context: Context,
): Promise<{ deleted: boolean; text: string }> {
  if (account.login === undefined || !login) return { deleted: false, text: '' };
  const { cli } = account;
  const place = placeOf(login, account.login, context.env);
  if (login.kind === 'profile') {
    const words = login.remove.map(word => word.replaceAll('{login}', place)).join(' ');
    return { deleted: false, text: `; its profile "${place}" stays${words && ` (\`${cli} ${words}\` removes it)`}` };
  }
  if (!isOwnDirectory(account, place, context.paths)) return { deleted: false, text: `; its login stays in ${place}` };
  const asks = isatty(0) && isatty(2) && !options.json;
  const question = `Delete ${place} as well, with the login, settings and history of ${cli} in it? [y/N] `;
  if (asks && (await confirm(question))) {
    rmSync(place, { recursive: true, force: true });
    return { deleted: true, text: `, and ${place}` };
  }
  return { deleted: false, text: `; its login stays in ${place}, which you may delete` };
}
