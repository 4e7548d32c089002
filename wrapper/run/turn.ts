// Gives requests an account, and the next one after a limit: with the chooser, pauses and audit of a wrapped command.
import type { Context, Leases } from '../context.ts';
import type { Account } from '../store/config.ts';
import type { Plan } from '../store/plan.ts';
import type { CliState } from '../store/state.ts';
import { reason, say } from '../system/errors.ts';
import { LocalLeases } from './accounts/local-leases.ts';
import { clearChangedCredentials, makeReady } from './accounts/ready.ts';
import { chooseAccount, jobIn, lostDefault } from './accounts/select-account.ts';
import { type Book, bookOnDisk, costIn, Holding, remainingIn } from './book.ts';
import { byMost, type Candidate, type Choice, isBound, isLate, orderCandidates } from './choose/candidates.ts';
import { needsUsage } from './choose/capacity.ts';
import { afterReturning, afterTaking, begin, type Failure, next } from './choose/choose.ts';
import {
  describeFailure,
  earlierPause,
  isLimitOfAddress,
  pauseFor,
  type Retry,
  withinReason,
} from './choose/failures.ts';
import { invocationOfRequest } from './invocation.ts';
import { firstInPool, idsOf, jobInPool, keepJob, RENEW_MS } from './jobs.ts';
import { type Journal, startJournal } from './journal.ts';
import { describeTooLarge, leftDespite } from './what-is-left.ts';

/** An account in use. */
export interface Using {
  name: string;
  /** The environment for a program that uses it. */
  environment(): NodeJS.ProcessEnv;
  credentials: Record<string, string>;
}

interface Named {
  /** Names the requests in audit log and costs; no part of it may be private. */
  command: string;
  /** Each may name a job, whose account is then the only one. */
  ids?: readonly string[];
  /** One request among many: it tries no account twice, and nothing is said that all of them would say. */
  isRequest?: boolean;
  book?: Book;
  /** The program that asks, for the audit log. */
  consumer?: string;
  /** Expected use, where the request says so; otherwise the usual one of the command. */
  cost?: number | undefined;
  /** Units without which the provider would do less than the request wants. */
  wanted?: number | undefined;
  /** No other account can take over, so what is left is asked first. */
  careful?: boolean;
}

interface Parts {
  state: CliState;
  choice: Choice;
  leases: Leases;
  journal: Journal;
  cost: number;
  book: Book;
  isRequest: boolean;
  wanted: number | undefined;
  careful: boolean;
}

/** Consequences of a refusal. */
export interface Refusal {
  /** Another account may help. */
  more: boolean;
  /** The first account that may be of use again, if one is known: in how many seconds, and whether the provider named that. */
  first?: { seconds: number; class: Failure['class']; stated: boolean };
}

/** The accounts of one request, or of a server from its start to its end. */
export class Turn {
  readonly #plan: Plan;
  readonly #context: Context;
  readonly #parts: Parts;
  readonly #failures: Failure[] = [];
  /** Accounts that are not paused, but have too little for this request. */
  readonly #tooLarge: Failure[] = [];
  #spent = 0;
  /** The account in use has been settled, with its pause. */
  #isSettled = false;
  readonly #holding: Holding;

  private constructor(plan: Plan, context: Context, parts: Parts) {
    this.#plan = plan;
    this.#context = context;
    this.#parts = parts;
    this.#holding = new Holding(parts.book, parts.cost);
  }

  /** @throws WrapError `unknown-account` and those of the pool */
  static async open(plan: Plan, context: Context, named: Named): Promise<Turn> {
    const { command, isRequest = false, book = bookOnDisk(plan, context), consumer, wanted } = named;
    const careful = named.careful === true || wanted !== undefined;
    const state = { ...book.state() };
    const credentials = book.credentials();
    const ids = idsOf(named.ids ?? [], state, context.now());
    const shared = isRequest ? await jobInPool(ids, { plan, state, context, credentials }) : undefined;
    // no request continues what the tool opened last, so no command is named
    const { choice, notice } = await chooseAccount(plan, { args: [...ids], command: '' }, state, context);
    const lost = lostDefault(plan, state, choice);
    if (lost) throw lost;
    if (notice && !isRequest) say(notice);
    await clearChangedCredentials(plan, state, credentials);
    if (careful || (!plan.pool && needsUsage(plan)))
      await (await context.load()).refreshUsage(plan, state, context, { credentials });
    const cost = costIn(remainingIn(state, book), command, named.cost, plan);
    const pinned = choice.by === 'default' ? undefined : choice.name;
    const options = { plan, state, context, credentials, cost, pinned };
    const leases = plan.pool ? await (await context.loadPool()).openLeases(options) : new LocalLeases(options);
    const invocation = invocationOfRequest(command);
    const { save } = book;
    const runState = state;
    const journal = startJournal({ plan, invocation, runState, context, cost, choice, leases, save, consumer });
    if (shared) journal.job(shared.id, shared.account);
    const turn = new Turn(plan, context, { state, choice, leases, journal, cost, book, isRequest, wanted, careful });
    const job = isRequest ? jobIn(ids, state) : undefined;
    if (job && context.now() - state.jobs[job.id]!.at > RENEW_MS) await turn.job(job.id, job.account);
    return turn;
  }

