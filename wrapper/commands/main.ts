// The command line of `culvert-wrap`, and of the account commands that shims pass on.
import { Command, CommanderError } from 'commander';
import { EXIT } from '../errors.ts';
import type { Context } from '../run.ts';
import type { Programs } from '../shim.ts';
import * as auth from './auth.ts';
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
  await parse(program, argv);
}

/** Runs an account command of `cli`: `list`, `add team-b`, … */
export async function runAuth(
  cli: string,
  argv: readonly string[],
  context: Context,
  _programs: Programs,
): Promise<void> {
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

function add(program: Command, usage: string, description: string): Command {
  const command = program.command(usage).description(description).option('--json', 'print JSON');
  // A dash alone is an argument (`use -`), which commander knows; options of the program are taken over.
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
