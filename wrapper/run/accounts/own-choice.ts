// Finds a choice that the user made outside culvert-wrap (an exported credential, a profile, another host), and decides whether
// the choice or an account counts. A run, `explain` and `doctor` share this module, so that they can't disagree.
import { resolve } from 'node:path';
import type { Hosts, Provider } from '../../catalog/provider.ts';
import type { Plan } from '../../store/plan.ts';
import { innermostRun } from '../../store/secrets.ts';
import { EXIT, WrapError } from '../../system/errors.ts';
import { expandHome } from '../../system/notation.ts';
import type { Choice } from '../candidates.ts';
import { isOption, spelled } from '../invocation.ts';
import { isCommandIn } from '../rules/classify.ts';
import { choicesInFiles, filesWithOtherHost, type Setting, UNREADABLE, valueInJson } from './settings-files.ts';

/** Names of the variables, options and files that express the user's choice. */
export interface OwnChoice {
  /** Names that give a credential, or choose an account, a profile or a directory. */
  accounts: string[];
  /** Names that lead to a host that must not get an account's credential. */
  hosts: string[];
  /** First option, repository or file that no account can replace: the command needs it, or it precedes the environment. */
  fixed?: { option: string; why: 'other-host' | 'own-credential' };
}

type Known = Pick<Plan, 'cli' | 'accounts' | 'prefer'> & {
  provider: Pick<
    Provider,
    | 'inject'
    | 'credentials'
    | 'own_credential'
    | 'choice'
    | 'hosts'
    | 'value_options'
    | 'directory_options'
    | 'stored'
    | 'home'
  >;
};

/**
 * Adapts a tool's catalog entry to an account that is a login: files in the login's directory belong to it, and every other credential
 * and profile precedes it, because the account sets no variable that would precede them.
 * @param name the account; `undefined` if the tool has no usable account
 */
export function knownFor<K extends Known>(plan: K, name: string | undefined): K {
  const { accounts, provider } = plan;
  if (accounts.find(account => account.name === name)?.login === undefined) return plan;
  const { hosts, choice, home, inject, credentials, own_credential } = provider;
  const isApart = ({ file }: { file: string }) => !home.some(variable => file.startsWith(`{${variable}:`));
  return {
    ...plan,
    provider: {
      ...provider,
      hosts: { ...hosts, files: hosts.files.filter(isApart), env_files: hosts.env_files.filter(isApart) },
      choice: { ...choice, options: [], files: choice.files.filter(isApart) },
      credentials: [...inject, ...credentials],
      own_credential: [...own_credential, ...choice.options],
    },
  };
}

/**
 * Returns the user's choice for a command, or `undefined`. Values that an outer run has set are not a choice.
 * @param args the command's arguments; nothing after `--` counts as an option
 * @param env the caller's environment
 * @param cwd base directory for files in options and for the project's files
 */
