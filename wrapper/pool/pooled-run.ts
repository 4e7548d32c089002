// The leases of one wrapped command: one before each attempt, renewed while it runs, and one report at the end.
import type { Context, Credentials, PooledEnd, PooledRun } from '../context.ts';
import { EXIT, reason, say, WrapError } from '../errors.ts';
import type { Account } from '../store/config.ts';
import { formatDuration, parseDuration } from '../store/duration.ts';
import type { Plan } from '../store/plan.ts';
import { type Done, type LocalPool, noteLocal, type Observation, readLocal } from '../store/pool-file.ts';
import type { CliState } from '../store/state.ts';
import { describeAddress } from './address.ts';
import { type Identified, identification } from './identify.ts';
import { learnLease, learnRefusal } from './learn.ts';
import { returnShare, takeShare, unreported } from './offline.ts';
import { openPool } from './open.ts';
import type { AccountState, Granted, LeaseReply, LeaseRequest, Store } from './store.ts';
import { StoreUnreachable } from './store-errors.ts';

export interface PooledOptions {
  plan: Plan;
  state: CliState;
  context: Context;
  credentials: Credentials;
  /** What the command is expected to use. */
  cost: number;
  /** The account that the user named, if any. */
  pinned: string | undefined;
}

/** A refused account that is not identified by its credential is left alone for this long. */
const REFUSED_MS = 300_000;
/** Where a cooldown has no end that is known. */
const FALLBACK_MS = 3_600_000;
/** A run asks the provider, which may take this long. */
const ASKING_MS = 12_000;
const POLL_MS = [30, 250] as const;
/** A store that is flushed meanwhile asks for the same accounts again; one that asks more often is none. */
const QUESTIONS = 5;

const STATES: Record<AccountState, string> = {
  refused: 'was refused until its credential changes',
  resting: 'rests',
  spent: 'has nothing left',
  reserved: 'has nothing left that is not reserved for a running command',
  busy: 'is in use by as many commands as it may be',
  asking: 'is being asked for',
  unknown: 'is not known yet',
};

/**
 * Opens the pool of a plan.
 * @throws WrapError when the address or the password can't be used
 */
export async function startPooledRun(options: PooledOptions): Promise<PooledRun> {
  return new Run(options, await openPool(options.plan.pool!, options.context));
}

class Run implements PooledRun {
  degraded = false;
  refusal = '';
  readonly #options: PooledOptions;
  readonly #store: Store;
  readonly #ids: ReturnType<typeof identification>;
  readonly #deadline: number;
  readonly #ttl: number;
  /** What this machine has to report from before. */
  #local: LocalPool;
  #held: { id: Identified; lease?: Granted; end?: PooledEnd } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #attempts = 0;
  #waited = false;

  constructor(options: PooledOptions, store: Store) {
    const { plan, context, credentials } = options;
    this.#options = options;
    this.#store = store;
    this.#local = readLocal(context.paths);
    this.#ids = identification({ plan, context, credentials, local: this.#local });
    this.#ttl = parseDuration(plan.pool!.ttl);
    this.#deadline = context.now() + (plan.capacity.wait ? parseDuration(plan.capacity.wait) : 0);
  }

