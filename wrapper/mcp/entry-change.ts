// Changes one entry of a client: puts `culvert-wrap mcp` or a gateway in front of its server, or removes it.

import { isAbsolute } from 'node:path';
import { sha256 } from '../../daemon/core/hash.ts';
import { isRecord, isText } from '../../daemon/core/shape.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Provider } from '../catalog/provider.ts';
import { ownChoice } from '../run/accounts/own-choice.ts';
import { accountIn, isKey } from '../store/key-texts.ts';
import type { ClientFile } from './client-list.ts';
import {
  behind,
  type CommandLine,
  type Entry,
  entryFor,
  entryNamedIn,
  holdsKey,
  isOurs,
  isTested,
  keyVariableIn,
  lineIn,
  packageAt,
  serverIn,
  shown,
  versionNamedIn,
  without,
} from './entry.ts';
import { mayBeIn } from './needed.ts';
import { digestOf, digestOfLine, type Kept, type Original, type Originals, type Place, placeIn } from './record.ts';
import { type AddressChange, type Door, PLACEHOLDER, putBehind, takeOut, toolOf } from './remote.ts';
import { refusalOf, withoutKeys } from './shared-entry.ts';

/** A change of a command line for display. Possible keys are left out or, in a project's file, hidden. */
interface CommandChange {
  before: Shown;
  after: Shown;
  /** The tool whose accounts the server uses. */
  tool: string;
  /** Variables whose key moves between the entry and an account. */
  keys: string[];
  /** Sentences about what the change does not do. */
  notes: string[];
}

/** A command line or, in a project's file, the whole entry. */
type Shown = CommandLine | Record<string, unknown>;

/** A change of a command line or address. */
export type Change =
  | CommandChange
  | (Omit<AddressChange, 'before' | 'after'> & Record<'before' | 'after', AddressChange['before'] | Shown>);

/** Reasons why a key or a reference stays. */
const SHARED = 'a project shares this file, so keys neither leave it nor get into it';
export const UNRECORDED =
  'no record of this place says that `mcp install` put it there; write the key by hand if it is yours';

/** Reasons why a removal leaves a command line. */
const MOVED = 'it may be an entry that `mcp install` changed under another name or in another place';
const REWORDED =
  '`mcp install` changed it, and its words or the catalog have changed since; write the command of its server there';
const BY_HAND =
  'no record says that `mcp install` put `culvert-wrap mcp` there; remove it by hand before you remove culvert-wrap';

/** The requested change. */
export interface Wanted {
  /** Path of `culvert-wrap`, or `undefined` to remove it. */
  program: string | undefined;
  /** Returns the gateway for a server over HTTP in this file, or `undefined` if the server's key stays. */
  doorOf: (cli: string, original: Original, file: ClientFile) => Door | undefined;
  /** Returns the replacement of a key or a reference in an entry, or `undefined` if it stays. */
  swapKey: (text: string, cli: string, place: Place, file: ClientFile) => string | undefined;
  /** Returns a reference to an account for a variable that the client asks a person for, or `undefined` without an account. */
  referenceFor: (asked: string, cli: string, place: Place, file: ClientFile) => string | undefined;
  /** Records the program that an entry's command line gets, so that a removal knows it from the user's own. */
  keepProgram: (program: string, cli: string, place: Place, file: ClientFile) => void;
  originals: Originals;
  /** Recorded command lines that are not at their place, for a removal. */
  moved: readonly Kept[];
  /** Reports whether there is no such program. */
  isMissing(program: string): boolean;
  /** Reports whether a server in a project's file gets accounts, because the project's authors chose its program. */
  isAllowed(server: string, file: string): boolean;
}

/** Context of a change to the entries of one table. */
export interface Table extends Wanted {
  catalog: Pick<Catalog, 'providers'>;
  file: ClientFile;
  /** The path of the table. */
  path: readonly string[];
  /** Names an entry that stays, with the command line to write by hand and its tool. */
  leave(server: string, why: string, line?: CommandLine & Pick<Kept, 'cli'>): void;
}

/** Returns a gateway for texts that are only shown. */
export function shownDoor(): Door {
  return { url: 'http://127.0.0.1:PORT', placeholder: PLACEHOLDER };
}

/**
 * Changes an entry, which has the usual field names, in place.
 * @returns the change as people see it, or `undefined` if nothing changes
 */
export function changeEntry(server: string, entry: Record<string, unknown>, table: Table): Change | undefined {
  return table.file.isShared ? changeShared(server, entry, table) : changeServer(server, entry, table);
}

function changeServer(server: string, entry: Record<string, unknown>, table: Table): Change | undefined {
  const line = lineIn(entry);
  return line ? changeProgram(server, entry, line, table) : changeAddress(server, entry, table);
}

