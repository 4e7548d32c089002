// Defines the command line of `culvert-wrap`, and of the account commands that shims pass on.
import { Command, CommanderError } from 'commander';
import { loadCatalog } from '../catalog/catalog.ts';
import type { Context } from '../context.ts';
import type { Programs } from '../shims/shim.ts';
import { EXIT } from '../system/errors.ts';
import * as account from './accounts/account.ts';
import { importAccounts } from './accounts/import.ts';
import { exportAccounts, listAll, listOf, purge } from './accounts/list.ts';
import { listCatalog, showCatalog, testCatalog } from './catalog/catalog.ts';
import { learn, newEntry } from './catalog/edit.ts';
import { complete, completionScript } from './completion.ts';
import { doctor } from './doctor.ts';
import { followEvents } from './events.ts';
import { explain } from './explain.ts';
import { joinPool, leavePool, resetAccount, showLeases, showPool } from './pool.ts';
import { dropQueued, runQueue, showQueue } from './queue.ts';
import { setTrust, showAudit, showConfig } from './settings.ts';
import { installShims, uninstallShims } from './shims.ts';
import { status } from './status.ts';

/**
 * Runs `culvert-wrap <argv>`.
 * @throws WrapError as the commands do
 */
export async function runCommands(
  argv: readonly string[],
  context: Context,
  programs: Programs,
  version: string,
): Promise<void> {
  const program = root('culvert-wrap')
    .enablePositionalOptions()
    .description('Holds several accounts per command-line tool and moves on to the next when one fails')
    .version(`culvert-wrap ${version}`, '-V, --version');

  add(
    program,
    'install [cli...]',
    'put shims in place of commands; without names: of every known CLI in your own directories',
  )
    .option('--dir <directory>', 'put the shim here and leave the original where it is')
    .option('--force', 'move a script although it looks for files beside itself')
    .action((names: string[], options) => installShims(names, options, context, programs));
  add(program, 'uninstall [cli...]', 'take shims away and put the originals back').action((names: string[], options) =>
    uninstallShims(names, options, context),
  );
  add(program, 'status [cli]', 'show what each account has left, and the total')
    .option('--watch [interval]', 'repeat, every 30s unless said otherwise')
    .option('--check', 'exit 3 when too few accounts can be used or too little is left')
    .action((cli: string | undefined, options) => status(cli, options, context));
  add(program, 'doctor', 'look for what does not work')
    .option('--probe', 'ask the provider of each account whether its credential works')
    .action(options => doctor(options, context, programs));
  add(program, 'explain <cli> [args...]', 'show what a command would do, and why')
    .option('--verbose', 'show the rules as the catalog writes them')
    .passThroughOptions()
    .action((cli: string, args: string[], options) => {
      const own = args.filter(arg => arg !== '--json');
      return explain(cli, own, { ...options, json: options.json || own.length < args.length }, context);
    });
  addAccounts(program, context);
  const catalog = program
    .command('catalog')
    .enablePositionalOptions()
    .description('see, test and extend what is known of CLIs');
  add(catalog, 'list', 'the entries', true).action(options => listCatalog(options, context));
  add(catalog, 'show <cli>', 'one entry').action((cli: string, options) => showCatalog(cli, options, context));
  add(catalog, 'test <cli>', 'run the installed CLI against a fake of its API and report drift').action(
    (cli: string, options) => testCatalog(cli, options, context),
  );
  add(catalog, 'new <name>', 'write an entry for another CLI')
    .option('--bin <command>', 'the command on PATH')
    .option('--inject <variable...>', 'environment variables that carry the credential')
    .option('--auth-command <word>', 'the word for account commands')
    .option('--passthrough <word...>', 'commands and options that need no account; "" for no arguments')
    .action((name: string, options) => newEntry(name, options, context));
  add(catalog, 'learn <cli> [args...]', 'run a failing command and propose the rule that recognizes it')
    .option('--class <class>', 'quota, rate or auth instead of a guess')
    .option('--write', 'add the rule to your catalog')
    .passThroughOptions()
    .action((cli: string, args: string[], options) => learn(cli, args, options, context));
  const queue = program.command('queue').description('commands kept because nothing was left');
  add(queue, 'list', 'what is queued', true).action(options => showQueue(options, context));
  add(queue, 'run [id...]', 'run what is queued').action((ids: string[], options) =>
    runQueue(ids, options, context, programs),
  );
  add(queue, 'drop [id...]', 'forget queued commands')
    .option('--all', 'all of them')
    .action((ids: string[], options) => dropQueued(ids, options, context));
  addPool(program, context);
  add(program, 'config', 'files and settings').action(options => showConfig(options, context));
  for (const trusted of [true, false]) {
    add(
      program,
      `${trusted ? 'trust' : 'distrust'} [directory]`,
      `${trusted ? 'let' : 'no longer let'} a directory choose accounts`,
    ).action((directory: string | undefined, options) => setTrust(directory, trusted, options, context));
  }
  add(program, 'audit', 'show which account ran what')
    .option('--last <n>', 'how many entries', '50')
    .action(options => showAudit(options, context));
  add(program, 'events', 'print what runs do, as JSON lines, until interrupted').action(() => followEvents(context));
  program
    .command('metrics')
    .description('print accounts, cooldowns, switches and runs as metrics for Prometheus')
    .option('--out <file>', 'replace this file, for the textfile collector of a node exporter; everybody may read it')
    .option('--hash-accounts', 'show hashes in place of the names of accounts')
    .exitOverride()
    .action(async options => (await import('./metrics.ts')).printMetrics(options, context));
  add(program, 'completion <shell>', 'print a completion script for bash, zsh or fish').action((shell: string) => {
    process.stdout.write(completionScript(shell, context));
  });
  program
    .command('__complete <program> [words...]', { hidden: true })
    .allowUnknownOption()
    .passThroughOptions()
    .action((name: string, words: string[]) => {
      process.stdout.write(
        completions(program, name, words, context)
          .map(word => `${word}\n`)
          .join(''),
      );
    });
  program.addHelpText('after', HELP_AFTER);
  await parse(program, argv);
}

