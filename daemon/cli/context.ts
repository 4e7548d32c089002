// Defines entries of the command table, and the context that a command receives, so that no command reads a global.
import type { Client } from '../api/client.ts';
import type { Style } from '../core/terminal.ts';
import type { Paths } from '../system/paths.ts';

export interface Context {
  client: Client;
  paths: Paths;
  env: NodeJS.ProcessEnv;
  /** `--json`: data as the API's object instead of text for people. */
  json: boolean;
  /** Reports whether the answering daemon drives the embedded emulator. */
  isDemo(): boolean;
  /** Aborted by SIGINT, SIGTERM, and when the reader closes the output. */
  signal: AbortSignal;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** Colors for stdout. */
  style: Style;
  /** Columns of the terminal that stdout is; infinite elsewhere. */
  width: number;
  /** Writes text to stdout; on a terminal within its width. */
  print(text: string): void;
  /** Writes a document to stdout as it is, for a file or another program. */
  printDocument(text: string): void;
  /** Writes a line for people to stderr; nothing with `--json`. */
  say(text: string): void;
}

export type Options = { readonly [name: string]: string | boolean | undefined };

/** A command: resolves to the exit code (nothing is 0), throws Failure, ApiError or Unreachable. */
export type Run = (context: Context, args: string[], options: Options) => Promise<number | undefined>;

/** Prints an object, not a list: with `--json` as one line of JSON, with `ok` first, otherwise as `text` shows it to a person. */
export function show<T extends object>(
  context: Context,
  data: T extends readonly unknown[] ? never : T,
  text: (data: T) => string,
): void {
  context.print(context.json ? jsonOf(context, data) : text(data));
}

/** The same for a document, such as a script or a settings file. */
export function showDocument<T extends object>(context: Context, data: T, text: (data: T) => string): void {
  if (context.json) context.print(jsonOf(context, data));
  else context.printDocument(text(data));
}

function jsonOf(context: Context, data: object): string {
  const document = { ok: true, ...data };
  return JSON.stringify(context.isDemo() ? { ...document, demo: true } : document);
}

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
  /** The command that this is an alias of; the rest of the entry is empty then. */
  aliasOf?: string;
  /** Sentences beyond the summary, for the command's help and the manual. */
  details?: string;
  arguments?: readonly ArgumentSpec[];
  options?: readonly OptionSpec[];
  commands?: readonly CommandSpec[];
  /** The subcommand that a group means when none is named. */
  fallback?: string;
  /** Its arguments are another command with its own options. */
  wrapsCommand?: true;
  /** Reports a demo on stderr. False for a command that says nothing about the machine. */
  marksDemo?: false;
  load?: () => Promise<Run>;
}

export interface Group {
  title: string;
  commands: readonly CommandSpec[];
}

/** Option of commands that write a file. */
export const FORCE: OptionSpec = { flags: '--force', summary: 'replace an existing file' };
