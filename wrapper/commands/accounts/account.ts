// Implements the commands that change one account, through a shim (`firecrawl login add`) or directly (`accounts add`).
import { isatty } from 'node:tty';
import { reason } from '../../../daemon/core/errors.ts';
import { catalogOf, providerOf } from '../../catalog/catalog.ts';
import type { Provider } from '../../catalog/provider.ts';
import type { Context } from '../../context.ts';
import { refreshPlans } from '../../manage/compile.ts';
import { readOriginals } from '../../mcp/record.ts';
import { callerEnvironment } from '../../run/accounts/ready.ts';
import {
  ACCOUNT_NAME,
  type Account,
  accountsOf as accountsIn,
  editConfig,
  readConfig,
  SOURCE,
  same,
} from '../../store/config.ts';
import { accountIn, keysIn, nameOf, oddityIn } from '../../store/key-texts.ts';
import type { Paths } from '../../store/paths.ts';
import {
  assertCredential,
  forgetSecret,
  keyringProblem,
  moveSecrets,
  resolveAccount,
  type SecretPlace,
  SOURCE_TIMEOUT_MS,
  sourceOf,
  startsProgram,
  storeSecret,
} from '../../store/secrets.ts';
import {
  effectiveDefault,
  hasLostDefault,
  readState,
  renameInState,
  setDefault,
  updateState,
} from '../../store/state.ts';
import { EXIT, say, WrapError } from '../../system/errors.ts';
import { emit, type Options } from '../print.ts';
import { askSecrets, confirm } from '../prompt.ts';
import { leaveLogin, prepareLogin, sayOfUsual } from './login.ts';

/** `default [name]`: shows or sets the account that is tried first. */
export function showOrSetDefault(cli: string, name: string | undefined, options: Options, context: Context): void {
  if (name !== undefined) {
    use(cli, name, options, context);
    return;
  }
  const accounts = accountsOf(cli, context);
  const current = effectiveDefault(accounts, readState(context.paths, cli)) ?? null;
  const none = accounts.length === 0 ? `${cli} has no accounts` : `${cli} has no enabled account`;
  emit(options.json, { cli, default: current }, current ?? none);
}

/** `use <name>`: sets the account that is tried first; `use -` selects the previous account. */
export function use(cli: string, wanted: string, options: Options, context: Context): void {
  const accounts = accountsOf(cli, context);
  const previous = readState(context.paths, cli).previous;
  if (wanted === '-' && previous === undefined) {
    throw new WrapError('no-previous', EXIT.usage, `${cli} has had no other default account yet`);
  }
  const account = find(accounts, cli, wanted === '-' ? previous! : wanted);
  if (!account.enabled) {
    throw new WrapError('account-disabled', EXIT.usage, `the account "${account.name}" of ${cli} is disabled`, {
      hint: 'enable it first',
    });
  }
  makeDefault(account, accounts, context);
  emit(options.json, { cli, default: account.name }, `${cli} now uses "${account.name}"`);
}

/**
 * `order <name>…`: sets the order in which accounts are used, and makes the first enabled account the default. A run killed
 * between the two changes leaves the previous default.
 * @throws WrapError `account-order` unless `names` has each account once
 */
export function order(cli: string, names: readonly string[], options: Options, context: Context): void {
  const before = accountsOf(cli, context);
  editConfig(context.paths.config, [{ order: { cli, names } }]);
  refreshPlans([cli], context);
  const first = accountsOf(cli, context).find(({ enabled }) => enabled);
  if (first) makeDefault(first, before, context);
  emit(options.json, { cli, order: names }, `${cli} uses its accounts in this order: ${names.join(', ')}`);
}

/** Makes an account the default in the state, and in the configuration where `keepDefault` needs it. */
function makeDefault({ cli, name }: Account, accounts: readonly Account[], context: Context): void {
  keepDefault(cli, name, context);
  updateState(context.paths, cli, state => setDefault(state, name, accounts.find(({ enabled }) => enabled)?.name));
}

