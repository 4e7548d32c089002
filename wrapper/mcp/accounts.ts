// Gives an MCP server its account, and the next one after a limit: with the chooser, cooldowns and audit of the shims.
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
import { reason, say } from '../system/errors.ts';

/** The audit log and the costs of the catalog know these calls by this name. */
const INVOCATION: Invocation = {
  args: [],
  command: 'mcp',
  passthrough: false,
  ownCredential: false,
  once: false,
  silentJob: [],
  readsStdin: false,
  machineReadable: false,
};

/** An account in use, and the environment for its server. */
export interface Using {
  name: string;
  env: NodeJS.ProcessEnv;
  credentials: Record<string, string>;
}

/** The accounts of one server, from its start to its end. */
export class Accounts {
  readonly #plan: Plan;
  readonly #context: Context;
  readonly #state: CliState;
  readonly #choice: Choice;
  readonly #journal: Journal;
  readonly #leases: Leases;
  readonly #cost: number;
  readonly #failures: Failure[] = [];
  #calls = 0;

  private constructor(plan: Plan, context: Context, given: { state: CliState; choice: Choice; leases: Leases }) {
    this.#plan = plan;
    this.#context = context;
    this.#state = given.state;
    this.#choice = given.choice;
    this.#leases = given.leases;
    this.#cost = costOf(INVOCATION.command, plan.provider, plan.capacity);
    const { state: runState, choice, leases } = given;
    this.#journal = startJournal({ plan, invocation: INVOCATION, runState, context, cost: this.#cost, choice, leases });
  }

  /** @throws WrapError `unknown-account` and those of the pool */
  static async open(plan: Plan, context: Context): Promise<Accounts> {
    const state = readState(context.paths, plan.cli);
    const { choice, notice } = await chooseAccount(plan, INVOCATION, state, context);
    if (notice) say(notice);
    const credentials = openCredentials(plan, context);
    await clearChangedCredentials(plan, state, credentials);
    const cost = costOf(INVOCATION.command, plan.provider, plan.capacity);
    const pinned = choice.by === 'default' ? undefined : choice.name;
    const options = { plan, state, context, credentials, cost, pinned };
    const leases = plan.pool ? await (await context.loadPool()).openLeases(options) : new LocalLeases(options);
    return new Accounts(plan, context, { state, choice, leases });
  }

  /**
   * The account to start with; each of them is tried whatever its state, because the provider has to say what is wrong.
   * @throws WrapError those of the pool
   */
  first(): Promise<Using | undefined> {
    return this.#take(false);
  }

  /** Another account than the ones that failed, if one is neither paused nor spent. */
  async following(): Promise<Using | undefined> {
    try {
      return await this.#take(true);
    } catch (error) {
      say(`${this.#plan.cli}: ${reason(error)}`);
      return undefined;
    }
  }

  /**
   * Pauses an account after a limit.
   * @returns whether another account may help
   */
  async refused({ name, credentials }: Using, verdict: Retry, ms: number): Promise<boolean> {
    const { provider, cli } = this.#plan;
    this.#refresh();
    const cooldown = cooldownFor(verdict, this.#state.remaining[name]?.resets, this.#context.now());
    this.#journal.coolDown(name, cooldown, credentials, { account: name, class: verdict.class, ms });
    const isOfAddress = isLimitOfAddress(verdict, provider);
    if (isOfAddress) this.#journal.coolDownOthers(name, cooldown);
    this.#journal.store();
    this.#failures.push({ account: name, class: verdict.class });
    say(describeFailure(cli, name, cooldown));
    const end = { spent: this.#calls * this.#cost };
    this.#calls = 0;
    await this.#leases.settle(isOfAddress ? end : { ...end, cooldown: { class: verdict.class, rest: verdict.rest } });
    return !isOfAddress && !isBound(this.#choice, provider);
  }

  /** Counts a call that was answered. */
  answered(name: string, ok: boolean, started: number): void {
    const ms = this.#context.now() - started;
    if (ok) {
      this.#calls++;
      this.#journal.success(name, this.#failures.length > 0, started, { account: name, ms });
    } else this.#journal.add({ account: name, outcome: 'failed', class: 'other', ms });
    this.#journal.store();
  }

  /** Gives the account back. */
  async finish(): Promise<void> {
    await this.#leases.settle({ spent: this.#calls * this.#cost });
    await this.#leases.finish();
    this.#journal.store();
  }

  async #take(patient: boolean): Promise<Using | undefined> {
    const plan = this.#plan;
    const context = this.#context;
    const state = this.#state;
    this.#refresh();
    const { capacity, provider } = plan;
    const sharedQuota = provider.scope !== 'key';
    const onlyChosen = isBound(this.#choice, provider);
    const known = plan.pool ? { ...state, resting: {}, remaining: {} } : state;
    const ordered = orderCandidates(plan.accounts, known, this.#choice, {
      now: context.now(),
      cost: this.#cost,
      capacity,
      sharedQuota,
      onlyChosen,
    });
    const usable = patient ? ordered.filter(({ coolingDown, spent }) => !coolingDown && !spent) : ordered;
    const pinned = this.#choice.by !== 'default' && !patient;
    const failures = this.#failures.filter(({ account }) => state.resting[account]);
    let choosing = { ...begin(usable, { patient, pinned, sharesQuota: sharedQuota }), failures };
    // a program that gives credentials is asked again, because its values may be old by now
    const credentials = openCredentials(plan, context);
    for (;;) {
      const step = next(choosing, state);
      if (step.kind === 'end') return undefined;
      const leased = await this.#leases.next(step.accounts, patient);
      choosing = { ...afterTaking(step.choosing, step.accounts, leased), failures };
      const { account } = leased;
      if (!account) continue;
      const ready = await makeReady(account, { plan, state, context, credentials });
      if (!ready.ok) {
        say(`${plan.cli}: skipping account "${account.name}": ${ready.problem}`);
        this.#journal.add({ account: account.name, outcome: 'skipped' });
        await this.#leases.settle({ spent: 0 });
        if (pinned) return undefined;
      } else if (!(await this.#leases.matches(ready.credentials))) {
        choosing = { ...afterReturning(choosing, account), failures };
      } else {
        if (ready.digest) this.#journal.prepared(ready.digest, state);
        return { name: account.name, env: ready.env, credentials: ready.credentials };
      }
    }
  }

  /** Other runs and servers learn as well. */
  #refresh(): void {
    Object.assign(this.#state, readState(this.#context.paths, this.#plan.cli));
  }
}
