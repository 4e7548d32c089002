// Gives an account to a command, a request or a server, selects the next account after a limit, and stores the results.
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
  /** Returns the environment for a program that uses the account. */
  environment(): NodeJS.ProcessEnv;
  credentials: Record<string, string>;
}

interface Asking {
  /**
   * `command`: a wrapped command, which orders its candidates itself and stores its results at the end. `request`: one of many
   * requests; it tries no account twice and prints no message that each would repeat. `server`: a process that makes requests.
   */
  kind: 'command' | 'request' | 'server';
  /** The invocation. Its command appears in audit log and costs, so it must contain nothing private. */
  invocation: Invocation;
  /** Ids that may name a job; then only the job's account is used. */
  ids?: readonly string[];
  book?: Book;
  /** The requesting program, for the audit log. */
  consumer?: string;
  /** See `AuditEntry.choice`. */
  ownChoice?: string | undefined;
  /** Expected use, if the request states it; by default the command's usual cost. */
  cost?: number | undefined;
  /** Units that the provider needs to do all that the request wants. */
  wanted?: number | undefined;
  /** True if no other account can take over, so the remaining units are queried first. */
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
  /** Expected use, in the provider's unit. */
  cost: number;
}

/** A refusal, and its consequences. */
export interface Refusal {
  verdict: Retry;
  /** True if another account may help. */
  more: boolean;
  /** Remaining units of an account that is not paused, but has too few for the request. */
  left?: number | undefined;
  /** The message for the user. */
  text: string;
  /** The first account that may become usable, if known: the wait in seconds, and whether the provider named it. */
  first?: ReturnType<typeof firstToReturn>;
}

/** The accounts of one command or request, or of a server from its start to its end. */
export class Turn {
  readonly parts: Parts;
  readonly #isCommand: boolean;
  /** Refusals so far; `isTooLarge`: the account is not paused, but has too little for this request. */
  #refusals: (Failure & { isTooLarge: boolean })[] = [];
  #choosing = begin([], { patient: false, pinned: false, sharesQuota: false });
  #patient = false;
  /** True if another account may be tried after the last refusal. */
  #mayFollow = true;
  #spent = 0;
  /** True once the use of the account has been settled, with its pause. */
  #isSettled: boolean;
  readonly #holding: Holding;
  /** Accounts that could not be used, with reasons. */
  skipped: string[] = [];
  /** Set when no account is left: the reason, and whether the request may succeed later. */
  end: Pick<Next & { kind: 'end' }, 'obstacle' | 'exhausted'> | undefined;

  private constructor(parts: Parts) {
    this.parts = parts;
    this.#isCommand = parts.kind === 'command';
    this.#isSettled = this.#isCommand;
    this.#holding = new Holding(parts.book, parts.cost);
  }

