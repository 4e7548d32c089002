// Finds the servers of the catalog in the configuration of MCP clients, and puts `culvert-wrap mcp` or a gateway in front of them.
import { realpathSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import type { Context } from '../context.ts';
import { NAME } from '../store/paths.ts';
import { expandHome, readText, writeAtomic } from '../system/files.ts';
import { isRecord, isText } from '../system/shape.ts';
import { entryFor } from './entry.ts';
import { accountIn, isKey } from './key-references.ts';
import type { Original, Originals } from './originals.ts';
import { type AddressChange, type Door, putBehind, takeOut } from './remote.ts';

/** Files of clients, and where in them the servers are; `*` stands for each key. */
const CLIENTS: readonly { client: string; file: string; places: readonly string[] }[] = [
  { client: 'claude', file: '~/.claude.json', places: ['mcpServers', 'projects.*.mcpServers'] },
  { client: 'claude-desktop', file: '~/.config/Claude/claude_desktop_config.json', places: ['mcpServers'] },
  { client: 'cursor', file: '~/.cursor/mcp.json', places: ['mcpServers'] },
  { client: 'windsurf', file: '~/.codeium/windsurf/mcp_config.json', places: ['mcpServers'] },
  { client: 'vscode', file: '~/.config/Code/User/mcp.json', places: ['servers'] },
  { client: 'gemini', file: '~/.gemini/settings.json', places: ['mcpServers'] },
  { client: 'project', file: '.mcp.json', places: ['mcpServers'] },
];

/** A command line in a configuration. */
interface CommandLine {
  command: string;
  args: string[];
}

interface CommandChange {
  before: CommandLine;
  after: CommandLine;
  /** The tool whose accounts the server uses. */
  tool: string;
  /** Variables whose key moves between the entry and an account. */
  keys: string[];
}

/** A server whose command line or address changes. */
type ServerChange = { server: string } & (CommandChange | AddressChange);

/** The change that is asked for. */
export interface Wanted {
  /** Path of `culvert-wrap`, or `undefined` to take it out. */
  program: string | undefined;
  /** The gateway for a client's server over HTTP. */
  doorOf: (cli: string, original: Original) => Door;
  /** Replacement of a key, or of a reference, in a variable of an entry. */
  swapKey: (text: string, cli: string) => string;
  originals: Originals;
}

/** Changes of one file. */
export interface FileChange {
  client: string;
  file: string;
  /** None where the file can't be read, and names a server. */
  servers: ServerChange[];
  /** The whole new text; `undefined` where the file has comments or a layout that would be lost. */
  text: string | undefined;
}

/** The files that would change. A gateway is asked for where the whole new text is known. */
export function planChanges(
  wanted: Wanted,
  catalog: Pick<Catalog, 'providers'>,
  { env, cwd }: Pick<Context, 'env' | 'cwd'>,
): FileChange[] {
  return CLIENTS.flatMap(({ client, file, places }) => {
    const full = file.startsWith('~') ? expandHome(file, env) : join(cwd, file);
    const text = readText(full);
    if (text === undefined) return [];
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      // comments, or damage: left to its owner
      return isNamedIn(text, wanted, catalog) ? [{ client, file: full, servers: [], text: undefined }] : [];
    }
    const isPlain = written(value, text) === text;
    const own = isPlain ? wanted : { ...wanted, doorOf: shownDoor, swapKey: (text: string) => text };
    const servers = places
      .flatMap(place => tablesAt(value, place.split('.')))
      .flatMap(table => change(table, own, catalog));
    if (servers.length === 0) return [];
    return [{ client, file: full, servers, text: isPlain ? written(value, text) : undefined }];
  });
}

/** Reports whether a text names a server that may have to be changed. */
function isNamedIn(text: string, { program }: Wanted, { providers }: Pick<Catalog, 'providers'>): boolean {
  if (program === undefined) return text.includes(NAME) || text.includes('http://127.0.0.1:');
  return Object.values(providers).some(
    ({ mcp, http }) => mcp.some(server => text.includes(server.package)) || (http?.mcp && text.includes(http.mcp.base)),
  );
}

