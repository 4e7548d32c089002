// Gives requests an account, and the next one after a limit: with the chooser, cooldowns and audit of a wrapped command.
import type { Context, Credentials, Invocation, Leases } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { type CliState, readState } from '../store/state.ts';
import { reason, say } from '../system/errors.ts';
import { openCredentials } from './accounts/credentials.ts';
import { LocalLeases } from './accounts/local-leases.ts';
import { clearChangedCredentials, makeReady } from './accounts/ready.ts';
import { chooseAccount } from './accounts/select-account.ts';
import { type Choice, isBound, orderCandidates } from './choose/candidates.ts';
import { costOf } from './choose/capacity.ts';
import { afterReturning, afterTaking, begin, type Failure, next } from './choose/choose.ts';
import { cooldownFor, describeFailure, isLimitOfAddress, type Retry } from './choose/cooldowns.ts';
import { type Journal, type Save, startJournal } from './journal.ts';

/** An account in use, and the environment for a program that uses it. */
export interface Using {
  name: string;
  env: NodeJS.ProcessEnv;
  credentials: Record<string, string>;
}

/** Source of what is known, and the place for what turns learn. */
export interface Book {
  state(): CliState;
  credentials(): Credentials;
  save?: Save;
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
}

interface Parts {
  state: CliState;
  choice: Choice;
  leases: Leases;
  journal: Journal;
  cost: number;
  book: Book;
  isRequest: boolean;
}

/** The accounts of one request, or of a server from its start to its end. */
export class Turn {
  readonly #plan: Plan;
  readonly #context: Context;
  readonly #parts: Parts;
  readonly #failures: Failure[] = [];
  #spent = 0;

  private constructor(plan: Plan, context: Context, parts: Parts) {
    this.#plan = plan;
    this.#context = context;
    this.#parts = parts;
  }