/** Changes an entry of a project's file, unless the entry could choose the receiver of a key, and shows all of it. */
function changeShared(server: string, entry: Record<string, unknown>, table: Table): Change | undefined {
  const trial = {
    ...table,
    doorOf: shownDoor,
    swapKey: () => undefined,
    referenceFor: () => undefined,
    keepProgram: () => {},
    leave: () => {},
  };
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
  { program, file, originals, ...table }: Table,
): AddressChange | undefined {
  if (program === undefined) {
    const own = Object.entries(originals).filter(([, kept]) => file.names.includes(kept.file));
    const swap = (text: string) => table.swapKey(text, '', [file.file], file) ?? text;
    const changed = takeOut(entry, Object.fromEntries(own), swap);
    if (!changed && takeOut(structuredClone(entry), originals, text => text))
      table.leave(server, `its placeholder stays: ${UNRECORDED}`);
    return changed;
  }
  let isKnown = false;
  const changed = putBehind(entry, table.catalog, (cli, original) => {
    isKnown = true;
    if (!file.isShared || !(isKey(original.inUrl) || isKey(original.inHeader)))
      return table.doorOf(cli, original, file);
    table.leave(server, `its key stays: ${SHARED}`);
    return undefined;
  });
  const tool = isKnown ? undefined : toolOf(entry, table.catalog);
  if (tool) {
    const how = file.isShared ? '' : `; with a key ${tool.place}, repeat this`;
    table.leave(server, `it uses no account of ${tool.cli}, because it has no key in a known place${how}`);
  }
  return changed;
}

function changeProgram(
  server: string,
  entry: Record<string, unknown>,
  line: CommandLine,
  table: Table,
): Change | undefined {
  if (table.program === undefined) {
    if (isOurs(line)) nameLeft(server, line, table);
    return changeCommand(server, entry, line, table) ?? changeArguments(server, entry, table);
  }
  const variable = keyVariableIn(line, table.catalog);
  if (variable !== undefined) {
    table.leave(server, `its ${variable} is in the command line: move it to "env", then repeat this`);
    return undefined;
  }
  const changed = changeCommand(server, entry, line, table) ?? changeArguments(server, entry, table);
  if (!changed && !isOurs(line)) nameUnknown(server, entry, line, table);
  else if (!changed && isAbsolute(line.command) && table.isMissing(line.command))
    table.leave(server, `it starts ${line.command}, which does not exist: write ${table.program} there`);
  return changed;
}

/** Names an entry that a removal leaves behind the program. */
function nameLeft(server: string, line: CommandLine, table: Table): void {
  const original = without(line);
  if (isRecorded(server, table)) {
    if (!original || !entryNamedIn(serverIn(line), table.catalog)) table.leave(server, REWORDED);
    return;
  }
  const moved = table.moved.find(kept => kept.program === line.command && mayBeIn(kept, table.file));
  if (!moved) table.leave(server, BY_HAND);
  else table.leave(server, MOVED, original && { ...original, cli: moved.cli });
}

/** Names an entry that has a key of the catalog, and starts its server in a way that is not recognized. */
function nameUnknown(server: string, { env }: Record<string, unknown>, given: CommandLine, table: Table): void {
  const line = withoutPlaceholders(given, table.originals);
  for (const [cli, { mcp, http, inject }] of Object.entries(table.catalog.providers)) {
    const [variable] = inject;
    if (variable === undefined || mcp.length === 0) continue;
    const own = isRecord(env) ? env[variable] : undefined;
    if (holdsKey(line, http?.key_prefix ?? '')) {
      const how = `start ${mcp[0]!.package} with the key in "env" as ${variable}, then repeat this`;
      table.leave(server, `a key of ${cli} is in its command line, for a program that is not in the catalog: ${how}`);
      return;
    }
    if (!isText(own) || !isKey(own)) continue;
    const how = `\`culvert-wrap mcp --env ${variable} --cli ${cli} -- ${line.command} …\` in its place uses the accounts`;
    table.leave(server, `its ${variable} stays, because the catalog does not know its command line: ${how}`);
    return;
  }
}

/** Removes the placeholders that an earlier install wrote: they look like keys. */
function withoutPlaceholders({ command, args }: CommandLine, originals: Originals): CommandLine {
  const isPlaceholder = (part: string) => Object.hasOwn(originals, sha256(part));
  const without = (word: string) =>
    word
      .split(/([\s/?&=:]+)/)
      .map(part => (isPlaceholder(part) ? '' : part))
      .join('');
  return { command, args: args.map(without) };
}

