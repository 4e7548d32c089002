// What a control command is given, so that none of them reaches for a global.
import type { Client } from '../api/client.ts';
import type { Paths } from '../paths.ts';
import type { Style } from './terminal.ts';

export interface Context {
  client: Client;
  paths: Paths;
  env: NodeJS.ProcessEnv;
  /** `--json`: data as the API's object instead of text for people. */
  json: boolean;
  /** Aborted by SIGINT, SIGTERM and a reader that went away. */
  signal: AbortSignal;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** Colours for stdout. */
  style: Style;
  /** Writes a line of data to stdout. */
  print(text: string): void;
  /** Writes a line for the person to stderr; with `--json` nobody reads it, so nothing is written. */
  say(text: string): void;
}

export type Options = { readonly [name: string]: string | boolean | undefined };

/** A command: resolves to the exit code (nothing is 0), throws Failure, ApiError or Unreachable. */
export type Run = (context: Context, args: string[], options: Options) => Promise<number | undefined>;

/** Prints an object of the API: as JSON, or as `text` shows it to a person. */
export function show<T>(context: Context, data: T, text: (data: T) => string): void {
  context.print(context.json ? JSON.stringify(data, null, 2) : text(data));
}
