// Collects the status of the pool and of this machine in it, for `pool status` and metrics.
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
  /** Why the store can't be reached. */
  problem: string | null;
  /** Start of the time without the store, in milliseconds since the epoch; `null` while commands use the store. */
  degradedSince: number | null;
  /** Total number of this machine's runs without the store. */
  degradedRuns: number;
  /** Total number of this machine's runs that waited for an account. */
  waits: number;
  /** Number of reports that the store has not received yet. */
  unsent: number;
  /** Accounts and leases of each CLI; empty if the store can't be reached. */
  clis: { cli: string; accounts: AccountRow[]; leases: LeaseRow[] }[];
}

/**
 * Returns the pool's status, with the CLIs that have an account on this machine.
 * @returns `undefined` without a pool
 * @throws WrapError if the address or the login can't be used, or the store has another schema
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
