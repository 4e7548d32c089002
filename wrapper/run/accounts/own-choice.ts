// Finds what the user chose without culvert-wrap (an exported credential, a profile, another host), and says whether that or an account
// counts. Shared by a run, `explain` and `doctor`, so that they can't disagree.
import type { Hosts, Provider } from '../../catalog/provider.ts';
import { innermostRun } from '../../store/active-runs.ts';
import type { Plan } from '../../store/plan.ts';
import { EXIT, WrapError } from '../../system/errors.ts';
import { expandHome } from '../../system/files.ts';
import type { Choice } from '../choose/candidates.ts';
import { spelled } from '../invocation.ts';

/** Names of variables and options by which the user chose. */
export interface OwnChoice {
  /** Those that choose an account, a profile or a directory. */
  accounts: string[];
  /** Those that name a host to which no account's credential may go. */
  hosts: string[];
  /** The first of `hosts` that is an option: it can't be left out of the command. */
  hostOption?: string;
}

type Known = Pick<Plan, 'cli' | 'accounts' | 'prefer'> & {
  provider: Pick<Provider, 'inject' | 'credentials' | 'choice' | 'hosts'>;
};

/**
 * Choice of the user for a command, or `undefined`. Values that an outer run has set are no choice.
 * @param args of the command; nothing after `--` is taken for an option
 * @param env the caller's
 */
export function ownChoice(plan: Known, args: readonly string[], env: NodeJS.ProcessEnv): OwnChoice | undefined {
  const { choice, hosts } = plan.provider;
  const end = args.indexOf('--');
  const own = end < 0 ? args : args.slice(0, end);
  const isSet = innermostRun(env, plan.cli) ? () => false : (name: string) => isChosen(name, plan, env);
  const variables = choosingVariables(plan);
  const elsewhere = variables.hosts.filter(name => isSet(name) && isOtherHost(env[name]!, hosts));
  const options = hosts.options.filter(option => valuesOf(option, own).some(value => isOtherHost(value, hosts)));
  const accounts = [
    ...variables.accounts.filter(isSet),
    ...choice.options.filter(option => valuesOf(option, own).length > 0),
  ];
  if (accounts.length + elsewhere.length + options.length === 0) return undefined;
  return { accounts, hosts: [...options, ...elsewhere], ...(options[0] !== undefined && { hostOption: options[0] }) };
}

/**
 * Variables by which the user may choose. The source of an account does not count, and neither does the address that an account brings itself:
 * that account replaces it.
 */
export function choosingVariables({ accounts, provider, prefer }: Omit<Known, 'cli'>): {
  accounts: string[];
  hosts: string[];
} {
  const { inject, credentials, choice, hosts } = provider;
  const sources = accounts.flatMap(({ env }) => Object.values(env).filter(source => source.startsWith('env:')));
  const isSource = (name: string) => sources.includes(`env:${name}`);
  const isBrought = (name: string) => accounts.some(({ enabled, env }) => enabled && Object.hasOwn(env, name));
  // if the accounts come first, only a variable that an account replaces is worth a line
  const further = prefer === 'own' ? credentials : [];
  return {
    accounts: [...new Set([...inject, ...further, ...choice.env])].filter(name => !isSource(name)),
    hosts: hosts.env.filter(name => !isSource(name) && !isBrought(name)),
  };
}

function isChosen(name: string, { provider }: Known, env: NodeJS.ProcessEnv): boolean {
  const value = env[name];
  if (!value) return false;
  const { [name]: usual } = provider.choice.unless;
  return usual === undefined || value !== expandHome(usual, env);
}

/** Values of an option: of `-x v`, `-x=v`, `-xv`, and with a key of `-x key=v`. One that stands last has an empty value. */
function valuesOf(option: string, args: readonly string[]): string[] {
  const [name, key] = spelled(option).split(' ') as [string, string | undefined];
  const isShort = name.length === 2 && name[1] !== '-';
  const values = args.map(spelled).flatMap((arg, index) => {
    if (arg === name) return [args[index + 1] ?? ''];
    if (arg.startsWith(`${name}=`)) return [arg.slice(name.length + 1)];
    return isShort && arg.startsWith(name) ? [arg.slice(2)] : [];
  });
  if (key === undefined) return values;
  return values.filter(value => value.startsWith(`${key}=`)).map(value => value.slice(key.length + 1));
}

/**
 * Reports whether an address leads to a host that no credential is for. One that programs could read in two ways is another host.
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

/** Whose account a command runs with. `line` says it to the person. */
export interface Ruling {
  /** The original runs as the user wrote it, or the accounts count. */
  runs: 'original' | 'accounts';
  why: 'own-choice' | 'other-host';
  /** Names of the variables and options. */
  choice: string;
  line: string;
}

/**
 * Decides between the user's own choice and the accounts.
 * @param choice the account that comes first
 * @throws WrapError `other-host` where an account is named, and an option names a host that it is not for
 */
export function ruleOn(own: OwnChoice, choice: Choice, { cli, prefer, provider }: Known): Ruling {
  const isNamed = choice.by !== 'default';
  const names = [...own.hosts, ...own.accounts].join(', ');
  const isHost = own.hosts.length > 0;
  if (isNamed && own.hostOption !== undefined) {
    const what = `${own.hostOption} may lead to another host than ${provider.hosts.names[0]}, and the account "${choice.name}" is named`;
    throw new WrapError('other-host', EXIT.unavailable, `${cli}: ${what}, whose credential must not go there`, {
      hint: 'leave one of them out; CULVERT_WRAP_BYPASS=1 runs the command as it is',
    });
  }
  const why = isHost ? 'other-host' : 'own-choice';
  if (isNamed) {
    const line = `${cli}: ${names} is not used, because the account "${choice.name}" is named`;
    return { runs: 'accounts', why, choice: names, line };
  }
  if (isHost) {
    const line = `${cli}: ${names} may lead to another host than ${provider.hosts.names[0]}, so the command runs as it is, without an account`;
    return { runs: 'original', why, choice: names, line };
  }
  if (prefer === 'own') {
    const line = `${cli}: ${names} is given, so the command runs as it is, without an account`;
    return { runs: 'original', why, choice: names, line };
  }
  return { runs: 'accounts', why, choice: names, line: notUsed(cli, names) };
}

/** The line for what does not count. */
export function notUsed(cli: string, names: string): string {
  return `${cli}: ${names} is not used, because ${cli} has accounts`;
}