/** Words for a wrapped CLI are completed behind its auth command only. */
function completions(program: Command, name: string, words: string[], context: Context): string[] {
  if (name === 'culvert-wrap') return complete(program, words, context);
  const { providers } = loadCatalog(context.catalog, context.paths.userCatalog);
  const cli = Object.hasOwn(providers, name) ? name : undefined;
  if (!cli || words.length < 2 || words[0] !== providers[cli]!.auth_command) return [];
  const auth = root(name);
  addAuth(auth, cli, context);
  return complete(auth, words.slice(1), context, cli);
}

const HELP_AFTER = `
Files:
  ~/.config/culvert-wrap/config.toml     accounts and capacity; references to credentials, never credentials;
                                         with a pool, identity = "team-a" in [[accounts]] names an account on all machines
  ~/.config/culvert-wrap/providers.toml  your catalog entries, laid over the shipped ones key by key
  ~/.config/culvert-wrap/secrets/        credentials stored with --file, readable by you only
  ~/.local/state/culvert-wrap/           originals, state, queue and audit log
  .culvert-wrap.toml                     in a directory: which account it uses ([accounts] firecrawl = "team-b"), once trusted

Environment:
  CULVERT_WRAP_ACCOUNT  the account to start with: team-b, or firecrawl=team-b,npm=ci for each CLI; when it can't be used,
                        nothing runs
  CULVERT_WRAP_BYPASS   set to 1, a shim runs the original without an account; 0, no, off and false change nothing

Exit status:
  0   success; a wrapped command ends as its original does
  1   failure
  2   usage
  3   status --check: something is low
  65  bad data
  66  something is missing
  69  no account can be used, or the pool can't be reached
  73  a file could not be written
  75  the command was queued
  77  permission
  78  configuration
`;

/** Runs an account command of `cli`: `list`, `add team-b`, … */
export async function runAuth(cli: string, argv: readonly string[], context: Context): Promise<void> {
  const program = root(`${cli} <auth>`);
  addAuth(program, cli, context);
  await parse(program, argv);
}

/** The account commands without a shim: `accounts add firecrawl team-b`. */
function addAccounts(program: Command, context: Context): void {
  const accounts = program.command('accounts').description('manage the accounts of all CLIs');
  add(accounts, 'list', 'show the accounts of all CLIs', true).action(options => listAll(options, context));
  addEditing(accounts, '<cli> ', (cli, ...rest) => [cli!, ...rest], context);
  add(accounts, 'import [file]', 'add or change accounts from a TOML, JSON or .env file, or from what CLIs have stored')
    .option('--stored', 'instead of a file: the keys that CLIs keep for themselves after a login')
    .option('--file', 'store credentials in a 0600 file instead of the keyring')
    .option('--reference', 'have accounts read a .env file at each run instead of storing what is in it')
    .option('--check', 'only say what would be done')
    .option('--probe', 'ask the provider whether each credential works first')
    .option('--cli <cli>', 'of a .env file or --stored: only this CLI')
    .option('--name <name>', 'of --stored, or of a variable without a suffix in a .env file: the account', 'main')
    .action((file: string | undefined, options) => importAccounts(file, options, context));
  add(accounts, 'export [cli]', 'print accounts for `accounts import`, with references and without secrets').action(
    (cli: string | undefined, options) => exportAccounts(cli, options, context),
  );
  add(accounts, 'purge', 'remove stored credentials that no account uses').action(options => purge(options, context));
}

