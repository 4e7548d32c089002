// Implements `mcp install` and `mcp uninstall`, which put culvert-wrap in front of the servers of MCP clients or remove it.

import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isatty } from 'node:tty';
import { realPath } from '../../daemon/core/files.ts';
import { randomHex, sha256 } from '../../daemon/core/hash.ts';
import { masked } from '../../daemon/core/printable.ts';
import { type Catalog, catalogOf, providerOf } from '../catalog/catalog.ts';
import type { Context } from '../context.ts';
import { portOf, urlOf } from '../gateway/address.ts';
import { httpOf } from '../gateway/gateway.ts';
import { type ClientContent, readContent } from '../mcp/client-content.ts';
import { applyChanges, type ClientPlan, type FileChange, filesOf, planChanges } from '../mcp/clients.ts';
import { shownDoor, UNRECORDED, type Wanted } from '../mcp/entry-change.ts';
import { forgetRestored, movedPrograms, type Needing } from '../mcp/needed.ts';
import {
  digestOf,
  digestOfLine,
  type Kept,
  keepOriginal,
  NO_ADDRESS,
  type Place,
  readOriginals,
} from '../mcp/record.ts';
import { type Door, PLACEHOLDER, withKeys } from '../mcp/remote.ts';
import { assertInstalled } from '../shims/shim.ts';
import { readConfig } from '../store/config.ts';
import { findOnPath } from '../store/installs.ts';
import { accountIn, isKey, referenceTo } from '../store/key-texts.ts';
import { NAME } from '../store/paths.ts';
import { quote } from '../store/plan.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { takeLock } from '../system/files.ts';
import { readKeys, takeKeys } from './accounts/client-keys.ts';
import { emit } from './print.ts';
import { confirm } from './prompt.ts';
import { addToken } from './serve.ts';

export interface ClientOptions {
  json?: boolean;
  yes?: boolean;
  /** Show the changes, and make none. */
  check?: boolean;
  /** Store the keys of the clients in a 0600 file. */
  file?: boolean;
  /** Servers in a project's files that get accounts without a question, as NAME or FILE:NAME. */
  server?: string[];
}

/**
 * Shows the changes in the configuration of the clients, and makes them after a confirmation.
 * @throws WrapError `not-on-path`, `not-installed`, and those of `takeKeys` and `readKeys`
 */
export async function changeClients(put: boolean, options: ClientOptions, context: Context): Promise<void> {
  const program = findOnPath(NAME, context.env.PATH ?? '');
  if (put && !program) {
    throw new WrapError('not-on-path', EXIT.noInput, `${NAME} is not on PATH, so clients could not start it`, {
      hint: 'install Culvert, or add its directory to PATH',
    });
  }
  if (put && program) assertInstalled(realpathSync(program), "a client's file");
  const catalog = catalogOf(context);
  const originals = readOriginals(context.paths);
  /** Keys to move to accounts, or references to replace with keys, and their tools. */
  const found = new Map<string, string>();
  const swapKey = (text: string, cli: string) => {
    if (put ? isKey(text) : accountIn(text)) found.set(text, cli);
    return text;
  };
  const referenceFor: Wanted['referenceFor'] = (_, cli) =>
    accountOf(cli, context) ?? ([...found.values()].includes(cli) ? referenceTo({ cli, name: 'mcp' }) : undefined);
  const doorOf: Wanted['doorOf'] = (cli, original) => {
    withKeys(original, text => swapKey(text, cli));
    return shownDoor();
  };
  const isAllowed = () => true;
  const keepProgram = () => {};
  const isMissing = (file: string) => !existsSync(file);
  const asks = { doorOf, swapKey, referenceFor, keepProgram, isAllowed, isMissing };
  const before = put ? [] : filesOf(originals, catalog, context).map(readContent);
  const moved = movedPrograms(originals, before);
  const wanted: Wanted = { program: put ? program : undefined, originals, moved, ...asks };
  const all = planChanges(wanted, catalog, context);
  const { changes } = all;
  const possible = changes.filter(({ text }) => text !== undefined);
  if (!options.json) process.stdout.write(describe(all, put));
  if (changes.some(({ unread }) => unread !== undefined)) process.exitCode = EXIT.data;
  if (options.check) {
    if (options.json) emit(true, { files: changes.map(change => shownChange(change, false)) }, '');
    return;
  }
  const { isWanted, isGiven } = await answerFor(possible, put, { options, context });
  const isToChange = ({ file, isShared, servers }: FileChange) =>
    put && isShared ? servers.some(({ server }) => isGiven(server, file)) : isWanted;
  const plan = {
    wanted: { ...wanted, isAllowed: isGiven },
    possible: possible.filter(isToChange),
    changes,
    before,
    found: isWanted ? found : new Map<string, string>(),
    catalog,
  };
  // without a change to confirm, an uninstall still says what is left
  const mayLeave = !put && possible.length === 0 && (changes.length > 0 || Object.keys(originals).length > 0);
  if (plan.possible.length > 0 || mayLeave) {
    // two runs in parallel would choose the same account name, and one key would replace the other
    const release = takeLock(context.paths.mcpOriginals.replace('.json', ''));
    try {
      await (put ? putIn(plan, options, context) : restore(plan, context));
    } finally {
      release();
    }
  }
  const files = changes.map(change => shownChange(change, change.text !== undefined && isToChange(change)));
  if (options.json) emit(true, { files }, '');
  else if (plan.possible.length > 0) say('changed; restart the clients');
  else if (possible.some(({ isShared }) => !put || !isShared)) say('nothing was changed; --yes changes it');
}

