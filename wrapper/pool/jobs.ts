// Shares between machines which account created a job: no other account can ask for it.
import type { JobOptions } from '../context.ts';
import type { Account } from '../store/config.ts';
import { readLocal } from '../store/pool-file.ts';
import { REQUEST, REQUEST_MS } from '../store/state.ts';
import { sha256 } from '../system/hash.ts';
import { identification } from './identify.ts';
import { useStore } from './shared.ts';
import type { Store } from './store/store.ts';

/** Stores which account created a job, for the other machines of the pool, or that none did. */
export async function keepJob(id: string, account: Account | undefined, options: JobOptions): Promise<void> {
  const [own] = account ? await identify([account], options) : [];
  if (account && !own) return;
  const seconds = id.startsWith(REQUEST) ? REQUEST_MS / 1_000 : undefined;
  await withStore(options, (store, cli) => store.keepJob(cli, nameOf(id), own?.fp, seconds));
}

/** The first of these jobs whose account this machine has. */
export async function findJob(
  ids: readonly string[],
  options: JobOptions,
): Promise<{ id: string; account: string } | undefined> {
  const owners = await withStore(options, async (store, cli) => {
    const found = await Promise.all(ids.map(id => store.findJob(cli, nameOf(id))));
    return ids.flatMap((id, index) => (found[index] === undefined ? [] : { id, fp: found[index] }));
  });
  if (owners.length === 0) return undefined;
  const accounts = await identify(options.plan.accounts, options);
  for (const { id, fp } of owners) {
    const own = accounts.find(each => each.fp === fp);
    if (own) return { id, account: own.account.name };
  }
  return undefined;
}

function identify(accounts: readonly Account[], { plan, context, credentials }: JobOptions) {
  return identification({ plan, context, credentials, local: readLocal(context.paths) }).identify(accounts);
}

async function withStore<T>(
  { plan, context }: JobOptions,
  work: (store: Store, cli: string) => Promise<T>,
): Promise<T> {
  const store = await useStore(plan.pool!, context);
  try {
    return await work(store, plan.cli);
  } finally {
    store.close();
  }
}

/** The store gets a hash, because an id may say what a job is about. */
function nameOf(id: string): string {
  return sha256(id).slice(0, 32);
}
