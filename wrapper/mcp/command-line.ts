// Puts `culvert-wrap mcp` in front of the command line of a server, takes it out, and shows it without keys. Pure.
import { basename } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import { NAME } from '../store/paths.ts';
import { packageAt } from './entry.ts';

/** A command line in a configuration. */
export interface CommandLine {
  command: string;
  args: string[];
}

export function behind({ command, args }: CommandLine, program: string): CommandLine {
  return { command: program, args: ['mcp', '--', command, ...args] };
}

/** A command line without what `behind` has put there. */
export function without(line: CommandLine): CommandLine | undefined {
  if (!isOurs(line) || line.args[1] !== '--') return undefined;
  const [command, ...args] = line.args.slice(2);
  return command === undefined ? undefined : { command, args };
}

export function isOurs({ command, args }: CommandLine): boolean {
  return basename(command) === NAME && args[0] === 'mcp';
}

/** The command line of the server itself: without `culvert-wrap mcp --`, no matter which program put that there. */
export function serverIn(line: CommandLine): string[] {
  return words(line).slice(startOf(line));
}

/** A command line for people: what follows the package may be a key. */
export function shown(line: CommandLine, packageName: string): CommandLine {
  const end = startOf(line) + (packageAt(serverIn(line), packageName) ?? 0) + 1;
  const all = words(line);
  const [command, ...args] = end < all.length ? [...all.slice(0, end), '…'] : all;
  return { command: command!, args };
}

function words({ command, args }: CommandLine): string[] {
  return [command, ...args];
}

function startOf(line: CommandLine): number {
  return isOurs(line) ? words(line).indexOf('--') + 1 : 0;
}

/** The variable of an MCP server's key that a command line sets itself: `env KEY=… npx`, `sh -c 'KEY=… npx'`, `docker run -e KEY=…`. */
export function keyVariableIn(
  { command, args }: CommandLine,
  { providers }: Pick<Catalog, 'providers'>,
): string | undefined {
  const variables = Object.values(providers).flatMap(({ mcp, inject }) => (mcp.length > 0 ? inject : []));
  return variables.find(name =>
    [command, ...args].some(word => new RegExp(`(?<!\\w)${name}=["']?[^$"'\\s]`).test(word)),
  );
}
