// Implements `mcp install` and `mcp uninstall`: puts culvert-wrap in front of the servers of MCP clients, or takes it out.
import { isatty } from 'node:tty';
import { type Catalog, loadCatalog, providerOf } from '../catalog/catalog.ts';
import type { Context } from '../context.ts';
import { httpOf } from '../gateway/gateway.ts';
import { portOf, urlOf } from '../gateway/port.ts';
import { applyChange, type FileChange, planChanges, shownDoor, type Wanted } from '../mcp/clients.ts';
import { accountIn, isKey } from '../mcp/key-references.ts';
import { forgetOriginals, keepOriginal, type Original, readOriginals } from '../mcp/originals.ts';
import { type Door, withKeys } from '../mcp/remote.ts';
import { findOnPath } from '../store/installs.ts';
import { NAME } from '../store/paths.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { randomHex, sha256 } from '../system/hash.ts';
import { readKeys, takeKeys } from './accounts/client-keys.ts';
import { emit } from './print.ts';
import { confirm } from './prompt.ts';
import { addToken } from './serve.ts';

export interface ClientOptions {
  json?: boolean;
  yes?: boolean;
  /** Store the keys of the clients in a 0600 file. */
  file?: boolean;
}

/**
 * Shows what would change in the configuration of the clients, and changes it after a yes.
 * @throws WrapError `not-on-path`, and those of `takeKeys` and `readKeys`
 */
export async function changeClients(put: boolean, options: ClientOptions, context: Context): Promise<void> {
  const program = findOnPath(NAME, context.env.PATH ?? '');
  if (put && !program) {
    throw new WrapError('not-on-path', EXIT.noInput, `${NAME} is not on PATH, so clients could not start it`, {
      hint: 'install Culvert, or add its directory to PATH',
    });
  }
  const catalog = loadCatalog(context.catalog, context.paths.userCatalog);
  const originals = readOriginals(context.paths);
  /** Keys to take, or references to keys that return, with their tools. */
  const found = new Map<string, string>();
  const swapKey: Wanted['swapKey'] = (text, cli) => {
    if (put ? isKey(text) : accountIn(text)) found.set(text, cli);
    return text;
  };
  const doorOf: Wanted['doorOf'] = (cli, original) => {
    withKeys(original, text => swapKey(text, cli));
    return shownDoor();
  };
  const wanted = { program: put ? program : undefined, doorOf, swapKey, originals };
  const changes = planChanges(wanted, catalog, context);
  const possible = changes.filter(({ text }) => text !== undefined);
  if (!options.json) process.stdout.write(describe(changes, put));
  const isWanted =
    options.yes || (possible.length > 0 && isatty(0) && isatty(2) && (await confirm('Change it? [y/N] ')));
  const plan = { wanted, possible, found, catalog };
  if (isWanted) await (put ? putIn(plan, options, context) : restore(plan, context));
  const files = changes.map(({ client, file, servers, text }) => ({
    client,
    file,
    servers: servers.map(({ server, before, after }) => ({ server, before, after })),
    changed: isWanted === true && text !== undefined,
  }));
  if (options.json) emit(true, { files }, '');
  else if (possible.length > 0)
    say(isWanted ? 'changed; restart the clients' : 'nothing was changed; --yes changes it');
}

interface Plan {
  wanted: Wanted;
  possible: readonly FileChange[];
  found: ReadonlyMap<string, string>;
  catalog: Catalog;
}

/** Changes the files, once accounts hold the keys. */
async function putIn(
  { wanted, possible, found, catalog }: Plan,
  options: ClientOptions,
  context: Context,
): Promise<void> {
  const keys = await takeKeys(found, options, catalog, context);
  const ports = await portsFor(possible, context);
  const doorOf: Wanted['doorOf'] = (cli, original) => {
    const kept = withKeys(original, text => keys.get(text)?.reference ?? text);
    return openDoor(cli, kept, ports[cli]!, { catalog, context });
  };
  const swapKey: Wanted['swapKey'] = (text, cli) => {
    const { reference = text, reads } = keys.get(text) ?? {};
    if (reads === undefined) return reference;
    say(
      `a key of ${cli} stays with its client: ${accountIn(reference)!.name} reads it from ${reads}, which the client sets`,
    );
    return text;
  };
  for (const change of planChanges({ ...wanted, doorOf, swapKey }, catalog, context)) applyChange(change);
}

