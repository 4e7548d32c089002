// Keeps the store of a pool open between the requests of a gateway: each run of a tool connects for itself.
import type { Context } from '../context.ts';
import type { Pool } from '../store/config.ts';
import { openPool } from './open.ts';
import type { Store } from './store/store.ts';

/** A password may change. */
const SHARED_MS = 60_000;

interface Shared {
  pool: string;
  since: number;
  opened: Promise<Store>;
  /** Requests that use it, and the gateway while it is the newest. */
  users: number;
}

const newest = new WeakMap<Context, Shared>();
const ended = new WeakSet<Context>();

/**
 * The store of a pool for one run or request, which closes it.
 * @throws WrapError as `openPool`
 */
export async function useStore(pool: Pool, context: Context): Promise<Store> {
  // a request may end after its gateway, when it is too late to close a shared one
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

/** Has the next request open the store again. */
function replace(shared: Shared, context: Context): void {
  if (newest.get(context) === shared) forget(context);
}

function sharedFor(pool: Pool, context: Context): Shared {
  const text = JSON.stringify(pool);
  const now = context.now();
  const current = newest.get(context);
  if (current?.pool === text && Math.abs(now - current.since) < SHARED_MS) return current;
  forget(context);
  // a connection may be dead without a sign, after sleep or a change of network: the next request opens another one
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
