// Defines the account commands of shims (`firecrawl login add`) and of `culvert-wrap accounts`, and implements some of them.
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { type Account, readConfig, same } from '../../store/config.ts';
import { describeAccounts, describeAllAccounts } from '../../store/describe.ts';
import { orphanedSecrets, removeOrphan } from '../../store/secrets.ts';
import { readState } from '../../store/state.ts';
import { emit, pauseText, table } from '../print.ts';
import { add } from '../program.ts';
import * as account from './account.ts';
import { importAccounts } from './import.ts';

/** Adds the account commands for all tools: `accounts add firecrawl team-b`. */
export function addAccounts(program: Command, context: Context): void {
  const accounts = program.command('accounts').description('manage the accounts of all tools');
  add(accounts, 'list', 'list the accounts of all tools', true).action(options => listAll(options, context));
  addEditing(accounts, '<cli> ', (cli, ...rest) => [cli!, ...rest], context);
  add(
    accounts,
    'import [file]',
    'add or change accounts from a TOML, JSON or .env file, or from the stored logins of tools',
  )
    .option('--stored', 'import keys that tools stored at login, instead of a file')
    .option('--file', 'store credentials in a file that only you can read, instead of the keyring')
    .option('--reference', 'read the .env file at each run instead of storing its contents')
    .option('--check', 'change nothing, only show the plan')
    .option('--probe', 'test each credential with its provider first')
    .option('--cli <cli>', 'with a .env file or --stored: only this tool')
    .option('--name <name>', 'name of the account, with --stored or a variable without a suffix', 'main')
    .action((file: string | undefined, options) => importAccounts(file, options, context));
  add(accounts, 'export [cli]', 'print accounts for `accounts import`, with references and without secrets').action(
    (cli: string | undefined, options) => exportAccounts(cli, options, context),
  );
  add(accounts, 'purge', 'remove stored credentials that no account uses').action(options => purge(options, context));
}

/** Adds the account commands of a tool's shim: `firecrawl login add team-b`. */
export function addAuth(program: Command, cli: string, context: Context): void {
  add(program, 'list', 'show the accounts').action(options => listOf(cli, options, context));
  addEditing(program, '', (...rest) => [cli, ...rest.map(String)], context);
}

/**
 * Adds the commands that edit accounts, with a shim or without.
 * @param prefix text before the arguments
 * @param withCli returns the CLI followed by the arguments after the prefix
 */
function addEditing(
  parent: Command,
  prefix: string,
  withCli: (...args: string[]) => [string, ...string[]],
  context: Context,
): void {
  add(parent, `default ${prefix}[name]`, 'show or set the first account').action((...given) => {
    const [cli, name] = withCli(...argumentsOf(given));
    account.showOrSetDefault(cli, name, optionsOf(given), context);
  });
  add(parent, `use ${prefix}<name>`, 'set the first account; - for the previous one').action((...given) => {
    const [cli, name] = withCli(...argumentsOf(given));
    account.use(cli, name!, optionsOf(given), context);
  });
  add(parent, `add ${prefix}<name>`, 'add an account; the credential comes from a prompt or stdin')
    .option('--env <VAR=source>', 'refer to a credential (env:, keyring:, pass:, command:, file:path#KEY)', collect, [])
    .option('--file', 'store the credential in a file that only you can read, instead of the keyring')
    .option('--replace', 'replace the credential of an account')
    .option(
      '--login [place]',
      'an account that is a login of the tool: log in anew, or adopt this directory or profile',
    )
    .action((...given) => {
      const [cli, name] = withCli(...argumentsOf(given));
      return account.add(cli, name!, optionsOf(given), context);
    });
  for (const enabled of [true, false]) {
    const [word, meaning] = enabled ? ['enable', 'use an account again'] : ['disable', 'stop using an account'];
    add(parent, `${word} ${prefix}<name>`, meaning).action((...given) => {
      const [cli, name] = withCli(...argumentsOf(given));
      account.setEnabled({ cli, name: name!, enabled }, optionsOf(given), context);
    });
  }
  add(parent, `order ${prefix}<name...>`, 'set the order of use; give all accounts').action((...given) => {
    // the names are an array after the CLI, if any
    const names = given.slice(0, -2).flat().map(String);
    const [cli, ...order] = withCli(...names);
    account.order(cli, order, optionsOf(given), context);
  });
  add(parent, `wake ${prefix}<name>`, 'use a paused account again').action((...given) => {
    const [cli, name] = withCli(...argumentsOf(given));
    account.wake(cli, name!, optionsOf(given), context);
  });
  add(parent, `remove ${prefix}<name>`, 'remove an account and its stored credential').action((...given) => {
    const [cli, name] = withCli(...argumentsOf(given));
    return account.remove(cli, name!, optionsOf(given), context);
  });
  add(parent, `rename ${prefix}<name> <new>`, 'rename an account').action((...given) => {
    const [cli, from, to] = withCli(...argumentsOf(given));
    return account.rename({ cli, from: from!, to: to! }, optionsOf(given), context);
  });
}

