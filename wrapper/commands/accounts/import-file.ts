// Reads a file of accounts for `accounts import`: TOML, JSON, or a `.env` file.
import { basename, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import * as z from 'zod/mini';
import { errno, reason } from '../../../daemon/core/errors.ts';
import { readOptional } from '../../../daemon/core/files.ts';
import { isRecord } from '../../../daemon/core/shape.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Provider } from '../../catalog/provider.ts';
import { Account } from '../../store/config.ts';
import { keysIn, nameOf, oddityIn, referenceIn } from '../../store/key-texts.ts';
import { envLines } from '../../store/secrets.ts';
import { EXIT, say, WrapError } from '../../system/errors.ts';
import { explainIssues } from '../../system/explain-issues.ts';

/** The accounts of a configuration, where `secrets` may hold credentials themselves; they are stored, not copied. */
const ImportFile = z.strictObject({
  accounts: z
    .array(z.extend(Account, { secrets: z._default(z.record(z.string(), z.string()), {}) }))
    .check(z.minLength(1, 'at least one [[accounts]] table')),
});
export type ImportedAccount = z.infer<typeof ImportFile>['accounts'][number];

export interface ImportOptions {
  json?: boolean;
  /** Store credentials in a 0600 file. */
  file?: boolean;
  /** Have the accounts refer to a `.env` file instead of storing its keys. */
  reference?: boolean;
  /** Only say what would be done. */
  check?: boolean;
  /** Ask each credential's provider before anything is stored. */
  probe?: boolean;
  /** Instead of a file: the credentials that upstream CLIs keep for themselves. */
  stored?: boolean;
  /** For a `.env` file or `stored`: the CLI whose credentials are wanted, and the account's name. */
  cli?: string;
  name?: string;
}

/**
 * The accounts of a file: TOML or JSON with a table for each, a `.env` file, or keys of one tool, one a line. What only stands for a
 * key is left out, with a line that says so.
 * @throws WrapError `import-unreadable`, `usage`
 */
export function readImport(file: string, options: ImportOptions, catalog: Catalog): ImportedAccount[] {
  const text = readFile(file);
  if (isEnvFile(file, text)) return fromEnvFile(file, text, options, catalog);
  if (options.reference) {
    throw new WrapError('usage', EXIT.usage, `--reference is for .env files, which ${file} is not`, {
      hint: 'in TOML and JSON, write env = { VARIABLE = "file:PATH#KEY" }',
    });
  }
  if (isListOfKeys(text, options)) return fromLines(file, text, options, catalog);
  let raw: unknown;
  try {
    raw = text.trimStart().startsWith('{') ? JSON.parse(text) : parse(text);
  } catch (error) {
    // A parser's message quotes the place, which may be a key.
    const line = error instanceof TomlError ? ` (line ${error.line})` : '';
    throw unreadable(file, `it is neither TOML nor JSON${line}`);
  }
  // its own names may be keys
  if (!isRecord(raw) || !Object.hasOwn(raw, 'accounts')) throw unreadable(file, 'it has no table "accounts"');
  const parsed = ImportFile.safeParse(raw);
  if (!parsed.success) throw unreadable(file, explainIssues(parsed.error, text));
  const accounts = parsed.data.accounts.flatMap(account => fromTable(file, account, catalog));
  if (accounts.length === 0) throw unreadable(file, 'no account is left');
  return accounts;
}

/** The accounts of a table: several where its only variable holds a list, and none where it only stands for a key. */
function fromTable(file: string, account: ImportedAccount, { providers }: Catalog): ImportedAccount[] {
  const variables = Object.entries(account.secrets);
  const known = providers[account.cli];
  const where = `${account.cli} "${account.name}"`;
  const parts = variables.flatMap(([variable, value]) => partsOf(value, variable, known));
  // the file holds accounts only, so an odd text is a mistake
  const odd = parts.find(({ reference, oddity }) => reference === undefined && oddity !== undefined);
  if (odd) throw unreadable(file, `${where}: ${odd.oddity}`);
  const held = variables.map(([variable, value]) => [variable, keysHeld(value, variable, where, known)] as const);
  if (held.some(([, keys]) => keys.length === 0)) return [];
  const [[variable, keys = []] = ['']] = held;
  if (held.length === 1 && keys.length > 1)
    return keys.map((key, index) => ({ ...account, name: nameOf(account.name, index), secrets: { [variable]: key } }));
  const list = held.find(([, each]) => each.length > 1)?.[0];
  if (list !== undefined)
    throw unreadable(file, `${where}: ${list} holds several keys, and the account has other variables`);
  return [{ ...account, secrets: Object.fromEntries(held.map(([name, [key = '']]) => [name, key])) }];
}

/** Most names in one line about omitted variables. */
const MOST_NAMES = 20;

/** Nothing but one word a line, and comments. Lines that are no words may be among them where the tool is named. */
function isListOfKeys(text: string, { cli }: ImportOptions): boolean {
  const lines = linesIn(text).map(([, line]) => line);
  const isWord = (line: string) => /^[\x21-\x7e]+$/.test(line);
  if (lines.some(line => /^[[{}\]]|^[\w.-]+\s*=\s*["'[{]/.test(line))) return false;
  return lines.length > 0 && (cli === undefined ? lines.every(isWord) : lines.some(isWord));
}

/** The lines that hold something, by number, without their comments. */
function linesIn(text: string): [number: number, line: string][] {
  return text
    .split('\n')
    .map((line, index): [number, string] => [index + 1, line.replace(/(?:^|\s)\s*#.*$/, '').trim()])
    .filter(([, line]) => line !== '');
}

/** Keys of one tool, one a line. */
function fromLines(file: string, text: string, options: ImportOptions, catalog: Catalog): ImportedAccount[] {
  if (/^-----BEGIN /m.test(text)) throw unreadable(file, 'it holds a certificate or a private key, not keys of a tool');
  const { cli, name = 'main' } = options;
  const provider = cli === undefined ? undefined : catalog.providers[cli];
  const variable = provider?.inject[0];
  if (cli === undefined || variable === undefined)
    throw new WrapError('usage', EXIT.usage, `${file} holds keys, and not of which tool`, {
      hint: 'name the tool: --cli firecrawl',
    });
  const keys = linesIn(text).flatMap(([number, line]) =>
    keysHeld(line, variable, `line ${number} of ${file}`, provider),
  );
  if (keys.length === 0) throw unreadable(file, 'no key is left');
  return [...new Set(keys)].map((key, index) => accountOf(cli, nameOf(name, index), { [variable]: key }));
}

function accountOf(cli: string, name: string, secrets: Record<string, string>): ImportedAccount {
  return { cli, name, enabled: true, env: {}, secrets };
}

/** A part of a text: a key, or what only stands for one (`reference`) or looks like no key (`oddity`), each with its reason. */
interface Part {
  key: string;
  reference: string | undefined;
  oddity: string | undefined;
}

function partsOf(text: string, variable: string, provider: Provider | undefined): Part[] {
  const prefix = provider?.http?.key_prefix ?? '';
  const keys = keysIn(text, variable, prefix).map(key => key.replace(/^(["'])(.+)\1$/, '$2'));
  const parts = keys.map(key => ({ key, reference: referenceIn(key), oddity: oddityIn(key, variable) }));
  const isWord = (key: string) => !/\d/.test(key) && (prefix === '' || !key.startsWith(prefix));
  // a line of a table: `production,fc-…`
  const isTable = keys.length > 1 && parts.some(({ key, ...why }) => !(why.reference ?? why.oddity) && isWord(key));
  const word = 'a word in it has no digit, as keys have; write the keys alone';
  return isTable ? parts.map(({ key }) => ({ key, reference: undefined, oddity: word })) : parts;
}

/** The keys that a text holds, with a line about each part that is no key or only stands for one. */
function keysHeld(text: string, variable: string, where: string, provider: Provider | undefined): string[] {
  const parts = partsOf(text, variable, provider);
  const reasons = new Set(parts.map(({ reference, oddity }) => reference ?? oddity));
  for (const why of reasons) if (why !== undefined) say(`${where} is left out: ${why}`);
  return parts.filter(({ reference, oddity }) => (reference ?? oddity) === undefined).map(({ key }) => key);
}

/** The text of a file with LF at line ends, and without the byte order mark of some editors. */
function readFile(file: string): string {
  let text: string | undefined;
  try {
    text = readOptional(file);
  } catch (error) {
    throw unreadable(file, errno(error) === 'EISDIR' ? 'it is a directory' : reason(error));
  }
  if (text === undefined) throw unreadable(file, 'there is no such file');
  // UTF-16, as some editors and shells write it
  if (/^\uFFFD|\0/.test(text)) throw unreadable(file, 'it is not UTF-8; save it with that encoding');
  const lines = text.replace(/^\uFEFF/, '').replace(/\r\n/g, '\n');
  if (lines.includes('\r')) throw unreadable(file, 'some of its lines end with CR; save it with LF at their ends');
  return lines;
}

/** `KEY=value`, but not a key that contains `=` as padding: messages show the name of a variable, and never a key. */
const ASSIGNMENT = /^(?!(?=[\w.]*[a-z])(?=[\w.]*\d)[\w.]{20,}=)(?:export\s+)?[\w/:.]+\s*=/;

/** A file named like `.env` or `keys.env`, or with at least one line of that form. */
function isEnvFile(file: string, text: string): boolean {
  if (/^\s*\{|^\s*\[\[/m.test(text)) return false;
  const lines = linesIn(text).map(([, line]) => line);
  if (!/(?:^|\.)env(?:\.|$)/.test(basename(file)))
    return lines.some(line => /^(?:export\s+)?[A-Z][A-Z\d]*_[A-Z\d_]*\s*=/.test(line));
  return lines.some(line => ASSIGNMENT.test(line)) || !isListOfKeys(text, {});
}

/** The text of a `.env` file with a list on one line each, and without the lines that set nothing, which are named. */
function settingsIn(file: string, text: string): string {
  const lines = joinTexts(joinLists(text), file).split('\n');
  const odd = lines.flatMap((line, index) => (/^\s*(?:#|$)/.test(line) || ASSIGNMENT.test(line.trim()) ? [] : [index]));
  for (const index of odd.slice(0, MOST_NAMES)) say(`line ${index + 1} of ${file} is left out: it is not NAME=value`);
  if (odd.length > MOST_NAMES)
    say(`${odd.length - MOST_NAMES} more lines of ${file} are left out: they are not NAME=value`);
  return lines.filter((_, index) => !odd.includes(index)).join('\n');
}

/**
 * Accounts for the variables that the catalog knows: `FIRECRAWL_API_KEY`, and `FIRECRAWL_API_KEY_TEAM_B` for the account
 * `team-b`; `EXA_API_KEY_2`, `EXA_API_KEY2` and lists. On request they refer to the file, so that nothing is copied and a changed key is
 * seen. What looks like one of these variables and is left out is named.
 */
function fromEnvFile(file: string, text: string, options: ImportOptions, catalog: Catalog): ImportedAccount[] {
  const path = resolve(file);
  const settings = settingsIn(file, text);
  const lines = envLines(settings);
  const accounts = new Map<string, ImportedAccount>();
  const named = new Set<string>();
  for (const key of repeatedIn(settings)) say(`${key} is in ${file} several times; only the last one counts`);
  for (const [cli, provider] of Object.entries(catalog.providers)) {
    if (options.cli !== undefined && options.cli !== cli) continue;
    for (const variable of provider.inject) {
      for (const [key, value] of lines) {
        const base = accountIn(key, variable, options.name ?? 'main');
        const where = `${key} in ${file}`;
        if (base === undefined) {
          if (provider.credentials.includes(key) || !looksLike(key, variable, catalog)) continue;
          named.add(key);
          say(`${where} looks like ${variable} and is left out; ${toHave(variable, cli)}`);
          continue;
        }
        named.add(key);
        if (ABOUT_KEY.test(key) && key !== variable) {
          say(`${where} is left out: by its name, it says something about a key`);
          continue;
        }
        if (value.trim() === '') {
          say(`${where} is empty and is left out`);
          continue;
        }
        const keys = keysHeld(value, variable, where, provider);
        if (options.reference && (keys.length > 1 || (keys[0] ?? value) !== value)) {
          const what = keys.length > 1 ? 'several keys' : 'more than a key';
          say(`${where} holds ${what} and is left out: an account refers to one, on a line of its own`);
          continue;
        }
        for (const own of keys) {
          const name = freeName(base, each => {
            const { env, secrets } = accounts.get(`${cli} ${each}`) ?? { env: {}, secrets: {} };
            return !Object.hasOwn({ ...env, ...secrets }, variable);
          });
          const account = accounts.get(`${cli} ${name}`) ?? accountOf(cli, name, {});
          if (options.reference) account.env[variable] = `file:${path}#${key}`;
          else account.secrets[variable] = own;
          accounts.set(`${cli} ${name}`, account);
        }
      }
    }
  }
  const others = [...lines.keys()].filter(key => !named.has(key));
  if (others.length > 0) say(describeOthers(others, file, options));
  if (accounts.size > 0) return [...accounts.values()];
  const variables = [...new Set(Object.values(catalog.providers).flatMap(({ inject }) => inject))];
  throw unreadable(file, `it sets none of ${variables.join(', ')} to a key`);
}

/** Ends of variables that describe a key: `EXA_API_KEY_FILE`, `EXA_API_KEY_EXPIRES`. */
const ABOUT_KEY =
  /_(?:FILE|PATH|URL|URI|ID|NAME|EXPIR\w*|CREATED\w*|ENABLED|DISABLED|LIMIT|COUNT|TYPE|HEADER|PREFIX|COMMAND|CMD|VERSION|REGION|HOST)$/i;

/** The first name of `main`, `main-2`, `main-3` that is free. */
function freeName(base: string, isFree: (name: string) => boolean): string {
  for (let index = 0; ; index++) if (isFree(nameOf(base, index))) return nameOf(base, index);
}

function toHave(variable: string, cli: string): string {
  return /^\w+$/.test(variable)
    ? `name it ${variable}_NAME to have it as an account`
    : `\`culvert-wrap accounts add ${cli} NAME\` makes an account of it`;
}

function repeatedIn(text: string): Set<string> {
  const keys = text.split('\n').flatMap(line => /^\s*(?:export\s+)?(\w+)\s*=/.exec(line)?.[1] ?? []);
  return new Set(keys.filter((key, index) => keys.indexOf(key) !== index));
}

/** The variables left out of a file, with the reason. Names that may hold a key come first. */
function describeOthers(keys: readonly string[], file: string, { cli }: ImportOptions): string {
  const ordered = [...keys.filter(isOfKey), ...keys.filter(key => !isOfKey(key))];
  const more = ordered.length > MOST_NAMES ? ` and ${ordered.length - MOST_NAMES} more` : '';
  const who = cli === undefined ? 'no tool of the catalog has' : `${cli} does not have`;
  const names = `${ordered.slice(0, MOST_NAMES).join(', ')}${more}`;
  return `left out of ${file}, because ${who} its key in a variable of that name: ${names}`;
}

function isOfKey(name: string): boolean {
  return /(?:^|_)(?:api)?(?:key|token|secret|pat)s?(?:_\w+|\d+)?$/i.test(name);
}

/** The account that a variable of a file is for; `undefined` for another variable. */
function accountIn(key: string, variable: string, main: string): string | undefined {
  if (key === variable || key === `${variable}S`) return main;
  if (!key.startsWith(variable)) return undefined;
  const [, suffix] = /^_(.+)$|^(\d+)$/.exec(key.slice(variable.length))?.filter(part => part !== undefined) ?? [];
  // `KEY__3` is the account `3`, as `KEY_3` is
  return (
    suffix
      ?.toLowerCase()
      .replace(/^_+|_+$/g, '')
      .replace(/_+/g, '-') || undefined
  );
}

/** Reports whether a name holds that of a variable: `TEAM_B_EXA_API_KEY`. */
function looksLike(key: string, variable: string, { providers }: Catalog): boolean {
  const isOther = Object.values(providers).some(({ inject }) => inject.some(each => key.startsWith(each)));
  return (
    !isOther &&
    (isAliasOf(key, variable) ||
      key
        .split(`_${variable}`)
        .slice(1)
        .some(rest => /^(?:S?$|_|\d)/.test(rest)))
  );
}

/** Reports whether a name begins as a variable does and is one for a key: `FIRECRAWL_KEY`, `NETLIFY_TOKEN`, `NPM_TOKEN`. */
function isAliasOf(key: string, variable: string): boolean {
  const [start = ''] = variable.split('_');
  return start.length > 2 && key.toUpperCase().startsWith(`${start.toUpperCase()}_`) && isOfKey(key);
}

/** Values in quotes over several lines become lists on one, where they are of variables for keys. The lines after keep their numbers. */
function joinLists(text: string): string {
  return text.replace(
    /^(\s*(?:export\s+)?\w*(?:key|token)s?(?:_\w+)?\s*=\s*)(["'])([^"']*)\2(?=[ \t]*[;,]?[ \t]*(?:#.*)?$)/gim,
    (_, start: string, quote: string, list: string) =>
      `${start}${quote}${list.trim().replace(/\s*\n\s*/g, ',')}${quote}${list.replace(/[^\n]/g, '')}`,
  );
}

/** Joins quoted values of several lines, such as certificates. A line within one sets nothing. */
function joinTexts(text: string, file: string): string {
  return text.replace(
    /^([ \t]*(?:export\s+)?(\w+)\s*=[ \t]*)(["'])([^"'\n]*\n[^"']*)\3(?=[ \t]*(?:#.*)?$)/gm,
    (whole: string, ...[start, name, quote, value, at]: [string, string, string, string, number]) => {
      const first = text.slice(0, at).split('\n').length;
      for (const [index, line] of value.split('\n').entries())
        if (index > 0 && ASSIGNMENT.test(line.trim()))
          say(`line ${first + index} of ${file} is left out: it is within the value of ${name}`);
      return `${start}${quote}${value.replace(/\n/g, ' ')}${quote}${whole.replace(/[^\n]/g, '')}`;
    },
  );
}

function unreadable(file: string, why: string): WrapError {
  return new WrapError('import-unreadable', EXIT.noInput, `${file} can't be imported: ${why}`, {
    hint: 'give a TOML or JSON file with [[accounts]] (cli, name, env or secrets), a .env file, or keys one a line with --cli',
  });
}
