// Leases accounts of a pool for one run: leases one before each attempt, renews it, and reports at the end. Also shares jobs with
// the other machines of the pool.
import { reason } from '../../daemon/core/errors.ts';
import { sha256 } from '../../daemon/core/hash.ts';
import type { JobOptions, Leased, LeaseEnd, LeaseOptions, Leases } from '../context.ts';
import type { Account } from '../store/config.ts';
import { type LocalPool, noteLocal, readLocal } from '../store/pool-file.ts';
import { REQUEST, REQUEST_MS } from '../store/state.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { parseDuration } from '../system/notation.ts';
import { describeAddress, StoreUnreachable } from './address.ts';
import { type Identified, identification } from './identify.ts';
import { returnShare, takeShare } from './offline.ts';
import { useStore } from './open.ts';
import { describeRefusal, learnLease, learnRefusal, Patience } from './refusals.ts';
import { askProvider, type Held, keepReport, leaseRequest, noteDelivered, reportOf } from './report.ts';
import type { Granted, Store, Unavailable } from './store.ts';

export { closeShared } from './open.ts';

/** Maximum number of questions about accounts before a lease. A flushed store repeats itself; beyond this, it is broken. */
const QUESTIONS = 5;

/**
 * Opens the leases of a pool.
 * @throws WrapError when the address or the password can't be used
 */
export async function openLeases(options: LeaseOptions): Promise<Leases> {
  return new PoolLeases(options, await useStore(options.plan.pool!, options.context));
}

/** Failure class that keeps an account from being leased. */
function failureOf({ state, class: failure }: Unavailable): string {
  return failure ?? (state === 'refused' ? 'auth' : 'quota');
}

class PoolLeases implements Leases {
  readonly isShared = true;
  degraded = false;
  refusal = '';
  usedUp: Leases['usedUp'];
  readonly #options: LeaseOptions;
  readonly #store: Store;
  readonly #ids: ReturnType<typeof identification>;
  readonly #patience: Patience;
  /** Reports left over from earlier commands of this machine. */
  #local: LocalPool;
  #held: Held | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #attempts = 0;

  constructor(options: LeaseOptions, store: Store) {
    const { plan, context, credentials } = options;
    this.#options = options;
    this.#store = store;
    this.#local = readLocal(context.paths);
    this.#ids = identification({ plan, context, credentials, local: this.#local });
    this.#patience = new Patience(plan, context);
  }

  /** @throws WrapError `pool-unreachable` before the first attempt, and `pool-refused` */
  async next(accounts: readonly Account[]): Promise<Leased> {
    const account = await this.#next(accounts);
    return { account, rest: accounts.filter(other => other !== account), awaits: false };
  }

