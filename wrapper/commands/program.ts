// Creates the parsers of command lines, with shared options and errors, and their help for the terminal and the manual page.
import { Command, CommanderError } from 'commander';
import { capitalized } from '../../daemon/core/terminal.ts';
import { EXIT } from '../system/errors.ts';
import { table } from './print.ts';

/** Creates a program without commands. */
export function root(): Command {
  return new Command('culvert-wrap')
    .exitOverride()
    .configureOutput({ outputError })
    .configureHelp({ commandDescription: command => command.description() && `${capitalized(command.description())}.` })
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print the help of a command');
}

/** Adds a command with `--json`. @param usage such as `install [cli...]` @param isDefault true if it runs without a command */
export function add(program: Command, usage: string, description: string, isDefault = false): Command {
  const command = program.command(usage, { isDefault }).description(description).option('--json', 'print JSON');
  return command.exitOverride().showSuggestionAfterError();
}

/** Drops suggestions that don't start with the first letter of the typed word, such as `pool` for `foo`. */
function outputError(text: string, write: (text: string) => void): void {
  const [, typed, suggested] = /'(-*\w).*\n\(Did you mean (?:one of )?(.*)\?\)/s.exec(text) ?? [];
  const fits = suggested?.split(', ').some(word => word.startsWith(typed ?? ''));
  write(suggested === undefined || fits ? text : text.replace(/\n\(Did you mean .*\)/s, '\nsee --help'));
}

/** Runs a command line. Wrong usage sets the exit status. */
export async function parse(program: Command, argv: readonly string[]): Promise<void> {
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : EXIT.usage;
  }
}

/** Tasks of a user, and the commands for each task. */
const TASKS: readonly (readonly [task: string, commands: string])[] = [
  ['Put a tool behind Culvert', 'install, uninstall, run'],
  ['Add and choose accounts', 'accounts'],
  ['See what is left', 'status, audit, metrics'],
  ['Find out why', 'doctor, explain'],
  ['Run queued commands', 'queue'],
  ['Teach it another tool', 'catalog'],
  ['Give accounts to programs', 'mcp, serve'],
  ['Share accounts', 'pool'],
  ['Set it up', 'config, trust, distrust, completion'],
];

/** Returns the short help, ordered by task. */
export function taskHelp(): string {
  return `Usage: culvert-wrap <command> [options]

Several accounts for one command-line tool: when one fails, the next is used.

${table(TASKS.map(([task, commands]) => ['', task, commands]))}

Start with: culvert-wrap install firecrawl
More: culvert-wrap help <command>, culvert-wrap --help --all
`;
}

export const HELP_AFTER = `
Files:
  ~/.config/culvert-wrap/config.toml     accounts and capacity; references to credentials, never credentials;
                                         [tools.wrangler] failover = true lets the next account take over even for tools whose
                                         accounts hold different projects; prefer = "accounts" or "own" says whether an exported
                                         credential, a profile or an account comes first;
                                         login = "~/.claude" in [[accounts]] is the directory or profile of a login;
                                         with a pool, identity = "team-a" in [[accounts]] names an account on all machines
  ~/.config/culvert-wrap/providers.toml  your catalog entries, which override the shipped ones key by key
  ~/.config/culvert-wrap/secrets/        credentials stored with --file, readable by you only
  ~/.local/state/culvert-wrap/           originals, state, queue and audit log
  .culvert-wrap.toml                     in a directory: its account ([accounts] firecrawl = "team-b"), once trusted

Environment:
  CULVERT_WRAP_ACCOUNT  the first account: team-b, or firecrawl=team-b,npm=ci for each tool. If the provider limits or
                        refuses it, another account takes over. If it can't be used at all, nothing runs.
  VERCEL_TOKEN, …       a line names an exported credential, a profile, or another host. The command then runs as it is at
                        another host, and for tools whose accounts hold different projects (explain says so); for others,
                        accounts are used.
  CULVERT_WRAP_QUIET    set to 1, no line names the login that serves a command
  CULVERT_WRAP_BYPASS   set to 1, a shim runs the original without an account; 0, no, off and false change nothing

Exit status:
  0   success; a wrapped command has the exit status of its original
  1   failure
  2   wrong usage
  3   status --check: something is low
  65  wrong data
  66  something is missing
  69  no account can be used, the provider refused it and accounts hold different projects, or the pool can't be reached
  73  a file could not be written
  75  the command was queued
  77  permission denied
  78  wrong configuration
  127 the tool is not installed
`;