/**
 * Writes the default account to the configuration if the tool's accounts are places, because losing the state must not change
 * the account of a command.
 * @param name `undefined` to remove the default
 */
export function keepDefault(cli: string, name: string | undefined, context: Context): void {
  if (!isPlace(cli, context)) return;
  const changes = readConfig(context.paths.config)
    .accounts.filter(account => account.cli === cli)
    .filter(account => (account.name === name ? !account.default : account.default || name === undefined))
    .map(account => ({ set: { cli, name: account.name }, key: 'default' as const, value: account.name === name }));
  if (changes.length === 0) return;
  editConfig(context.paths.config, changes);
  refreshPlans([cli], context);
}

export interface AddOptions extends Options {
  env?: string[];
  file?: boolean;
  replace?: boolean;
  /** The directory or profile of a login to adopt; `true` for a new login. */
  login?: string | true;
}

/**
 * `add <name> [--env VAR=source]… [--file]`: adds an account for each key. Secrets come from a prompt or stdin, and `--env`
 * gives references. The account is written before its secrets, so a killed run leaves no secret without an account.
 * @throws WrapError `account-name`, `account-exists`, `no-variables`, `keyring-unavailable`, `bad-credential`
 */
export async function add(cli: string, name: string, options: AddOptions, context: Context): Promise<void> {
  const provider = providerOf(catalogOf(context), cli);
  assertName(name);
  if (options.login !== undefined) {
    await addLogin({ cli, name, login: options.login }, provider, options, context);
    return;
  }
  refuseExisting(cli, name, options, context);
  if (accountsOf(cli, context).some(account => account.name === name && account.login !== undefined)) {
    throw new WrapError('account-exists', EXIT.usage, `the account "${name}" of ${cli} is a login, and has no key`, {
      hint: 'choose another name, or remove it first',
    });
  }
  const env = readSources(options.env ?? []);
  if (Object.keys(env).length === 0 && provider.inject.length === 0 && needsCredential(provider)) {
    throw new WrapError('no-variables', EXIT.usage, `the catalog does not say what an account of ${cli} provides`, {
      hint: 'give --env VARIABLE=source',
    });
  }
  const asked = provider.inject.filter(variable => !(variable in env));
  const place =
    asked.length > 0
      ? await choosePlace(options, 'store it in a 0600 file with --file, or refer to it with --env')
      : 'file';
  if (asked.length > 0 && provider.login && isatty(0) && !options.json)
    say(`with --login the account is a login of ${cli} instead of a key`);
  const values = await askSecrets(asked.map(variable => `${variable} for ${cli} account "${name}"`));
  // only a single variable can contain a list of keys
  const [only] = asked.length === 1 ? asked : [];
  const keys = only === undefined ? [values[0]!] : keysIn(values[0]!, only, provider.http?.key_prefix);
  const accounts = keys.map((key, index) => ({
    name: nameOf(name, index),
    values: asked.map((variable, place) => [variable, place === 0 ? key : values[place]!] as const),
  }));
  for (const account of accounts) {
    refuseExisting(cli, account.name, options, context);
    for (const [variable, value] of account.values) check(variable, value, accounts.length > 1);
  }
  const before = accountsOf(cli, context).map(account => account.name);
  for (const account of accounts) await addOne({ cli, env, place, ...account }, context);
  const names = accounts.map(account => account.name);
  const several = names.length > 1 && { accounts: names };
  const verbs = names.map(each => `${before.includes(each) ? 'changed' : 'added'} "${each}" of ${cli}`);
  emit(options.json, { cli, account: name, ...several, terms: provider.terms_note ?? null }, verbs.join('\n'));
  const isFurther = names.some(each => !before.includes(each)) && before.length + names.length > 1;
  for (const account of accounts) await sayUnreadable({ cli, name: account.name, enabled: true, env }, context);
  if (isFurther && !options.json) for (const note of termsOf(provider)) process.stderr.write(`note: ${note}\n`);
}

