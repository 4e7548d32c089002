// Makes the parsers of command lines, with the same help, errors and options for every command.
import { Command, CommanderError } from 'commander';
import { EXIT } from '../../system/errors.ts';

/** A program without commands. */
export function root(name: string): Command {
  return new Command(name)
    .exitOverride()
    .configureOutput({ outputError })
    .configureHelp({ commandDescription: command => sentence(command.description()) })
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print the help of a command');
}

function sentence(description: string): string {
  return description && `${description[0]!.toUpperCase()}${description.slice(1)}.`;
}

/** Adds a command with `--json`. @param usage such as `install [cli...]` @param isDefault it runs when no command is given */
export function add(program: Command, usage: string, description: string, isDefault = false): Command {
  const command = program.command(usage, { isDefault }).description(description).option('--json', 'print JSON');
  return command.exitOverride().showSuggestionAfterError();
}

/** Drops suggestions that begin with another letter than the word that was typed: `pool` is not what `foo` means. */
function outputError(text: string, write: (text: string) => void): void {
  const [, typed, suggested] = /'(-*\w).*\n\(Did you mean (?:one of )?(.*)\?\)/s.exec(text) ?? [];
  const fits = suggested?.split(', ').some(word => word.startsWith(typed ?? ''));
  write(suggested === undefined || fits ? text : text.replace(/\n\(Did you mean .*\)/s, '\nsee --help'));
}

/** Runs a command line. Wrong usage is printed, and sets the exit code. */
export async function parse(program: Command, argv: readonly string[]): Promise<void> {
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : EXIT.usage;
  }
}
