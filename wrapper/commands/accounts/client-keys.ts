// Moves keys from the configuration of MCP clients to accounts, and reads them back.
import { type Catalog, providerOf } from '../../catalog/catalog.ts';
import type { Context } from '../../context.ts';
import { accountIn, referenceTo } from '../../mcp/key-references.ts';
import { callerEnvironment } from '../../run/accounts/environment.ts';
import { readConfig, same } from '../../store/config.ts';
import { resolveAccount, SOURCE_TIMEOUT_MS } from '../../store/secrets.ts';
import { EXIT, say, WrapError } from '../../system/errors.ts';
import { type Planned, storeAccounts } from './import.ts';
import type { ImportOptions } from './import-file.ts';
import { nameOf } from './import-stored.ts';

/** Place of a key that was taken. */
export interface TakenKey {
  reference: string;
  reads?: string;
}

/**
 * Stores keys as accounts, unless an account has them.
 * @param keys the tool of each key
 * @returns the reference to each key, and the variable from which its account reads it
 * @throws WrapError `keyring-unavailable`, before anything is stored
 */
export async function takeKeys(
  keys: ReadonlyMap<string, string>,
  options: Pick<ImportOptions, 'file' | 'json'>,
  catalog: Catalog,
  context: Context,
): Promise<Map<string, TakenKey>> {
  const taken = new Map<string, TakenKey>();
  const { accounts } = readConfig(context.paths.config);
  const plan: Planned[] = [];
  for (const [key, cli] of keys) {
    const variable = providerOf(catalog, cli).inject[0]!;
    const secrets = { [variable]: key };
    const known = await nameOf(cli, secrets, context);
    const names = [...accounts, ...plan.map(({ account }) => account)].filter(account => account.cli === cli);
    const name = known ?? freeName(names.map(account => account.name));
    if (known === undefined) plan.push({ account: { cli, name, enabled: true, env: {}, secrets }, change: 'add' });
    const source = names.find(account => account.name === known)?.env[variable];
    const reads = source?.startsWith('env:') ? { reads: source.slice('env:'.length) } : {};
    taken.set(key, { reference: referenceTo({ cli, name }), ...reads });
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

function freeName(taken: readonly string[]): string {
  for (let count = 1; ; count++) {
    const name = count === 1 ? 'mcp' : `mcp-${count}`;
    if (!taken.includes(name)) return name;
  }
}
