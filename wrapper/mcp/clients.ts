// Plans and makes the changes in the files of MCP clients: values change in place, and what can't change is named.
import { realpathSync, statSync } from 'node:fs';
import { isOneOf, reason } from '../../daemon/core/errors.ts';
import { readRegular } from '../../daemon/core/files.ts';
import { sha256 } from '../../daemon/core/hash.ts';
import { isRecord, isText } from '../../daemon/core/shape.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Provider } from '../catalog/provider.ts';
import type { Context } from '../context.ts';
import { readConfig } from '../store/config.ts';
import { referenceTo } from '../store/key-texts.ts';
import { pointToLogin } from '../store/logins.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { writeAtomic } from '../system/files.ts';
import { openClientFile, tablesAt } from './client-content.ts';
import { type ClientFile, clientFiles } from './client-list.ts';
import type { Configuration } from './documents/document.ts';
import { type Change, changeEntry, shownDoor, type Table, type Wanted } from './entry-change.ts';
import { type UsualEntry, usualEntry } from './entry-form.ts';
import { digestOf, digestOfLine, type Kept, NO_ADDRESS, type Originals } from './record.ts';
import { PLACEHOLDER } from './remote.ts';
import { withoutKeys } from './shared-entry.ts';

/** The code of a document that would need another layout. */
const LAYOUT = { layout: true };

/** A server with a change of its command line or address. */
type ServerChange = { server: string } & Change;

/** The reason why an entry, or a key in it, stays unchanged. */
interface Left {
  server: string;
  why: string;
  /** Lines for the entry, where only the user can change it. */
  lines?: string[];
}

/** Changes of one file. */
export interface FileChange {
  client: string;
  file: string;
  /** True if other people share the file, such as the authors of a repository. */
  isShared: boolean;
  servers: ServerChange[];
  left: Left[];
  /** The file's content that the change was planned for. Missing if the file could not be read. */
  read?: Buffer;
  /** The file's new text, if it changes. */
  text: string | undefined;
  /** Why the file could not be read. */
  unread?: string;
}

/** All changes, and the numbers of files that were looked for and that exist. */
export interface ClientPlan {
  changes: FileChange[];
  looked: number;
  found: number;
}

/**
 * Returns the changes of files.
 * @param only the files to plan; all without it
 */
export function planChanges(
  wanted: Wanted,
  catalog: Pick<Catalog, 'providers'>,
  context: Pick<Context, 'env' | 'cwd' | 'paths'>,
  only?: ReadonlySet<string>,
): ClientPlan {
  const files = filesOf(wanted.originals, catalog, context).filter(
    ({ file, isListed, isShared }) =>
      (isListed || !isShared || wanted.program === undefined) && (only?.has(file) ?? true),
  );
  let found = 0;
  const changes = files.flatMap(file => {
    const change = planChange(file, wanted, catalog);
    if (change) found += 1;
    const isAny = change && (change.servers.length > 0 || change.left.length > 0 || change.unread !== undefined);
    return isAny ? [change] : [];
  });
  return { changes, looked: files.length, found };
}

/** Returns the files of all clients, including those that a record names. */
export function filesOf(
  originals: Originals,
  catalog: Pick<Catalog, 'providers'>,
  context: Pick<Context, 'env' | 'cwd' | 'paths'>,
): ClientFile[] {
  return clientFiles(context, loginsOf(catalog, context), Object.values(originals));
}

/** Returns the clients with an account that is a login in a directory: they read their file of servers there. */
function loginsOf({ providers }: Pick<Catalog, 'providers'>, { env, paths }: Pick<Context, 'env' | 'paths'>) {
  return readConfig(paths.config).accounts.flatMap(account => {
    const provider = Object.hasOwn(providers, account.cli) ? providers[account.cli] : undefined;
    if (account.login === undefined || provider?.login?.kind !== 'directory') return [];
    const own = { ...env };
    pointToLogin(own, provider, account);
    return [{ client: account.cli, env: own }];
  });
}

