// Gives a command, a request or a server an account, and the next account after a limit; stores what they learn.
import { reason } from '../../daemon/core/errors.ts';
import type { Context, Credentials, Invocation, LeaseEnd, Leases } from '../context.ts';
import type { Account } from '../store/config.ts';
import type { Plan } from '../store/plan.ts';
import type { CliState } from '../store/state.ts';
import { say } from '../system/errors.ts';
import { LocalLeases } from './accounts/local-leases.ts';
import { clearChangedCredentials, makeReady, type Usable } from './accounts/ready.ts';
import { chooseAccount, jobIn, lostDefault } from './accounts/select-account.ts';
import {
  type Book,
  bookOnDisk,
  costIn,
  type Ended,
  firstInPool,
  Holding,
  idsOf,
  type Journal,
  jobInPool,
  keepJob,
  leftDespite,
  RENEW_MS,
  remainingIn,
  startJournal,
} from './book.ts';
import {
  type Candidate,
  type Choice,
  candidatesForRequest,
  endsWhenRefused,
  isBound,
  needsUsage,
  staysInPlace,
} from './candidates.ts';
import {
  afterReturning,
  afterTaking,
  begin,
  describeFailure,
  describeTooLarge,
  earlierPause,
  type Failure,
  firstToReturn,
  isLimitOfAddress,
  type Next,
  next,
  pauseFor,
  type Retry,
  withinReason,
} from './choose.ts';

/** An account in use. */
export interface Using {
  name: string;
  /** The environment for a program that uses it. */
  environment(): NodeJS.ProcessEnv;
  credentials: Record<string, string>;
}

interface Asking {
  /**
   * `command`: a wrapped command, which orders its candidates itself and stores its knowledge at the end. `request`: one among many,
   * which tries no account twice and prints nothing that all of them would print. `server`: a process that makes requests.
   */
  kind: 'command' | 'request' | 'server';
  /** Its command is in audit log and costs; no part of that may be private. */
  invocation: Invocation;
  /** Each may name a job, whose account is then the only one. */
  ids?: readonly string[];
  book?: Book;
  /** The program that asks, for the audit log. */
  consumer?: string;
  /** See `AuditEntry.choice`. */
  ownChoice?: string | undefined;
  /** Expected use, where the request says so; otherwise the usual one of the command. */
  cost?: number | undefined;
  /** Units without which the provider would do less than the request wants. */
  wanted?: number | undefined;
  /** No other account can take over, so what is left is asked first. */
  careful?: boolean;
}

interface Parts extends Asking {
  plan: Plan;
  context: Context;
  state: CliState;
  choice: Choice;
  lostSession: string | undefined;
  leases: Leases;
  journal: Journal;
  book: Book;
  /** Expected, in the provider's unit. */
  cost: number;
}

/** A refusal, and its consequences. */
export interface Refusal {
  verdict: Retry;
  /** Another account may help. */
  more: boolean;
  /** Units that the account has left: it is not paused, and the request wants more. */
  left?: number | undefined;
  /** The refusal for a person. */
  text: string;
  /** The first account that may be of use again, if one is known: in how many seconds, and whether the provider named that. */
  first?: ReturnType<typeof firstToReturn>;
}

/** The accounts of one command or request, or of a server from its start to its end. */
export class Turn {
  readonly parts: Parts;
  readonly #isCommand: boolean;
  /** Those marked are not paused, but have too little for this request. */
  #refusals: (Failure & { isTooLarge: boolean })[] = [];
  #choosing = begin([], { patient: false, pinned: false, sharesQuota: false });
  #patient = false;
  /** The last refusal leaves other accounts. */
  #mayFollow = true;
  #spent = 0;
  /** The account in use has been settled, with its pause. */
  #isSettled: boolean;
  readonly #holding: Holding;
  /** Accounts that could not be used, with the reason. */
  skipped: string[] = [];
  /** Set when no account is left: why, and whether the request may succeed later. */
  end: Pick<Next & { kind: 'end' }, 'obstacle' | 'exhausted'> | undefined;