  /** @throws WrapError `unknown-account`, `no-default` and the pool's errors */
  static async open(plan: Plan, context: Context, asking: Asking): Promise<Turn> {
    const { kind, invocation, book = bookOnDisk(plan, context), wanted } = asking;
    const isRequest = kind === 'request';
    const careful = asking.careful === true || wanted !== undefined;
    const state = { ...book.state() };
    const credentials = book.credentials();
    const ids = idsOf(asking.ids ?? [], state, context.now());
    const shared = isRequest ? await jobInPool(ids, { plan, state, context, credentials }) : undefined;
    // a request never continues the tool's last session, so no command is named
    const words = kind === 'command' ? invocation : { args: [...ids], command: '' };
    const { choice, notice, lostSession } = await chooseAccount(plan, words, state, context);
    const lost = lostDefault(plan, state, choice);
    if (lost) throw lost;
    if (notice && !isRequest) say(notice);
    await clearChangedCredentials(plan, state, credentials);
    // in a pool, one machine queries the usage for all machines
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

  /** True if no account follows the current one. */
  get isLast(): boolean {
    return this.#choosing.left.length === 0;
  }

  /** Begins a command, or restarts it after a wait. Requests and servers order their candidates again for each account. */
  begin(candidates: readonly Candidate[], patient: boolean): void {
    this.#refusals = [];
    this.#choose(candidates, patient);
  }

  /**
   * Takes the first account, whatever its state, because the provider must name the problem. After a failure, takes an account
   * that is neither paused nor spent.
   * @param obstacle the reason why no account may repeat the request
   * @throws WrapError the pool's errors; from a request or a server only for the first account
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

  /** Pauses an account after a limit, unless the request only wants more units than the account has left. */
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
    // a limit of this network address says nothing about the account on other machines, so the pool does not get it
    const isPaused =
      !isTooLarge &&
      !isOfAddress &&
      !(this.#isCommand && verdict.class === 'auth' && endsWhenRefused(plan, verdict.stays));
    const pause = { class: verdict.class, rest: withinReason(verdict, now) };
    const settled = { spent: this.#spent, ...(isPaused && { pause }) };
    this.#refusals.push({ account: name, class: verdict.class, isTooLarge });
    // a command reads the provider's reported quota before it pauses; other requests must know about a pause sooner
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
   * @param end numbers for the audit log, and a reason
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

  /** Reports the use of the account to the pool. */
  async settle(end: LeaseEnd): Promise<void> {
    this.#spent = 0;
    this.#isSettled = true;
    await this.parts.leases.settle(end);
  }

  /**
   * Sends later requests with this id to the same account; in a pool, also requests on other machines.
   * @param account `undefined` to allow any account, because none has done the request
   */
  async job(id: string, account: string | undefined): Promise<void> {
    const { journal, plan, context, book } = this.parts;
    journal.job(id, account);
    journal.store();
    await keepJob(id, account, { plan, context, credentials: book.credentials() });
  }

  /** Keeps a request that took too long with its account, which may still work on it, or with the pool's first account for it. */
  async mayGoOn(id: string, account: string): Promise<void> {
    const { plan, context, book } = this.parts;
    await this.job(id, (await firstInPool(id, { plan, context, credentials: book.credentials() })) ?? account);
  }

  /** Returns the units that an account is known to have for this request, including the units held for it. */
  left(account: string): number | undefined {
    const { state, book } = this.parts;
    const left = remainingIn(state, book)[account]?.remaining ?? undefined;
    return left === undefined ? undefined : left + this.#holding.on(account);
  }

  /** Logs that the request is not made. */
  denied(why: string): void {
    const { journal } = this.parts;
    journal.add({ account: null, outcome: 'refused', why });
    journal.store();
  }

  /** Restarts the request after it has waited for an account. */
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
    // a program that supplies credentials may be run again, because its values may be outdated
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
      // before the first await, or another request could choose the same units
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
        // a command reports the end of its attempt itself
        this.#isSettled = this.#isCommand;
        return { name: account.name, environment: ready.environment, credentials: ready.credentials };
      }
      this.#choosing = afterReturning(this.#choosing, account);
    }
  }

  /** Makes an account ready, or returns `undefined` and adds the reason to `skipped`. */
  async #readyOrSkipped(account: Account, credentials: Credentials): Promise<Usable | undefined> {
    const { plan, context, state, choice, journal, leases, kind } = this.parts;
    const { name } = account;
    const unfit = kind === 'command' ? undefined : unfitFor(kind, account, plan);
    const ready =
      unfit === undefined
        ? await makeReady(account, { plan, state, context, credentials })
        : { ok: false as const, problem: unfit };
    if (ready.ok) return ready;
    this.skipped.push(`${name}: ${ready.problem}`);
    // the error of a command whose only account can't be used names the problem
    const isOnly = this.#refusals.length === 0 && (choice.by !== 'default' || staysInPlace(plan));
    if (!this.#isCommand || !isOnly) say(`${plan.cli}: skipping account "${name}": ${ready.problem}`);
    journal.add({ account: name, outcome: 'skipped' });
    await leases.settle({ spent: 0 });
    return undefined;
  }

  /** Returns the candidates for a request or a server. */
  #candidates(patient: boolean): Candidate[] {
    const { plan, context, state, choice, cost, kind, wanted = 0, careful = false, book } = this.parts;
    const isRequest = kind === 'request';
    const tried = this.#refusals.filter(({ isTooLarge }) => isRequest || isTooLarge).map(({ account }) => account);
    const known = { ...state, remaining: remainingIn(state, book) };
    const options = { now: context.now(), cost: Math.max(cost, wanted), careful, isRequest, patient, tried };
    return candidatesForRequest(plan, known, choice, options);
  }

  /** Reads the state that other requests and runs have stored. */
  #refresh(): void {
    Object.assign(this.parts.state, this.parts.book.state());
  }
}

/** Returns why an account is not for a gateway's request or an MCP server. */
function unfitFor(kind: 'request' | 'server', account: Account, plan: Plan): string | undefined {
  if (account.login !== undefined) return 'it is a login of the tool, and has no key';
  const isElsewhere = kind === 'request' && bringsAddress(account, plan);
  return isElsewhere ? 'it has an address of its own, which no gateway uses' : undefined;
}

/** Reports whether an account names its own host: a gateway would send its credential to the provider's host instead. */
function bringsAddress({ env }: Account, { provider }: Plan): boolean {
  return provider.hosts.env.some(name => Object.hasOwn(env, name));
}
