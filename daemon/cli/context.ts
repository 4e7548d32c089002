// Defines the entries of the command table and the context passed to each command, so that no command reads a global.
import type { Client } from '../api/client.ts';
import type { Style } from '../core/terminal.ts';
import type { Paths } from '../system/paths.ts';

export interface Context {
  client: Client;
  paths: Paths;
  env: NodeJS.ProcessEnv;
  /** True with `--json`: print the API's object instead of text. */
  json: boolean;
  /** Returns true if the daemon that answers uses the embedded emulator. */
  isDemo(): boolean;
  /** Aborted by SIGINT or SIGTERM, or when the output's reader closes it. */
  signal: AbortSignal;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** Colors for stdout. */
  style: Style;
  /** Columns of the terminal on stdout; infinite without one. */
  width: number;
  /** Writes text to stdout, wrapped to a terminal's width. */
  print(text: string): void;
  /** Writes a document to stdout unchanged, for a file or another program. */
  printDocument(text: string): void;
  /** Writes a line for people to stderr, unless `--json` is set. */
  say(text: string): void;
}

export type Options = { readonly [name: string]: string | boolean | undefined };

/** Runs a command and resolves to the exit code (undefined is 0). Throws Failure, ApiError or Unreachable. */
export type Run = (context: Context, args: string[], options: Options) => Promise<number | undefined>;

/** Prints an object, not a list: with `--json` as one line of JSON, with `ok` first, otherwise as the result of `text`. */
export function show<T extends object>(
  context: Context,
  data: T extends readonly unknown[] ? never : T,
  text: (data: T) => string,
): void {
  context.print(context.json ? jsonOf(context, data) : text(data));
}

/** Like {@link show}, for a document such as a script or a settings file. */
export function showDocument<T extends object>(context: Context, data: T, text: (data: T) => string): void {
  if (context.json) context.print(jsonOf(context, data));
  else context.printDocument(text(data));
}

function jsonOf(context: Context, data: object): string {
  const document = { ok: true, ...data };
  return JSON.stringify(context.isDemo() ? { ...document, demo: true } : document);
}

export interface ArgumentSpec {
  /** Name in commander's syntax: `<required>`, `[optional]`, `<several...>`. */
  name: string;
  summary: string;
  /** Completions with their meanings; the command itself validates the argument. */
  words?: Readonly<Record<string, string>>;
  /** Completions by the value of the previous argument. */
  wordsAfter?: Readonly<Record<string, readonly string[]>>;
  /** The daemon's list that provides completions. */
  lists?: 'routes' | 'apps';
  files?: true;
}

export interface OptionSpec {
  /** Flags in commander's syntax: `-w, --watch`, `--limit <n>`. */
  flags: string;
  summary: string;
}

export interface CommandSpec {
  name: string;
  summary: string;
  /** The command that an alias stands for; an alias has no other optional fields. */
  aliasOf?: string;
  /** Sentences beyond the summary, for the command's help and the manual. */
  details?: string;
  arguments?: readonly ArgumentSpec[];
  options?: readonly OptionSpec[];
  commands?: readonly CommandSpec[];
  /** The subcommand that a group runs if the user names none. */
  fallback?: string;
  /** True if the arguments are another command line. */
  wrapsCommand?: true;
  /** False for a command that says nothing about the machine, so it reports no demo. */
  marksDemo?: false;
  load?: () => Promise<Run>;
}

export interface Group {
  title: string;
  commands: readonly CommandSpec[];
}

/** Option of every command that writes a file. */
export const FORCE: OptionSpec = { flags: '--force', summary: 'replace an existing file' };
