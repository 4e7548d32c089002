// Implements `accounts import`, which adds or changes accounts from a file or from the stored logins of upstream CLIs.
import { statSync } from 'node:fs';
import { reason } from '../../../daemon/core/errors.ts';
import { isReadableByOthers, readOptional } from '../../../daemon/core/files.ts';
import { type Catalog, catalogOf, providerOf } from '../../catalog/catalog.ts';
import type { Provider } from '../../catalog/provider.ts';
import type { Context } from '../../context.ts';
import { refreshPlans } from '../../manage/compile.ts';
import { probeAccount } from '../../manage/confirm.ts';
import { callerEnvironment } from '../../run/accounts/ready.ts';
import { type Change, editConfig, readConfig, same } from '../../store/config.ts';
import { referenceIn } from '../../store/key-texts.ts';
import { assertCredential, resolveAccount, SOURCE_TIMEOUT_MS, sourceOf, storeSecret } from '../../store/secrets.ts';
import { EXIT, say, WrapError } from '../../system/errors.ts';
import { expandHome, expandVariables } from '../../system/notation.ts';
import { emit } from '../print.ts';
import { choosePlace, firstOf, keepDefault, termsOf } from './account.ts';
import { type ImportedAccount, type ImportOptions, readImport } from './import-file.ts';

const ELSEWHERE = 'store credentials in a 0600 file with --file, or have accounts read a .env file with --reference';

/** An account and the change planned for it. */
export interface Planned {
  account: ImportedAccount;
  change: 'add' | 'change' | 'keep';
}

/**
 * `accounts import FILE`: imports all accounts or none, and can be repeated. It checks the whole file before it stores
 * anything, and no message repeats a value from it. `--stored` imports the stored logins of upstream CLIs instead of a file.
 * @throws WrapError `import-unreadable`, `import-invalid`, `nothing-stored`
 */
export async function importAccounts(
  given: string | undefined,
  options: ImportOptions,
  context: Context,
): Promise<void> {
  const catalog = catalogOf(context);
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
  if (!options.check) await storeAccounts(plan, options, context, ELSEWHERE);
  if (given !== undefined) for (const line of remarksOn(given, accounts, options, context)) say(line);
  for (const cli of new Set(plan.filter(({ change }) => change === 'add').map(({ account }) => account.cli)))
    if (accounts.filter(account => account.cli === cli).length > 1)
      for (const note of termsOf(providerOf(catalog, cli))) say(`${cli}: ${note}`);
  const names = plan.map(({ account: { cli, name }, change }) => ({ cli, name, change }));
  const verbs = options.check
    ? { add: 'would import', change: 'would change', keep: 'has already' }
    : { add: 'imported', change: 'changed', keep: 'has already' };
  emit(
    options.json,
    { imported: options.check ? [] : names, checked: names, silent },
    names.map(({ cli, name, change }) => `${verbs[change]} "${name}" of ${cli}`).join('\n'),
  );
  // A variable may be set elsewhere, so a silent source does not prevent the import.
  for (const problem of silent) say(`${problem}; until that is corrected the account is skipped`);
  if (options.check && silent.length > 0) process.exitCode = EXIT.data;
}