  /** @throws WrapError `pool-unreachable` before the first attempt, and StoreRefused */
  async next(accounts: readonly Account[]): Promise<Account | undefined> {
    const ids = await this.#ids.identify(accounts);
    if (ids.length === 0) {
      this.refusal = 'none of the accounts has its credential';
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

  async matches(_account: Account, credentials: Record<string, string>): Promise<boolean> {
    if (!this.#held || (await this.#ids.matches(this.#held.id, credentials))) return true;
    this.settle({ spent: 0 });
    return false;
  }

  settle(end: PooledEnd): void {
    if (this.#held) this.#held.end = end;
    if (!this.degraded || !this.#held) return;
    const { plan, state, context } = this.#options;
    returnShare(this.#held.id, this.#options.cost - end.spent, state, { cli: plan.cli, context });
    const done = this.#done();
    if (done?.rest) this.#keep(done);
    this.#held = undefined;
  }

  async finish(): Promise<void> {
    clearTimeout(this.#timer);
    const done = this.#done();
    if (done && !this.degraded) {
      const refresh = this.#held?.lease?.refresh ?? [];
      if (refresh.length > 0 && !done.rest) done.seen = await this.#ask(this.#ids.known(refresh));
      try {
        await this.#store.release(this.#options.plan.cli, done);
      } catch (error) {
        this.#keep(done);
        say(`${this.#options.plan.cli}: the pool will get the report later: ${reason(error)}`);
      }
    }
    if (this.#held?.lease && !done?.rest) learnLease(this.#held.id.account, this.#machine());
    this.#held = undefined;
    this.#store.close();
  }

  async #lease(all: readonly Identified[], accounts: readonly Account[]): Promise<Account | undefined> {
    let ids = all;
    let seen: Observation[] = [];
    let lookedUp = false;
    let questions = 0;
    const askedUntil = this.#options.context.now() + ASKING_MS;
    for (;;) {
      const reply = await this.#store.lease(this.#options.plan.cli, this.#request(ids, seen));
      this.#delivered(reply);
      seen = [];
      if (reply.kind === 'granted') return this.#granted(ids, reply.lease);
      if (reply.kind === 'ask') {
        if (++questions > QUESTIONS) throw new StoreUnreachable('it asks for the same accounts again and again');
        seen = await this.#ask(ids.filter(({ fp }) => reply.ask.includes(fp)));
        continue;
      }
      if (!lookedUp) {
        // A credential that was kept may have been changed, and with it the account's cooldown.
        lookedUp = true;
        const again = await this.#ids.identify(accounts, true);
        const changed = again.some(({ fp }) => !ids.some(id => id.fp === fp));
        ids = again;
        if (changed) continue;
      }
      if (!(await this.#wait(reply, askedUntil))) {
        this.refusal = describeRefusal(ids, reply);
        learnRefusal(ids, reply.accounts, this.#machine());
        return undefined;
      }
      this.#options.credentials.forget();
    }
  }

  #request(ids: readonly Identified[], seen: Observation[]): LeaseRequest {
    const { plan, cost, pinned } = this.#options;
    const { provider, capacity, pool, cli } = plan;
    const now = this.#options.context.now();
    const done = this.#done();
    const late = this.#local.unsent
      .filter(unsent => unsent.cli === cli)
      .map(unsent => aged(unsent.done, now - unsent.at));
    return {
      owner: pool!.machine,
      accounts: ids.map(({ account, fp }) => ({ fp, name: account.name })),
      want: cost,
      ttl: this.#ttl,
      strategy: capacity.strategy,
      pinned: ids[0]?.account.name === pinned,
      reserve: capacity.reserve,
      max: capacity.max_leases,
      below: capacity.switch_below,
      above: capacity.return_above ?? (capacity.switch_below ?? 0) * 2,
      askable: provider.usage !== undefined || provider.status_command !== undefined,
      stale: parseDuration(provider.usage?.cache ?? '60s'),
      done: done ? [...late, done] : late,
      seen,
      away: unreported(this.#local.away[cli]),
    };
  }

  /** The store has what was sent; so it is not sent again. */
  #delivered({ intact }: LeaseReply): void {
    const { plan, context } = this.#options;
    const before = this.#local;
    this.#held = undefined;
    clearTimeout(this.#timer);
    const late = before?.unsent.some(({ cli }) => cli === plan.cli);
    const away = before?.away[plan.cli] ?? {};
    const news = Object.values(away).some(each => each.spent > each.reported || intact.includes(each.fp));
    if (!before || !(late || news || before.degradedSince !== undefined)) return;
    this.#local = noteLocal(context.paths, local => {
      delete local.degradedSince;
      // a run without the store has no fencing number
      const sent = new Set(before.unsent.map(({ at, done }) => `${at} ${done.fence}`));
      local.unsent = local.unsent.filter(({ cli, at, done }) => cli !== plan.cli || !sent.has(`${at} ${done.fence}`));
      for (const [key, { fp, spent }] of Object.entries(away)) {
        const entry = local.away[plan.cli]?.[key];
        if (!entry) continue;
        entry.reported = Math.max(entry.reported, spent);
        if (intact.includes(fp) && entry.spent === entry.reported) delete local.away[plan.cli]![key];
      }
    });
  }

  #granted(ids: readonly Identified[], lease: Granted): Account {
    const id = ids.find(({ fp }) => fp === lease.fp);
    if (!id) throw new StoreUnreachable('it leases an account that this machine does not have');
    this.#attempts++;
    this.#held = { id, lease };
    const timer = setTimeout(() => {
      // The next renewal, or the report, tries again; until then the command goes on under its lease.
      this.#store.renew(this.#options.plan.cli, lease.fence, this.#ttl).catch(() => {});
      timer.refresh();
    }, this.#ttl / 3);
    timer.unref();
    this.#timer = timer;
    const { pinned, plan } = this.#options;
    if (pinned !== undefined && id.account.name !== pinned && this.#attempts === 1) {
      say(`${plan.cli}: account "${pinned}" is not free in the pool; using "${id.account.name}"`);
    }
    return id.account;
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
    const what = `the pool at ${describeAddress(url)} can't be reached: ${error.message}`;
    clearTimeout(this.#timer);
    if (this.#held?.lease) {
      const done = this.#done();
      if (done) this.#keep(done);
      this.#held = undefined;
    }
    this.refusal = what;
    this.degraded = true;
    if (offline === 'local' || this.#local.degradedSince === undefined) {
      noteLocal(context.paths, local => {
        local.degradedSince ??= context.now();
        if (offline === 'local') local.degradedRuns++;
      });
    }
    if (offline === 'local') {
      say(`${plan.cli}: ${what}; using this machine's share of the reserve`);
    } else if (this.#attempts === 0) {
      throw new WrapError('pool-unreachable', EXIT.unavailable, `${plan.cli}: ${what}`, {
        hint: 'see `culvert-wrap pool status`; pool.offline = "local" would use this machine\'s share of the reserve',
      });
    }
  }

  #machine() {
    const { plan, state, context } = this.#options;
    return { cli: plan.cli, state, context };
  }

  async #wait(reply: LeaseReply & { kind: 'none' }, askedUntil: number): Promise<boolean> {
    const { context, plan } = this.#options;
    const { signals } = context;
    const asking = reply.accounts.some(({ state }) => state === 'asking');
    const now = context.now();
    if (signals.received) return false;
    if ((asking && now < askedUntil) || (reply.soon && now < this.#deadline)) {
      this.#countWait();
      const ms = POLL_MS[0] + Math.random() * (POLL_MS[1] - POLL_MS[0]);
      await new Promise(resolve => setTimeout(resolve, ms));
      return !signals.received;
    }
    if (reply.ms === undefined || now + reply.ms > this.#deadline) return false;
    this.#countWait();
    say(`${plan.cli}: no account of the pool is free; waiting ${formatDuration(reply.ms)} for the first one`);
    await (await context.load()).sleepUntil(now + Math.max(POLL_MS[0], reply.ms), context);
    return !signals.received;
  }

  #countWait(): void {
    if (this.#waited) return;
    this.#waited = true;
    noteLocal(this.#options.context.paths, local => {
      local.waits++;
    });
  }

  /** Asks the provider for these accounts, whatever this machine knows about them. */
  async #ask(ids: readonly Identified[]): Promise<Observation[]> {
    const { plan, state, context, credentials } = this.#options;
    const asked = { ...state, remaining: {} as CliState['remaining'] };
    const begun = context.now();
    const { refreshUsage } = await context.load();
    await refreshUsage(plan, asked, context, { accounts: ids.map(({ account }) => account), credentials });
    return ids.map(({ account, fp }) => {
      const known = asked.remaining[account.name];
      const answer = known && known.at >= begun ? known : undefined;
      const resets = Date.parse(answer?.resets ?? '');
      return {
        fp,
        remaining: answer?.remaining ?? null,
        limit: answer?.limit ?? null,
        resets: Number.isNaN(resets) ? null : resets,
        ...(answer?.identity !== undefined && { identity: answer.identity }),
        age: Math.max(0, context.now() - begun),
      };
    });
  }

  /** What to report about the account that is held. */
  #done(): Done | undefined {
    if (!this.#held) return undefined;
    const { id, lease, end } = this.#held;
    const { spent, cooldown } = end ?? { spent: 0 };
    return {
      ...{ fence: lease?.fence ?? '0', fp: id.fp, spent, release: true },
      ...(cooldown && { rest: restOf(cooldown, id.byCredential) }),
    };
  }

  #keep(done: Done): void {
    const { plan, context } = this.#options;
    // Where it can't be kept, the lease ends by itself and then counts as used.
    noteLocal(context.paths, local => {
      local.unsent.push({ cli: plan.cli, at: context.now(), done });
    });
  }
}

function restOf(
  { class: failure, rest }: NonNullable<PooledEnd['cooldown']>,
  byCredential: boolean,
): NonNullable<Done['rest']> {
  const common = { class: failure, fallback: FALLBACK_MS };
  // In the store it is the same account with another credential, so that would end nothing.
  if (rest.until === 'credential' && !byCredential) return { ...common, kind: 'elapsed', ms: REFUSED_MS };
  switch (rest.until) {
    case 'elapsed':
      return { ...common, kind: 'elapsed', ms: rest.ms };
    case 'time':
      return { ...common, kind: 'time', at: rest.at };
    default:
      return { ...common, kind: rest.until };
  }
}

/** A report as it is after it could not be sent for a while. */
function aged(done: Done, ms: number): Done {
  const { rest, seen, ...others } = done;
  const age = Math.max(0, ms);
  const over = rest?.kind === 'elapsed' && (rest.ms ?? 0) <= age;
  return {
    ...others,
    ...(rest && !over && { rest: rest.kind === 'elapsed' ? { ...rest, ms: (rest.ms ?? 0) - age } : rest }),
    ...(seen && { seen: seen.map(each => ({ ...each, age: each.age + age })) }),
  };
}

function describeRefusal(ids: readonly Identified[], reply: LeaseReply & { kind: 'none' }): string {
  return reply.accounts
    .map(({ fp, state, ms }) => {
      const name = ids.find(id => id.fp === fp)?.account.name ?? fp;
      return `"${name}" ${STATES[state]}${ms === undefined ? '' : ` for ${formatDuration(ms)}`}`;
    })
    .join(', ');
}
