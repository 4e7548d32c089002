// Defines the shape of the argument table, and the questions that parsing, help and errors ask of it.
import type { CliGeneration } from '../version.ts';

interface Value {
  name: string;
  about?: string;
}

export interface Argument {
  /** As in `<MODE>`. */
  name: string;
  about?: string;
  optional?: true;
  values?: Value[];
  /** The grammar of a value (`values.ts`). */
  format?: 'ip' | 'range' | 'port' | 'endpoint' | 'number';
}

export interface Option {
  short?: string;
  long: string;
  about: string;
  /** Name of its value; without one it is a flag. */
  value?: string;
  repeats?: true;
  hidden?: true;
}

export interface Command {
  name: string;
  /** The text in force from a version on, oldest first; or one text for all. */
  about: string | [since: string, text: string][];
  args?: Argument[];
  options?: Option[];
  subcommands?: Command[];
  /** Runs without a subcommand as well. */
  optionalSubcommand?: true;
  /** An argument or a subcommand, not both (`override`). */
  argsOrSubcommand?: true;
  since?: string;
  hidden?: true;
  /** Its `--help` says more than its `-h` although its table does not. */
  longHelp?: true;
}

export function aboutOf(command: Command, generation: CliGeneration): string {
  if (typeof command.about === 'string') return command.about;
  return command.about.findLast(([since]) => generation.since(since))?.[1] ?? '';
}

/** Subcommands that exist in a generation, in the order of its help page. */
export function subcommandsOf(command: Command, generation: CliGeneration): Command[] {
  return (command.subcommands ?? []).filter(each => generation.since(each.since));
}

export function find(command: Command, name: string, generation: CliGeneration): Command | undefined {
  return subcommandsOf(command, generation).find(each => each.name === name);
}

/** clap adds it to every command that has subcommands. */
export const HELP_COMMAND: Command = {
  name: 'help',
  about: 'Print this message or the help of the given subcommand(s)',
};

const NO_PAGINATE: Option = { long: 'no-paginate', about: 'Disable automatic pagination' };
const HELP: Option = { short: 'h', long: 'help', about: 'Print help' };

/** Options that a command takes itself; the global ones belong to the root only. */
export function optionsOf(path: Command[]): Option[] {
  const own = path.at(-1)?.options ?? [];
  return path.length === 1 ? own : [...own, NO_PAGINATE, HELP];
}

/** clap offers a long page when any argument has more to say than one line. */
export function hasLongHelp(path: Command[]): boolean {
  const command = path.at(-1);
  if (path.length === 1) return true;
  return command?.longHelp ?? (command?.args ?? []).some(arg => arg.values?.some(value => value.about));
}
