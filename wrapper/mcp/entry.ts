// Recognizes the MCP server in a command line, puts `culvert-wrap mcp` in front of it, and hides keys for display.
import { basename, isAbsolute, normalize } from 'node:path';
import { isText } from '../../daemon/core/shape.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { McpServer } from '../catalog/programs.ts';
import type { Provider } from '../catalog/provider.ts';
import { NAME } from '../store/paths.ts';

export interface Entry {
  cli: string;
  provider: Provider;
  server: McpServer;
  /** The variable in which the server reads its key, if it is not that of the tool. */
  variable?: string;
}

/** Programs, of one word or two, that fetch a package from npm and start it. */
const RUNNERS = /^(?:(?:npx|pnpx|bunx)|(?:npm (?:exec|x)|pnpm dlx|yarn dlx|bun x))$/;
/** Options of these programs that change neither the package nor the started program. */
const HARMLESS =
  /^(?:-y|--yes|-q|--quiet|-s|--silent|--bun|--no-install|--prefer-offline|--prefer-online|--offline|--)$/;
/**
 * Matches a version or a tag, but no alias, address or path, which would fetch another package. npm treats a name that ends in
 * `.tgz` or `.tar` as a file (npm-package-arg, `isFileType`).
 */
const VERSION = /^@(?:[\^~]?\d+(?:\.\d+){0,2}(?:-[a-z]+(?:\.\d+)?)?|[a-z][a-z-]*)$/;

/**
 * Finds the catalog's entry for the server that a command line starts: `npx -y tavily-mcp@latest`, `tavily-mcp`,
 * `/usr/bin/tavily-mcp`, or `node /…/node_modules/tavily-mcp/build/index.js`. A word anywhere else proves nothing: `sh -c '…' tavily-mcp`.
 */
export function entryFor(command: readonly string[], { providers }: Pick<Catalog, 'providers'>): Entry | undefined {
  return findEntry(providers, name => packageAt(command, name) !== undefined);
}

/** Finds the entry that any word of a command line names. This also covers changes by earlier versions. */
export function entryNamedIn(command: readonly string[], { providers }: Pick<Catalog, 'providers'>): Entry | undefined {
  return findEntry(providers, name =>
    command.some(word => `/${word.replace(/^-.*=/, '')}/`.replace(/@[^@/]*\/$/, '/').includes(`/${name}/`)),
  );
}

function findEntry(providers: Catalog['providers'], isStarted: (name: string) => boolean): Entry | undefined {
  for (const [cli, provider] of Object.entries(providers)) {
    const server = provider.mcp.find(each => isStarted(each.package));
    if (server) return { cli, provider, server };
  }
  return undefined;
}

/** Returns the index of the package's name in a command line, or `undefined` if the command line does not start it. */
export function packageAt(command: readonly string[], name: string): number | undefined {
  const [program = '', ...args] = command;
  // a relative path depends on the client's working directory
  if (program.includes('/') && !isAbsolute(program)) return undefined;
  // a path below /proc may lead to the client's working directory
  if ([program, args[0] ?? ''].some(word => /^\/+proc\//.test(isAbsolute(word) ? normalize(word) : '')))
    return undefined;
  const base = basename(program);
  if (base === name) return 0;
  for (const words of [1, 2, 3]) {
    if (!RUNNERS.test([base, ...args.slice(0, words - 1)].join(' '))) continue;
    const at = command.findIndex((word, index) => index >= words && !HARMLESS.test(word));
    const word = command[at] ?? '';
    const isNamed = word === name || (word.startsWith(`${name}@`) && VERSION.test(word.slice(name.length)));
    // npm also reads options after the package, unless `--` precedes it
    const hasOptionsBehind =
      base === 'npm' &&
      !command.slice(0, at).includes('--') &&
      command.slice(at + 1).some(each => each.startsWith('-'));
    return isNamed && !hasOptionsBehind ? at : undefined;
  }
  const [script = ''] = args;
  const isScript =
    /^(?:node|bun)$/.test(base) && isAbsolute(script) && normalize(script).includes(`/node_modules/${name}/`);
  return isScript ? 1 : undefined;
}

/** Returns the exact version that a word names after a package: `tavily-mcp@0.1.3`. */
export function versionNamedIn(word: string): string | undefined {
  return /.@(\d+\.\d+\.\d+)$/.exec(word)?.[1];
}

/** Reports whether the catalog's rules cover this version. Rules without a range cover every version, even an unknown one. */
export function isTested({ versions }: Pick<McpServer, 'versions'>, version: string | undefined): boolean {
  if (!versions || version === undefined) return !versions;
  return compare(version, versions.from) >= 0 && compare(version, versions.below) < 0;
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map(version => version.split(/[-+]/)[0]!.split('.').map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (left![index] ?? 0) - (right![index] ?? 0);
    if (difference !== 0 || Number.isNaN(difference)) return Number.isNaN(difference) ? -1 : difference;
  }
  return 0;
}

/** A command line in a configuration. */
export interface CommandLine {
  command: string;
  args: string[];
}

/** Returns the command line of an entry with the usual names, or `undefined` if it has none. */
export function lineIn({ command, args }: Record<string, unknown>): CommandLine | undefined {
  return isText(command) ? { command, args: Array.isArray(args) ? args.filter(isText) : [] } : undefined;
}

export function behind({ command, args }: CommandLine, program: string): CommandLine {
  return { command: program, args: ['mcp', '--', command, ...args] };
}

/** Reverts the change by `behind`. */
export function without(line: CommandLine): CommandLine | undefined {
  if (!isOurs(line) || line.args[1] !== '--') return undefined;
  const [command, ...args] = line.args.slice(2);
  return command === undefined ? undefined : { command, args };
}

export function isOurs({ command, args }: CommandLine): boolean {
  return basename(command) === NAME && args[0] === 'mcp';
}

/** Returns the server's own command line, without `culvert-wrap mcp --`. */
export function serverIn(line: CommandLine): string[] {
  return words(line).slice(startOf(line));
}

/** Returns a command line for display. It ends with the package, because a later word may be a key. */
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

/** Reports whether a command line contains a text with the prefix of a provider's keys and the length of a key. */
export function holdsKey({ command, args }: CommandLine, prefix: string): boolean {
  if (prefix === '') return false;
  const key = new RegExp(`(?<![\\w-])${prefix.replace(/\W/g, '\\$&')}[\\w-]{12,}`);
  return [command, ...args].some(word => key.test(word));
}

/** Finds a key's variable that a command line sets: `env KEY=… npx`, `sh -c 'KEY=… npx'`, `docker run -e KEY=…`. */
export function keyVariableIn(
  { command, args }: CommandLine,
  { providers }: Pick<Catalog, 'providers'>,
): string | undefined {
  const variables = Object.values(providers).flatMap(({ mcp, inject }) => (mcp.length > 0 ? inject : []));
  return variables.find(name =>
    [command, ...args].some(word => new RegExp(`(?<!\\w)${name}=["']?[^$"'\\s]`).test(word)),
  );
}