/** Returns a change as programs see it. */
function shownChange({ client, file, servers, left, unread }: FileChange, changed: boolean) {
  const shown = servers.map(({ server, before, after }) => ({ server, before, after }));
  return { client, file, servers: shown, left, unread, changed };
}

/** Returns a reference to an enabled account of a tool. */
function accountOf(cli: string, { paths }: Pick<Context, 'paths'>): string | undefined {
  const account = readConfig(paths.config).accounts.find(
    // a login has no key that a server could use
    each => each.cli === cli && each.enabled && each.login === undefined,
  );
  return account && referenceTo(account);
}

/**
 * Asks whether to change the user's own files, and which servers of a project get accounts: for each file, because another program
 * may have the same name there.
 */
async function answerFor(
  possible: readonly FileChange[],
  put: boolean,
  { options, context: { cwd } }: { options: ClientOptions; context: Pick<Context, 'cwd'> },
) {
  const canAsk = options.yes !== true && isatty(0) && isatty(2);
  const own = possible.filter(({ isShared }) => !put || !isShared);
  const isWanted = options.yes === true || (own.length > 0 && canAsk && (await confirm('Change it? [y/N] ')));
  const answers = new Set<string>();
  const isNamed = (server: string, file: string) =>
    (options.server ?? []).some(word => {
      const isOfServer = word.endsWith(`:${server}`);
      const isOfFile = () => realPath(resolve(cwd, word.slice(0, -server.length - 1))) === realPath(file);
      return word === server || (isOfServer && isOfFile());
    });
  const isGiven = (server: string, file: string) =>
    isNamed(server, file) || answers.has(JSON.stringify([file, server]));
  const shared = put ? possible.filter(({ isShared }) => isShared) : [];
  // the authors of a project chose the program of each of its servers
  for (const { file, servers: foreign } of shared) {
    for (const each of foreign.filter(({ server }) => !isNamed(server, file))) {
      const tool = 'cli' in each ? each.cli : each.tool;
      const name = masked(each.server);
      const question = `Give "${name}" of ${file}, as the project starts it, the accounts of ${tool}? [y/N] `;
      if (canAsk && (await confirm(question))) answers.add(JSON.stringify([file, each.server]));
      else if (!canAsk) {
        const isOnly = shared.every(
          other => other.file === file || !other.servers.some(({ server }) => server === each.server),
        );
        const word = isOnly ? name : `${file}:${name}`;
        say(
          `"${name}" of ${file} gets no accounts; --server ${/^[\w./:@%+=-]+$/.test(word) ? word : quote(word)} gives it those of ${tool}`,
        );
        process.exitCode = EXIT.data;
      }
    }
  }
  return { isWanted, isGiven };
}

interface Plan {
  wanted: Wanted;
  possible: readonly FileChange[];
  /** All planned changes, and what is left. */
  changes: readonly FileChange[];
  /** The files of all clients before an uninstall. */
  before: readonly ClientContent[];
  found: ReadonlyMap<string, string>;
  catalog: Catalog;
}

