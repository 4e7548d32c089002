// Describes the pool and this machine's part in it as plain values: for `pool status` and for metrics.
import type { Context } from '../context.ts';
import { readConfig } from '../store/config.ts';
import { readLocal } from '../store/pool-file.ts';
import { describeAddress, StoreUnreachable } from './address.ts';
import { openPool } from './open.ts';
import type { AccountRow, LeaseRow, Store } from './store.ts';

export interface PoolStatus {
  address: string;
  machine: string;
  offline: 'refuse' | 'local';
  reachable: boolean;
  /** Why it can't be reached. */
  problem: string | null;
  /** Since when commands run without the store, in milliseconds since the epoch; `null`: they don't. */
  degradedSince: number | null;
  /** Runs of this machine without the store, ever. */
  degradedRuns: number;
  /** Runs of this machine that waited for an account, ever. */
  waits: number;
  /** Reports that the store does not have yet. */
  unsent: number;
  /** By CLI; empty while the store can't be reached. */
  clis: { cli: string; accounts: AccountRow[]; leases: LeaseRow[] }[];
}

/**
 * Asks the store. The CLIs are those that have an account on this machine.
 * @returns `undefined` without a pool
 * @throws WrapError when the address or the login can't be used, or the store has another schema
 */
export async function poolStatus(context: Pick<Context, 'env' | 'paths'>): Promise<PoolStatus | undefined> {
  const { pool, accounts } = readConfig(context.paths.config);
  if (!pool) return undefined;
  const local = readLocal(context.paths);
  const status: PoolStatus = {
    address: describeAddress(pool.url),
    machine: pool.machine,
    offline: pool.offline,
    reachable: true,
    problem: null,
    degradedSince: local.degradedSince ?? null,
    degradedRuns: local.degradedRuns,
    waits: local.waits,
    unsent: local.unsent.length,
    clis: [],
  };
  const store = await openPool(pool, context);
  try {
    for (const cli of new Set(accounts.map(account => account.cli))) status.clis.push(await ofCli(cli, store));
    if (status.clis.length === 0) await store.status('culvert-wrap');
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error;
    Object.assign(status, { reachable: false, problem: error.message, clis: [] });
  } finally {
    store.close();
  }
  return status;
}

async function ofCli(cli: string, store: Store): Promise<PoolStatus['clis'][number]> {
  return { cli, accounts: await store.status(cli), leases: await store.leases(cli) };
}
