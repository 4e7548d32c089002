// Implements `mcp install` and `mcp uninstall`, which put culvert-wrap in front of the servers of MCP clients or remove it.

import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isatty } from 'node:tty';
import { randomHex, sha256 } from '../../daemon/core/hash.ts';
import { masked } from '../../daemon/core/printable.ts';
import { type Catalog, loadCatalog, providerOf } from '../catalog/catalog.ts';
import type { Context } from '../context.ts';
import { portOf, urlOf } from '../gateway/address.ts';
import { httpOf } from '../gateway/gateway.ts';
import { applyChange, type FileChange, planChanges, shownDoor, type Wanted } from '../mcp/clients.ts';
import {
  type Door,
  digestOf,
  forgetRestored,
  type Kept,
  keepOriginal,
  readOriginals,
  withKeys,
} from '../mcp/remote.ts';
import { assertInstalled } from '../shims/shim.ts';
import { findOnPath } from '../store/installs.ts';
import { accountIn, isKey } from '../store/key-texts.ts';
import { NAME } from '../store/paths.ts';
import { quote } from '../store/source-stamps.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { takeLock } from '../system/files.ts';
import { readKeys, takeKeys } from './accounts/client-keys.ts';
import { emit } from './print.ts';
import { confirm } from './prompt.ts';
import { addToken } from './serve.ts';

export interface ClientOptions {
  json?: boolean;
  yes?: boolean;
  /** Store the keys of the clients in a 0600 file. */
  file?: boolean;
  /** Servers in a project's file that get accounts without a question. */
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
  const catalog = loadCatalog(context.catalog, context.paths.userCatalog);
  const originals = readOriginals(context.paths);
  /** Keys to move to accounts, or references to replace with keys, and their tools. */
  const found = new Map<string, string>();
  const swapKey = (text: string, cli: string) => {
    if (put ? isKey(text) : accountIn(text)) found.set(text, cli);
    return text;
  };
  const doorOf: Wanted['doorOf'] = (cli, original) => {
    withKeys(original, text => swapKey(text, cli));
    return shownDoor();
  };
  const wanted = { program: put ? program : undefined, doorOf, swapKey, originals, isAllowed: () => true };
  const changes = planChanges(wanted, catalog, context);
  const possible = changes.filter(({ text }) => text !== undefined);
  if (!options.json) process.stdout.write(describe(changes, put));
  const { isWanted, servers: allowed } = await answerFor(possible, put, options);
  const isToChange = ({ isShared, servers }: FileChange) =>
    put && isShared ? servers.some(({ server }) => allowed.has(server)) : isWanted;
  const plan = {
    wanted: { ...wanted, isAllowed: (server: string) => allowed.has(server) },
    possible: possible.filter(isToChange),
    found: isWanted ? found : new Map<string, string>(),
    catalog,
  };
  const isAny = isWanted || plan.possible.length > 0;
  if (isAny) {
    // two runs in parallel would choose the same account name, and one key would replace the other
    const release = takeLock(context.paths.mcpOriginals.replace('.json', ''));
    try {
      await (put ? putIn(plan, options, context) : restore(plan, context));
    } finally {
      release();
    }
  }
  const files = changes.map(change => ({
    client: change.client,
    file: change.file,
    servers: change.servers.map(({ server, before, after }) => ({ server, before, after })),
    left: change.left,
    changed: change.text !== undefined && isToChange(change),
  }));
  if (options.json) emit(true, { files }, '');
  else if (plan.possible.length > 0) say('changed; restart the clients');
  else if (possible.some(({ isShared }) => !put || !isShared)) say('nothing was changed; --yes changes it');
}

