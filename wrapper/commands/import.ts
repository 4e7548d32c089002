// Implements `accounts import`: adds or changes accounts from a file, or from what upstream CLIs have stored.
import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import * as z from 'zod/mini';
import { type Catalog, loadCatalog, providerOf } from '../catalog/catalog.ts';
import { explainIssues } from '../catalog/explain-issues.ts';
import type { Context } from '../context.ts';
import { EXIT, errno, reason, say, WrapError } from '../errors.ts';
import { refreshPlans } from '../manage/compile.ts';
import { probeAccount } from '../manage/probe-account.ts';
import { callerEnvironment } from '../run/accounts/environment.ts';
import { Account, type Change, editConfig, readConfig, same } from '../store/config.ts';
import { readText } from '../store/files.ts';
import {
  assertCredential,
  envLines,
  resolveAccount,
  type SecretPlace,
  sourceOf,
  storeSecret,
} from '../store/secrets.ts';
import { findStored } from './import-stored.ts';
import { emit } from './print.ts';

/** The accounts of a configuration, where `secrets` may hold credentials themselves; they are stored, not copied. */
const ImportFile = z.strictObject({
  accounts: z
    .array(z.extend(Account, { secrets: z._default(z.record(z.string(), z.string()), {}) }))
    .check(z.minLength(1, 'at least one [[accounts]] table')),
});
type Wanted = z.infer<typeof ImportFile>['accounts'][number];