  private constructor(parts: Parts) {
    this.parts = parts;
    this.#isCommand = parts.kind === 'command';
    this.#isSettled = this.#isCommand;
    this.#holding = new Holding(parts.book, parts.cost);
  }

  /** @throws WrapError `unknown-account`, `no-default` and those of the pool */
  static async open(plan: Plan, context: Context, asking: Asking): Promise<Turn> {
    const { kind, invocation, book = bookOnDisk(plan, context), wanted } = asking;
    const isRequest = kind === 'request';
    const careful = asking.careful === true || wanted !== undefined;
    const state = { ...book.state() };
    const credentials = book.credentials();
    const ids = idsOf(asking.ids ?? [], state, context.now());
    const shared = isRequest ? await jobInPool(ids, { plan, state, context, credentials }) : undefined;
    // no request continues what the tool opened last, so no command is named
    const words = kind === 'command' ? invocation : { args: [...ids], command: '' };
    const { choice, notice, lostSession } = await chooseAccount(plan, words, state, context);
    const lost = lostDefault(plan, state, choice);
    if (lost) throw lost;
    if (notice && !isRequest) say(notice);
    await clearChangedCredentials(plan, state, credentials);
    // one machine of a pool asks for all
    if (careful || (!plan.pool && needsUsage(plan)))
      await (await context.load()).refreshUsage(plan, state, context, { credentials });
    const cost = costIn(remainingIn(state, book), invocation.command, asking.cost, plan);
    const pinned = choice.by === 'default' ? undefined : choice.name;
    const options = { plan, state, context, credentials, cost, pinned };
    const leases = plan.pool ? await (await context.loadPool()).openLeases(options) : new LocalLeases(options);
    const journal = startJournal({ ...asking, plan, runState: state, context, cost, choice, leases, save: book.save });
    if (shared) journal.job(shared.id, shared.account);
    const known = { plan, context, state, choice, lostSession, leases, journal, book, cost };
    const turn = new Turn({ ...asking, ...known, careful });
    const job = isRequest ? jobIn(ids, state) : undefined;
    if (job && context.now() - state.jobs[job.id]!.at > RENEW_MS) await turn.job(job.id, job.account);
    return turn;
  }

  /** No account follows the one in use. */
  get isLast(): boolean {
    return this.#choosing.left.length === 0;
  }

  /** Begins a command, or begins it again after it has waited. Other turns order their candidates for each account. */
  begin(candidates: readonly Candidate[], patient: boolean): void {
    this.#refusals = [];
    this.#choose(candidates, patient);
  }