/** Changes the address that a program such as `mcp-remote` connects to. */
function changeArguments(server: string, entry: Record<string, unknown>, table: Table): AddressChange | undefined {
  if (!Array.isArray(entry.args)) return undefined;
  // the placeholder gives access to the gateway, so a project must not choose the program that gets it
  const line = [String(entry.command), ...entry.args.filter(isText)];
  const at = packageAt(line, 'mcp-remote');
  const isChosen = at === undefined || line.slice(0, at + 1).some(word => isAbsolute(word));
  if (table.file.isShared && table.program !== undefined && isChosen) return undefined;
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
  const { program, file } = table;
  const started = serverIn(before);
  const match = program === undefined ? entryNamedIn(started, table.catalog) : entryFor(started, table.catalog);
  if (!match) return undefined;
  const at = packageAt(started, match.server.package) ?? 0;
  // a path in a project's file may lead to a file of the project
  if (file.isShared && program !== undefined && started.slice(0, at + 1).some(word => isAbsolute(word)))
    return undefined;
  const host = program === undefined ? undefined : otherHostIn(entry, started, match);
  if (host !== undefined) {
    table.leave(server, `its ${host}, so its key stays as well`);
    return undefined;
  }
  const { keys, notes, isChanged } = moveKeys(server, isRecord(entry.env) ? entry.env : {}, match, table);
  const changed = program === undefined ? removed(server, before, table) : put(server, before, { ...table, program });
  if (changed && program !== undefined) table.keepProgram(program, match.cli, placeOfLine(server, table), file);
  const after = changed ?? (isChanged ? before : undefined);
  if (!after) return undefined;
  assignLine(entry, after, program !== undefined);
  const name = match.server.package;
  const version = program === undefined ? undefined : versionNamedIn(started[at] ?? '');
  if (version !== undefined && !isTested(match.server, version))
    notes.push(`The catalog has no errors of ${name} ${version}, so none of them leads to another account`);
  return { before: shown(before, name), after: shown(after, name), tool: match.cli, keys, notes };
}

function placeOfLine(server: string, { file, path, originals }: Table): Place {
  return placeIn(originals, file.names, [...path, server], digestOfLine);
}

/** Reports whether an install put the program before the command line of this entry. */
function isRecorded(server: string, table: Table): boolean {
  return table.originals[digestOfLine(placeOfLine(server, table))]?.program !== undefined;
}

/** Returns a command line as it was before an install, or `undefined` if no install changed it. */
function removed(server: string, line: CommandLine, table: Table): CommandLine | undefined {
  return isRecorded(server, table) ? without(line) : undefined;
}

/** Returns a command line behind the program, which may have moved since an earlier install, or `undefined` if it is. */
function put(server: string, line: CommandLine, table: Table & { program: string }): CommandLine | undefined {
  const { program } = table;
  if (!isOurs(line)) return behind(line, program);
  const isElsewhere = isAbsolute(line.command) && line.command !== program;
  return isElsewhere && isRecorded(server, table) ? { ...line, command: program } : undefined;
}

/** Writes a command line into an entry. Removes arguments that an install has added, which it writes before the command. */
function assignLine(entry: Record<string, unknown>, { command, args }: CommandLine, isPut: boolean): void {
  const names = Object.keys(entry);
  const wasAdded = !isPut && args.length === 0 && names.indexOf('args') < names.indexOf('command');
  entry.command = command;
  if (wasAdded) delete entry.args;
  else if (args.length > 0 || Object.hasOwn(entry, 'args')) entry.args = args;
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
  table: Table,
): { keys: string[]; notes: string[]; isChanged: boolean } {
  const { program, file, path, originals, leave } = table;
  const notes: string[] = [];
  const nothing = { keys: [], notes, isChanged: false };
  // an account of a tool with several variables needs all the variables
  const [name, ...more] = inject;
  const text = name === undefined ? undefined : env[name];
  if (name === undefined || more.length > 0 || !isText(text)) return nothing;
  const place = placeIn(originals, file.names, [...path, server, name], digestOf);
  const swap = (own: string | undefined, isKeyItself = true) => {
    if (own === undefined) return nothing;
    env[name] = own;
    return { keys: isKeyItself ? [name] : [], notes, isChanged: true };
  };
  if (program === undefined) {
    if (!accountIn(text)) return nothing;
    const kept = originals[digestOf(place)];
    const isRecorded = kept?.inHeader === text && kept.cli === cli;
    if (!isRecorded) leave(server, `its ${name} stays: ${UNRECORDED}`);
    if (!isRecorded) return nothing;
    return kept.asked === undefined ? swap(table.swapKey(text, cli, place, file)) : swap(kept.asked, false);
  }
  if (file.asks?.test(text)) {
    const reference = table.referenceFor(text, cli, place, file);
    const add = `culvert-wrap accounts add ${cli} NAME`;
    notes.push(
      reference === undefined
        ? `${file.name} goes on asking for its ${name}; after \`${add}\` repeat this`
        : `${file.name} does not ask for its ${name} anymore`,
    );
    return swap(reference, false);
  }
  if (file.reference?.test(text)) notes.push(`Its ${name} stays a reference, which ${file.name} fills in`);
  if (!isKey(text)) return nothing;
  if (!file.isShared) return swap(table.swapKey(text, cli, place, file));
  leave(server, `its ${name} stays: ${SHARED}`);
  return nothing;
}