/** Returns the arguments of an action, which commander calls with the arguments, the options and the command. */
function argumentsOf(given: unknown[]): string[] {
  return given.slice(0, -2).filter(value => typeof value === 'string');
}

function optionsOf(given: unknown[]): account.AddOptions {
  return given.at(-2) as account.AddOptions;
}

function collect(value: string, all: string[]): string[] {
  return [...all, value];
}

interface Options {
  json?: boolean;
}

/** `list` of one CLI: shows its accounts, the default and the pauses. */
function listOf(cli: string, options: Options, { paths, now }: Context): void {
  const own = readConfig(paths.config).accounts.filter(account => account.cli === cli);
  const described = describeAccounts(own, readState(paths, cli), now());
  const accounts = described.map(account => withLogin(account, cli, own));
  const rows = accounts.map(account => [
    account.default ? '*' : '',
    account.name,
    account.enabled ? 'enabled' : 'disabled',
    account.paused ? pauseText(account.paused) : '-',
    credentialText(
      account,
      Object.entries(account.sources).map(([variable, source]) => `${variable} from ${sourceText(source, paths)}`),
    ),
  ]);
  const heading = ['', 'ACCOUNT', 'STATE', 'PAUSED', 'CREDENTIAL'];
  emit(
    options.json,
    { cli, accounts },
    rows.length === 0
      ? `${cli} has no account. Add one: culvert-wrap accounts add ${cli} NAME`
      : table([heading, ...rows]),
  );
}

/** `accounts list`: shows every account of every CLI. */
function listAll(options: Options, { paths, now }: Context): void {
  const own = readConfig(paths.config).accounts;
  const clis = describeAllAccounts(paths, now()).map(({ cli, accounts }) => ({
    cli,
    accounts: accounts.map(account => withLogin(account, cli, own)),
  }));
  const rows = clis.flatMap(({ cli, accounts }) =>
    accounts.map(account => [
      account.default ? '*' : '',
      cli,
      account.name,
      !account.enabled ? 'disabled' : account.paused ? `paused ${pauseText(account.paused)}` : 'enabled',
      credentialText(
        account,
        Object.values(account.sources).map(source => sourceText(source, paths)),
      ),
    ]),
  );
  emit(
    options.json,
    { clis },
    rows.length > 0
      ? table([['', 'CLI', 'ACCOUNT', 'STATE', 'CREDENTIAL'], ...rows])
      : 'There is no account. Add one: culvert-wrap accounts add firecrawl NAME',
  );
}

/** Adds the directory or profile of an account's login to its report. */
function withLogin<R extends { name: string }>(report: R, cli: string, accounts: readonly Account[]) {
  const account = accounts.find(same({ cli, name: report.name }));
  return { ...report, login: account?.login ?? null };
}

/** Describes an account's login and sources. */
function credentialText({ login }: { login: string | null }, sources: readonly string[]): string {
  return [...(login === null ? [] : [`login in ${login}`]), ...sources].join(', ');
}

/** Describes a source for the user. The path of a stored credential is left out, because it only repeats the account's name. */
function sourceText(source: string, { secrets }: Context['paths']): string {
  if (source === 'keyring:') return 'the keyring';
  return source.startsWith(`file:${secrets}/`) ? 'its own file' : source;
}

/** `accounts export [cli]`: prints a file for `accounts import`, with references only. */
function exportAccounts(cli: string | undefined, options: Options, { paths }: Context): void {
  const all = readConfig(paths.config).accounts.filter(account => cli === undefined || account.cli === cli);
  const accounts = all.map(({ enabled, ...account }) => ({ ...account, ...(!enabled && { enabled }) }));
  emit(options.json, { accounts }, accounts.map(toToml).join('\n\n'));
}

function toToml({ cli, name, enabled, env, login }: Omit<Account, 'enabled'> & { enabled?: boolean }): string {
  const text = (value: string) => JSON.stringify(value).replaceAll('\x7f', '\\u007f');
  const pairs = Object.entries(env).map(([variable, source]) => `${text(variable)} = ${text(source)}`);
  const state = enabled === undefined ? '' : `enabled = ${enabled}\n`;
  const place = login === undefined ? '' : `login = ${text(login)}\n`;
  return `[[accounts]]\ncli = ${text(cli)}\nname = ${text(name)}\n${state}${place}env = { ${pairs.join(', ')} }`;
}

/** `accounts purge`: removes stored secrets that no account refers to. */
function purge(options: Options, { paths }: Context): void {
  const orphans = orphanedSecrets(readConfig(paths.config).accounts, paths);
  for (const orphan of orphans) removeOrphan(orphan);
  const lines = orphans.map(({ file, key }) => `removed ${key} from ${file}`);
  emit(
    options.json,
    { removed: orphans },
    lines.join('\n') || 'Nothing to remove: every stored credential belongs to an account.',
  );
}