  /**
   * The first account, whatever its state, because the provider has to name the problem. After a failure, an account that is neither
   * paused nor spent.
   * @param obstacle why no account may make the request again
   * @throws WrapError those of the pool; from a request or a server only for the first account
   */
  async take(obstacle?: string): Promise<Using | undefined> {
    if (this.#isCommand) return await this.#take(obstacle);
    if (!this.#mayFollow || obstacle !== undefined) return undefined;
    const patient = this.#refusals.length > 0;
    try {
      this.#refresh();
      this.#choose(this.#candidates(patient), patient);
      return await this.#take();
    } catch (error) {
      if (!patient) throw error;
      say(`${this.parts.plan.cli}: ${reason(error)}`);
      return undefined;
    }
  }

  /** Pauses an account after a limit, unless the request only wants more than it has left. */
  async refused({ name, credentials }: Using, verdict: Retry, end: Omit<Ended, 'account'>): Promise<Refusal> {
    const { plan, context, state, journal, choice, book } = this.parts;
    const { provider, cli } = plan;
    if (!this.#isCommand) this.#refresh();
    this.#holding.end();
    const asking = { plan, state, context, credentials: book.credentials() };
    const left = await leftDespite(verdict, { name, own: credentials }, asking);
    const isTooLarge = left !== undefined;
    const isOfAddress = isLimitOfAddress(verdict, provider);
    this.#mayFollow = !isOfAddress && !isBound(choice, plan);
    let now = context.now();
    const ended = { account: name, ...end, class: verdict.class };
    // a pool learns no limit of this network address, which says nothing about the account on other machines
    const isPaused =
      !isTooLarge &&
      !isOfAddress &&
      !(this.#isCommand && verdict.class === 'auth' && endsWhenRefused(plan, verdict.stays));
    const pause = { class: verdict.class, rest: withinReason(verdict, now) };
    const settled = { spent: this.#spent, ...(isPaused && { pause }) };
    this.#refusals.push({ account: name, class: verdict.class, isTooLarge });
    // the quota that a provider reports for a command comes before its pause; other requests must know a pause sooner
    if (this.#isCommand) {
      await this.settle(settled);
      now = context.now();
    }
    let text: string;
    if (isTooLarge) {
      journal.add({ ...ended, outcome: 'left', why: 'too-large' });
      text = describeTooLarge(cli, name, left);
    } else {
      const earlier = earlierPause(state, name, credentials);
      const own = pauseFor(verdict, state.remaining[name]?.resets, now, earlier);
      journal.pause(name, own, credentials, ended);
      if (isOfAddress) journal.pauseOthers(name, own);
      text = describeFailure(cli, name, own);
    }
    if (!this.#isCommand) {
      journal.store();
      say(text);
      await this.settle(settled);
    }
    const usable = plan.accounts.filter(each => (this.#mayFollow ? each.enabled : each.name === name));
    const first = isTooLarge ? undefined : firstToReturn(usable, state, now);
    return { verdict, more: this.#mayFollow, left, text, first };
  }

  /**
   * Counts a request that was answered.
   * @param end figures for the audit log, and a word
   */
  answered(account: string, ok: boolean, started: number, end: Partial<Ended> = {}): void {
    const { journal, cost, kind, context } = this.parts;
    const ended = { account, ms: context.now() - started, ...end };
    this.#holding.end();
    const tookOver = this.#refusals.some(({ isTooLarge }) => !isTooLarge);
    // a server makes further requests
    if (kind === 'server') this.#refusals = this.#refusals.filter(({ isTooLarge }) => !isTooLarge);
    if (ok) {
      this.#spent += cost;
      journal.success(account, tookOver, started, ended);
    } else journal.add({ class: 'other', ...ended, outcome: 'failed' });
    if (!this.#isCommand) journal.store();
  }

  /** Says what a pool learns from the account in use. */
  async settle(end: LeaseEnd): Promise<void> {
    this.#spent = 0;
    this.#isSettled = true;
    await this.parts.leases.settle(end);
  }

  /**
   * Later requests that name this id go to the same account, with a pool those on other machines as well.
   * @param account `undefined`: to any, because none has done the request
   */
  async job(id: string, account: string | undefined): Promise<void> {
    const { journal, plan, context, book } = this.parts;
    journal.job(id, account);
    journal.store();
    await keepJob(id, account, { plan, context, credentials: book.credentials() });
  }

  /** An account may still work on a request that took too long: it goes to that one again, or to the first one of the pool. */
  async mayGoOn(id: string, account: string): Promise<void> {
    const { plan, context, book } = this.parts;
    await this.job(id, (await firstInPool(id, { plan, context, credentials: book.credentials() })) ?? account);
  }

  /** Units that an account is known to have for this request, its reserve included. */
  left(account: string): number | undefined {
    const { state, book } = this.parts;
    const left = remainingIn(state, book)[account]?.remaining ?? undefined;
    return left === undefined ? undefined : left + this.#holding.on(account);
  }

  /** Notes that the request is not made. */
  denied(why: string): void {
    const { journal } = this.parts;
    journal.add({ account: null, outcome: 'refused', why });
    journal.store();
  }

  /** The request has waited for an account, and begins again. */
  waited(): void {
    this.#refusals = [];
  }

  /** Gives the account back. */
  async finish(): Promise<void> {
    const { leases, journal } = this.parts;
    this.#holding.end();
    if (!this.#isSettled) await leases.settle({ spent: this.#spent });
    await leases.finish();
    journal.store();
  }

  #choose(candidates: readonly Candidate[], patient: boolean): void {
    const { plan, choice, state } = this.parts;
    const options = { patient, pinned: choice.by !== 'default', sharesQuota: plan.provider.scope !== 'key' };
    const failures = this.#refusals.filter(({ account, isTooLarge }) => isTooLarge || state.paused[account]);
    this.#choosing = { ...begin(candidates, options), failures };
    this.#patient = patient;
    this.skipped = [];
    this.end = undefined;
  }

  async #take(obstacle?: string): Promise<Using | undefined> {
    const { plan, state, choice, leases, journal } = this.parts;
    const last = this.#refusals.at(-1);
    const mustUseFirst = choice.by !== 'default' && !last;
    let failure = this.#isCommand && last ? { ...last, obstacle } : undefined;
    // a program that gives credentials may be asked again, because its values may be old by now
    const credentials = this.parts.book.credentials();
    for (;;) {
      const step = next(this.#choosing, state, failure);
      failure = undefined;
      if (this.#isCommand) {
        for (const { account, sameAs } of step.spared)
          say(`${plan.cli}: account "${account}" has the same quota as "${sameAs}" and is not tried`);
      }
      if (step.kind === 'end') {
        this.#holding.end();
        this.end = step;
        return undefined;
      }
      // Other accounts take over from a named account, but never run instead of it.
      const accounts = this.#isCommand && mustUseFirst ? step.accounts.slice(0, 1) : step.accounts;
      // before the first await: another request must not choose the same units
      this.#holding.move(accounts[0]?.name);
      const leased = await leases.next(accounts, this.#patient);
      this.#choosing = afterTaking(step.choosing, accounts, leased);
      const { account } = leased;
      this.#holding.move(account?.name);
      const ready = account && (await this.#readyOrSkipped(account, credentials));
      if (!ready && mustUseFirst) return undefined;
      if (!ready) continue;
      if (await leases.matches(ready.credentials)) {
        if (ready.digest) journal.prepared(ready.digest, state);
        // a command says itself how its attempt ended
        this.#isSettled = this.#isCommand;
        return { name: account.name, environment: ready.environment, credentials: ready.credentials };
      }
      this.#choosing = afterReturning(this.#choosing, account);
    }
  }

  /** The account made ready, or `undefined` with the reason in `skipped`. */
  async #readyOrSkipped(account: Account, credentials: Credentials): Promise<Usable | undefined> {
    const { plan, context, state, choice, journal, leases, kind } = this.parts;
    const { name } = account;
    const ready =
      kind === 'request' && bringsAddress(account, plan)
        ? { ok: false as const, problem: 'it has an address of its own, which no gateway uses' }
        : await makeReady(account, { plan, state, context, credentials });
    if (ready.ok) return ready;
    this.skipped.push(`${name}: ${ready.problem}`);
    // the error of a command whose only account can't be used names the problem
    const isOnly = this.#refusals.length === 0 && (choice.by !== 'default' || staysInPlace(plan));
    if (!this.#isCommand || !isOnly) say(`${plan.cli}: skipping account "${name}": ${ready.problem}`);
    journal.add({ account: name, outcome: 'skipped' });
    await leases.settle({ spent: 0 });
    return undefined;
  }

  /** The candidates of a request or a server. */
  #candidates(patient: boolean): Candidate[] {
    const { plan, context, state, choice, cost, kind, wanted = 0, careful = false, book } = this.parts;
    const isRequest = kind === 'request';
    const tried = this.#refusals.filter(({ isTooLarge }) => isRequest || isTooLarge).map(({ account }) => account);
    const known = { ...state, remaining: remainingIn(state, book) };
    const options = { now: context.now(), cost: Math.max(cost, wanted), careful, isRequest, patient, tried };
    return candidatesForRequest(plan, known, choice, options);
  }

  /** Reads what other requests and runs have learned. */
  #refresh(): void {
    Object.assign(this.parts.state, this.parts.book.state());
  }
}

/** Reports whether the credential of an account is for a host that the account itself names: a gateway would send it to the provider's. */
function bringsAddress({ env }: Account, { provider }: Plan): boolean {
  return provider.hosts.env.some(name => Object.hasOwn(env, name));
}
