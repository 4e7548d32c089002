// Defines the account commands, of `culvert-wrap accounts` and of shims (`firecrawl login add`), and implements some of them.
import type { Command } from 'commander';
import { catalogOf, providerOf } from '../../catalog/catalog.ts';
import type { Context } from '../../context.ts';
import { type Account, readConfig, same } from '../../store/config.ts';
import { describeAccounts, describeAllAccounts } from '../../store/describe.ts';
import { orphanedSecrets, removeOrphan } from '../../store/secrets.ts';
import { readState } from '../../store/state.ts';
import { emit, type Options, pauseText, table } from '../print.ts';
import { add } from '../program.ts';
import * as account from './account.ts';
import { importAccounts } from './import.ts';

/**
 * Adds the account commands: `accounts add firecrawl team-b`. A shim passes `firecrawl login add team-b` on as these words; see
 * `accountWords`.
 */
export function addAccounts(program: Command, context: Context): void {
  const accounts = program
    .command('accounts')
    .description('manage accounts; a shim has the same words below its account command');
  add(accounts, 'list [cli]', 'list the accounts of all tools, or of one', true).action(
    (cli: string | undefined, options) =>
      cli === undefined ? listAll(options, context) : listOf(cli, options, context),
  );
  addChoosing(accounts, context);
  add(accounts, 'add <cli> <name>', 'add an account; the credential comes from a prompt or stdin')
    .option('--env <VAR=source>', 'refer to a credential (env:, keyring:, pass:, command:, file:path#KEY)', collect, [])
    .option('--file', 'store the credential in a file that only you can read, instead of the keyring')
    .option('--replace', 'replace the credential of an account')
    .option('--login [place]', 'an account that is a login of the tool: log in now, or adopt this directory or profile')
    .action((cli: string, name: string, options) => account.add(cli, name, options, context));
  add(accounts, 'remove <cli> <name>', 'remove an account and its stored credential').action(
    (cli: string, name: string, options) => account.remove(cli, name, options, context),
  );
  add(accounts, 'rename <cli> <name> <new>', 'rename an account').action(
    (cli: string, from: string, to: string, options) => account.rename({ cli, from, to }, options, context),
  );
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

/** Adds the commands that choose among accounts. */
function addChoosing(accounts: Command, context: Context): void {
  add(accounts, 'default <cli> [name]', 'show or set the first account').action(
    (cli: string, name: string | undefined, options) => account.showOrSetDefault(cli, name, options, context),
  );
  add(accounts, 'use <cli> <name>', 'set the first account; - for the previous one').action(
    (cli: string, name: string, options) => account.use(cli, name, options, context),
  );
  for (const enabled of [true, false]) {
    const [word, meaning] = enabled ? ['enable', 'use an account again'] : ['disable', 'stop using an account'];
    add(accounts, `${word} <cli> <name>`, meaning).action((cli: string, name: string, options) =>
      account.setEnabled({ cli, name, enabled }, options, context),
    );
  }
  add(accounts, 'order <cli> <name...>', 'set the order of use; give all accounts').action(
    (cli: string, names: string[], options) => account.order(cli, names, options, context),
  );
  add(accounts, 'wake <cli> <name>', 'use a paused account again').action((cli: string, name: string, options) =>
    account.wake(cli, name, options, context),
  );
}

/** Returns the words of `culvert-wrap` for those after a tool's account command: `add team-b` is `accounts add firecrawl team-b`. */
export function accountWords(cli: string, [word = '', ...rest]: readonly string[]): string[] {
  return ['accounts', word, cli, ...rest];
}

function collect(value: string, all: string[]): string[] {
  return [...all, value];
}

/** `list` of one CLI: shows its accounts, the default and the pauses. */
function listOf(cli: string, options: Options, context: Context): void {
  const { paths, now } = context;
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
  // a word that is no tool is a mistake
  if (own.length === 0) providerOf(catalogOf(context), cli);
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
