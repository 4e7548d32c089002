// Reads a file of accounts for `accounts import`: TOML, JSON, or a `.env` file.
import { basename, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import * as z from 'zod/mini';
import type { Catalog } from '../../catalog/catalog.ts';
import { Account } from '../../store/config.ts';
import { envLines } from '../../store/secrets.ts';
import { EXIT, errno, reason, say, WrapError } from '../../system/errors.ts';
import { explainIssues } from '../../system/explain-issues.ts';
import { readText } from '../../system/files.ts';

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
  /** Have the accounts refer to a `.env` file instead of storing what is in it. */
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
 * The accounts of a file: TOML or JSON with a table for each, or a `.env` file.
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
  let raw: unknown;
  try {
    raw = text.trimStart().startsWith('{') ? JSON.parse(text) : parse(text);
  } catch (error) {
    // A parser's message quotes the place, which may be a key.
    const line = error instanceof TomlError ? ` (line ${error.line})` : '';
    throw unreadable(file, `it is neither TOML nor JSON${line}`);
  }
  const parsed = ImportFile.safeParse(raw);
  if (!parsed.success) throw unreadable(file, explainIssues(parsed.error, text));
  return parsed.data.accounts;
}

/** The text of a file without the byte order mark of some editors. */
function readFile(file: string): string {
  let text: string | undefined;
  try {
    text = readText(file);
  } catch (error) {
    throw unreadable(file, errno(error) === 'EISDIR' ? 'it is a directory' : reason(error));
  }
  if (text === undefined) throw unreadable(file, 'there is no such file');
  return text.replace(/^\uFEFF/, '');
}

/** Nothing but `KEY=value` lines and comments, under a name such as `.env` or `keys.env`. */
function isEnvFile(file: string, text: string): boolean {
  const lines = text.split('\n').map(line => line.trim());
  return (
    /(?:^|\.)env(?:\.|$)/.test(basename(file)) &&
    lines.every(line => line === '' || /^(?:#|(?:export\s+)?\w+\s*=)/.test(line))
  );
}

/**
 * Accounts for the variables that the catalog knows: `FIRECRAWL_API_KEY`, and `FIRECRAWL_API_KEY_TEAM_B` for the account
 * `team-b`. On request they refer to the file, so that nothing is copied and a changed key is seen.
 */
function fromEnvFile(file: string, text: string, options: ImportOptions, catalog: Catalog): ImportedAccount[] {
  const path = resolve(file);
  const lines = envLines(text);
  const accounts = new Map<string, ImportedAccount>();
  for (const [cli, provider] of Object.entries(catalog.providers)) {
    if (options.cli !== undefined && options.cli !== cli) continue;
    for (const variable of provider.inject) {
      for (const [key, value] of lines) {
        const suffix =
          key === variable ? '' : key.startsWith(`${variable}_`) ? key.slice(variable.length + 1) : undefined;
        if (suffix === undefined) continue;
        if (value.trim() === '') {
          say(`${key} in ${file} is empty and is left out`);
          continue;
        }
        const name = suffix === '' ? (options.name ?? 'main') : suffix.toLowerCase().replaceAll('_', '-');
        const account = accounts.get(`${cli} ${name}`) ?? { cli, name, enabled: true, env: {}, secrets: {} };
        if (options.reference) account.env[variable] = `file:${path}#${key}`;
        else account.secrets[variable] = value;
        accounts.set(`${cli} ${name}`, account);
      }
    }
  }
  if (accounts.size > 0) return [...accounts.values()];
  const variables = [...new Set(Object.values(catalog.providers).flatMap(({ inject }) => inject))];
  throw unreadable(file, `it sets none of ${variables.join(', ')}`);
}

function unreadable(file: string, why: string): WrapError {
  return new WrapError('import-unreadable', EXIT.noInput, `${file} can't be imported: ${why}`, {
    hint: 'give a TOML or JSON file with [[accounts]] (cli, name, env or secrets), or a .env file',
  });
}
