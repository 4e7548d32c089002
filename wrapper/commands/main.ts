// The command line of `culvert-wrap`, and of the account commands that shims pass on.
import { Command, CommanderError } from 'commander';
import { EXIT } from '../errors.ts';
import type { Context } from '../run.ts';
import type { Programs } from '../shim.ts';
import { importAccounts, listAccounts } from './accounts.ts';
import * as auth from './auth.ts';
import { listCatalog, showCatalog, testCatalog } from './catalog.ts';
import { doctor } from './doctor.ts';
import { explain } from './explain.ts';
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
    .version(version, '-V, --version');

  add(program, 'install [cli...]', 'put shims in place of commands')
    .option('--dir <directory>', 'put the shim here and leave the original where it is')
    .option('--force', 'move a script although it looks for files beside itself')
    .action((names: string[], options) => installShims(names, options, context, programs));
  add(program, 'uninstall [cli...]', 'take shims away and put the originals back').action((names: string[], options) =>
    uninstallShims(names, options, context),
  );
  add(program, 'status [cli]', 'what each account has left, and the total').action((cli: string | undefined, options) =>
    status(cli, options, context),
  );
  add(program, 'doctor', 'look for what does not work').action(options => doctor(options, context, programs));
  add(program, 'explain <cli> [args...]', 'what a command would do, and why')
    .passThroughOptions()
    .action((cli: string, args: string[], options) => {
      const own = args.filter(arg => arg !== '--json');
      return explain(cli, own, { json: options.json || own.length < args.length }, context);
    });
  const accounts = program.command('accounts').description('the accounts of all CLIs');
  add(accounts, 'list', 'the accounts of all CLIs', true).action(options => listAccounts(options, context));
  add(accounts, 'import <file>', 'add accounts from a TOML or JSON file')
    .option('--file', 'store credentials in a 0600 file instead of the keyring')
    .option('--check', 'only check the file')
    .action((file: string, options) => importAccounts(file, options, context));
  const catalog = program.command('catalog').description('what is known of which CLI');
  add(catalog, 'list', 'the entries', true).action(options => listCatalog(options, context));
  add(catalog, 'show <cli>', 'one entry').action((cli: string, options) => showCatalog(cli, options, context));
  add(catalog, 'test <cli>', 'run the installed CLI against a fake of its API and report drift').action(
    (cli: string, options) => testCatalog(cli, options, context),
  );
  const queue = program.command('queue').description('commands kept because nothing was left');
  add(queue, 'list', 'what is queued', true).action(options => showQueue(options, context));
  add(queue, 'run [id...]', 'run what is queued').action((ids: string[], options) =>
    runQueue(ids, options, context, programs),
  );
  add(queue, 'drop [id...]', 'forget queued commands')
    .option('--all', 'all of them')
    .action((ids: string[], options) => dropQueued(ids, options, context));
  add(program, 'config', 'files and settings').action(options => showConfig(options, context));
  for (const trusted of [true, false]) {
    add(
      program,
      `${trusted ? 'trust' : 'distrust'} [directory]`,
      `${trusted ? 'let' : 'no longer let'} a directory choose accounts`,
    ).action((directory: string | undefined, options) => setTrust(directory, trusted, options, context));
  }
  add(program, 'audit', 'which account ran what')
    .option('--last <n>', 'how many entries', '50')
    .action(options => showAudit(options, context));
  await parse(program, argv);
}

/** Runs an account command of `cli`: `list`, `add team-b`, … */
export async function runAuth(cli: string, argv: readonly string[], context: Context): Promise<void> {
  const program = root(`${cli} <auth>`);
  addAuth(program, cli, context);
  await parse(program, argv);
}

function addAuth(program: Command, cli: string, context: Context): void {
  add(program, 'list', 'the accounts').action(options => auth.list(cli, options, context));
  add(program, 'default [name]', 'show or set the account that is tried first').action(
    (name: string | undefined, options) => auth.showOrSetDefault(cli, name, options, context),
  );
  add(program, 'use <name>', 'set the account that is tried first; - for the one before').action(
    (name: string, options) => auth.use(cli, name, options, context),
  );
  add(program, 'add <name>', 'add an account; its credential is read from a prompt or stdin')
    .option('--env <VAR=source>', 'refer to a credential (env:, keyring:, pass:, command:, file:path#KEY)', collect, [])
    .option('--file', 'store the credential in a 0600 file instead of the keyring')
    .option('--replace', 'change the credential of an account that exists')
    .action((name: string, options) => auth.add(cli, name, options, context));
  for (const enabled of [true, false]) {
    add(program, `${enabled ? 'enable' : 'disable'} <name>`, `${enabled ? 'use' : 'leave out'} an account`).action(
      (name: string, options) => auth.setEnabled(cli, name, enabled, options, context),
    );
  }
  add(program, 'remove <name>', 'remove an account and its stored credential').action((name: string, options) =>
    auth.remove(cli, name, options, context),
  );
  add(program, 'rename <name> <new>', 'rename an account').action((from: string, to: string, options) =>
    auth.rename(cli, from, to, options, context),
  );
}

function root(name: string): Command {
  return new Command(name).exitOverride().showSuggestionAfterError().configureHelp({ showGlobalOptions: true });
}

function add(program: Command, usage: string, description: string, isDefault = false): Command {
  const command = program.command(usage, { isDefault }).description(description).option('--json', 'print JSON');
  return command.exitOverride().showSuggestionAfterError();
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