export function ownChoice(
  plan: Known,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd = process.cwd(),
): OwnChoice | undefined {
  const { choice, hosts, own_credential, value_options } = plan.provider;
  const end = args.indexOf('--');
  const own = end < 0 ? args : args.slice(0, end);
  const isInner = innermostRun(env, plan.cli) !== undefined;
  const isSet = (name: string) => !isInner && isChosen(name, plan.provider, env);
  const variables = choosingVariables(plan);
  const valuesFor = (option: string) => valuesOf(option, own, file => resolve(cwd, expandHome(file, env)));
  const isGiven = (option: string) => valuesFor(option).length > 0;
  const elsewhere = variables.hosts.filter(name => isSet(name) && isOtherHost(env[name]!, hosts));
  const hostOptions = hosts.options.filter(option => {
    const takesValue = value_options.includes(option.split(' ')[0]!);
    return valuesFor(option).some(value => !takesValue || isOtherHost(value, hosts));
  });
  const repositories = otherRepositories(plan.provider, own, { valuesFor, env: isInner ? {} : env });
  const { files, settings } = isInner ? { files: [], settings: [] } : inFiles(plan, own, { env, cwd });
  const credentials = own_credential.filter(option =>
    valuesFor(option).some(value => !(isSwitch(option) && isOff(value))),
  );
  // unreadable settings may choose anything, so they are named once, without a key
  const nameFor = (option: string) =>
    option.includes('{') && valuesFor(option).includes(UNREADABLE) ? option.split(' ')[0]! : nameOf(option);
  const fixedHosts = [...hostOptions.map(nameFor), ...repositories, ...files];
  const named = {
    hosts: [...new Set([...hostOptions.map(nameFor), ...elsewhere, ...repositories, ...files])],
    accounts: [
      ...credentials.map(nameFor),
      ...variables.accounts.filter(isSet),
      ...choice.options.filter(isGiven).map(nameFor),
      ...settings.map(({ words }) => words),
    ].filter((name, index, all) => all.indexOf(name) === index),
  };
  if (named.accounts.length + named.hosts.length === 0) return undefined;
  if (fixedHosts[0] !== undefined) return { ...named, fixed: { option: fixedHosts[0], why: 'other-host' } };
  const [credential] = [
    ...credentials.map(nameFor),
    ...settings.filter(each => isAboveAccounts(each, plan)).map(({ words }) => words),
  ];
  return {
    ...named,
    ...(credential !== undefined && { fixed: { option: credential, why: 'own-credential' } }),
  };
}

/** Reports whether a file's credential counts despite an account: before the environment, or in a variable that no account sets. */
function isAboveAccounts({ name, isBeforeEnv }: Setting, { accounts, provider: { credentials } }: Known): boolean {
  return isBeforeEnv || (credentials.includes(name) && !isBrought(name, accounts));
}

/**
 * Returns the variables that may express the user's choice. An account's source does not count, and neither does an address that an
 * account sets itself, because the account replaces it.
 */
export function choosingVariables({ accounts, provider, prefer }: Omit<Known, 'cli'>): {
  accounts: string[];
  hosts: string[];
} {
  const { inject, credentials, choice, hosts } = provider;
  const sources = accounts.flatMap(({ env }) => Object.values(env).filter(source => source.startsWith('env:')));
  const isSource = (name: string) => sources.includes(`env:${name}`);
  // if the accounts come first, only a variable that an account replaces is worth a message
  const further = prefer === 'own' ? credentials : [];
  return {
    accounts: [...new Set([...inject, ...further, ...choice.env])].filter(name => !isSource(name)),
    hosts: hosts.env.filter(name => !isSource(name) && !isBrought(name, accounts)),
  };
}

/** Reports whether an enabled account sets a variable itself. */
function isBrought(name: string, accounts: Known['accounts']): boolean {
  return accounts.some(({ enabled, env }) => enabled && Object.hasOwn(env, name));
}

/** Finds the user's and the project's files that name another host, and the settings in files that choose an account. */
function inFiles(
  plan: Known,
  args: readonly string[],
  { env, cwd }: { env: NodeJS.ProcessEnv; cwd: string },
): { files: string[]; settings: Setting[] } {
  const { accounts, provider } = plan;
  const { hosts, directory_options } = provider;
  const directories = directory_options.flatMap(option => valuesOf(option, args, file => file));
  const place = {
    env,
    cwd: resolve(cwd, ...directories.slice(-1).map(directory => expandHome(directory, env))),
    valuesOf: (name: string) => (name.startsWith('-') ? wordsBehind(name, args) : listIn(env[name])),
    // a run with an account unsets a variable that names another host, so the file would count
    isAbove: (name: string) =>
      isBrought(name, accounts) || (env[name] !== undefined && env[name] !== '' && !isOtherHost(env[name], hosts)),
    isOther: (host: string) => isOtherHost(host, hosts),
  };
  const counts = (name: string, value: string) => isChosen(name, provider, { ...env, [name]: value });
  return {
    files: filesWithOtherHost(hosts, place),
    settings: choicesInFiles(provider, choosingVariables(plan).accounts, counts, place),
  };
}

