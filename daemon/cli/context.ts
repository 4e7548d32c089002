// Defines what a control command is given, so that no command reads a global.
import type { Client } from '../api/client.ts';
import type { Paths } from '../system/paths.ts';
import type { Style } from '../system/terminal.ts';

export interface Context {
  client: Client;
  paths: Paths;
  env: NodeJS.ProcessEnv;
  /** `--json`: data as the API's object instead of text for people. */
  json: boolean;
  /** The daemon that answers now drives the embedded emulator. */
  isDemo(): boolean;
  /** Aborted by SIGINT, SIGTERM and a reader that went away. */
  signal: AbortSignal;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** Colors for stdout. */
  style: Style;
  /** Writes a line of data to stdout. */
  print(text: string): void;
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
  const document = { ok: true, ...data };
  const marked = () => (context.isDemo() ? { ...document, demo: true } : document);
  context.print(context.json ? JSON.stringify(marked()) : text(data));
}