function addPool(program: Command, context: Context): void {
  const pool = program.command('pool').description('share accounts with other machines through Valkey or Redis');
  add(pool, 'join <url>', 'use the store at valkey://HOST:PORT/DATABASE; also valkeys:// (TLS), valkey+unix:///PATH')
    .option('--user <name>', 'the ACL user')
    .option('--password <source>', 'where the password is: env:NAME, file:PATH#KEY, pass:, command:, keyring: (asks)')
    .option('--sentinel-user <name>', 'the ACL user of the Sentinels, where they ask for a login')
    .option('--sentinel-password <source>', 'where their password is, like --password')
    .option('--ca <file>', 'the authorities that TLS trusts, in PEM')
    .option('--machine <name>', 'how `pool leases` names this machine')
    .option('--offline <policy>', 'without the store: refuse (exit 69), or local (the share of the reserve)')
    .option('--machines <n>', 'how many machines share the reserve')
    .action((url: string, options) => joinPool(url, options, context));
  add(pool, 'leave', 'use the accounts alone again').action(options => leavePool(options, context));
  add(pool, 'status', 'whether the store can be reached, and what its accounts have left', true).action(options =>
    showPool(options, context),
  );
  add(pool, 'leases', 'which machine uses which account').action(options => showLeases(options, context));
  add(pool, 'reset <account>', 'end the cooldowns of an account and ask its provider again')
    .option('--cli <cli>', 'only of this CLI')
    .action((name: string, options) => resetAccount(name, options, context));
}

function addAuth(program: Command, cli: string, context: Context): void {
  add(program, 'list', 'show the accounts').action(options => listOf(cli, options, context));
  addEditing(program, '', (...rest) => [cli, ...rest.map(String)], context);
}

/**
 * The commands that both have in common.
 * @param prefix comes before the arguments
 * @param withCli the CLI, and then the arguments after the prefix
 */
function addEditing(
  parent: Command,
  prefix: string,
  withCli: (...args: string[]) => [string, ...string[]],
  context: Context,
): void {
  add(parent, `default ${prefix}[name]`, 'show or set the account that is tried first').action((...given) => {
    const [cli, name] = withCli(...argumentsOf(given));
    account.showOrSetDefault(cli, name, optionsOf(given), context);
  });
  add(parent, `use ${prefix}<name>`, 'set the account that is tried first; - for the one before').action((...given) => {
    const [cli, name] = withCli(...argumentsOf(given));
    account.use(cli, name!, optionsOf(given), context);
  });
  add(parent, `add ${prefix}<name>`, 'add an account; its credential is read from a prompt or stdin')
    .option('--env <VAR=source>', 'refer to a credential (env:, keyring:, pass:, command:, file:path#KEY)', collect, [])
    .option('--file', 'store the credential in a 0600 file instead of the keyring')
    .option('--replace', 'change the credential of an account that exists')
    .action((...given) => {
      const [cli, name] = withCli(...argumentsOf(given));
      return account.add(cli, name!, optionsOf(given), context);
    });
  for (const enabled of [true, false]) {
    const [word, meaning] = enabled ? ['enable', 'use an account again'] : ['disable', 'leave an account out'];
    add(parent, `${word} ${prefix}<name>`, meaning).action((...given) => {
      const [cli, name] = withCli(...argumentsOf(given));
      account.setEnabled({ cli, name: name!, enabled }, optionsOf(given), context);
    });
  }
  add(parent, `wake ${prefix}<name>`, 'try an account again that is resting').action((...given) => {
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

/** commander calls an action with the arguments, the options and the command. */
function argumentsOf(given: unknown[]): string[] {
  return given.slice(0, -2).filter(value => typeof value === 'string');
}

function optionsOf(given: unknown[]): account.AddOptions {
  return given.at(-2) as account.AddOptions;
}

function root(name: string): Command {
  return new Command(name).exitOverride().configureOutput({ outputError }).configureHelp({ showGlobalOptions: true });
}

function add(program: Command, usage: string, description: string, isDefault = false): Command {
  const command = program.command(usage, { isDefault }).description(description).option('--json', 'print JSON');
  return command.exitOverride().showSuggestionAfterError();
}

/** Drops suggestions that begin with another letter than the word that was typed: `pool` is not what `foo` means. */
function outputError(text: string, write: (text: string) => void): void {
  const [, typed, suggested] = /'(-*\w).*\n\(Did you mean (?:one of )?(.*)\?\)/s.exec(text) ?? [];
  const fits = suggested?.split(', ').some(word => word.startsWith(typed ?? ''));
  write(suggested === undefined || fits ? text : text.replace(/\n\(Did you mean .*\)/s, '\nsee --help'));
}

function collect(value: string, all: string[]): string[] {
  return [...all, value];
}

async function parse(program: Command, argv: readonly string[]): Promise<void> {
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : EXIT.usage;
  }
}
