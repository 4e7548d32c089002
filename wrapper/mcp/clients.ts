// Finds the servers of the catalog in the configuration of MCP clients, and puts `culvert-wrap mcp` in front of them.
import { realpathSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import type { Context } from '../context.ts';
import { NAME } from '../store/paths.ts';
import { expandHome, readText, writeAtomic } from '../system/files.ts';
import { isRecord, isText } from '../system/shape.ts';
import { entryFor } from './entry.ts';

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

/** A server whose command line changes. */
interface ServerChange {
  server: string;
  before: CommandLine;
  after: CommandLine;
  /** Variables with a key that the entry holds. */
  keys: string[];
}

/** Changes of one file. */
export interface FileChange {
  client: string;
  file: string;
  servers: ServerChange[];
  /** The whole new text; `undefined` where the file has a layout that would be lost. */
  text: string | undefined;
}

/**
 * The files that would change.
 * @param program path of `culvert-wrap`, or `undefined` to take it out
 */
export function planChanges(
  program: string | undefined,
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
      return [];
    }
    const isPlain = written(value, text) === text;
    const servers = places
      .flatMap(place => tablesAt(value, place.split('.')))
      .flatMap(table => change(table, program, catalog));
    if (servers.length === 0) return [];
    return [{ client, file: full, servers, text: isPlain ? written(value, text) : undefined }];
  });
}

/** Writes a changed file, through a symlink and with its mode. */
export function applyChange({ file, text }: FileChange): void {
  if (text === undefined) return;
  const target = realpathSync(file);
  writeAtomic(target, text, statSync(target).mode & 0o777);
}

/** Changes the servers of one table, in place. */
function change(
  table: Record<string, unknown>,
  program: string | undefined,
  catalog: Pick<Catalog, 'providers'>,
): ServerChange[] {
  return Object.entries(table).flatMap(([server, entry]) => {
    if (!isRecord(entry) || !isText(entry.command)) return [];
    const args = Array.isArray(entry.args) ? entry.args.filter(isText) : [];
    const before = { command: entry.command, args };
    const match = entryFor([before.command, ...args], catalog);
    if (!match) return [];
    const after = program === undefined ? without(before) : isOurs(before) ? undefined : behind(before, program);
    if (!after) return [];
    Object.assign(entry, after);
    const env = isRecord(entry.env) ? entry.env : {};
    return [{ server, before, after, keys: match.provider.inject.filter(name => Object.hasOwn(env, name)) }];
  });
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