/** Returns all words after an option, because some programs take several values. Words that name no file do no harm. */
function wordsBehind(option: string, args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    if (!isOption(arg, option)) return [];
    const [value] = valuesOf(option, [arg], file => file);
    if (value) return [value];
    const rest = args.slice(index + 1);
    const end = rest.findIndex(each => each.startsWith('-'));
    return end < 0 ? rest : rest.slice(0, end);
  });
}

/** Returns a variable's value, and its parts if it is a list. */
function listIn(value = ''): string[] {
  return [...new Set([value, ...value.split(',')])];
}

/** Returns the variables, options and hosts of words that name a repository on another host, or another address. */
function otherRepositories(
  { hosts, value_options }: Known['provider'],
  args: readonly string[],
  { valuesFor, env }: { valuesFor: (option: string) => string[]; env: NodeJS.ProcessEnv },
): string[] {
  const { repositories } = hosts;
  const isOther = (text: string) => {
    const host = hostIn(text);
    return host !== undefined && isOtherHost(host, hosts);
  };
  const words = args.filter((arg, index) => !arg.startsWith('-') && !value_options.includes(args[index - 1] ?? ''));
  const isCommand = isCommandIn(words.slice(0, 2).join(' '), repositories.commands);
  return [
    ...repositories.options.filter(option => valuesFor(option).some(isOther)),
    ...repositories.env.filter(name => isOther(env[name] ?? '')),
    // the message must show the host
    ...(isCommand
      ? words
          .slice(1)
          .filter(isOther)
          .map(word => hostIn(word)!)
      : []),
  ];
}

/** Returns the host in an address (after `http://`, if given) or a repository (`host/o/r`, `git@host:o/r`). */
function hostIn(text: string): string | undefined {
  const [, scheme, host] = /^([a-z][a-z\d+.-]*:\/\/)(?:[^@/]*@)?([^/]*)/i.exec(text) ?? [];
  if (host !== undefined) return /^http:/i.test(scheme!) ? `${scheme}${host}` : host;
  return (/^[^@/\s]+@([^:/\s]+):/.exec(text) ?? /^([\w-]+(?:\.[\w-]+)+(?::\d+)?)\/[^/]+\/[^/]+$/.exec(text))?.[1];
}

/** True for a variable such as `CLAUDE_CODE_USE_VERTEX`, which enables a kind of account. */
const isSwitch = (name: string) => name.includes('_USE_');
const isOff = (value: string) => /^(?:0|false|no|off)$/i.test(value);

/** Reports whether a variable chooses something: a switch that is off and the CLI's usual value choose nothing. */
export function isChosen(name: string, { choice }: Pick<Provider, 'choice'>, env: NodeJS.ProcessEnv): boolean {
  const value = env[name];
  if (!value || (isSwitch(name) && isOff(value))) return false;
  const { [name]: usual } = choice.unless;
  return usual === undefined || value.replace(/(?<=.)\/+$/, '') !== expandHome(usual, env);
}

/**
 * Returns the values of an option (see `Option` in the catalog) in `-x v`, `-x=v` and `-xv`, or of a key in these values. The last
 * argument has an empty value.
 * @param pathOf makes a file's path absolute
 */
function valuesOf(option: string, args: readonly string[], pathOf: (file: string) => string): string[] {
  const [name, key] = spelled(option).split(' ') as [string, string | undefined];
  const isShort = name.length === 2 && name[1] !== '-';
  const values = args.map(spelled).flatMap((arg, index) => {
    if (arg === name) return [args[index + 1] ?? ''];
    if (arg.startsWith(`${name}=`)) return [arg.slice(name.length + 1)];
    return isShort && arg.startsWith(name) ? [arg.slice(2)] : [];
  });
  if (key === undefined) return values;
  if (key.startsWith('{')) return values.flatMap(value => valueInJson(value, key.slice(1, -1), pathOf));
  return values.flatMap(value => {
    const [, before = '', behind = ''] = /^([^=:]*)[=:](.*)$/s.exec(value) ?? [];
    const given = before.trim().toLowerCase();
    const isIt = key.endsWith('.*') ? `${given}.`.startsWith(key.slice(0, -1)) : given === key;
    return isIt ? [behind] : [];
  });
}

