// Reads accounts for `accounts import` from TOML, JSON, a `.env` file or a list of keys.
import { basename, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import * as z from 'zod/mini';
import { errno, reason } from '../../../daemon/core/errors.ts';
import { readOptional } from '../../../daemon/core/files.ts';
import { isRecord } from '../../../daemon/core/shape.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Provider } from '../../catalog/provider.ts';
import { Account } from '../../store/config.ts';
import { freeName, keysIn, nameOf, oddityIn, referenceIn } from '../../store/key-texts.ts';
import { envLines } from '../../store/secrets.ts';
import { EXIT, say, WrapError } from '../../system/errors.ts';
import { explainIssues } from '../../system/explain-issues.ts';

/** Accounts as in a configuration, with an additional field `secrets` for credentials, which the import stores. */
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
  /** Add accounts that refer to a `.env` file, without storing its keys. */
  reference?: boolean;
  /** Show the plan without changing anything. */
  check?: boolean;
  /** Test each credential with its provider before anything is stored. */
  probe?: boolean;
  /** Import the credentials that upstream CLIs have stored, instead of a file. */
  stored?: boolean;
  /** CLI and account name for a `.env` file, a list of keys or `stored`. */
  cli?: string;
  name?: string;
}

/**
 * Reads the accounts of a file: TOML or JSON with a table for each, a `.env` file, or a list with one key of a tool per line.
 * It leaves out placeholders and references to keys, with a message about each.
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
    // A parser's message quotes the faulty text, which may be a key.
    const line = error instanceof TomlError ? ` (line ${error.line})` : '';
    throw unreadable(file, `it is neither TOML nor JSON${line}`);
  }
  // the message leaves out the names in the file, because they may be keys
  if (!isRecord(raw) || !Object.hasOwn(raw, 'accounts')) throw unreadable(file, 'it has no table "accounts"');
  const parsed = ImportFile.safeParse(raw);
  if (!parsed.success) throw unreadable(file, explainIssues(parsed.error, text));
  const accounts = parsed.data.accounts.flatMap(account => fromTable(file, account, catalog));
  if (accounts.length === 0) throw unreadable(file, 'no account is left');
  return accounts;
}

/** Returns the accounts of a table: one for each key of its only variable, or none if a variable holds no key. */
function fromTable(file: string, account: ImportedAccount, { providers }: Catalog): ImportedAccount[] {
  const variables = Object.entries(account.secrets);
  const known = providers[account.cli];
  const where = `${account.cli} "${account.name}"`;
  const parts = variables.flatMap(([variable, value]) => partsOf(value, variable, known));
  // the file contains only accounts, so an unusual key is a mistake
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

/** Maximum number of omitted names in one message. */
const MAX_NAMES = 20;

/** Reports whether a text is a list of one word per line and comments. If the tool is given, one word is enough. */
function isListOfKeys(text: string, { cli }: ImportOptions): boolean {
  const lines = linesIn(text).map(([, line]) => line);
  const isWord = (line: string) => /^[\x21-\x7e]+$/.test(line);
  if (lines.some(line => /^[[{}\]]|^[\w.-]+\s*=\s*["'[{]/.test(line))) return false;
  return lines.length > 0 && (cli === undefined ? lines.every(isWord) : lines.some(isWord));
}

/** Returns the numbered lines that are not empty, without comments. */
function linesIn(text: string): [number: number, line: string][] {
  return text
    .split('\n')
    .map((line, index): [number, string] => [index + 1, line.replace(/(?:^|\s)\s*#.*$/, '').trim()])
    .filter(([, line]) => line !== '');
}

/** Reads a list with one key of a tool per line. */
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

/** A part of a text. If it is not a key, `reference` or `oddity` says why: it stands for a key, or doesn't look like one. */
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

/** Returns the keys in a text, and prints the reasons for leaving out the other parts. */
function keysHeld(text: string, variable: string, where: string, provider: Provider | undefined): string[] {
  const parts = partsOf(text, variable, provider);
  const reasons = new Set(parts.map(({ reference, oddity }) => reference ?? oddity));
  for (const why of reasons) if (why !== undefined) say(`${where} is left out: ${why}`);
  return parts.filter(({ reference, oddity }) => (reference ?? oddity) === undefined).map(({ key }) => key);
}

/** Reads a file, with line ends changed to LF, and without the byte order mark of some editors. */
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

/** Matches `KEY=value`, but not a key with `=` as padding, because messages show names of variables and must not show keys. */
const ASSIGNMENT = /^(?!(?=[\w.]*[a-z])(?=[\w.]*\d)[\w.]{20,}=)(?:export\s+)?[\w/:.]+\s*=/;

/** Reports whether a file is named like `.env` or `keys.env`, or has at least one line such as `EXA_API_KEY=…`. */
function isEnvFile(file: string, text: string): boolean {
  if (/^\s*\{|^\s*\[\[/m.test(text)) return false;
  const lines = linesIn(text).map(([, line]) => line);
  if (!/(?:^|\.)env(?:\.|$)/.test(basename(file)))
    return lines.some(line => /^(?:export\s+)?[A-Z][A-Z\d]*_[A-Z\d_]*\s*=/.test(line));
  return lines.some(line => ASSIGNMENT.test(line)) || !isListOfKeys(text, {});
}

/** Returns the text of a `.env` file with each value on one line. It leaves out lines that set nothing, and reports them. */
function settingsIn(file: string, text: string): string {
  const lines = joinTexts(joinLists(text), file).split('\n');
  const odd = lines.flatMap((line, index) => (/^\s*(?:#|$)/.test(line) || ASSIGNMENT.test(line.trim()) ? [] : [index]));
  for (const index of odd.slice(0, MAX_NAMES)) say(`line ${index + 1} of ${file} is left out: it is not NAME=value`);
  if (odd.length > MAX_NAMES)
    say(`${odd.length - MAX_NAMES} more lines of ${file} are left out: they are not NAME=value`);
  return lines.filter((_, index) => !odd.includes(index)).join('\n');
}

/**
 * Reads accounts from the variables in the catalog: `FIRECRAWL_API_KEY`, and `FIRECRAWL_API_KEY_TEAM_B` for the account
 * `team-b`; `EXA_API_KEY_2`, `EXA_API_KEY2` and lists. With `reference`, the accounts refer to the file, so each run reads the
 * current key. It reports the variables that it leaves out.
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

/** Matches names of variables that describe a key, such as `EXA_API_KEY_FILE` and `EXA_API_KEY_EXPIRES`. */
const ABOUT_KEY =
  /_(?:FILE|PATH|URL|URI|ID|NAME|EXPIR\w*|CREATED\w*|ENABLED|DISABLED|LIMIT|COUNT|TYPE|HEADER|PREFIX|COMMAND|CMD|VERSION|REGION|HOST)$/i;

function toHave(variable: string, cli: string): string {
  return /^\w+$/.test(variable)
    ? `name it ${variable}_NAME to have it as an account`
    : `\`culvert-wrap accounts add ${cli} NAME\` makes an account of it`;
}

function repeatedIn(text: string): Set<string> {
  const keys = text.split('\n').flatMap(line => /^\s*(?:export\s+)?(\w+)\s*=/.exec(line)?.[1] ?? []);
  return new Set(keys.filter((key, index) => keys.indexOf(key) !== index));
}

/** Describes the variables left out of a file. Names that suggest a key come first. */
function describeOthers(keys: readonly string[], file: string, { cli }: ImportOptions): string {
  const ordered = [...keys.filter(isOfKey), ...keys.filter(key => !isOfKey(key))];
  const more = ordered.length > MAX_NAMES ? ` and ${ordered.length - MAX_NAMES} more` : '';
  const who = cli === undefined ? 'no tool of the catalog has' : `${cli} does not have`;
  const names = `${ordered.slice(0, MAX_NAMES).join(', ')}${more}`;
  return `left out of ${file}, because ${who} its key in a variable of that name: ${names}`;
}

function isOfKey(name: string): boolean {
  return /(?:^|_)(?:api)?(?:key|token|secret|pat)s?(?:_\w+|\d+)?$/i.test(name);
}

/** Returns the account name that a variable's name gives, or `undefined` for an unrelated variable. */
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

/** Reports whether a name contains a variable's name, such as `TEAM_B_EXA_API_KEY`, or is an alias of it. */
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

/** Reports whether a name for a key has the same first word as a variable: `FIRECRAWL_KEY`, `NETLIFY_TOKEN`, `NPM_TOKEN`. */
function isAliasOf(key: string, variable: string): boolean {
  const [start = ''] = variable.split('_');
  return start.length > 2 && key.toUpperCase().startsWith(`${start.toUpperCase()}_`) && isOfKey(key);
}

/** Joins multi-line quoted values of key variables to lists on one line. Later lines keep their numbers. */
function joinLists(text: string): string {
  return text.replace(
    /^(\s*(?:export\s+)?\w*(?:key|token)s?(?:_\w+)?\s*=\s*)(["'])([^"']*)\2(?=[ \t]*[;,]?[ \t]*(?:#.*)?$)/gim,
    (_, start: string, quote: string, list: string) =>
      `${start}${quote}${list.trim().replace(/\s*\n\s*/g, ',')}${quote}${list.replace(/[^\n]/g, '')}`,
  );
}

/** Joins multi-line quoted values, such as certificates, and reports assignments inside them as left out. */
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