  async matches(credentials: Record<string, string>): Promise<boolean> {
    if (!this.#held || (await this.#ids.matches(this.#held.id, credentials))) return true;
    await this.settle({ spent: 0 });
    return false;
  }

  /** Notes how an attempt ended. The store learns this with the next lease, or at the end. */
  async settle(end: LeaseEnd): Promise<void> {
    if (!this.#held) return;
    this.#held.end = end;
    if (!this.degraded) return;
    const { plan, state, context, cost } = this.#options;
    returnShare(this.#held.id, cost - end.spent, state, { cli: plan.cli, context });
    const done = reportOf(this.#held);
    if (done.rest) keepReport(done, this.#options);
    this.#held = undefined;
  }

  async finish(): Promise<void> {
    clearTimeout(this.#renewal);
    if (this.#held && !this.degraded) await this.#release(this.#held);
    this.#held = undefined;
    this.#store.close();
  }

  async #next(accounts: readonly Account[]): Promise<Account | undefined> {
    const ids = await this.#ids.identify(accounts);
    if (ids.length === 0) {
      this.refusal = await this.#missingCredentials(accounts);
      return undefined;
    }
    if (!this.degraded) {
      try {
        return await this.#lease(ids, accounts);
      } catch (error) {
        if (!(error instanceof StoreUnreachable)) throw error;
        this.#unreachable(error);
      }
    }
    return this.#options.plan.pool!.offline === 'local' ? this.#takeShare(ids) : undefined;
  }

  async #missingCredentials(accounts: readonly Account[]): Promise<string> {
    const problems: string[] = [];
    for (const account of accounts) {
      const resolved = await this.#options.credentials.of(account);
      if (!resolved.ok) problems.push(`${account.name}: ${resolved.problem}`);
    }
    return problems.join('; ');
  }

  async #lease(all: readonly Identified[], accounts: readonly Account[]): Promise<Account | undefined> {
    let ids = all;
    let hasLookedUp = false;
    this.#patience.begin();
    for (;;) {
      const reply = await this.#ask(ids);
      if (reply.kind === 'granted') return this.#granted(ids, reply.lease);
      if (!hasLookedUp) {
        // A cached credential may be outdated. With a new one, the store sees another account, which is not paused.
        hasLookedUp = true;
        const before = ids;
        ids = await this.#ids.identify(accounts, true);
        if (ids.some(({ fp }) => !before.some(id => id.fp === fp))) continue;
      }
      if (!(await this.#patience.wait(reply))) {
        this.refusal = describeRefusal(ids, reply);
        const isUsedUp = reply.accounts.every(({ state }) => ['refused', 'paused', 'spent'].includes(state));
        this.usedUp = isUsedUp ? { ms: reply.ms, classes: reply.accounts.map(failureOf) } : undefined;
        learnRefusal(ids, reply.accounts, this.#machine());
        return undefined;
      }
      this.#options.credentials.forget();
    }
  }

  /** Asks the store for a lease. If the store asks about accounts first, asks the provider about them. */
  async #ask(ids: readonly Identified[]) {
    let seen: Awaited<ReturnType<typeof askProvider>> = [];
    for (let questions = 0; questions <= QUESTIONS; questions++) {
      const done = this.#held && reportOf(this.#held);
      const request = leaseRequest({ ids, seen, done, local: this.#local }, this.#options);
      const reply = await this.#store.lease(this.#options.plan.cli, request);
      this.#held = undefined;
      clearTimeout(this.#renewal);
      this.#local = noteDelivered(this.#local, reply.intact, this.#options);
      if (reply.kind !== 'ask') return reply;
      seen = await askProvider(
        ids.filter(({ fp }) => reply.ask.includes(fp)),
        this.#options,
      );
    }
    throw new StoreUnreachable('it asks for the same accounts again and again');
  }

  #granted(ids: readonly Identified[], lease: Granted): Account {
    const id = ids.find(({ fp }) => fp === lease.fp);
    if (!id) throw new StoreUnreachable('it leases an account that this machine does not have');
    const { plan } = this.#options;
    const ttl = parseDuration(plan.pool!.ttl);
    this.#attempts++;
    this.#held = { id, lease };
    const timer = setTimeout(() => {
      // The next renewal, or the report, tries again; until then the command goes on under its lease.
      this.#store.renew(plan.cli, lease.fence, ttl).catch(() => {});
      timer.refresh();
    }, ttl / 3);
    timer.unref();
    this.#renewal = timer;
    return id.account;
  }

  async #release(held: Held): Promise<void> {
    const { cli } = this.#options.plan;
    const done = reportOf(held);
    const refresh = held.lease?.refresh ?? [];
    if (refresh.length > 0 && !done.rest) done.seen = await askProvider(this.#ids.known(refresh), this.#options);
    try {
      await this.#store.release(cli, done);
    } catch (error) {
      keepReport(done, this.#options);
      say(`${cli}: the pool will get the report later: ${reason(error)}`);
    }
    if (held.lease && !done.rest) learnLease(held.id.account, this.#machine());
  }

  #takeShare(ids: readonly Identified[]): Account | undefined {
    const { plan, cost } = this.#options;
    const taken = takeShare(ids, cost, this.#options);
    if (typeof taken === 'string') {
      this.refusal = `the pool at ${describeAddress(plan.pool!.url)} can't be reached, and ${taken}`;
      return undefined;
    }
    this.#attempts++;
    this.#held = { id: taken };
    return taken.account;
  }

  #unreachable(error: StoreUnreachable): void {
    const { plan, context } = this.#options;
    const { url, offline } = plan.pool!;
    this.refusal = `the pool at ${describeAddress(url)} can't be reached: ${error.message}`;
    this.degraded = true;
    clearTimeout(this.#renewal);
    if (this.#held?.lease) {
      keepReport(reportOf(this.#held), this.#options);
      this.#held = undefined;
    }
    if (offline === 'local' || this.#local.degradedSince === undefined) {
      noteLocal(context.paths, local => {
        local.degradedSince ??= context.now();
        if (offline === 'local') local.degradedRuns++;
      });
    }
    if (offline === 'local') {
      say(`${plan.cli}: ${this.refusal}; using this machine's share of the reserve`);
    } else if (this.#attempts === 0) {
      throw new WrapError('pool-unreachable', EXIT.unavailable, `${plan.cli}: ${this.refusal}`, {
        hint: 'see `culvert-wrap pool status`; pool.offline = "local" would use this machine\'s share of the reserve',
      });
    }
  }

  #machine() {
    const { plan, state, context } = this.#options;
    return { cli: plan.cli, state, context };
  }
}

/** Shares with the pool's other machines which account created a job, if any: no other account can ask for the job. */
export async function keepJob(id: string, account: Account | undefined, options: JobOptions): Promise<void> {
  const [own] = account ? await identify([account], options) : [];
  if (account && !own) return;
  const seconds = id.startsWith(REQUEST) ? REQUEST_MS / 1_000 : undefined;
  await withStore(options, (store, cli) => store.keepJob(cli, nameOf(id), own?.fp, seconds));
}

/** Finds the first of these jobs whose account is on this machine. */
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

/** The store gets a hash, because an id may reveal what a job is about. */
function nameOf(id: string): string {
  return sha256(id).slice(0, 32);
}
