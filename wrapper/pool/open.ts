// Connects to the store that the configuration names.
import type { Context } from '../context.ts';
import { EXIT, WrapError } from '../errors.ts';
import { callerEnvironment } from '../run/accounts/environment.ts';
import type { Pool } from '../store/config.ts';
import { parseDuration } from '../store/duration.ts';
import { readText } from '../store/files.ts';
import { resolveAccount, type Slot } from '../store/secrets.ts';
import { openStore, type Store } from './store.ts';

/** Where the keyring has the password of the pool. */
export const PASSWORD_SLOT: Slot = { cli: 'culvert-wrap', account: 'pool', variable: 'PASSWORD' };

const SECRET_TIMEOUT_MS = 15_000;

/**
 * The store of a pool; connected to with the first operation.
 * @throws WrapError `pool-address`, `pool-password`, `pool-authorities`
 */
export async function openPool(pool: Pool, context: Pick<Context, 'env'>): Promise<Store> {
  const { url, user, ca } = pool;
  const password = pool.password === undefined ? undefined : await passwordOf(pool.password, context);
  const authorities = ca === undefined ? undefined : readText(ca);
  if (ca !== undefined && authorities === undefined) {
    throw new WrapError('pool-authorities', EXIT.config, `the pool can't be used: ${ca} does not exist`, {
      hint: 'correct pool.ca in config.toml',
    });
  }
  return openStore({ url, user, password, ca: authorities, timeoutMs: parseDuration(pool.timeout) });
}

async function passwordOf(source: string, { env }: Pick<Context, 'env'>): Promise<string> {
  const { cli, account: name, variable } = PASSWORD_SLOT;
  const account = { cli, name, enabled: true, env: { [variable]: source } };
  const resolved = await resolveAccount(account, callerEnvironment(env), SECRET_TIMEOUT_MS);
  if (resolved.ok) return resolved.env[variable]!;
  throw new WrapError('pool-password', EXIT.config, `the password of the pool can't be read: ${resolved.problem}`, {
    hint: 'correct its source, or join again: `culvert-wrap pool join URL --password SOURCE`',
  });
}
