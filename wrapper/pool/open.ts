// Opens the store that the configuration names, and keeps its connection open between the requests of a gateway.
import { reason } from '../../daemon/core/errors.ts';
import { readOptional } from '../../daemon/core/files.ts';
import type { Context } from '../context.ts';
import { callerEnvironment } from '../run/accounts/ready.ts';
import type { Pool } from '../store/config.ts';
import { resolveAccount, type Slot, SOURCE_TIMEOUT_MS } from '../store/secrets.ts';
import { authoritiesFor } from '../system/connections.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { parseDuration } from '../system/notation.ts';
import type { Store } from './store.ts';

/** Keyring attributes of the pool's passwords. */
export const PASSWORD_SLOTS = {
  password: { cli: 'culvert-wrap', account: 'pool', variable: 'PASSWORD' },
  sentinel_password: { cli: 'culvert-wrap', account: 'pool', variable: 'SENTINEL_PASSWORD' },
} satisfies Record<string, Slot>;
/** The passwords of a pool, by configuration key. */
export type Passwords = { [key in keyof typeof PASSWORD_SLOTS]?: string | undefined };

/**
 * Returns the store of a pool. The first operation opens the connection.
 * @param asked passwords that are not stored yet
 * @param onUnreachable called when an operation fails because the store can't be reached
 * @throws WrapError `pool-address`, `pool-password`, `pool-authorities`
 */
export async function openPool(
  pool: Pool,
  context: Pick<Context, 'env'>,
  asked: Passwords = {},
  onUnreachable?: () => void,
): Promise<Store> {
  const { url, user } = pool;
  const password = asked.password ?? (await passwordOf('password', pool, context));
  const ofSentinels = asked.sentinel_password ?? (await passwordOf('sentinel_password', pool, context));
  const sentinel = ofSentinels === undefined ? undefined : { user: pool.sentinel_user, password: ofSentinels };
  const own = pool.ca === undefined ? undefined : authoritiesIn(pool.ca);
  const ca = authoritiesFor(own, callerEnvironment(context.env));
  // the client library takes 25 ms to load
  const { openStore } = await import('./store.ts');
  return openStore({ url, user, password, sentinel, ca, timeoutMs: parseDuration(pool.timeout), onUnreachable });
}

/** @throws WrapError `pool-authorities` */
function authoritiesIn(file: string): string {
  let why = 'it does not exist';
  try {
    const text = readOptional(file);
    if (text?.includes('-----BEGIN CERTIFICATE-----')) return text;
    if (text !== undefined) why = 'it holds no certificate in PEM';
  } catch (error) {
    why = reason(error);
  }
  throw new WrapError('pool-authorities', EXIT.config, `the authorities of the pool in ${file} can't be used: ${why}`, {
    hint: 'correct pool.ca in config.toml, or give another --ca FILE to `culvert-wrap pool join`',
  });
}

async function passwordOf(
  key: keyof Passwords,
  pool: Pool,
  { env }: Pick<Context, 'env'>,
): Promise<string | undefined> {
  const source = pool[key];
  if (source === undefined) return undefined;
  const { cli, account: name, variable } = PASSWORD_SLOTS[key];
  const account = { cli, name, enabled: true, env: { [variable]: source } };
  const resolved = await resolveAccount(account, callerEnvironment(env), SOURCE_TIMEOUT_MS);
  if (resolved.ok) return resolved.env[variable]!;
  const [whose, option] = key === 'password' ? ['', '--password'] : [' of the Sentinels', '--sentinel-password'];
  throw new WrapError(
    'pool-password',
    EXIT.config,
    `the password${whose} of the pool can't be read: ${resolved.problem}`,
    {
      hint: `correct its source, or join again: \`culvert-wrap pool join URL ${option} SOURCE\``,
    },
  );
}

/** Time after which a shared store is opened again, because its password may have changed. */
const SHARED_MS = 60_000;

interface Shared {
  pool: string;
  since: number;
  opened: Promise<Store>;
  /** Number of requests that use the store, plus one while it is the gateway's newest. */
  users: number;
}

const newest = new WeakMap<Context, Shared>();
const ended = new WeakSet<Context>();

/**
 * Returns the store of a pool for one run or request. The caller closes it.
 * @throws WrapError as `openPool`
 */
export async function useStore(pool: Pool, context: Context): Promise<Store> {
  // a request may end after its gateway, too late to close a shared store
  if (!context.sharesStore || ended.has(context)) return await openPool(pool, context);
  const shared = sharedFor(pool, context);
  shared.users += 1;
  try {
    return { ...(await shared.opened), close: () => letGo(shared) };
  } catch (error) {
    replace(shared, context);
    throw error;
  }
}

/** Closes the store of a gateway that ends. */
export function closeShared(context: Context): void {
  ended.add(context);
  forget(context);
}

function forget(context: Context): void {
  const shared = newest.get(context);
  newest.delete(context);
  if (shared) letGo(shared);
}

/** Makes the next request open the store again. */
function replace(shared: Shared, context: Context): void {
  if (newest.get(context) === shared) forget(context);
}

function sharedFor(pool: Pool, context: Context): Shared {
  const text = JSON.stringify(pool);
  const now = context.now();
  const current = newest.get(context);
  if (current?.pool === text && Math.abs(now - current.since) < SHARED_MS) return current;
  forget(context);
  // after sleep or a network change, a connection may be dead unnoticed: the next request opens another connection
  const opened = openPool(pool, context, {}, () => replace(shared, context));
  const shared: Shared = { pool: text, since: now, opened, users: 1 };
  newest.set(context, shared);
  return shared;
}

function letGo(shared: Shared): void {
  shared.users -= 1;
  if (shared.users === 0)
    shared.opened.then(
      store => store.close(),
      () => {},
    );
}