/** Restores the files, with the keys that accounts hold. */
async function restore({ wanted, possible, found, catalog }: Plan, context: Context): Promise<void> {
  const restored = possible.flatMap(({ servers }) =>
    servers.flatMap(each => ('cli' in each ? (each.digest ?? []) : [])),
  );
  const inOriginals = restored.flatMap(digest => [wanted.originals[digest]!.inUrl, wanted.originals[digest]!.inHeader]);
  const references = new Set([...found.keys(), ...inOriginals.filter(text => accountIn(text))]);
  const keys = await readKeys(references, catalog, context);
  const swapKey = (text: string) => keys.get(text) ?? text;
  const entries = Object.entries(wanted.originals).map(([digest, kept]) => [digest, withKeys(kept, swapKey)] as const);
  for (const change of planChanges({ ...wanted, originals: Object.fromEntries(entries), swapKey }, catalog, context)) {
    applyChange(change);
    for (const reference of references) {
      if (keys.has(reference) || !change.text?.includes(reference)) continue;
      const { cli, name } = accountIn(reference)!;
      say(`${change.file}: there is no account "${name}" of ${cli} anymore; write its key in place of ${reference}`);
    }
  }
  forgetOriginals(context.paths, restored);
}

/** The ports of the gateways that servers over HTTP get. */
async function portsFor(changes: readonly FileChange[], context: Context): Promise<Record<string, number>> {
  const clis = changes.flatMap(({ servers }) => servers.flatMap(each => ('cli' in each ? each.cli : [])));
  const ports: Record<string, number> = {};
  for (const cli of new Set(clis)) ports[cli] = await portOf(cli, undefined, context);
  return ports;
}

/** Makes a token for a server over HTTP, and keeps what it replaces. */
function openDoor(
  cli: string,
  original: Original,
  port: number,
  { catalog, context }: { catalog: Catalog; context: Context },
): Door {
  const token = `mcp-${randomHex(3)}`;
  const http = httpOf({ cli, provider: providerOf(catalog, cli) });
  const placeholder = addToken(cli, token, {}, { http, context });
  keepOriginal(context.paths, sha256(placeholder), { ...original, cli, token });
  return { url: urlOf(port), placeholder };
}

/** The differences, as lines of a diff. */
function describe(changes: readonly FileChange[], put: boolean): string {
  if (changes.length === 0)
    return `No client uses a server ${put ? 'of the catalog directly' : 'through culvert-wrap'}.\n`;
  return changes
    .map(({ file, servers, text }) => {
      const lines = servers.flatMap(each => [
        `  ${each.server}`,
        `- ${JSON.stringify(each.before)}`,
        `+ ${JSON.stringify(each.after)}`,
        ...(put ? notesOn(each) : []),
      ]);
      const why = servers.length === 0 ? 'comments' : 'a layout of its own';
      if (text === undefined) lines.push(`  It has ${why}: change it by hand.`);
      return `${file}\n${lines.join('\n')}\n`;
    })
    .join('\n');
}

function notesOn(change: FileChange['servers'][number]): string[] {
  if ('cli' in change)
    return [
      `  It needs the gateway: culvert-wrap serve ${change.cli} --install`,
      `  Its key moves to an account of ${change.cli}, and back with \`mcp uninstall\`.`,
    ];
  if (change.keys.length === 0) return [];
  return [`  Its ${change.keys.join(', ')} moves to an account of ${change.tool}, and back with \`mcp uninstall\`.`];
}
