// Moves keys from the configuration of MCP clients to accounts, and reads the keys of accounts again for a restore.
import { type Catalog, providerOf } from '../../catalog/catalog.ts';
import type { Context } from '../../context.ts';
import { callerEnvironment } from '../../run/accounts/ready.ts';
import { type Account, readConfig, same } from '../../store/config.ts';
import { accountIn, freeName, referenceTo } from '../../store/key-texts.ts';
import { describeSource, isStored, resolveAccount, SOURCE_TIMEOUT_MS } from '../../store/secrets.ts';
import { EXIT, say, WrapError } from '../../system/errors.ts';
import { namesOf, type Planned, storeAccounts } from './import.ts';
import type { ImportOptions } from './import-file.ts';

/**
 * Stores keys as accounts, unless an account already has them. A key that an account reads from elsewhere, perhaps from the
 * client's file, stays there.
 * @param keys the tool of each key
 * @returns the reference to each key that is stored for an account
 * @throws WrapError `keyring-unavailable`, before anything is stored
 */
export async function takeKeys(
  keys: ReadonlyMap<string, string>,
  options: Pick<ImportOptions, 'file' | 'json'>,
  catalog: Catalog,
  context: Context,
): Promise<Map<string, string>> {
  const taken = new Map<string, string>();
  const { accounts } = readConfig(context.paths.config);
  const plan: Planned[] = [];
  for (const [key, cli] of keys) {
    const variable = providerOf(catalog, cli).inject[0]!;
    const secrets = { [variable]: key };
    const known = await namesOf(cli, secrets, context);
    const having = accounts.filter(account => account.cli === cli && known.includes(account.name));
    const holder = having.find(({ name, env }) =>
      isStored(env[variable] ?? '', { cli, account: name, variable }, context.paths),
    );
    if (!holder && having.length > 0) {
      const [{ name, env }] = having as [Account];
      say(`a key of ${cli} stays with its client: "${name}" reads it from ${describeSource(env[variable] ?? '')}`);
      continue;
    }
    const others = [...accounts, ...plan.map(({ account }) => account)].filter(account => account.cli === cli);
    const name = holder?.name ?? freeName('mcp', free => !others.some(account => account.name === free));
    if (!holder) plan.push({ account: { cli, name, enabled: true, env: {}, secrets }, change: 'add' });
    taken.set(key, referenceTo({ cli, name }));
  }
  await storeAccounts(plan, options, context, 'store the keys of the clients in a 0600 file with --file');
  for (const { account } of plan) say(`added "${account.name}" of ${account.cli}`);
  return taken;
}

/**
 * Reads the keys that references stand for.
 * @returns the key of each reference whose account still exists
 * @throws WrapError `key-unreadable`
 */
export async function readKeys(
  references: Iterable<string>,
  catalog: Catalog,
  { paths, env }: Pick<Context, 'paths' | 'env'>,
): Promise<Map<string, string>> {
  const keys = new Map<string, string>();
  for (const reference of references) {
    const wanted = accountIn(reference);
    const account = wanted && readConfig(paths.config).accounts.find(same(wanted));
    if (!account) continue;
    const resolved = await resolveAccount(account, callerEnvironment(env), SOURCE_TIMEOUT_MS);
    if (!resolved.ok) {
      throw new WrapError(
        'key-unreadable',
        EXIT.unavailable,
        `"${account.name}" of ${account.cli}: ${resolved.problem}`,
        {
          hint: 'nothing was changed; correct that, then repeat the command',
        },
      );
    }
    const key = resolved.env[providerOf(catalog, account.cli).inject[0]!];
    if (key !== undefined) keys.set(reference, key);
  }
  return keys;
}