/** `add <name> --login [place]`: adds an account that is a login of the tool. */
async function addLogin(
  wanted: Parameters<typeof prepareLogin>[0],
  provider: Provider,
  options: AddOptions,
  context: Context,
): Promise<void> {
  const { cli, name } = wanted;
  if ((options.env ?? []).length > 0 || options.file || options.replace) {
    throw new WrapError(
      'usage',
      EXIT.usage,
      'a login has no key, so --login goes with none of --env, --file and --replace',
      {
        hint: `leave them out; \`CULVERT_WRAP_ACCOUNT=${name} ${provider.bin} …\` runs the tool with a login that exists`,
      },
    );
  }
  refuseExisting(cli, name, {}, context);
  const before = accountsOf(cli, context);
  const account = await prepareLogin(wanted, provider, options, context);
  const first = firstOf(cli, context, name);
  editConfig(context.paths.config, [{ add: account }]);
  refreshPlans([cli], context);
  if (first !== undefined) keepDefault(cli, first, context);
  const { login = null } = account;
  const terms = provider.terms_note ?? null;
  emit(options.json, { cli, account: name, login, terms }, `added "${name}" of ${cli}, with its login in ${login}`);
  if (before.length === 0) sayOfUsual(account, provider, context);
  else if (!options.json) for (const note of termsOf(provider)) process.stderr.write(`note: ${note}\n`);
}

/** Reports why an account's variable or file provides no credential now. Accounts that start a program are skipped. */
async function sayUnreadable(account: Account, { env }: Context): Promise<void> {
  if (startsProgram(account)) return;
  const resolved = await resolveAccount(account, callerEnvironment(env), SOURCE_TIMEOUT_MS);
  if (!resolved.ok) say(`${resolved.problem}; until that is corrected the account is skipped`);
}

/** Returns the note about the provider's terms, with their address; an empty list without a note. */
export function termsOf({ terms_note: note, terms_url: url }: Provider): string[] {
  return note === undefined ? [] : [`${note}${url ? ` (${url})` : ''}`];
}

/** @throws WrapError `account-exists` */
function refuseExisting(cli: string, name: string, { replace }: AddOptions, context: Context): void {
  if (replace || !accountsOf(cli, context).some(account => account.name === name)) return;
  throw new WrapError('account-exists', EXIT.usage, `${cli} already has an account "${name}"`, {
    hint: 'give --replace to change its credential',
  });
}

/** An account to add, with the sources and the values of its variables. */
interface Added {
  cli: string;
  name: string;
  env: Record<string, string>;
  values: readonly (readonly [variable: string, value: string])[];
  place: SecretPlace;
}

async function addOne({ cli, name, values, place, ...added }: Added, context: Context): Promise<void> {
  const { paths } = context;
  const existing = accountsOf(cli, context).find(account => account.name === name);
  const slots = values.map(([variable, value]) => ({ slot: { cli, account: name, variable }, value }));
  const stored = slots.map(({ slot }) => [slot.variable, sourceOf(slot, place, paths)]);
  const env = { ...existing?.env, ...added.env, ...Object.fromEntries(stored) };
  const account: Account = { cli, name, enabled: true, env };
  const first = firstOf(cli, context, name);
  editConfig(paths.config, existing ? [{ set: { cli, name }, key: 'env', value: env }] : [{ add: account }]);
  try {
    for (const { slot, value } of slots) await storeSecret(slot, value, place, paths);
  } catch (error) {
    const target = { cli, name };
    editConfig(paths.config, [existing ? { set: target, key: 'env', value: existing.env } : { remove: target }]);
    throw error;
  }
  updateState(paths, cli, state => void delete state.paused[name]);
  refreshPlans([cli], context);
  if (first !== undefined) keepDefault(cli, first, context);
}

/** Returns the default account, the added account if there is no default, or `undefined` if the default is lost. */
export function firstOf(cli: string, context: Context, added: string): string | undefined {
  const accounts = accountsOf(cli, context);
  const state = readState(context.paths, cli);
  if (hasLostDefault(accounts, state)) return undefined;
  return effectiveDefault(accounts, state) ?? added;
}

