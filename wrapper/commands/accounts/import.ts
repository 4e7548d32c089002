// Implements `accounts import`: adds or changes accounts from a file, or from what upstream CLIs have stored.
import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import * as z from 'zod/mini';
import { type Catalog, loadCatalog, providerOf } from '../../catalog/catalog.ts';
import type { Context } from '../../context.ts';
import { refreshPlans } from '../../manage/compile.ts';
import { probeAccount } from '../../manage/probe-account.ts';
import { callerEnvironment } from '../../run/accounts/environment.ts';
import { Account, type Change, editConfig, readConfig, same } from '../../store/config.ts';
import {
  assertCredential,
  envLines,
  resolveAccount,
  SOURCE_TIMEOUT_MS,
  sourceOf,
  storeSecret,
} from '../../store/secrets.ts';
import { EXIT, errno, reason, say, WrapError } from '../../system/errors.ts';
import { explainIssues } from '../../system/explain-issues.ts';
import { expandHome, isReadableByOthers, readText } from '../../system/files.ts';
import { emit } from '../print.ts';
import { choosePlace } from './account.ts';
import { findStored } from './import-stored.ts';

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

interface Planned {
  account: Wanted;
  change: 'add' | 'change' | 'keep';
}

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
  const accounts = await accountsWanted(given, options, catalog, context);
  const problems = accounts.flatMap(account => problemsOf(account, accounts, catalog));
  if (options.probe && problems.length === 0) {
    for (const account of accounts) problems.push(...(await probeProblems(account, catalog, context)));
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
  for (const account of accounts) silent.push(...(await sourceProblems(account, context)));
  const plan: Planned[] = [];
  for (const account of accounts) plan.push(await planFor(account, given, options, context));
  if (!options.check) await apply(plan, options, context);
  if (given !== undefined) for (const line of remarksOn(given, accounts, options, context)) say(line);
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
  if (options.reference && (options.file || options.stored)) {
    throw new WrapError(
      'usage',
      EXIT.usage,
      '--reference stores nothing, so it goes with neither --file nor --stored',
      {
        hint: 'leave one of them out',
      },
    );
  }
  if (options.cli !== undefined) providerOf(catalog, options.cli);
  return file === undefined
    ? findStored({ only: options.cli, name: options.name ?? 'main' }, catalog, context)
    : readImport(file, options, catalog);
}

/** Result of importing an account. An account that exists keeps whether it is enabled. */
async function planFor(
  account: Wanted,
  file: string | undefined,
  options: ImportOptions,
  { paths, env }: Context,
): Promise<Planned> {
  const existing = readConfig(paths.config).accounts.find(same(account));
  if (!existing) return { account, change: 'add' };
  const stored = await resolveAccount(existing, callerEnvironment(env), SOURCE_TIMEOUT_MS);
  const variables = [...Object.keys(account.env), ...Object.keys(account.secrets)];
  // A key that an account has already stays where it is, unless that is the very file whose keys are to be stored; what else
  // a CLI's account provides says nothing about the login.
  const isSame =
    (options.stored === true || Object.keys(existing.env).length === variables.length) &&
    Object.entries(account.env).every(([variable, source]) => existing.env[variable] === source) &&
    Object.entries(account.secrets).every(
      ([variable, value]) =>
        stored.ok &&
        stored.env[variable] === value &&
        (file === undefined || !refersTo(existing.env[variable] ?? '', file, env)),
    );
  return { account, change: isSame ? 'keep' : 'change' };
}

async function apply(plan: readonly Planned[], options: ImportOptions, context: Context): Promise<void> {
  const { paths } = context;
  const due = plan.filter(({ change }) => change !== 'keep');
  const stores = due.some(({ account }) => Object.keys(account.secrets).length > 0);
  const place = stores
    ? await choosePlace(
        options,
        'store credentials in a 0600 file with --file, or have accounts read a .env file with --reference',
      )
    : 'file';
  const changes: Change[] = [];
  for (const { account, change } of due) {
    const { cli, name, enabled } = account;
    const env = { ...account.env };
    for (const [variable, value] of Object.entries(account.secrets)) {
      const slot = { cli, account: name, variable };
      await storeSecret(slot, value, place, paths);
      env[variable] = sourceOf(slot, place, paths);
    }
    changes.push(
      change === 'add' ? { add: { cli, name, enabled, env } } : { set: { cli, name }, key: 'env', value: env },
    );
  }
  if (changes.length > 0) editConfig(paths.config, changes);
  refreshPlans(new Set(plan.map(({ account }) => account.cli)), context);
}

/** Remarks on the imported file. None advises removing it: other programs may read it as well. */
function remarksOn(
  file: string,
  accounts: readonly Wanted[],
  options: ImportOptions,
  { paths, env }: Context,
): string[] {
  const referring = readConfig(paths.config)
    .accounts.filter(account => Object.values(account.env).some(source => refersTo(source, file, env)))
    .map(({ cli, name }) => `"${name}" of ${cli}`);
  const remarks = referring.length > 0 ? [`${referring.join(', ')} read ${file} at each run: it must stay there`] : [];
  const holdsSecrets = options.reference === true || accounts.some(({ secrets }) => Object.keys(secrets).length > 0);
  if (holdsSecrets && statSync(file).isFile() && isReadableByOthers(file)) {
    remarks.push(`others can read ${file}, which holds credentials: \`chmod go= ${file}\``);
  }
  return remarks;
}

/** Reports whether a source is a line of this file. */
function refersTo(source: string, file: string, env: NodeJS.ProcessEnv): boolean {
  const path = /^file:(.+)#[^#]+$/s.exec(source)?.[1];
  if (path === undefined) return false;
  const [one, other] = [expandHome(path, env), file].map(each => statSync(each, { throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}

function problemsOf(account: Wanted, accounts: readonly Wanted[], catalog: Catalog): string[] {
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
  if (accounts.filter(same(account)).length > 1) problems.push(`${where} is in the file twice`);
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
function fromEnvFile(file: string, text: string, options: ImportOptions, catalog: Catalog): Wanted[] {
  const path = resolve(file);
  const lines = envLines(text);
  const accounts = new Map<string, Wanted>();
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