/** Asks whether to change the user's own files, and which servers of a project get accounts. */
async function answerFor(possible: readonly FileChange[], put: boolean, options: ClientOptions) {
  const canAsk = options.yes !== true && isatty(0) && isatty(2);
  const own = possible.filter(({ isShared }) => !put || !isShared);
  const isWanted = options.yes === true || (own.length > 0 && canAsk && (await confirm('Change it? [y/N] ')));
  const servers = new Set(options.server);
  // the authors of a project chose the program of each of its servers
  for (const { file, servers: foreign } of put ? possible.filter(({ isShared }) => isShared) : []) {
    for (const each of foreign.filter(({ server }) => !servers.has(server))) {
      const tool = 'cli' in each ? each.cli : each.tool;
      const name = masked(each.server);
      const question = `Give "${name}" of ${file}, as the project starts it, the accounts of ${tool}? [y/N] `;
      if (canAsk && (await confirm(question))) servers.add(each.server);
      else if (!canAsk) {
        say(
          `"${name}" of ${file} gets no accounts; --server ${/^[\w.]+$/.test(name) ? name : quote(name)} gives it those of ${tool}`,
        );
        process.exitCode = EXIT.data;
      }
    }
  }
  return { isWanted, servers };
}

interface Plan {
  wanted: Wanted;
  possible: readonly FileChange[];
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
  const doorOf: Wanted['doorOf'] = (cli, original, file) => {
    if ([original.inUrl, original.inHeader].some(text => isKey(text) && !references.has(text))) return undefined;
    const kept = withKeys(original, text => references.get(text) ?? text);
    return openDoor({ ...kept, cli, file }, ports[cli]!, { catalog, context });
  };
  const swapKey: Wanted['swapKey'] = (text, cli, place) => {
    const reference = references.get(text);
    if (reference !== undefined && place)
      keepOriginal(context.paths, digestOf(place), {
        file: place[0]!,
        cli,
        token: '',
        url: '',
        inUrl: '',
        inHeader: reference,
      });
    return reference;
  };
  const chosen = new Set(possible.map(({ file }) => file));
  for (const change of planChanges({ ...wanted, doorOf, swapKey }, catalog, context))
    if (chosen.has(change.file)) applyChange(change);
}

/** Restores the files, with the keys from the accounts. */
async function restore({ wanted, found, catalog }: Plan, context: Context): Promise<void> {
  const keys = await readKeys(found.keys(), catalog, context);
  const swapKey = (text: string) => keys.get(text) ?? text;
  const changes = planChanges({ ...wanted, swapKey }, catalog, context);
  for (const change of changes) {
    applyChange(change);
    for (const reference of found.keys()) {
      if (keys.has(reference) || !change.text?.includes(reference)) continue;
      process.exitCode = EXIT.data;
      const { cli, name } = accountIn(reference)!;
      say(`${change.file}: there is no account "${name}" of ${cli} anymore; write its key in place of ${reference}`);
    }
  }
  // anyone may write a reference into the file of a project
  const own = changes.filter(({ client }) => client !== 'project');
  const needing = forgetRestored(
    context.paths,
    own.map(({ file }) => file),
  );
  const unrecorded = own.filter(({ left }) => left.length > 0).map(({ file }) => file);
  const files = [...new Set([...needing, ...unrecorded])];
  if (files.length === 0) return;
  process.exitCode = EXIT.data;
  say(
    `still without their keys: ${files.join(', ')}; write the keys there by hand, or remove the servers, then repeat this`,
  );
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
export function describe(changes: readonly FileChange[], put: boolean): string {
  if (changes.length === 0)
    return `No client uses a server ${put ? 'of the catalog directly' : 'through culvert-wrap'}.\n`;
  return changes
    .map(({ file, servers, left, byHand }) => {
      const lines = [
        ...servers.flatMap(each => [`  ${each.server}`, ...difference(each), ...notesOn(each, put, file)]),
        ...left.flatMap(({ server, why }) => [`  ${server}`, `  Not all is changed: ${why}.`]),
        ...(byHand ? [`  It has ${byHand}: change it by hand.`] : []),
      ];
      return `${file}\n${lines.map(masked).join('\n')}\n`;
    })
    .join('\n');
}

/** Returns the lines of a diff, or no lines if only a key moves. */
function difference({ before, after }: FileChange['servers'][number]): string[] {
  const lines = [`- ${JSON.stringify(before)}`, `+ ${JSON.stringify(after)}`];
  return lines[0]!.slice(1) === lines[1]!.slice(1) ? [] : lines;
}

function notesOn(change: FileChange['servers'][number], put: boolean, file: string): string[] {
  const tool = 'cli' in change ? change.cli : change.tool;
  const keys = change.keys.join(', ');
  const gateway = 'cli' in change && put ? [`  It needs the gateway: culvert-wrap serve ${tool} --install`] : [];
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