/** Returns an option for a message: `--settings env.X` for `--settings {env.X}`. */
function nameOf(option: string): string {
  return option.replace(/[{}]/g, '');
}

/**
 * Reports whether an address leads to a host outside the entry's hosts. True for an address that programs could read in two ways.
 * @param value an address, or a host with or without a path
 */
export function isOtherHost(value: string, { names }: Pick<Hosts, 'names'>): boolean {
  if (names.length === 0) return false;
  const text = value.trim().replace(/^(["'])(.*)\1$/, '$2');
  if (/[\\@\s]/.test(text)) return true;
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(address)) return true;
  const { protocol, hostname } = new URL(address);
  return !names.some(name => {
    const [host, isPlain] = name.startsWith('http://') ? [name.slice('http://'.length), true] : [name, false];
    if (protocol !== 'https:' && !(isPlain && protocol === 'http:')) return false;
    return host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host;
  });
}

/** The decision between the user's choice and the accounts. `line` tells the user about it. */
export interface Ruling {
  /** The original runs as the user wrote it, or the accounts count. */
  runs: 'original' | 'accounts';
  why: 'own-choice' | 'own-credential' | 'other-host';
  /** Names of the variables, options and files. */
  choice: string;
  line: string;
}

/**
 * Decides between the user's own choice and the accounts.
 * @param choice the account that comes first
 * @throws WrapError `other-host` or `own-credential` if an account is named, and an option names a different host or gives a
 *   credential
 */
export function ruleOn(own: OwnChoice, choice: Choice, { cli, prefer, provider }: Known): Ruling {
  const { fixed } = own;
  const names = namesIn(own);
  const host = provider.hosts.names[0];
  if (choice.by !== 'default') {
    if (fixed) throw refusal(`${cli}: ${fixed.option}`, fixed.why, choice, host);
    const line = `${cli}: ${names} is not used, because the account "${choice.name}" is named`;
    return { runs: 'accounts', why: own.hosts.length > 0 ? 'other-host' : 'own-choice', choice: names, line };
  }
  const asItIs = 'so the command runs as it is, without an account';
  if (own.hosts.length > 0) {
    const line = `${cli}: ${names} may lead to another host than ${host}, ${asItIs}`;
    return { runs: 'original', why: 'other-host', choice: names, line };
  }
  const why = fixed?.why ?? 'own-choice';
  if (fixed || prefer === 'own') {
    return { runs: 'original', why, choice: names, line: `${cli}: ${names} is given, ${asItIs}` };
  }
  return { runs: 'accounts', why, choice: names, line: notUsed(cli, names) };
}

/** Lists the variables, options and files of a choice. */
export function namesIn({ hosts, accounts }: OwnChoice): string {
  return [...new Set([...hosts, ...accounts])].join(', ');
}

/** Returns the error for an option that conflicts with a named account. */
function refusal(option: string, why: 'other-host' | 'own-credential', choice: Named, host = ''): WrapError {
  const account = `the account "${choice.name}" ${choice.by === 'job' ? 'created the job' : 'is named'}`;
  const what =
    why === 'other-host'
      ? `${option} may lead to another host than ${host}, and ${account}, whose credential must not go there`
      : `${option} gives a credential, and ${account}`;
  return new WrapError(why, EXIT.unavailable, what, {
    hint: 'leave one of them out; CULVERT_WRAP_BYPASS=1 runs the command as it is',
  });
}

type Named = Exclude<Choice, { by: 'default' }>;

/** Returns the message about a choice that does not count. */
export function notUsed(cli: string, names: string): string {
  return `${cli}: ${names} is not used, because ${cli} has accounts`;
}