export interface ImportOptions {
  json?: boolean;
  /** Store credentials in a 0600 file. */
  file?: boolean;
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

interface Planned {
  account: Wanted;
  sources: Record<string, string>;
  change: 'add' | 'change' | 'keep';
}

const SOURCE_TIMEOUT_MS = 15_000;

/**
 * `accounts import FILE`: all or nothing, and again as often as one likes. The file is checked as a whole before anything
 * is stored, and no message repeats a value from it. `--stored` takes what upstream CLIs have stored instead of a file.
 * @throws WrapError `import-unreadable`, `import-invalid`, `nothing-stored`
 */
export async function importAccounts(
  given: string | undefined,
  options: ImportOptions,
  context: Context,
): Promise<void> {
  const { paths } = context;
  const catalog = loadCatalog(context.catalog, paths.userCatalog);
  const file = given ?? 'what the CLIs have stored';
  const wanted = await accountsWanted(given, options, catalog, context);
  const problems = wanted.flatMap(account => problemsOf(account, wanted, catalog));
  if (options.probe && problems.length === 0) {
    for (const account of wanted) problems.push(...(await probeProblems(account, catalog, context)));
  }
  if (problems.length > 0) {
    throw new WrapError(
      'import-invalid',
      EXIT.data,
      `nothing was imported from ${file}: ${[...new Set(problems)].join('; ')}`,
      { hint: 'correct the file and import it again' },
    );
  }
  const silent: string[] = [];
  for (const account of wanted) silent.push(...(await sourceProblems(account, context)));
  const place: SecretPlace = options.file ? 'file' : 'keyring';
  const plan: Planned[] = [];
  for (const account of wanted) plan.push(await planFor(account, place, options, context));
  if (!options.check) await apply(plan, place, context);
  if (given && wanted.some(account => Object.keys(account.secrets).length > 0) && isReadableByOthers(given)) {
    say(`others can read ${file}, which holds credentials; remove it`);
  }
  const names = plan.map(({ account: { cli, name }, change }) => ({ cli, name, change }));
  const verbs = options.check
    ? { add: 'would import', change: 'would change', keep: 'has already' }
    : { add: 'imported', change: 'changed', keep: 'has already' };
  emit(
    options.json,
    { imported: options.check ? [] : names, checked: names, silent },
    names.map(({ cli, name, change }) => `${verbs[change]} "${name}" of ${cli}`).join('\n'),
  );
  // A variable may be set elsewhere, so this does not keep an account out.
  for (const problem of silent) say(`${problem}; until that is corrected the account is skipped`);
  if (options.check && silent.length > 0) process.exitCode = EXIT.data;
}

async function accountsWanted(
  file: string | undefined,
  options: ImportOptions,
  catalog: Catalog,
  context: Context,
): Promise<Wanted[]> {
  if ((file === undefined) !== (options.stored === true)) {
    throw new WrapError('usage', EXIT.usage, 'give either a file to import, or --stored', {
      hint: 'culvert-wrap accounts import keys.env, or culvert-wrap accounts import --stored --cli firecrawl',
    });
  }
  if (options.cli !== undefined) providerOf(catalog, options.cli);
  return file === undefined
    ? findStored({ only: options.cli, name: options.name ?? 'main' }, catalog, context)
    : readImport(file, options, catalog);
}

/** What importing an account comes to. An account that exists keeps whether it is enabled. */
async function planFor(
  account: Wanted,
  place: SecretPlace,
  options: ImportOptions,
  { paths, env }: Context,
): Promise<Planned> {
  const sources = { ...account.env };
  for (const variable of Object.keys(account.secrets)) {
    sources[variable] = sourceOf({ cli: account.cli, account: account.name, variable }, place, paths);
  }
  const existing = readConfig(paths.config).accounts.find(same(account));
  if (!existing) return { account, sources, change: 'add' };
  const stored = await resolveAccount(existing, callerEnvironment(env), SOURCE_TIMEOUT_MS);
  // A key that an account has already stays where it is; what else a CLI's account provides says nothing about the login.
  const isSame =
    (options.stored === true || Object.keys(existing.env).length === Object.keys(sources).length) &&
    Object.entries(account.env).every(([variable, source]) => existing.env[variable] === source) &&
    Object.entries(account.secrets).every(([variable, value]) => stored.ok && stored.env[variable] === value);
  return { account, sources, change: isSame ? 'keep' : 'change' };
}

async function apply(plan: readonly Planned[], place: SecretPlace, context: Context): Promise<void> {
  const { paths } = context;
  const due = plan.filter(({ change }) => change !== 'keep');
  for (const { account } of due) {
    for (const [variable, value] of Object.entries(account.secrets)) {
      await storeSecret({ cli: account.cli, account: account.name, variable }, value, place, paths);
    }
  }
  const changes = due.map(
    ({ account: { cli, name, enabled }, sources, change }): Change =>
      change === 'add'
        ? { add: { cli, name, enabled, env: sources } }
        : { set: { cli, name }, key: 'env', value: sources },
  );
  if (changes.length > 0) editConfig(paths.config, changes);
  refreshPlans(new Set(plan.map(({ account }) => account.cli)), context);
}

function problemsOf(account: Wanted, wanted: readonly Wanted[], catalog: Catalog): string[] {
  const where = `${account.cli} "${account.name}"`;
  const problems: string[] = [];
  try {
    const missing = providerOf(catalog, account.cli).inject.filter(
      name => !(name in account.env) && !(name in account.secrets),
    );
    if (missing.length > 0) problems.push(`${where} provides no ${missing.join(', ')}`);
    for (const [name, value] of Object.entries(account.secrets)) {
      if (name in account.env) problems.push(`${where} gives ${name} twice`);
      assertCredential(value);
    }
  } catch (error) {
    problems.push(`${where}: ${reason(error)}`);
  }
  if (wanted.filter(same(account)).length > 1) problems.push(`${where} is in the file twice`);
  return problems;
}

/** Why a source gives nothing now, as it would to a run. */
async function sourceProblems(account: Wanted, { env }: Context): Promise<string[]> {
  const resolved = await resolveAccount(account, callerEnvironment(env), SOURCE_TIMEOUT_MS);
  return resolved.ok ? [] : [`${account.cli} "${account.name}": ${resolved.problem}`];
}

async function probeProblems(account: Wanted, catalog: Catalog, context: Context): Promise<string[]> {
  const resolved = await resolveAccount(account, callerEnvironment(context.env), SOURCE_TIMEOUT_MS);
  if (!resolved.ok) return [];
  const provider = providerOf(catalog, account.cli);
  const result = await probeAccount(provider, account, { ...resolved.env, ...account.secrets }, context);
  return result.ok === false ? [`${account.cli} "${account.name}": ${result.problem}`] : [];
}

function readImport(file: string, options: ImportOptions, catalog: Catalog): Wanted[] {
  const text = readFile(file);
  if (isEnvFile(file, text)) return fromEnvFile(file, text, options, catalog);
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
 * `team-b`. They refer to the file, so that nothing is copied and a changed key is seen.
 */
function fromEnvFile(file: string, text: string, options: ImportOptions, catalog: Catalog): Wanted[] {
  const path = resolve(file);
  const keys = [...envLines(text).keys()];
  const wanted = new Map<string, Wanted>();
  for (const [cli, provider] of Object.entries(catalog.providers)) {
    if (options.cli !== undefined && options.cli !== cli) continue;
    for (const variable of provider.inject) {
      for (const key of keys) {
        const suffix =
          key === variable ? '' : key.startsWith(`${variable}_`) ? key.slice(variable.length + 1) : undefined;
        if (suffix === undefined) continue;
        const name = suffix === '' ? (options.name ?? 'main') : suffix.toLowerCase().replaceAll('_', '-');
        const account = wanted.get(`${cli} ${name}`) ?? { cli, name, enabled: true, env: {}, secrets: {} };
        account.env[variable] = `file:${path}#${key}`;
        wanted.set(`${cli} ${name}`, account);
      }
    }
  }
  if (wanted.size > 0) return [...wanted.values()];
  const known = [...new Set(Object.values(catalog.providers).flatMap(({ inject }) => inject))];
  throw unreadable(file, `it sets none of ${known.join(', ')}`);
}

function unreadable(file: string, why: string): WrapError {
  return new WrapError('import-unreadable', EXIT.noInput, `${file} can't be imported: ${why}`, {
    hint: 'give a TOML or JSON file with [[accounts]] (cli, name, env or secrets), or a .env file',
  });
}

function isReadableByOthers(file: string): boolean {
  return (statSync(file).mode & 0o077) !== 0;
}