/** Returns the changes of a file, perhaps none, or `undefined` without the file. */
function planChange(file: ClientFile, wanted: Wanted, catalog: Pick<Catalog, 'providers'>): FileChange | undefined {
  const change: FileChange = { ...identityOf(file), servers: [], left: [], text: undefined };
  let document: Configuration;
  try {
    const opened = openClientFile(file);
    if (!opened) return isAwaited(file, wanted) ? { ...change, unread: MISSING } : undefined;
    change.read = opened.read;
    document = opened.document;
  } catch (error) {
    return { ...change, unread: reason(error) };
  }
  for (const place of file.places) {
    for (const { path, entries } of tablesAt(document.value, place)) {
      for (const [server, entry] of Object.entries(entries)) {
        if (!isRecord(entry)) continue;
        if (file.isShared && wanted.program !== undefined && !wanted.isAllowed(server, file.file)) continue;
        const leave: Table['leave'] = (_, why, line) => {
          const { fields, back } = usualEntry(entry, file.fields);
          const form = { fields: { ...fields, ...line }, back };
          const lines = line && linesFor(document, form, catalog.providers[line.cli]);
          change.left.push({ server, why, ...(lines && { lines }) });
        };
        const made = changeIn(document, { server, entry }, { ...wanted, catalog, file, path, leave });
        if (!made) continue;
        if ('document' in made) {
          document = made.document;
          change.servers.push(made.change);
        } else change.left.push(made);
      }
    }
  }
  return change.servers.length > 0 ? { ...change, text: document.text } : change;
}

/** Why a file is not read that a record needs. */
const MISSING =
  'it is missing, and `mcp install` changed it; if it is gone for good, an empty file in its place has that forgotten';

/** Reports whether a missing file may come back with entries to restore, as after a mount. */
function isAwaited({ names }: ClientFile, { program, originals }: Wanted): boolean {
  return program === undefined && Object.values(originals).some(({ file }) => names.includes(file));
}

function identityOf({ client, file, isShared }: ClientFile): Pick<FileChange, 'client' | 'file' | 'isShared'> {
  return { client, file, isShared };
}

interface Named {
  server: string;
  entry: Record<string, unknown>;
}

/** Changes one entry in a file's text, or returns lines for the user to write. */
function changeIn(
  document: Configuration,
  { server, entry }: Named,
  table: Table,
): { document: Configuration; change: ServerChange } | Left | undefined {
  const path = [...table.path, server];
  if (table.program !== undefined) {
    // an install stores keys and opens gateways, so a trial comes first
    const why = whyNotBack(document, { server, entry }, table);
    if (why !== undefined) return byHand(document, { server, entry }, { table, why });
  }
  const form = usualEntry(structuredClone(entry), table.file.fields);
  const changed = changeEntry(server, form.fields, table);
  if (!changed) return undefined;
  try {
    return { document: document.replace(path, form.back(form.fields)), change: { server, ...changed } };
  } catch (error) {
    if (!isOneOf(LAYOUT, error)) throw error;
    return byHand(document, { server, entry }, { table, why: error.message });
  }
}

/**
 * Tries an install and its removal with stand-ins for keys, accounts and gateways.
 * @returns why the entry can't be changed and restored byte for byte, or `undefined` if it can or does not change
 */
function whyNotBack(document: Configuration, { server, entry }: Named, table: Table): string | undefined {
  const path = [...table.path, server];
  const standIns = new StandIns();
  const first = usualEntry(structuredClone(entry), table.file.fields);
  if (!changeEntry(server, first.fields, { ...table, ...standIns.wanted, leave: () => {} })) return undefined;
  try {
    const changed = document.replace(path, first.back(first.fields));
    const now = path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), changed.value);
    if (!isRecord(now)) return 'its entry would not be found again';
    const removal = { ...table, program: undefined, swapKey: standIns.back, leave: () => {} };
    const restored = (from: Configuration, named: Record<string, unknown>, originals: Originals) => {
      const form = usualEntry(structuredClone(named), table.file.fields);
      const isRestored = changeEntry(server, form.fields, { ...removal, originals }) !== undefined;
      return isRestored ? from.replace(path, form.back(form.fields)).text : from.text;
    };
    const { originals } = table;
    // an earlier install may have changed the entry already
    const isSame =
      restored(changed, now, { ...originals, ...standIns.originals }) === restored(document, entry, originals);
    return isSame ? undefined : 'its layout could not be restored';
  } catch (error) {
    if (isOneOf(LAYOUT, error)) return error.message;
    throw error;
  }
}

/** Stand-ins for gateways and accounts, which need no storage. */
class StandIns {
  readonly originals: Originals = {};
  readonly #texts = new Map<string, string>();
  #count = 0;

  readonly wanted: Pick<Wanted, 'doorOf' | 'swapKey' | 'referenceFor' | 'keepProgram'> = {
    doorOf: (cli, original, file) => {
      const placeholder = `culvert-wrap-${++this.#count}`;
      this.#keep(sha256(placeholder), { ...original, cli, file: file.file, token: '' });
      return { url: 'http://127.0.0.1:20000', placeholder };
    },
    swapKey: (text, cli, place, file) => this.#reference(text, cli, place, { file: file.file }),
    referenceFor: (asked, cli, place, file) => this.#reference(asked, cli, place, { file: file.file, asked }),
    keepProgram: (program, cli, place, file) =>
      this.#keep(digestOfLine(place), { ...NO_ADDRESS, program, cli, file: file.file }),
  };

