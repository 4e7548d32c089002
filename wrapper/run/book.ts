// Provides state and credentials to turns, and collects a run's changes to store them together after the upstream's output.
import { setTimeout } from 'node:timers/promises';
import { reason } from '../../daemon/core/errors.ts';
import type { Context, Credentials, Invocation, JobOptions, Leases } from '../context.ts';
import { type AuditEntry, type AuditNote, writeAudit } from '../store/audit.ts';
import type { Pause } from '../store/pause.ts';
import type { Plan } from '../store/plan.ts';
import {
  type CliState,
  effectiveDefault,
  extendPause,
  fingerprint,
  pauseAccount,
  REQUEST,
  REQUEST_MS,
  readState,
  setDefault,
  updateState,
} from '../store/state.ts';
import { say } from '../system/errors.ts';
import { openCredentials } from './accounts/ready.ts';
import { type Choice, costOf, isLow } from './candidates.ts';
import type { Retry } from './choose.ts';

/** Maximum age of figures that say something about a refusal. */
const RECENT_MS = 600_000;

/** Source of state and credentials for turns, and the place to save their changes. */
export interface Book {
  state(): CliState;
  credentials(): Credentials;
  save?: Save;
  /** Cost of open requests, by account: other requests may not count on these units. */
  held?: Map<string, number>;
}

/** Returns a book for a single turn, which reads the state from disk. */
export function bookOnDisk(plan: Plan, context: Context): Book {
  return {
    state: () => readState(context.paths, plan.cli),
    credentials: () => openCredentials(plan, context),
  };
}

/** Reserves the cost of one request, on one account at a time. */
export class Holding {
  readonly #held: Book['held'];
  readonly #cost: number;
  #account: string | undefined;

  constructor({ held }: Book, cost: number) {
    this.#held = held;
    this.#cost = cost;
  }

  /** Returns the cost that is reserved on this account. */
  on(account: string): number {
    return this.#account === account ? this.#cost : 0;
  }