/** Stores the keys in accounts, and then changes the files. */
async function putIn(
  { wanted, possible, found, catalog }: Plan,
  options: ClientOptions,
  context: Context,
): Promise<void> {
  const references = await takeKeys(found, options, catalog, context);
  const ports = await portsFor(possible, context);
  // a file may be planned again
  const doors = new Map<string, Door[]>();
  let used = new Map<string, number>();
  const doorOf: Wanted['doorOf'] = (cli, original, { file, real, client }) => {
    if ([original.inUrl, original.inHeader].some(text => isKey(text) && !references.has(text))) return undefined;
    const kept = withKeys(original, text => references.get(text) ?? text);
    const name = JSON.stringify([file, cli, original]);
    const number = used.get(name) ?? 0;
    used.set(name, number + 1);
    const opened = doors.get(name) ?? [];
    doors.set(name, opened);
    opened[number] ??= openDoor({ ...kept, cli, file, real, client }, ports[cli]!, { catalog, context });
    return opened[number];
  };
  /** Records the reference that replaces a text of a variable. */
  const keep = (reference: string | undefined, place: Place, more: Pick<Kept, 'real' | 'client' | 'cli' | 'asked'>) => {
    if (reference !== undefined)
      keepOriginal(context.paths, digestOf(place), { ...NO_ADDRESS, ...more, file: place[0], inHeader: reference });
    return reference;
  };
  const swapKey: Wanted['swapKey'] = (text, cli, place, { real, client }) =>
    keep(references.get(text), place, { real, client, cli });
  const referenceFor: Wanted['referenceFor'] = (asked, cli, place, { real, client }) =>
    keep(accountOf(cli, context), place, { real, client, cli, asked });
  const keepProgram: Wanted['keepProgram'] = (program, cli, place, { real, client }) =>
    keepOriginal(context.paths, digestOfLine(place), { ...NO_ADDRESS, file: place[0], real, client, cli, program });
  const chosen = new Set(possible.map(({ file }) => file));
  const all = { ...wanted, doorOf, swapKey, referenceFor, keepProgram };
  applyChanges((only = chosen) => {
    used = new Map();
    return planChanges(all, catalog, context, only).changes;
  });
}

/** Restores the files, with the keys from the accounts. */
async function restore(
  { wanted, possible, changes: planned, before, found, catalog }: Plan,
  context: Context,
): Promise<void> {
  const keys = await readKeys(found.keys(), catalog, context);
  const swapKey = (text: string) => keys.get(text) ?? text;
  const chosen = new Set(possible.map(({ file }) => file));
  const changes = applyChanges((only = chosen) => planChanges({ ...wanted, swapKey }, catalog, context, only).changes);
  for (const change of changes) {
    for (const reference of found.keys()) {
      if (keys.has(reference) || !change.text?.includes(reference)) continue;
      process.exitCode = EXIT.data;
      const { cli, name } = accountIn(reference)!;
      say(`${change.file}: there is no account "${name}" of ${cli} anymore; write its key in place of ${reference}`);
    }
  }
  const after = filesOf(readOriginals(context.paths), catalog, context).map(readContent);
  sayLeft(forgetRestored(context.paths, { before, after }), planned);
}

/** Names the files that are not restored, with what to do. */
function sayLeft(needing: readonly Needing[], planned: readonly FileChange[]): void {
  const filesWith = (isForKey: boolean, isUnread: boolean) =>
    needing.filter(each => each.isForKey === isForKey && each.isUnread === isUnread).map(({ file }) => file);
  // anyone may write a reference into the file of a project
  const unrecorded = planned.filter(
    ({ isShared, left }) => !isShared && left.some(({ why }) => why.endsWith(UNRECORDED)),
  );
  const unread = planned.filter(each => each.unread !== undefined);
  const left: [what: string, files: string[], advice: string][] = [
    [
      'still without their keys',
      [...filesWith(true, false), ...unrecorded.map(({ file }) => file)],
      'write the keys there by hand, or remove the servers',
    ],
    ['still behind culvert-wrap', filesWith(false, false), 'correct by hand what is named above'],
    ['perhaps still without their keys', filesWith(true, true), 'correct what is named above'],
    [
      'perhaps still behind culvert-wrap',
      [...filesWith(false, true), ...unread.map(({ file }) => file)].filter(
        file => !filesWith(true, true).includes(file),
      ),
      'correct what is named above',
    ],
  ];
  for (const [what, files, advice] of left) {
    if (files.length === 0) continue;
    process.exitCode = EXIT.data;
    say(`${what}: ${[...new Set(files)].join(', ')}; ${advice}, then repeat this`);
  }
}

