// Finds servers of the catalog in MCP clients' configuration, and puts `culvert-wrap mcp` or a gateway in front of them.
import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { readOptional } from '../../daemon/core/files.ts';
import { isRecord, isText } from '../../daemon/core/shape.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Provider } from '../catalog/provider.ts';
import type { Context } from '../context.ts';
import { ownChoice } from '../run/accounts/own-choice.ts';
import { accountIn, isKey } from '../store/key-texts.ts';
import { NAME } from '../store/paths.ts';
import { writeAtomic } from '../system/files.ts';
import { expandHome } from '../system/notation.ts';
import {
  behind,
  type CommandLine,
  type Entry,
  entryFor,
  entryNamedIn,
  isOurs,
  keyVariableIn,
  packageAt,
  serverIn,
  shown,
  without,
} from './entry.ts';
import {
  type AddressChange,
  type Door,
  digestOf,
  type Original,
  type Originals,
  PLACEHOLDER,
  putBehind,
  takeOut,
} from './remote.ts';
import { refusalOf, withoutKeys } from './shared-entry.ts';

/** Files of clients, and the paths of the servers in each file. `*` stands for any key. */
const CLIENTS: readonly { client: string; file: string; places: readonly string[] }[] = [
  { client: 'claude', file: '~/.claude.json', places: ['mcpServers', 'projects.*.mcpServers'] },
  { client: 'claude-desktop', file: '~/.config/Claude/claude_desktop_config.json', places: ['mcpServers'] },
  { client: 'cursor', file: '~/.cursor/mcp.json', places: ['mcpServers'] },
  { client: 'windsurf', file: '~/.codeium/windsurf/mcp_config.json', places: ['mcpServers'] },
  { client: 'vscode', file: '~/.config/Code/User/mcp.json', places: ['servers'] },
  { client: 'gemini', file: '~/.gemini/settings.json', places: ['mcpServers'] },
  { client: 'project', file: '.mcp.json', places: ['mcpServers'] },
];

/** A change of a command line for display. Possible keys are left out or, in a project's file, hidden. */
interface CommandChange {
  before: Shown;
  after: Shown;
  /** The tool whose accounts the server uses. */
  tool: string;
  /** Variables whose key moves between the entry and an account. */
  keys: string[];
}

/** A command line or, in a project's file, the whole entry. */
type Shown = CommandLine | Record<string, unknown>;

/** Reasons why a key or a reference stays. */
const SHARED = 'a project shares this file, so keys neither leave it nor get into it';
const UNRECORDED = '`mcp install` did not put it there; write the key by hand if it is yours';

/** A server with a change of its command line or address. */
type ServerChange = { server: string } & Change;
type Change =
  | CommandChange
  | (Omit<AddressChange, 'before' | 'after'> & Record<'before' | 'after', AddressChange['before'] | Shown>);

/** The reason why an entry, or a key in it, stays unchanged. */
interface Left {
  server: string;
  why: string;
}

/** The requested change. */
export interface Wanted {
  /** Path of `culvert-wrap`, or `undefined` to remove it. */
  program: string | undefined;
  /** Returns the gateway for a server over HTTP in this file, or `undefined` if the server's key stays. */
  doorOf: (cli: string, original: Original, file: string) => Door | undefined;
  /** Returns the replacement of a key or a reference in an entry, or `undefined` if it stays. */
  swapKey: (text: string, cli: string, place?: readonly string[]) => string | undefined;
  originals: Originals;
  /** Reports whether a server in a project's file gets accounts, because the project's authors chose its program. */
  isAllowed(server: string): boolean;
}

/** Changes of one file. */
export interface FileChange {
  client: string;
  file: string;
  /** True if other people share the file, such as the authors of a repository. */
  isShared: boolean;
  servers: ServerChange[];
  left: Left[];
  /** The file's new text, if it changes. */
  text: string | undefined;
  /** Content that a change of the file would lose, so that only the user can change it. */
  byHand?: 'comments' | 'a layout of its own';
}

/** Context of a change to the entries of one table. */
interface Table extends Wanted {
  catalog: Pick<Catalog, 'providers'>;
  file: string;
  /** The path of the table. */
  path: readonly string[];
  /** True if other people share the file, so keys neither leave it nor get into it. */
  isShared: boolean;
  leave(server: string, why: string): void;
}

/** Returns the changes of files. It calls `wanted` only for files that can be written in their own layout. */
export function planChanges(
  wanted: Wanted,
  catalog: Pick<Catalog, 'providers'>,
  { env, cwd }: Pick<Context, 'env' | 'cwd'>,
): FileChange[] {
  const known = CLIENTS.map(each => ({
    ...each,
    file: each.file.startsWith('~') ? expandHome(each.file, env) : join(cwd, each.file),
  }));
  const recorded = wanted.program === undefined ? Object.values(wanted.originals).map(({ file }) => file) : [];
  const others = [...new Set(recorded)].filter(file => !known.some(each => each.file === file));
  const files = [...known, ...others.map(file => ({ ...known.at(-1)!, file }))];
  return files.flatMap(each => planChange(each, wanted, catalog));
}

