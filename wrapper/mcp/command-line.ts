// Puts `culvert-wrap mcp` in front of the command line of a server, takes it out, and shows it without keys. Pure.
import { basename } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import { NAME } from '../store/paths.ts';
import { names } from './entry.ts';

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

/** A command line for people: what follows the package, an option or a `=` may be a key, and so may a part of a script. */
export function shown({ command, args }: CommandLine, packageName: string): CommandLine {
  const end = args.findIndex(word => names(word, packageName)) + 1;
  const known = args.slice(0, end).map((word, index) => shownWord(word, packageName, args[index - 1]));
  return { command: shownWord(command, packageName), args: end < args.length ? [...known, '…'] : known };
}

function shownWord(word: string, packageName: string, before = ''): string {
  if (/\s/.test(word)) return '…';
  if (names(word, packageName)) return word;
  return /^-(?!-$)[^=]*$/.test(before) ? '…' : word.replace(/=.*/s, '=…');
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