async function accountsWanted(
  file: string | undefined,
  options: ImportOptions,
  catalog: Catalog,
  context: Context,
): Promise<ImportedAccount[]> {
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

/** Plans the change to one account. An existing account stays enabled or disabled. */
async function planFor(
  account: ImportedAccount,
  file: string | undefined,
  options: ImportOptions,
  { paths, env }: Context,
): Promise<Planned> {
  const existing = readConfig(paths.config).accounts.find(same(account));
  if (!existing) return { account, change: 'add' };
  const stored = await resolveAccount(existing, callerEnvironment(env), SOURCE_TIMEOUT_MS);
  const variables = [...Object.keys(account.env), ...Object.keys(account.secrets)];
  // An existing account's key stays where it is stored, unless the imported file stores it. With --stored, the account's other
  // variables don't matter.
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

/**
 * Stores accounts with their secrets.
 * @param otherwise see `choosePlace`
 * @throws WrapError `keyring-unavailable`, `not-stored`
 */
export async function storeAccounts(
  plan: readonly Planned[],
  options: Pick<ImportOptions, 'file' | 'json'>,
  context: Context,
  otherwise: string,
): Promise<void> {
  const { paths } = context;
  const due = plan.filter(({ change }) => change !== 'keep');
  const stores = due.some(({ account }) => Object.keys(account.secrets).length > 0);
  const place = stores ? await choosePlace(options, otherwise) : 'file';
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
  const added = due.filter(({ change }) => change === 'add').map(({ account }) => account);
  const firsts = [...new Set(added.map(({ cli }) => cli))].map(cli => {
    const { name } = added.find(account => account.cli === cli)!;
    return { cli, first: firstOf(cli, context, name) };
  });
  if (changes.length > 0) editConfig(paths.config, changes);
  refreshPlans(new Set(plan.map(({ account }) => account.cli)), context);
  for (const { cli, first } of firsts) if (first !== undefined) keepDefault(cli, first, context);
}

/** Returns remarks on the imported file. They never advise removing it, because other programs may also read it. */
function remarksOn(
  file: string,
  accounts: readonly ImportedAccount[],
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

/** Reports whether a source refers to a file. */
function refersTo(source: string, file: string, env: NodeJS.ProcessEnv): boolean {
  const path = /^file:(.+)#[^#]+$/s.exec(source)?.[1];
  if (path === undefined) return false;
  const [one, other] = [expandHome(path, env), file].map(each => statSync(each, { throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}

function problemsOf(account: ImportedAccount, accounts: readonly ImportedAccount[], catalog: Catalog): string[] {
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

/** Explains why a run would get no credential from an account's sources now. */
async function sourceProblems(account: ImportedAccount, { env }: Context): Promise<string[]> {
  const resolved = await resolveAccount(account, callerEnvironment(env), SOURCE_TIMEOUT_MS);
  return resolved.ok ? [] : [`${account.cli} "${account.name}": ${resolved.problem}`];
}

async function probeProblems(account: ImportedAccount, catalog: Catalog, context: Context): Promise<string[]> {
  const resolved = await resolveAccount(account, callerEnvironment(context.env), SOURCE_TIMEOUT_MS);
  if (!resolved.ok) return [];
  const provider = providerOf(catalog, account.cli);
  const result = await probeAccount(provider, account, { ...resolved.env, ...account.secrets }, context);
  return result.ok === false ? [`${account.cli} "${account.name}": ${result.problem}`] : [];
}

/** An account with the credential that its CLI has stored. */
interface StoredAccount {
  cli: string;
  name: string;
  enabled: true;
  env: Record<string, string>;
  secrets: Record<string, string>;
}

/**
 * Finds the credentials that upstream CLIs have stored. Names each after an existing account with the same credential, or `name`.
 * @param only the CLI to search; all CLIs of the catalog if `undefined`
 * @throws WrapError `nothing-stored` with the names of the searched files
 */
async function findStored(
  { only, name }: { only: string | undefined; name: string },
  catalog: Catalog,
  context: Context,
): Promise<StoredAccount[]> {
  const looked: string[] = [];
  const accounts: StoredAccount[] = [];
  for (const [cli, provider] of Object.entries(catalog.providers)) {
    const variable = provider.inject[0];
    if ((only !== undefined && only !== cli) || variable === undefined) continue;
    const { value, files } = storedCredential(provider, context.env);
    looked.push(...files);
    if (value === undefined) continue;
    const reference = referenceIn(value);
    if (reference !== undefined) {
      say(`what ${cli} has stored is left out: ${reference}`);
      continue;
    }
    const secrets = { [variable]: value };
    const [known = name] = await namesOf(cli, secrets, context);
    accounts.push({ cli, name: known, enabled: true, env: {}, secrets });
  }
  if (accounts.length > 0) return accounts;
  const where = looked.length > 0 ? `there is no key in ${looked.join(', ')}` : `the catalog names no file of ${only}`;
  throw new WrapError('nothing-stored', EXIT.noInput, `nothing can be imported: ${where}`, {
    hint: 'log in with the CLI itself first, or add the key with `culvert-wrap accounts add`; a session of a browser is not a key',
  });
}

/** Reads the credential that a CLI has stored, and lists the searched files. */
function storedCredential(
  { stored }: Pick<Provider, 'stored'>,
  env: NodeJS.ProcessEnv,
): { value: string | undefined; files: string[] } {
  const files: string[] = [];
  for (const { file, pattern } of stored) {
    const path = expandHome(expandVariables(file, env), env);
    files.push(path);
    const value = new RegExp(pattern).exec(read(path))?.[1];
    if (value !== undefined) return { value, files };
  }
  return { value: undefined, files };
}

/** Returns the names of the accounts that already have these credentials. */
export async function namesOf(
  cli: string,
  credentials: Record<string, string>,
  { paths, env }: Pick<Context, 'paths' | 'env'>,
): Promise<string[]> {
  const names: string[] = [];
  for (const account of readConfig(paths.config).accounts.filter(each => each.cli === cli)) {
    const resolved = await resolveAccount(account, callerEnvironment(env), SOURCE_TIMEOUT_MS);
    if (resolved.ok && Object.entries(credentials).every(([variable, value]) => resolved.env[variable] === value)) {
      names.push(account.name);
    }
  }
  return names;
}

/** Reads a file; returns an empty string if the file can't be read. */
function read(file: string): string {
  try {
    return readOptional(file) ?? '';
  } catch {
    return '';
  }
}
