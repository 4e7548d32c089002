// Defines the types of the command table, and the option that several commands share.
import type { Run } from './context.ts';

export interface ArgumentSpec {
  /** As commander takes it: `<required>`, `[optional]`, `<several...>`. */
  name: string;
  summary: string;
  /** Words to offer, with their meaning; the command itself judges what it is given. */
  words?: Readonly<Record<string, string>>;
  /** Words to offer, by the argument before. */
  wordsAfter?: Readonly<Record<string, readonly string[]>>;
  /** Offers the entries of a list that the daemon has. */
  lists?: 'routes' | 'apps';
  files?: true;
}

export interface OptionSpec {
  /** As commander takes it: `-w, --watch`, `--limit <n>`. */
  flags: string;
  summary: string;
}

export interface CommandSpec {
  name: string;
  summary: string;
  /** The command for which this is another name; the rest of the entry is empty then. */
  aliasOf?: string;
  /** Sentences beyond the summary, for the command's help and the manual. */
  details?: string;
  arguments?: readonly ArgumentSpec[];
  options?: readonly OptionSpec[];
  commands?: readonly CommandSpec[];
  /** The subcommand that a group means when none is named. */
  fallback?: string;
  /** Its arguments are another command, whose options are not its own. */
  wrapsCommand?: true;
  /** Says on stderr that a running daemon is a demo. False for a command that states nothing about the machine. */
  marksDemo?: false;
  load?: () => Promise<Run>;
}

export interface Group {
  title: string;
  commands: readonly CommandSpec[];
}

/** Option of commands that write a file. */
export const FORCE: OptionSpec = { flags: '--force', summary: 'replace an existing file' };
