// The account commands under a CLI's auth command (`firecrawl login add team-b`).
import { loadCatalog, type Provider, providerOf } from '../catalog.ts';
import { refreshPlans } from '../compile.ts';
import { ACCOUNT_NAME, type Account, editConfig, readConfig, SOURCE, same } from '../config.ts';
import { EXIT, WrapError } from '../errors.ts';
import type { Context } from '../run.ts';
import { assertCredential, describeSource, forgetSecret, moveSecrets, storeSecret } from '../secrets.ts';
import { isResting, type Resting, readState, renameInState, setDefault, updateState } from '../state.ts';
import { emit, restingText, table } from './print.ts';
import { askSecrets } from './prompt.ts';

interface Options {
  json?: boolean;
}

/** `list`: the accounts of a CLI, which one is the default, and which rest. */
export function list(cli: string, options: Options, context: Context): void {
  const accounts = describeAccounts(cli, context);
  const rows = accounts.map(account => [
    account.default ? '*' : '',
    account.name,
    account.enabled ? 'enabled' : 'disabled',
    account.resting ? restingText(account.resting) : '-',
    Object.entries(account.sources)
      .map(([variable, source]) => `${variable} from ${source}`)
      .join(', '),
  ]);
  const text =
    accounts.length === 0
      ? `${cli} has no accounts`
      : table([['', 'ACCOUNT', 'STATE', 'RESTING', 'CREDENTIAL'], ...rows]);
  emit(options.json, { cli, accounts }, text);
}

/** What can be told of a CLI's accounts without asking anybody; no secrets. */
export function describeAccounts(cli: string, { paths, now }: Context) {
  const accounts = accountsOf(cli, paths.config);
  const state = readState(paths, cli);
  const first = state.default ?? accounts.find(account => account.enabled)?.name;
  return accounts.map(account => {
    return {
      name: account.name,
      enabled: account.enabled,
      default: account.name === first,
      resting: describeResting(state.resting[account.name], now()),
      sources: Object.fromEntries(
        Object.entries(account.env).map(([variable, source]) => [variable, describeSource(source)]),
      ),
    };
  });
}

/** How an account rests now, for JSON; `until` is `null` while it rests until its credential changes. */
export function describeResting(resting: Resting | undefined, now: number) {
  if (!resting || !isResting(resting, now)) return null;
  return { class: resting.class, until: resting.until === null ? null : new Date(resting.until).toISOString() };
}

/** `default [name]`: shows or sets the account that is tried first. */
export function showOrSetDefault(cli: string, name: string | undefined, options: Options, context: Context): void {
  if (name !== undefined) {
    use(cli, name, options, context);
    return;
  }
  const current = describeAccounts(cli, context).find(account => account.default)?.name ?? null;
  emit(options.json, { cli, default: current }, current ?? `${cli} has no accounts`);
}

/** `use <name>`, `use -` for the one before. */
export function use(cli: string, wanted: string, options: Options, { paths }: Context): void {
  const accounts = accountsOf(cli, paths.config);
  const previous = readState(paths, cli).previous;
  if (wanted === '-' && previous === undefined) {
    throw new WrapError('no-previous', EXIT.usage, `${cli} has had no other default account yet`);
  }
  const account = find(accounts, cli, wanted === '-' ? previous! : wanted);
  if (!account.enabled) {
    throw new WrapError('account-disabled', EXIT.usage, `the account "${account.name}" of ${cli} is disabled`, {
      hint: 'enable it first',
    });
  }
  updateState(paths, cli, state => setDefault(state, account.name, accounts.find(other => other.enabled)?.name));
  emit(options.json, { cli, default: account.name }, `${cli} now uses "${account.name}"`);
}

export interface AddOptions extends Options {
  env?: string[];
  file?: boolean;
  replace?: boolean;
}

/** `add <name> [--env VAR=source]… [--file]`: secrets come from a prompt or stdin, everything else by reference. */
export async function add(cli: string, name: string, options: AddOptions, context: Context): Promise<void> {
  const { paths, catalog } = context;
  const provider = providerOf(loadCatalog(catalog, paths.userCatalog), cli);
  if (!ACCOUNT_NAME.test(name)) {
    throw new WrapError('account-name', EXIT.usage, `${JSON.stringify(name)} is no account name`, {
      hint: 'letters, digits, ".", "_" and "-", at most 64, not starting with "-"',
    });
  }
  const accounts = accountsOf(cli, paths.config);
  const existing = accounts.find(account => account.name === name);
  if (existing && !options.replace) {
    throw new WrapError('account-exists', EXIT.usage, `${cli} has an account "${name}" already`, {
      hint: 'give --replace to change its credential',
    });
  }
  const env = readSources(options.env ?? []);
  if (Object.keys(env).length === 0 && provider.inject.length === 0 && needsCredential(provider)) {
    throw new WrapError('no-variables', EXIT.usage, `the catalog does not say what an account of ${cli} provides`, {
      hint: 'give --env VARIABLE=source',
    });
  }
  const asked = provider.inject.filter(variable => !(variable in env));
  const values = await askSecrets(asked.map(variable => `${variable} for ${cli} account "${name}"`));
  for (const [index, variable] of asked.entries()) {
    check(variable, values[index]!);
    env[variable] = await storeSecret(
      { cli, account: name, variable },
      values[index]!,
      options.file ? 'file' : 'keyring',
      paths,
    );
  }
  const account: Account = { cli, name, enabled: true, env };
  editConfig(paths.config, existing ? [{ set: { cli, name }, key: 'env', value: env }] : [{ add: account }]);
  updateState(paths, cli, state => void delete state.resting[name]);
  refreshPlans([cli], context);
  emit(
    options.json,
    { cli, account: name, terms: provider.terms_note ?? null },
    `${existing ? 'changed' : 'added'} "${name}" of ${cli}`,
  );
  if (!existing && accounts.length >= 1 && provider.terms_note && !options.json) {
    process.stderr.write(`note: ${provider.terms_note}\n`);
  }
}