  /** Moves the reservation to this account. */
  move(account: string | undefined): void {
    if (account === this.#account) return;
    this.end();
    if (!this.#held || account === undefined) return;
    this.#held.set(account, (this.#held.get(account) ?? 0) + this.#cost);
    this.#account = account;
  }

  /** Ends the reservation. */
  end(): void {
    const account = this.#account;
    this.#account = undefined;
    if (!this.#held || account === undefined) return;
    const rest = (this.#held.get(account) ?? 0) - this.#cost;
    if (rest > 0) this.#held.set(account, rest);
    else this.#held.delete(account);
  }
}

/** Returns the remaining quotas, minus the units that open requests may use. */
export function remainingIn({ remaining }: CliState, { held }: Book): CliState['remaining'] {
  if (!held || held.size === 0) return remaining;
  return Object.fromEntries(
    Object.entries(remaining).map(([name, figures]) => [
      name,
      { ...figures, remaining: figures.remaining === null ? null : figures.remaining - (held.get(name) ?? 0) },
    ]),
  );
}

/**
 * Returns the expected use of a request. In a pool, a cost above every account's remaining quota is ignored:
 * the pool would refuse it.
 * @param cost the cost that the request states, or `undefined`
 */
export function costIn(
  remaining: CliState['remaining'],
  command: string,
  cost: number | undefined,
  { provider, capacity, accounts, pool }: Plan,
): number {
  const usual = costOf(command, provider, capacity);
  if (cost === undefined || cost === 0) return cost ?? usual;
  const most = Math.max(0, ...accounts.map(({ name, enabled }) => (enabled && remaining[name]?.remaining) || 0));
  return pool && most - capacity.reserve < cost ? usual : Math.max(usual, cost);
}

interface Asking {
  plan: Plan;
  state: CliState;
  context: Pick<Context, 'load' | 'now'> & Context;
  credentials: Credentials;
}

/**
 * Returns the units that an account has left despite a quota refusal, from the refusal itself or the provider's usage endpoint.
 * @param account `own`: its resolved credentials
 * @returns `undefined` if nothing is left or the figure is unknown
 */
export async function leftDespite(
  verdict: Retry,
  account: { name: string; own: Record<string, string> },
  { plan, state, context, credentials }: Asking,
): Promise<number | undefined> {
  if (verdict.class !== 'quota') return undefined;
  if (verdict.left !== undefined) return verdict.left > 0 ? verdict.left : undefined;
  const { usage, status_command } = plan.provider;
  if (verdict.rest.until !== 'period' || !(usage ?? status_command)) return undefined;
  const asked = { ...state };
  await (await context.load()).refreshUsage(plan, asked, context, { credentials }).catch(() => {});
  const figures = asked.remaining[account.name];
  const age = context.now() - (figures?.at ?? 0);
  if (!figures || age < 0 || age > RECENT_MS || figures.credential !== fingerprint(asked.salt, account.own))
    return undefined;
  Object.assign(state, { remaining: asked.remaining, history: asked.history, salt: asked.salt });
  return figures.remaining !== null && figures.remaining > 0 ? figures.remaining : undefined;
}

/** Time after which a job in use is stored again, so that it does not expire. */
export const RENEW_MS = 86_400_000;
/**
 * Prefix of the names of requests that are recognized by their body. A question to the pool for each body would delay each request,
 * so the pool is asked only after a request took too long.
 */
export const BODY = `${REQUEST}body:`;

/** Longest time that an answer waits for the store. */
const ANSWER_MS = 250;

/** Returns the ids of jobs, without expired requests. */
export function idsOf(ids: readonly string[], { jobs }: Pick<CliState, 'jobs'>, now: number): string[] {
  const at = (id: string) => (Object.hasOwn(jobs, id) ? jobs[id]!.at : now);
  return ids.filter(id => !id.startsWith(REQUEST) || now - at(id) < REQUEST_MS);
}

/** Asks the pool for the job that a request names, unless this machine has it, and puts it into `state`. */
export async function jobInPool(
  ids: readonly string[],
  { plan, state, context, credentials }: { plan: Plan; state: CliState; context: Context; credentials: Credentials },
): Promise<{ id: string; account: string } | undefined> {
  // ids contain a digit, words of a path do not
  const asked = ids.filter(id => /\d/.test(id) && !id.startsWith(BODY));
  if (!plan.pool || asked.length === 0 || ids.some(id => Object.hasOwn(state.jobs, id))) return undefined;
  try {
    const job = await (await context.loadPool()).findJob(asked, { plan, context, credentials });
    if (job) state.jobs = { ...state.jobs, [job.id]: { account: job.account, at: context.now() } };
    return job;
  } catch (error) {
    say(`${plan.cli}: whose job this is could not be asked: ${reason(error)}`);
    return undefined;
  }
}

/** Returns the account that a machine of the pool sent this body to first, if known. */
export async function firstInPool(id: string, options: JobOptions): Promise<string | undefined> {
  const { plan, context } = options;
  if (!plan.pool) return undefined;
  try {
    const { findJob: find } = await context.loadPool();
    return (await Promise.race([find([id], options), soon()]))?.account;
  } catch (error) {
    say(`${plan.cli}: whether another machine has sent this could not be asked: ${reason(error)}`);
    return undefined;
  }
}

/** Tells the other machines of a pool which account has a job, or that no account has it. */
export async function keepJob(id: string, account: string | undefined, options: JobOptions): Promise<void> {
  const { plan, context } = options;
  const owner = plan.accounts.find(({ name }) => name === account);
  if (!plan.pool || (account !== undefined && !owner)) return;
  const { keepJob: keep } = await context.loadPool();
  const kept = keep(id, owner, options).catch(error => {
    say(`${plan.cli}: other machines do not learn whose job this is: ${reason(error)}`);
  });
  await Promise.race([kept, soon()]);
}

async function soon(): Promise<undefined> {
  await setTimeout(ANSWER_MS, undefined, { ref: false });
}

export type Journal = ReturnType<typeof startJournal>;

/** Result of an attempt, for the audit log. */
export type Ended = Pick<AuditEntry, 'account' | 'class' | 'exit' | 'signal' | 'ms'>;

interface JournalOptions {
  plan: Plan;
  invocation: Invocation;
  /** The state before the run, plus the pauses from this run. */
  runState: CliState;
  context: Context;
  /** Expected use of the command, in the provider's unit. */
  cost: number;
  choice: Choice;
  leases: Pick<Leases, 'degraded'>;
  save?: Save | undefined;
  /** The program that uses the gateway. */
  consumer?: string | undefined;
  /** See `AuditEntry.choice`. */
  ownChoice?: string | undefined;
}

export type Change = (state: CliState) => void;

/** Writes a run's changes and audit entries. */
type Save = (changes: readonly Change[], entries: readonly AuditEntry[]) => void;

export function startJournal(options: JournalOptions) {
  const {
    plan,
    invocation,
    runState,
    context,
    cost,
    choice,
    leases,
    save = saveNow(plan, context),
    consumer,
    ownChoice,
  } = options;
  let changes: Change[] = [];
  let entries: AuditEntry[] = [];
  const command = invocation.command.split(' ')[0] ?? '';
  const first = effectiveDefault(plan.accounts, runState);
  const { strategy } = plan.capacity;
  const add = (entry: AuditNote) => {
    const degraded = leases.degraded || undefined;
    entries.push({ at: context.now(), cli: plan.cli, command, consumer, choice: ownChoice, ...entry, degraded });
  };
  return {
    add,
    /** @param account the job's account, or `undefined` to forget the job */
    job: (id: string, account: string | undefined) => {
      changes.push(state => {
        // the newest job must be the last key
        delete state.jobs[id];
        if (account !== undefined) state.jobs[id] = { account, at: context.now() };
      });
    },
    /** Remembers a prepare command that has run, for this run and later ones. */
    prepared: (digest: string, current: CliState) => {
      const remember = (state: CliState) => {
        state.lastPrepared = digest;
        if (!state.prepared.includes(digest)) state.prepared = [...state.prepared.slice(-199), digest];
      };
      remember(current);
      changes.push(remember);
    },
    /** @param credentials the account's credentials; fingerprints of other paused accounts are unknown */
    pause: (account: string, pause: Pause, credentials: Record<string, string>, entry: Ended) => {
      add({ ...entry, outcome: 'left' });
      runState.paused[account] = pause;
      changes.push(state =>
        pauseAccount(state, account, { ...pause, credential: fingerprint(state.salt, credentials) }),
      );
    },
    /** Pauses the other accounts as well, because the limit applies to this network address. */
    pauseOthers: (account: string, pause: Pause) => {
      const others = plan.accounts.filter(({ name }) => name !== account).map(({ name }) => name);
      const pauseThem = (state: CliState) => {
        for (const name of others) extendPause(state, name, pause);
      };
      pauseThem(runState);
      changes.push(pauseThem);
    },
    /**
     * @param tookOver true if another account failed before, so that this account may become the default
     * @param started start of the attempt: a pause that another run stored since then stays
     */
    success: (account: string, tookOver: boolean, started: number, entry: Ended) => {
      add({ ...entry, outcome: 'ok', cost });
      // A choice for one command or one directory does not change the default, unless the default itself failed.
      const chosenApart = choice.by !== 'default' && choice.name !== first;
      if (tookOver && strategy === 'in-order' && !chosenApart) {
        changes.push(state => setDefault(state, account, plan.accounts.find(each => each.enabled)?.name));
      }
      if (strategy === 'round-robin') {
        changes.push(state => {
          state.lastUsed = account;
        });
      }
      if (runState.paused[account]) {
        changes.push(state => {
          const { since = 0 } = state.paused[account] ?? {};
          if (since <= started || since > context.now()) delete state.paused[account];
        });
      }
      if (runState.remaining[account]) changes.push(state => spend(state, account, cost));
      if (plan.capacity.switch_below !== undefined) {
        changes.push(state => {
          const names = plan.accounts.map(({ name }) => name);
          state.low = names.filter(name => isLow(name, state, plan.capacity));
        });
      }
    },
    store: () => {
      save(changes, entries);
      changes = [];
      entries = [];
    },
  };
}

/** Writes to the state and the audit log. A failure does not stop the command, because a later run learns the same. */
function saveNow({ cli, audit }: Pick<Plan, 'cli' | 'audit'>, { paths }: Pick<Context, 'paths'>): Save {
  return (changes, entries) => {
    try {
      if (changes.length > 0) {
        updateState(paths, cli, state => {
          for (const change of changes) change(state);
        });
      }
    } catch (error) {
      say(`${cli}: the state could not be stored: ${reason(error)}`);
    }
    if (audit) writeAudit(paths, entries);
  };
}

function spend(state: CliState, account: string, cost: number): void {
  const figures = state.remaining[account];
  if (typeof figures?.remaining === 'number') figures.remaining = Math.max(0, figures.remaining - cost);
}