function planChange(
  { client, file, places }: (typeof CLIENTS)[number],
  wanted: Wanted,
  catalog: Pick<Catalog, 'providers'>,
): FileChange[] {
  const text = readOptional(file);
  if (text === undefined) return [];
  const left: Left[] = [];
  const isShared = client === 'project';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // a file with comments or damage is left to its owner
    return isNamedIn(text, wanted, catalog)
      ? [{ client, file, isShared, servers: [], left, text: undefined, byHand: 'comments' }]
      : [];
  }
  const isPlain = written(value, text) === text;
  const table = {
    ...(isPlain ? wanted : { ...wanted, doorOf: shownDoor, swapKey: (key: string) => key }),
    catalog,
    file,
    isShared,
    leave: (server: string, why: string) => void left.push({ server, why }),
  };
  const servers = places
    .flatMap(place => tablesAt(value, place.split('.')))
    .flatMap(({ path, entries }) => change(entries, { ...table, path }));
  if (servers.length === 0) return left.length > 0 ? [{ client, file, isShared, servers, left, text: undefined }] : [];
  return [
    isPlain
      ? { client, file, isShared, servers, left, text: written(value, text) }
      : { client, file, isShared, servers, left, text: undefined, byHand: 'a layout of its own' },
  ];
}

/** Reports whether a text names a server that may need a change. */
function isNamedIn(text: string, { program }: Wanted, { providers }: Pick<Catalog, 'providers'>): boolean {
  if (program === undefined) return text.includes(NAME) || text.includes('http://127.0.0.1:');
  return Object.values(providers).some(
    ({ mcp, http }) => mcp.some(server => text.includes(server.package)) || (http?.mcp && text.includes(http.mcp.base)),
  );
}

/** Writes a changed file through symlinks, and keeps its mode. */
export function applyChange({ file, text }: FileChange): void {
  if (text === undefined) return;
  const target = realpathSync(file);
  writeAtomic(target, text, statSync(target).mode & 0o777);
}

/** Returns a gateway for texts that are only shown. */
export function shownDoor(): Door {
  return { url: 'http://127.0.0.1:PORT', placeholder: PLACEHOLDER };
}

/** Changes the servers of one table, in place. */
function change(entries: Record<string, unknown>, table: Table): ServerChange[] {
  return Object.entries(entries).flatMap(([server, entry]) => {
    if (!isRecord(entry) || (table.isShared && table.program !== undefined && !table.isAllowed(server))) return [];
    const changed = table.isShared ? changeShared(server, entry, table) : changeServer(server, entry, table);
    return changed ? [{ server, ...changed }] : [];
  });
}

function changeServer(server: string, entry: Record<string, unknown>, table: Table): Change | undefined {
  return isText(entry.command)
    ? changeProgram(server, entry, entry.command, table)
    : changeAddress(server, entry, table);
}

/** Changes an entry of a project's file, unless the entry could choose the receiver of a key, and shows all of it. */
function changeShared(server: string, entry: Record<string, unknown>, table: Table): Change | undefined {
  const trial = { ...table, doorOf: shownDoor, swapKey: () => undefined, leave: () => {} };
  const provider = providerOf(changeServer(server, structuredClone(entry), trial), table);
  const refusal = provider && table.program !== undefined ? refusalOf(entry, provider) : undefined;
  if (refusal !== undefined) {
    table.leave(server, refusal);
    return undefined;
  }
  const original = structuredClone(entry);
  const changed = changeServer(server, entry, table);
  const shownFor = providerOf(changed, table);
  return (
    changed && shownFor && { ...changed, before: withoutKeys(original, shownFor), after: withoutKeys(entry, shownFor) }
  );
}

function providerOf(changed: Change | undefined, { catalog }: Table): Provider | undefined {
  return changed && catalog.providers['cli' in changed ? changed.cli : changed.tool];
}

function changeAddress(
  server: string,
  entry: Record<string, unknown>,
  { program, file, isShared, originals, ...table }: Table,
): AddressChange | undefined {
  if (program === undefined) {
    const own = Object.entries(originals).filter(([, kept]) => kept.file === file);
    const changed = takeOut(entry, Object.fromEntries(own), text => table.swapKey(text, '') ?? text);
    if (!changed && takeOut(structuredClone(entry), originals, text => text))
      table.leave(server, `its placeholder stays: ${UNRECORDED}`);
    return changed;
  }
  return putBehind(entry, table.catalog, (cli, original) => {
    if (!isShared || !(isKey(original.inUrl) || isKey(original.inHeader))) return table.doorOf(cli, original, file);
    table.leave(server, `its key stays: ${SHARED}`);
    return undefined;
  });
}