  /** Returns the text that a stand-in replaced. */
  readonly back = (text: string): string => this.#texts.get(text) ?? text;

  #reference(text: string, cli: string, place: readonly string[], more: Pick<Kept, 'file' | 'asked'>): string {
    const reference = referenceTo({ cli, name: `trial-${++this.#count}` });
    this.#texts.set(reference, text);
    this.#keep(digestOf(place), { ...NO_ADDRESS, ...more, cli, inHeader: reference });
    return reference;
  }

  #keep(digest: string, kept: Kept): void {
    this.originals[digest] = kept;
  }
}

/** Returns the lines that the user has to write for an entry, without keys. */
function byHand(
  document: Configuration,
  { server, entry }: Named,
  { table, why }: { table: Table; why: string },
): Left {
  const form = usualEntry(structuredClone(entry), table.file.fields);
  const nothing = () => undefined;
  const shownOnly = {
    doorOf: shownDoor,
    swapKey: nothing,
    referenceFor: nothing,
    keepProgram: nothing,
    leave: nothing,
  };
  const changed = changeEntry(server, form.fields, { ...table, ...shownOnly });
  const provider = changed && table.catalog.providers['cli' in changed ? changed.cli : changed.tool];
  if (!changed || !provider) return { server, why, lines: [] };
  const after: Record<string, unknown> = { ...changed.after };
  if (!isText(form.fields.command)) return { server, why, lines: document.linesFor(form.back(after)) };
  // an address in the arguments leaves the command as it is
  const back: UsualEntry['back'] = ({ command, args }) =>
    after.command === undefined ? { args } : form.back({ command, args });
  return { server, why, lines: linesFor(document, { fields: form.fields, back }, provider) };
}

/** A word that may be a key, although it stands in no place for keys. */
const LIKE_KEY = /(?=[\w-]*\d)[\w-]{16,}/;

/** Returns lines for a command line, in the client's form: with all words that are no keys. */
function linesFor(document: Configuration, { fields, back }: UsualEntry, provider: Provider | undefined): string[] {
  if (!provider) return [];
  const { command, args = [] } = fields;
  const words = Array.isArray(args) ? args.filter(isText) : [];
  const { args: hidden } = withoutKeys({ args: words }, provider);
  const shown = words.map((word, index) => {
    if (word.includes(PLACEHOLDER)) return word;
    const plain = Array.isArray(hidden) ? String(hidden[index]) : '***';
    return LIKE_KEY.test(plain) ? '***' : plain;
  });
  return document.linesFor(back({ command, args: shown }));
}

/**
 * Writes a changed file through symlinks, and keeps its mode.
 * @returns false if a client has changed the file since it was read: what the client wrote would be lost
 */
function applyChange({ file, read, text }: Pick<FileChange, 'file' | 'read' | 'text'>): boolean {
  if (text === undefined) return true;
  const target = realpathSync(file);
  const mode = statSync(target).mode & 0o777;
  if (read && readRegular(target)?.equals(read) !== true) return false;
  writeAtomic(target, text, mode);
  return true;
}

/** Plans of one file, while a client keeps writing it. */
const MAX_PLANS = 5;

/**
 * Plans changes and writes them, and plans a file again if a client has changed it in between. A file that can't be written does
 * not keep the others from their changes.
 * @param plan returns the changes of these files, or of all
 * @throws WrapError `changed-meanwhile`, `not-stored`: of the first file that was not changed, after the others
 */
export function applyChanges(plan: (only?: ReadonlySet<string>) => FileChange[]): FileChange[] {
  const failures: WrapError[] = [];
  const changes = plan().map(planned => {
    try {
      return applyOne(planned, plan);
    } catch (error) {
      if (!(error instanceof WrapError)) throw error;
      failures.push(error);
      return unchanged(planned);
    }
  });
  const [first, ...others] = failures;
  for (const { message } of others) say(message);
  if (first) throw first;
  return changes;
}

/** @throws WrapError `changed-meanwhile`, `not-stored` */
function applyOne(planned: FileChange, plan: (only: ReadonlySet<string>) => FileChange[]): FileChange {
  let change: FileChange | undefined = planned;
  for (let count = 1; change && !applyChange(change); count++) {
    if (count === MAX_PLANS)
      throw new WrapError(
        'changed-meanwhile',
        EXIT.tempFail,
        `${planned.file} was not changed: a client keeps writing it`,
        {
          hint: `close ${planned.client}, then repeat this`,
        },
      );
    [change] = plan(new Set([planned.file]));
  }
  return change ?? unchanged(planned);
}

function unchanged(planned: FileChange): FileChange {
  return { ...planned, servers: [], left: [], text: undefined };
}
