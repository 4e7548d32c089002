// Gives one request its account, and the next one after a limit: with the chooser, cooldowns and audit of the shims.
import type { Context, Invocation, Leases } from '../context.ts';
import { openCredentials } from '../run/accounts/credentials.ts';
import { LocalLeases } from '../run/accounts/local-leases.ts';
import { clearChangedCredentials, makeReady } from '../run/accounts/ready.ts';
import { chooseAccount } from '../run/accounts/select-account.ts';
import { type Choice, isBound, orderCandidates } from '../run/choose/candidates.ts';
import { costOf } from '../run/choose/capacity.ts';
import { afterReturning, afterTaking, begin, type Failure, next } from '../run/choose/choose.ts';
import { cooldownFor, describeFailure, isLimitOfAddress, type Retry } from '../run/choose/cooldowns.ts';
import { type Journal, startJournal } from '../run/journal.ts';
import type { Plan } from '../store/plan.ts';
import { type CliState, readState } from '../store/state.ts';
import { say } from '../system/errors.ts';

/** Ids of bodies begin with this. A program that was told to ask again does so for up to 20 minutes. */
export const BODY = 'body:';
const BODY_MS = 1_200_000;

/** An account in use. */
export interface Using {
  name: string;
  credentials: Record<string, string>;
}

/** The accounts of one request. */
export class Turn {
  readonly #plan: Plan;
  readonly #context: Context;
  readonly #state: CliState;
  readonly #choice: Choice;
  readonly #journal: Journal;
  readonly #leases: Leases;
  readonly #cost: number;
  readonly #credentials: ReturnType<typeof openCredentials>;
  readonly #failures: Failure[] = [];
  #spent = 0;

  private constructor(
    plan: Plan,
    context: Context,
    given: {
      state: CliState;
      choice: Choice;
      leases: Leases;
      journal: Journal;
      cost: number;
      credentials: ReturnType<typeof openCredentials>;
    },
  ) {
    this.#plan = plan;
    this.#context = context;
    this.#state = given.state;
    this.#choice = given.choice;
    this.#leases = given.leases;
    this.#journal = given.journal;
    this.#cost = given.cost;
    this.#credentials = given.credentials;
  }

  /**
   * @param command the name of the request in audit log and costs; no part of it may be private
   * @param ids each may name a job, whose account is the only one then
   * @throws WrapError `unknown-account` and those of the pool
   */
  static async open(plan: Plan, context: Context, { command, ids }: { command: string; ids: string[] }): Promise<Turn> {
    const state = readState(context.paths, plan.cli);
    const isNew = (id: string) => context.now() - (state.jobs[id]?.at ?? 0) < BODY_MS;
    const args = ids.filter(id => !id.startsWith(BODY) || isNew(id));
    const invocation: Invocation = {
      args,
      command,
      passthrough: false,
      ownCredential: false,
      once: false,
      silentJob: [],
      readsStdin: false,
      machineReadable: true,
    };
    // a program does not continue what the tool opened last, so no command is named
    const { choice } = await chooseAccount(plan, { args, command: '' }, state, context);
    const credentials = openCredentials(plan, context);
    await clearChangedCredentials(plan, state, credentials);
    const cost = costOf(command, plan.provider, plan.capacity);
    const pinned = choice.by === 'default' ? undefined : choice.name;
    const options = { plan, state, context, credentials, cost, pinned };
    const leases = plan.pool ? await (await context.loadPool()).openLeases(options) : new LocalLeases(options);
    const journal = startJournal({ plan, invocation, runState: state, context, cost, choice, leases });
    return new Turn(plan, context, { state, choice, leases, journal, cost, credentials });
  }

  /** The first account, whatever its state, because the provider has to say what is wrong; then only those that may help. */
  async take(): Promise<Using | undefined> {
    const patient = this.#failures.length > 0;
    const { capacity, provider } = this.#plan;
    const state = this.#state;
    const sharedQuota = provider.scope !== 'key';
    const known = this.#plan.pool ? { ...state, resting: {}, remaining: {} } : state;
    const ordered = orderCandidates(this.#plan.accounts, known, this.#choice, {
      now: this.#context.now(),
      cost: this.#cost,
      capacity,
      sharedQuota,
      onlyChosen: isBound(this.#choice, provider),
    });
    const failed = new Set(this.#failures.map(({ account }) => account));
    const usable = ordered.filter(
      ({ account, coolingDown, spent }) => !failed.has(account.name) && !(patient && (coolingDown || spent)),
    );
    const pinned = this.#choice.by !== 'default' && !patient;
    let choosing = { ...begin(usable, { patient, pinned, sharesQuota: sharedQuota }), failures: this.#failures };
    for (;;) {
      const step = next(choosing, state);
      if (step.kind === 'end') return undefined;
      const leased = await this.#leases.next(step.accounts, patient);
      choosing = { ...afterTaking(step.choosing, step.accounts, leased), failures: this.#failures };
      const { account } = leased;
      if (!account) continue;
      const needs = { plan: this.#plan, state, context: this.#context, credentials: this.#credentials };
      const ready = await makeReady(account, needs);
      if (!ready.ok) {
        say(`${this.#plan.cli}: skipping account "${account.name}": ${ready.problem}`);
        this.#journal.add({ account: account.name, outcome: 'skipped' });
        await this.#leases.settle({ spent: 0 });
        if (pinned) return undefined;
      } else if (!(await this.#leases.matches(ready.credentials))) {
        choosing = { ...afterReturning(choosing, account), failures: this.#failures };
      } else {
        if (ready.digest) this.#journal.prepared(ready.digest, state);
        return { name: account.name, credentials: ready.credentials };
      }
    }
  }

  /**
   * Pauses an account after a limit.
   * @returns whether another account may help, and the time of the pause in seconds
   */
  async refused({ name, credentials }: Using, verdict: Retry, started: number): Promise<{ more: boolean; rest?: number }> {
    const { provider, cli } = this.#plan;
    const now = this.#context.now();
    const cooldown = cooldownFor(verdict, this.#state.remaining[name]?.resets, now);
    this.#journal.coolDown(name, cooldown, credentials, { account: name, class: verdict.class, ms: now - started });
    const isOfAddress = isLimitOfAddress(verdict, provider);
    if (isOfAddress) this.#journal.coolDownOthers(name, cooldown);
    this.#failures.push({ account: name, class: verdict.class });
    say(describeFailure(cli, name, cooldown));
    const pause = isOfAddress ? {} : { cooldown: { class: verdict.class, rest: verdict.rest } };
    await this.#leases.settle(Object.assign({ spent: 0 }, pause));
    const more = !isOfAddress && !isBound(this.#choice, provider);
    return cooldown.until === null ? { more } : { more, rest: Math.ceil((cooldown.until - now) / 1_000) };
  }

  /** Notes the answer that counts. */
  answered(name: string, ok: boolean, started: number): void {
    const ms = this.#context.now() - started;
    if (ok) {
      this.#spent = this.#cost;
      this.#journal.success(name, this.#failures.length > 0, started, { account: name, ms });
    } else this.#journal.add({ account: name, outcome: 'failed', class: 'other', ms });
  }

  /** Later requests that name this id go to the same account. Written at once: the program may ask at once. */
  job(id: string, account: string): void {
    this.#journal.job(id, account);
    this.#journal.store();
  }

  /** Gives the account back. */
  async finish(): Promise<void> {
    await this.#leases.settle({ spent: this.#spent });
    await this.#leases.finish();
    this.#journal.store();
  }
}