function changeProgram(
  server: string,
  entry: Record<string, unknown>,
  command: string,
  table: Table,
): Change | undefined {
  const line = { command, args: Array.isArray(entry.args) ? entry.args.filter(isText) : [] };
  const variable = table.program === undefined ? undefined : keyVariableIn(line, table.catalog);
  if (variable === undefined) return changeCommand(server, entry, line, table) ?? changeArguments(server, entry, table);
  table.leave(server, `its ${variable} is in the command line: move it to "env", then repeat this`);
  return undefined;
}

/** Changes the address that a program such as `mcp-remote` connects to. */
function changeArguments(server: string, entry: Record<string, unknown>, table: Table): AddressChange | undefined {
  if (!Array.isArray(entry.args)) return undefined;
  // the placeholder gives access to the gateway, so a project must not choose the program that gets it
  const line = [String(entry.command), ...entry.args.filter(isText)];
  const at = packageAt(line, 'mcp-remote');
  const isChosen = at === undefined || line.slice(0, at + 1).some(word => isAbsolute(word));
  if (table.isShared && table.program !== undefined && isChosen) return undefined;
  const args: Record<string, unknown> = { ...entry.args };
  const changed = changeAddress(server, args, table);
  if (changed) entry.args = Object.values(args);
  return changed;
}

function changeCommand(
  server: string,
  entry: Record<string, unknown>,
  before: CommandLine,
  table: Table,
): CommandChange | undefined {
  const { program, isShared } = table;
  const started = serverIn(before);
  const match = program === undefined ? entryNamedIn(started, table.catalog) : entryFor(started, table.catalog);
  if (!match) return undefined;
  const named = started.slice(0, (packageAt(started, match.server.package) ?? 0) + 1);
  // a path in a project's file may lead to a file of the project
  if (isShared && program !== undefined && named.some(word => isAbsolute(word))) return undefined;
  const host = program === undefined ? undefined : otherHostIn(entry, started, match);
  if (host !== undefined) {
    table.leave(server, `its ${host}, so its key stays as well`);
    return undefined;
  }
  const keys = moveKeys(server, isRecord(entry.env) ? entry.env : {}, match, table);
  const changed = program === undefined ? without(before) : isOurs(before) ? undefined : behind(before, program);
  const after = changed ?? (keys.length > 0 ? before : undefined);
  if (!after) return undefined;
  Object.assign(entry, after);
  const name = match.server.package;
  return { before: shown(before, name), after: shown(after, name), tool: match.cli, keys };
}

/** Returns a clause about another host in an entry, which must not get an account's key. */
function otherHostIn(
  { env }: Record<string, unknown>,
  started: readonly string[],
  { cli, provider }: Entry,
): string | undefined {
  const variables = Object.entries(isRecord(env) ? env : {}).filter((each): each is [string, string] =>
    isText(each[1]),
  );
  const known = { cli, provider, accounts: [], prefer: 'accounts' as const };
  const [name] = ownChoice(known, started, Object.fromEntries(variables))?.hosts ?? [];
  return name && `${name} may lead to another host than ${provider.hosts.names[0]}`;
}

/** Replaces keys in the variables of an entry. A restore covers only keys recorded for the same place. */
function moveKeys(
  server: string,
  env: Record<string, unknown>,
  { cli, provider: { inject } }: Entry,
  { program, file, path, isShared, originals, swapKey, leave }: Table,
): string[] {
  // an account of a tool with several variables needs all the variables
  if (inject.length !== 1) return [];
  return inject.filter(name => {
    const text = env[name];
    if (!isText(text) || !(program === undefined ? accountIn(text) : isKey(text))) return false;
    const place = [file, ...path, server, name];
    const kept = originals[digestOf(place)];
    const isRecorded = kept?.inHeader === text && kept.cli === cli;
    if (program === undefined ? !isRecorded : isShared) {
      leave(server, `its ${name} stays: ${program === undefined ? UNRECORDED : SHARED}`);
      return false;
    }
    const swapped = swapKey(text, cli, place);
    if (swapped !== undefined) env[name] = swapped;
    return swapped !== undefined;
  });
}

/** Returns the tables of servers with their paths. */
function tablesAt(
  value: unknown,
  [key, ...rest]: readonly string[],
  path: readonly string[] = [],
): { path: readonly string[]; entries: Record<string, unknown> }[] {
  if (!isRecord(value)) return [];
  if (key === undefined) return [{ path, entries: value }];
  const names = key === '*' ? Object.keys(value) : [key];
  return names.flatMap(name => tablesAt(value[name], rest, [...path, name]));
}

/** Formats JSON with the indentation and the final newline of the file. */
function written(value: unknown, text: string): string {
  const indent = /^[{[]\n([ \t]+)/.exec(text)?.[1] ?? '';
  return `${JSON.stringify(value, null, indent)}${text.endsWith('\n') ? '\n' : ''}`;
}