/** Writes a changed file, through a symlink and with its mode. */
export function applyChange({ file, text }: FileChange): void {
  if (text === undefined) return;
  const target = realpathSync(file);
  writeAtomic(target, text, statSync(target).mode & 0o777);
}

/** A gateway in a text that is only shown. */
export function shownDoor(): Door {
  return { url: 'http://127.0.0.1:PORT', placeholder: '' };
}

/** Changes the servers of one table, in place. */
function change(table: Record<string, unknown>, wanted: Wanted, catalog: Pick<Catalog, 'providers'>): ServerChange[] {
  return Object.entries(table).flatMap(([server, entry]) => {
    if (!isRecord(entry)) return [];
    const changed = isText(entry.command)
      ? (changeCommand(entry, entry.command, wanted, catalog) ?? changeArguments(entry, wanted, catalog))
      : changeAddress(entry, wanted, catalog);
    return changed ? [{ server, ...changed }] : [];
  });
}

function changeAddress(
  entry: Record<string, unknown>,
  { program, originals, doorOf }: Wanted,
  catalog: Pick<Catalog, 'providers'>,
): AddressChange | undefined {
  return program === undefined ? takeOut(entry, originals) : putBehind(entry, catalog, doorOf);
}

/** Changes the address that a program such as `mcp-remote` connects to. */
function changeArguments(
  entry: Record<string, unknown>,
  wanted: Wanted,
  catalog: Pick<Catalog, 'providers'>,
): AddressChange | undefined {
  if (!Array.isArray(entry.args)) return undefined;
  const args: Record<string, unknown> = { ...entry.args };
  const changed = changeAddress(args, wanted, catalog);
  if (changed) entry.args = Object.values(args);
  return changed;
}

function changeCommand(
  entry: Record<string, unknown>,
  command: string,
  { program, swapKey }: Wanted,
  catalog: Pick<Catalog, 'providers'>,
): CommandChange | undefined {
  const args = Array.isArray(entry.args) ? entry.args.filter(isText) : [];
  const before = { command, args };
  const match = entryFor([command, ...args], catalog);
  if (!match) return undefined;
  const env = isRecord(entry.env) ? entry.env : {};
  const moves = (value: unknown) =>
    isText(value) && (program === undefined ? accountIn(value) !== undefined : isKey(value));
  const { inject } = match.provider;
  // an account of a tool with several variables needs all of them
  const keys = inject.length === 1 ? inject.filter(name => moves(env[name])) : [];
  const changed = program === undefined ? without(before) : isOurs(before) ? undefined : behind(before, program);
  const after = changed ?? (keys.length > 0 ? before : undefined);
  if (!after) return undefined;
  Object.assign(entry, after);
  for (const name of keys) env[name] = swapKey(String(env[name]), match.cli);
  return { before, after, tool: match.cli, keys };
}

function behind({ command, args }: CommandLine, program: string): CommandLine {
  return { command: program, args: ['mcp', '--', command, ...args] };
}

function without(line: CommandLine): CommandLine | undefined {
  if (!isOurs(line) || line.args[1] !== '--') return undefined;
  const [command, ...args] = line.args.slice(2);
  return command === undefined ? undefined : { command, args };
}

function isOurs({ command, args }: CommandLine): boolean {
  return basename(command) === NAME && args[0] === 'mcp';
}

function tablesAt(value: unknown, [key, ...rest]: readonly string[]): Record<string, unknown>[] {
  if (!isRecord(value)) return [];
  if (key === undefined) return [value];
  if (key === '*') return Object.values(value).flatMap(each => tablesAt(each, rest));
  return tablesAt(value[key], rest);
}

/** JSON as the file writes it. */
function written(value: unknown, text: string): string {
  const indent = /^[{[]\n([ \t]+)/.exec(text)?.[1] ?? '';
  return `${JSON.stringify(value, null, indent)}${text.endsWith('\n') ? '\n' : ''}`;
}