  /** Expected cost, in the provider's unit. */
  get cost(): number {
    return this.#parts.cost;
  }

  /**
   * The first account, whatever its state, because the provider has to say what is wrong; after a failure, one that is neither
   * paused nor spent.
   * @throws WrapError those of the pool, for the first account
   */
  async take(): Promise<Using | undefined> {
    if (this.#failures.length + this.#tooLarge.length === 0) return await this.#take(false);
    try {
      return await this.#take(true);
    } catch (error) {
      say(`${this.#plan.cli}: ${reason(error)}`);
      return undefined;
    }
  }

  /** Pauses an account after a limit, unless the request only wants more than it has left. */
  async refused({ name, credentials }: Using, verdict: Retry, ms: number): Promise<Refusal> {
    const { provider, cli } = this.#plan;
    const { state, journal, leases, choice, book } = this.#parts;
    this.#refresh();
    this.#holding.end();
    const asking = { plan: this.#plan, state, context: this.#context, credentials: book.credentials() };
    const left = await leftDespite(verdict, { name, own: credentials }, asking);
    const ended = { account: name, class: verdict.class, ms };
    const end = { spent: this.#spent };
    this.#spent = 0;
    this.#isSettled = true;
    const isOfAddress = isLimitOfAddress(verdict, provider);
    const more = !isOfAddress && !isBound(choice, this.#plan);
    if (left !== undefined) {
      journal.add({ ...ended, outcome: 'left', why: 'too-large' });
      journal.store();
      this.#tooLarge.push({ account: name, class: verdict.class });
      say(describeTooLarge(cli, name, left));
      await leases.settle(end);
      return { more };
    }
    const now = this.#context.now();
    const earlier = earlierPause(state, name, credentials);
    const pause = pauseFor(verdict, state.remaining[name]?.resets, now, earlier);
    journal.pause(name, pause, credentials, ended);
    if (isOfAddress) journal.pauseOthers(name, pause);
    journal.store();
    this.#failures.push({ account: name, class: verdict.class });
    say(describeFailure(cli, name, pause));
    const rest = { class: verdict.class, rest: withinReason(verdict, now) };
    await leases.settle(isOfAddress ? end : { ...end, pause: rest });
    const usable = more ? this.#plan.accounts.filter(({ enabled }) => enabled).map(account => account.name) : [name];
    const pauses = usable.flatMap(each => {
      const { until = 0, class: kind, stated = false } = state.paused[each] ?? {};
      const seconds = Math.ceil(((until ?? 0) - now) / 1_000);
      return seconds > 0 ? [{ seconds, class: kind!, stated }] : [];
    });
    const [first] = pauses.sort((a, b) => a.seconds - b.seconds);
    return { more, ...(first && { first }) };
  }

  /**
   * Counts a request that was answered.
   * @param note a word for the audit log
   */
  answered(name: string, ok: boolean, started: number, note?: 'lowered'): void {
    const { journal, cost } = this.#parts;
    const ms = this.#context.now() - started;
    this.#holding.end();
    // a server makes further requests
    if (!this.#parts.isRequest) this.#tooLarge.length = 0;
    if (ok) {
      this.#spent += cost;
      journal.success(name, this.#failures.length > 0, started, {
        account: name,
        ms,
        ...(note && { class: note }),
      });
    } else journal.add({ account: name, outcome: 'failed', class: 'other', ms });
    journal.store();
  }

  /** Later requests that name this id go to the same account, with a pool those on other machines as well. */
  async job(id: string, account: string): Promise<void> {
    const { journal, book } = this.#parts;
    journal.job(id, account);
    journal.store();
    await keepJob(id, account, { plan: this.#plan, context: this.#context, credentials: book.credentials() });
  }

  /** An account may still work on a request that took too long: it goes to that one again, or to the first one of the pool. */
  async mayGoOn(id: string, account: string): Promise<void> {
    const options = { plan: this.#plan, context: this.#context, credentials: this.#parts.book.credentials() };
    await this.job(id, (await firstInPool(id, options)) ?? account);
  }

  /** Another account may take a request that none has done. */
  async forgetJob(id: string): Promise<void> {
    const { journal, book } = this.#parts;
    journal.forgetJob(id);
    journal.store();
    await keepJob(id, undefined, { plan: this.#plan, context: this.#context, credentials: book.credentials() });
  }

  /** A job decides the account. */
  get isOfJob(): boolean {
    return this.#parts.choice.by === 'job';
  }

  /** Why there is no account, where a pool says so. */
  get refusal(): string {
    return this.#parts.leases.refusal;
  }

  /** Set when all accounts of a pool are used up: seconds until one is free, 0 if unknown, and classes of their failures. */
  get usedUp(): { seconds: number; classes: readonly string[] } | undefined {
    const { usedUp } = this.#parts.leases;
    return usedUp && { seconds: Math.ceil((usedUp.ms ?? 0) / 1_000), classes: usedUp.classes };
  }

  /** Units that an account is known to have for this request, its reserve included. */
  left(account: string): number | undefined {
    const { state, book } = this.#parts;
    const left = remainingIn(state, book)[account]?.remaining ?? undefined;
    return left === undefined ? undefined : left + this.#holding.on(account);
  }

  /** Notes that the request is not made. */
  denied(why: string): void {
    const { journal } = this.#parts;
    journal.add({ account: null, outcome: 'refused', why });
    journal.store();
  }

  /** The request has waited for an account, and begins again. */
  waited(): void {
    this.#failures.length = 0;
    this.#tooLarge.length = 0;
  }

  /** Gives the account back. */
  async finish(): Promise<void> {
    const { leases, journal } = this.#parts;
    this.#holding.end();
    if (!this.#isSettled) await leases.settle({ spent: this.#spent });
    await leases.finish();
    journal.store();
  }

  async #take(patient: boolean): Promise<Using | undefined> {
    const { state, choice, leases, journal, book, isRequest } = this.#parts;
    const plan = this.#plan;
    const context = this.#context;
    this.#refresh();
    const usable = this.#candidates(patient);
    const pinned = choice.by !== 'default' && !patient;
    const failures = [...this.#failures.filter(({ account }) => state.paused[account]), ...this.#tooLarge];
    const sharesQuota = plan.provider.scope !== 'key';
    let choosing = { ...begin(usable, { patient, pinned, sharesQuota }), failures };
    // a program that gives credentials may be asked again, because its values may be old by now
    const credentials = book.credentials();
    for (;;) {
      const step = next(choosing, state);
      if (step.kind === 'end') {
        this.#holding.end();
        return undefined;
      }
      // before the first await: another request must not choose the same units
      this.#holding.move(step.accounts[0]?.name);
      const leased = await leases.next(step.accounts, patient);
      choosing = { ...afterTaking(step.choosing, step.accounts, leased), failures };
      const { account } = leased;
      this.#holding.move(account?.name);
      if (!account) continue;
      const ready =
        isRequest && bringsAddress(account, plan)
          ? { ok: false as const, problem: 'it has an address of its own, which no gateway uses' }
          : await makeReady(account, { plan, state, context, credentials });
      if (!ready.ok) {
        say(`${plan.cli}: skipping account "${account.name}": ${ready.problem}`);
        journal.add({ account: account.name, outcome: 'skipped' });
        await leases.settle({ spent: 0 });
        if (pinned) return undefined;
      } else if (!(await leases.matches(ready.credentials))) {
        choosing = { ...afterReturning(choosing, account), failures };
      } else {
        if (ready.digest) journal.prepared(ready.digest, state);
        const { environment, credentials: own } = ready;
        this.#isSettled = false;
        return { name: account.name, environment, credentials: own };
      }
    }
  }

  #candidates(patient: boolean) {
    const { state, choice, cost, isRequest, wanted, careful, book } = this.#parts;
    const { capacity, provider, accounts, pool } = this.#plan;
    const remaining = pool && !careful ? {} : remainingIn(state, book);
    const figures = { ...state, remaining, ...(pool && { paused: {} }) };
    const ordered = orderCandidates(accounts, figures, choice, {
      now: this.#context.now(),
      cost: Math.max(cost, wanted ?? 0),
      capacity,
      sharedQuota: provider.scope !== 'key',
      onlyChosen: isBound(choice, this.#plan),
    });
    const asMuch = careful && choice.by === 'default' && ordered.every(isLate) ? byMost(ordered, figures) : ordered;
    // figures are estimates between two answers of the provider: what seems spent is asked, unless a reserve must stay
    const leaves = ({ paused, spent }: Candidate) => paused || (spent && (!isRequest || capacity.reserve > 0));
    const failed = new Set([...(isRequest ? this.#failures : []), ...this.#tooLarge].map(({ account }) => account));
    return asMuch.filter(candidate => !failed.has(candidate.account.name) && !(patient && leaves(candidate)));
  }

  /** Others learn as well. */
  #refresh(): void {
    Object.assign(this.#parts.state, this.#parts.book.state());
  }
}

/** Reports whether the credential of an account is for a host that the account itself names: a gateway would send it to the provider's. */
function bringsAddress({ env }: Account, { provider }: Plan): boolean {
  return provider.hosts.env.some(name => Object.hasOwn(env, name));
}