/** True if each account of a tool is a place with its own contents. */
function isPlace(cli: string, context: Context): boolean {
  const { providers } = catalogOf(context);
  return Object.hasOwn(providers, cli) && providers[cli]!.account_is === 'place';
}

/**
 * Chooses where to store credentials. If the keyring doesn't work, offers a file to a user at a terminal.
 * @param otherwise alternative that the hint names
 * @throws WrapError `keyring-unavailable`
 */
export async function choosePlace(options: Pick<AddOptions, 'file' | 'json'>, otherwise: string): Promise<SecretPlace> {
  if (options.file) return 'file';
  const problem = await keyringProblem();
  if (problem === undefined) return 'keyring';
  const hint = `unlock or start a Secret Service (and install libsecret-tools), or ${otherwise}`;
  if (isatty(0) && isatty(2) && !options.json) {
    say(`the keyring can't be used: ${problem}`);
    if (await confirm('Store credentials in a file that only you can read instead? [y/N] ')) return 'file';
  }
  throw new WrapError(
    'keyring-unavailable',
    EXIT.unavailable,
    `the credential could not be stored in the keyring: ${problem}`,
    { hint },
  );
}

/** `enable <name>` and `disable <name>`. */
export function setEnabled(
  { cli, name, enabled }: { cli: string; name: string; enabled: boolean },
  options: Options,
  context: Context,
): void {
  find(accountsOf(cli, context), cli, name);
  const previous = effectiveDefault(accountsOf(cli, context), readState(context.paths, cli));
  editConfig(context.paths.config, [{ set: { cli, name }, key: 'enabled', value: enabled }]);
  refreshPlans([cli], context);
  const current = effectiveDefault(accountsOf(cli, context), readState(context.paths, cli)) ?? null;
  const change = current === (previous ?? null) ? '' : describeNext(cli, context);
  emit(
    options.json,
    { cli, account: name, enabled, default: current },
    `"${name}" of ${cli} is ${enabled ? 'enabled' : 'disabled'}${change}`,
  );
}

/** `wake <name>`: ends an account's pause. */
export function wake(cli: string, name: string, options: Options, context: Context): void {
  find(accountsOf(cli, context), cli, name);
  updateState(context.paths, cli, state => void delete state.paused[name]);
  emit(options.json, { cli, account: name }, `"${name}" of ${cli} is tried again`);
}

/** `remove <name>`: removes the account's stored secrets, and then the account. */
export async function remove(cli: string, name: string, options: Options, context: Context): Promise<void> {
  const { paths } = context;
  const account = find(accountsOf(cli, context), cli, name);
  assertNoClient({ cli, name }, paths);
  const isDefault = effectiveDefault(accountsOf(cli, context), readState(paths, cli)) === name;
  const { providers } = catalogOf(context);
  const provider = Object.hasOwn(providers, cli) ? providers[cli]! : {};
  await forgetSecrets(account, context);
  editConfig(paths.config, [{ remove: { cli, name } }]);
  updateState(paths, cli, state => renameInState(state, name));
  if (isDefault) keepDefault(cli, undefined, context);
  refreshPlans([cli], context);
  const next = isDefault ? describeNext(cli, context) : '';
  const { deleted, text } = await leaveLogin(account, provider, options, context);
  emit(options.json, { cli, removed: name, loginDeleted: deleted }, `removed "${name}" of ${cli}${text}${next}`);
}

/** Returns a clause about the account that commands now use by default. */
function describeNext(cli: string, context: Context): string {
  const accounts = accountsOf(cli, context);
  const state = readState(context.paths, cli);
  if (isPlace(cli, context) && hasLostDefault(accounts, state))
    return `; choose another default with \`culvert-wrap accounts default ${cli} NAME\``;
  const current = effectiveDefault(accounts, state);
  return current ? `; ${cli} now uses "${current}"` : `; ${cli} runs without an account`;
}

/**
 * Checks that no file of an MCP client refers to an account. Without the account, `mcp uninstall` could not write its key back.
 * @throws WrapError `account-in-client`
 */