/** `enable <name>`, `disable <name>`. */
export async function setEnabled(
  cli: string,
  name: string,
  enabled: boolean,
  options: Options,
  context: Context,
): Promise<void> {
  find(accountsOf(cli, context.paths.config), cli, name);
  editConfig(context.paths.config, [{ set: { cli, name }, key: 'enabled', value: enabled }]);
  refreshPlans([cli], context);
  emit(options.json, { cli, account: name, enabled }, `"${name}" of ${cli} is ${enabled ? 'enabled' : 'disabled'}`);
}

/** `remove <name>`: the account and the secret that was stored for it. */
export async function remove(cli: string, name: string, options: Options, context: Context): Promise<void> {
  const { paths } = context;
  const account = find(accountsOf(cli, paths.config), cli, name);
  editConfig(paths.config, [{ remove: { cli, name } }]);
  for (const [variable, source] of Object.entries(account.env)) {
    await forgetSecret(source, { cli, account: name, variable }, paths);
  }
  updateState(paths, cli, state => renameInState(state, name));
  refreshPlans([cli], context);
  emit(options.json, { cli, removed: name }, `removed "${name}" of ${cli}`);
}

/** `rename <old> <new>`: a stored secret moves along. */
export async function rename(cli: string, from: string, to: string, options: Options, context: Context): Promise<void> {
  const { paths, env } = context;
  const accounts = accountsOf(cli, paths.config);
  const account = find(accounts, cli, from);
  if (!ACCOUNT_NAME.test(to) || accounts.some(same({ cli, name: to }))) {
    throw new WrapError('account-name', EXIT.usage, `"${to}" is no name or taken`, { hint: 'choose another' });
  }
  const moved = await moveSecrets(account, to, env, paths);
  editConfig(paths.config, [
    { set: { cli, name: from }, key: 'env', value: moved },
    { set: { cli, name: from }, key: 'name', value: to },
  ]);
  for (const [variable, source] of Object.entries(account.env)) {
    await forgetSecret(source, { cli, account: from, variable }, paths);
  }
  updateState(paths, cli, state => renameInState(state, from, to));
  refreshPlans([cli], context);
  emit(options.json, { cli, account: to }, `"${from}" of ${cli} is now "${to}"`);
}

/**
 * `VAR=source` pairs.
 * @throws WrapError `bad-source`, without repeating the value: it may be a key
 */
export function readSources(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map(pair => {
      const [variable = '', source = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      if (!pair.includes('=') || variable === '' || !SOURCE.test(source)) {
        throw new WrapError('bad-source', EXIT.usage, `the source for ${variable || '--env'} is none`, {
          hint: 'write VARIABLE=env:OTHER, keyring:, pass:entry, command:…, or file:path#KEY; a credential itself is only read from the prompt or stdin',
        });
      }
      return [variable, source];
    }),
  );
}

function accountsOf(cli: string, file: string): Account[] {
  return readConfig(file).accounts.filter(account => account.cli === cli);
}

function find(accounts: readonly Account[], cli: string, name: string): Account {
  const account = accounts.find(same({ cli, name }));
  if (account) return account;
  throw new WrapError('unknown-account', EXIT.usage, `${cli} has no account "${name}"`, {
    hint: accounts.length > 0 ? `accounts: ${accounts.map(each => each.name).join(', ')}` : `add one with: add ${name}`,
  });
}

function needsCredential(provider: Provider): boolean {
  return provider.home.length === 0 && provider.arguments.length === 0 && provider.prepare_command === undefined;
}

function check(variable: string, value: string): void {
  try {
    assertCredential(value);
  } catch (error) {
    throw new WrapError(
      'bad-credential',
      EXIT.data,
      `the value for ${variable} can't be used: ${(error as Error).message}`,
      {
        hint: 'copy the key again, on one line',
      },
    );
  }
}