  /** @throws WrapError `unknown-account` and those of the pool */
  static async open(plan: Plan, context: Context, named: Named): Promise<Turn> {
    const { command, ids = [], isRequest = false, book = bookOnDisk(plan, context), consumer } = named;
    const state = { ...book.state() };
    // nobody continues here what the tool opened last, so no command is named
    const { choice, notice } = await chooseAccount(plan, { args: [...ids], command: '' }, state, context);
    if (notice && !isRequest) say(notice);
    const credentials = book.credentials();
    await clearChangedCredentials(plan, state, credentials);
    const cost = costOf(command, plan.provider, plan.capacity);
    const pinned = choice.by === 'default' ? undefined : choice.name;
    const options = { plan, state, context, credentials, cost, pinned };
    const leases = plan.pool ? await (await context.loadPool()).openLeases(options) : new LocalLeases(options);
    const invocation = invocationOf(command);
    const { save } = book;
    const runState = state;
    const journal = startJournal({ plan, invocation, runState, context, cost, choice, leases, save, consumer });
    return new Turn(plan, context, { state, choice, leases, journal, cost, book, isRequest });
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
    if (this.#failures.length === 0) return await this.#take(false);
    try {
      return await this.#take(true);
    } catch (error) {
      say(`${this.#plan.cli}: ${reason(error)}`);
      return undefined;
    }
  }

  /**
   * Pauses an account after a limit.
   * @returns whether another account may help, and the length of the pause in seconds, unless it ends with a new credential
   */
  async refused({ name, credentials }: Using, verdict: Retry, ms: number): Promise<{ more: boolean; rest?: number }> {
    const { provider, cli } = this.#plan;
    const { state, journal, leases, choice } = this.#parts;
    this.#refresh();
    const now = this.#context.now();
    const cooldown = cooldownFor(verdict, state.remaining[name]?.resets, now);
    journal.coolDown(name, cooldown, credentials, { account: name, class: verdict.class, ms });
    const isOfAddress = isLimitOfAddress(verdict, provider);
    if (isOfAddress) journal.coolDownOthers(name, cooldown);
    journal.store();
    this.#failures.push({ account: name, class: verdict.class });
    say(describeFailure(cli, name, cooldown));
    const end = { spent: this.#spent };
    this.#spent = 0;
    await leases.settle(isOfAddress ? end : { ...end, cooldown: { class: verdict.class, rest: verdict.rest } });
    const more = !isOfAddress && !isBound(choice, provider);
    return cooldown.until === null ? { more } : { more, rest: Math.ceil((cooldown.until - now) / 1_000) };
  }

  /** Counts a request that was answered. */
  answered(name: string, ok: boolean, started: number): void {
    const { journal, cost } = this.#parts;
    const ms = this.#context.now() - started;
    if (ok) {
      this.#spent += cost;
      journal.success(name, this.#failures.length > 0, started, { account: name, ms });
    } else journal.add({ account: name, outcome: 'failed', class: 'other', ms });
    journal.store();
  }

  /** Later requests that name this id go to the same account. */
  job(id: string, account: string): void {
    this.#parts.journal.job(id, account);
    this.#parts.journal.store();
  }

  /** Gives the account back. */
  async finish(): Promise<void> {
    const { leases, journal } = this.#parts;
    await leases.settle({ spent: this.#spent });
    await leases.finish();
    journal.store();
  }

  async #take(patient: boolean): Promise<Using | undefined> {
    const { state, choice, leases, journal, book } = this.#parts;
    const plan = this.#plan;
    const context = this.#context;
    this.#refresh();
    const usable = this.#candidates(patient);
    const pinned = choice.by !== 'default' && !patient;
    const failures = this.#failures.filter(({ account }) => state.resting[account]);
    const sharesQuota = plan.provider.scope !== 'key';
    let choosing = { ...begin(usable, { patient, pinned, sharesQuota }), failures };
    // a program that gives credentials may be asked again, because its values may be old by now
    const credentials = book.credentials();
    for (;;) {
      const step = next(choosing, state);
      if (step.kind === 'end') return undefined;
      const leased = await leases.next(step.accounts, patient);
      choosing = { ...afterTaking(step.choosing, step.accounts, leased), failures };
      const { account } = leased;
      if (!account) continue;
      const ready = await makeReady(account, { plan, state, context, credentials });
      if (!ready.ok) {
        say(`${plan.cli}: skipping account "${account.name}": ${ready.problem}`);
        journal.add({ account: account.name, outcome: 'skipped' });
        await leases.settle({ spent: 0 });
        if (pinned) return undefined;
      } else if (!(await leases.matches(ready.credentials))) {
        choosing = { ...afterReturning(choosing, account), failures };
      } else {
        if (ready.digest) journal.prepared(ready.digest, state);
        return { name: account.name, env: ready.env, credentials: ready.credentials };
      }
    }
  }

  #candidates(patient: boolean) {
    const { state, choice, cost, isRequest } = this.#parts;
    const { capacity, provider, accounts, pool } = this.#plan;
    const known = pool ? { ...state, resting: {}, remaining: {} } : state;
    const ordered = orderCandidates(accounts, known, choice, {
      now: this.#context.now(),
      cost,
      capacity,
      sharedQuota: provider.scope !== 'key',
      onlyChosen: isBound(choice, provider),
    });
    const failed = new Set(isRequest ? this.#failures.map(({ account }) => account) : []);
    return ordered.filter(
      ({ account, coolingDown, spent }) => !failed.has(account.name) && !(patient && (coolingDown || spent)),
    );
  }

  /** Others learn as well. */
  #refresh(): void {
    Object.assign(this.#parts.state, this.#parts.book.state());
  }
}

function bookOnDisk(plan: Plan, context: Context): Book {
  return {
    state: () => readState(context.paths, plan.cli),
    credentials: () => openCredentials(plan, context),
  };
}

function invocationOf(command: string): Invocation {
  return {
    args: [],
    command,
    passthrough: false,
    ownCredential: false,
    once: false,
    silentJob: [],
    readsStdin: false,
    machineReadable: false,
  };
}