function assertNoClient({ cli, name }: { cli: string; name: string }, paths: Paths): void {
  const refersTo = (text: string) => {
    const account = accountIn(text);
    return account?.cli === cli && account.name === name;
  };
  const kept = Object.values(readOriginals(paths)).filter(each => [each.inUrl, each.inHeader].some(refersTo));
  if (kept.length === 0) return;
  const files = [...new Set(kept.map(({ file }) => file))].join(', ');
  throw new WrapError('account-in-client', EXIT.data, `MCP clients use "${name}" of ${cli}: ${files}`, {
    hint: 'first run `culvert-wrap mcp uninstall`, which writes its key back; afterwards `culvert-wrap mcp install` again',
  });
}

/** Removes an account's stored secrets, but not the external sources that the account refers to. */
async function forgetSecrets(account: Account, { paths }: Pick<Context, 'paths'>): Promise<void> {
  for (const [variable, source] of Object.entries(account.env)) {
    await forgetSecret(source, { cli: account.cli, account: account.name, variable }, paths);
  }
}

/** `rename <old> <new>`: renames an account and its stored secrets. */
export async function rename(
  { cli, from, to }: { cli: string; from: string; to: string },
  options: Options,
  context: Context,
): Promise<void> {
  const { paths, env } = context;
  const accounts = accountsOf(cli, context);
  const account = find(accounts, cli, from);
  assertName(to);
  assertNoClient({ cli, name: from }, paths);
  if (accounts.some(same({ cli, name: to }))) {
    throw new WrapError('account-name', EXIT.usage, `${cli} already has an account "${to}"`, {
      hint: 'choose another',
    });
  }
  const moved = await moveSecrets(account, to, env, paths);
  editConfig(paths.config, [
    { set: { cli, name: from }, key: 'env', value: moved },
    { set: { cli, name: from }, key: 'name', value: to },
  ]);
  await forgetSecrets(account, context);
  updateState(paths, cli, state => renameInState(state, from, to));
  refreshPlans([cli], context);
  emit(options.json, { cli, account: to }, `"${from}" of ${cli} is now "${to}"`);
}

/**
 * Parses `VAR=source` pairs.
 * @throws WrapError `bad-source`, without the value, because it may be a key
 */
function readSources(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map(pair => {
      const [variable = '', source = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      if (!pair.includes('=') || variable === '' || !SOURCE.test(source)) {
        throw new WrapError('bad-source', EXIT.usage, `${variable || '--env'} is not followed by a source`, {
          hint: 'write VARIABLE=env:OTHER, keyring:, pass:entry, command:…, or file:path#KEY; a credential itself is only read from the prompt or stdin',
        });
      }
      return [variable, source];
    }),
  );
}

function assertName(name: string): void {
  if (ACCOUNT_NAME.test(name)) return;
  throw new WrapError('account-name', EXIT.usage, `${JSON.stringify(name)} can't be the name of an account`, {
    hint: 'letters, digits, ".", "_" and "-", at most 64, not starting with "-" and not dots alone',
  });
}

function accountsOf(cli: string, { paths }: Pick<Context, 'paths'>): Account[] {
  return accountsIn(readConfig(paths.config), cli);
}

function find(accounts: readonly Account[], cli: string, name: string): Account {
  const account = accounts.find(same({ cli, name }));
  if (account) return account;
  throw new WrapError('unknown-account', EXIT.usage, `${cli} has no account "${name}"`, {
    hint:
      accounts.length > 0
        ? `accounts: ${accounts.map(each => each.name).join(', ')}`
        : `\`culvert-wrap accounts add ${cli} ${name}\` adds it`,
  });
}

function needsCredential(provider: Provider): boolean {
  return provider.home.length === 0 && provider.arguments.length === 0 && !provider.prepare_command;
}

function check(variable: string, value: string, ofList = false): void {
  try {
    assertCredential(value);
    const why = ofList ? oddityIn(value, variable) : undefined;
    if (why !== undefined) throw new Error(why);
  } catch (error) {
    throw new WrapError('bad-credential', EXIT.data, `${variable}: ${reason(error)}`, { hint: 'copy the key again' });
  }
}