/** Returns the gateway's port for each tool with a server over HTTP. */
async function portsFor(changes: readonly FileChange[], context: Context): Promise<Record<string, number>> {
  const clis = changes.flatMap(({ servers }) => servers.flatMap(each => ('cli' in each ? each.cli : [])));
  const ports: Record<string, number> = {};
  for (const cli of new Set(clis)) ports[cli] = await portOf(cli, undefined, context);
  return ports;
}

/** Creates a token for a server over HTTP, and records the original that it replaces. */
function openDoor(
  original: Omit<Kept, 'token'>,
  port: number,
  { catalog, context }: { catalog: Catalog; context: Context },
): Door {
  const { cli } = original;
  const token = `mcp-${randomHex(3)}`;
  const http = httpOf({ cli, provider: providerOf(catalog, cli) });
  const placeholder = addToken(cli, token, {}, { http, context });
  keepOriginal(context.paths, sha256(placeholder), { ...original, token });
  return { url: urlOf(port), placeholder };
}

/** Describes the changes as lines of a diff. */
export function describe({ changes, looked, found }: ClientPlan, put: boolean): string {
  if (changes.length === 0) {
    const read = `${looked} places were looked at, and ${found} of them have a file`;
    return `No client uses a server ${put ? 'of the catalog directly' : 'through culvert-wrap'}: ${read}.\n`;
  }
  return changes
    .map(({ file, servers, left, unread }) => {
      const lines = [
        ...servers.flatMap(each => [`  ${each.server}`, ...difference(each), ...notesOn(each, put, file)]),
        ...left.flatMap(describeLeft),
        ...(unread === undefined ? [] : [`  It could not be read: ${unread}. Correct that, then repeat this.`]),
      ];
      return `${file}\n${lines.map(masked).join('\n')}\n`;
    })
    .join('\n');
}

function describeLeft({ server, why, lines }: FileChange['left'][number]): string[] {
  if (!lines) return [`  ${server}`, `  Not all is changed: ${why}.`];
  const start = `  It can't be changed here, because ${why}.`;
  if (lines.length === 0) return [`  ${server}`, start];
  const isAddress = lines.some(line => line.includes(PLACEHOLDER));
  const source = isAddress ? ', with the address that `culvert-wrap serve token add` prints' : '';
  return [`  ${server}`, `${start} Write these lines by hand${source}:`, ...lines.map(line => `    ${line}`)];
}

/** Returns the lines of a diff, or no lines if only a key moves. */
function difference({ before, after }: FileChange['servers'][number]): string[] {
  const lines = [`- ${JSON.stringify(before)}`, `+ ${JSON.stringify(after)}`];
  return lines[0]!.slice(1) === lines[1]!.slice(1) ? [] : lines;
}

function notesOn(change: FileChange['servers'][number], put: boolean, file: string): string[] {
  const tool = 'cli' in change ? change.cli : change.tool;
  const keys = change.keys.join(', ');
  const notes = 'notes' in change ? change.notes.map(note => `  ${note}.`) : [];
  const gateway = 'cli' in change && put ? [`  It needs the gateway: culvert-wrap serve ${tool} --install`] : notes;
  if (keys === '') return gateway;
  if (put) return [...gateway, `  Its ${keys} moves to an account of ${tool}, and back with \`mcp uninstall\`.`];
  return [`  Its ${keys} is written back into this file${exposure(file)}.`];
}

/** Returns the end of a sentence about the ways in which others may see a file's content. */
function exposure(file: string): string {
  const target = realpathSync(file);
  const ways = [
    ...((statSync(target).mode & 0o044) !== 0 ? ['which others can read'] : []),
    ...(isInRepository(dirname(target)) ? ['which is in a repository'] : []),
  ];
  return ways.map(way => `, ${way}`).join('');
}

function isInRepository(directory: string): boolean {
  if (existsSync(join(directory, '.git'))) return true;
  return dirname(directory) !== directory && isInRepository(dirname(directory));
}
