// Holds the knowledge of turns, and collects what a run learns, to store it in one go after the output of the upstream.
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

/** Older figures say nothing about a refusal. */
const RECENT_MS = 600_000;

/** Source of knowledge, and the place for what turns learn. */
export interface Book {
  state(): CliState;
  credentials(): Credentials;
  save?: Save;
  /** Cost of requests under way, by account: others may not count on these units. */
  held?: Map<string, number>;
}

/** The book of one turn alone. */
export function bookOnDisk(plan: Plan, context: Context): Book {
  return {
    state: () => readState(context.paths, plan.cli),
    credentials: () => openCredentials(plan, context),
  };
}

/** Sets the cost of one request aside, on one account at a time. */
export class Holding {
  readonly #held: Book['held'];
  readonly #cost: number;
  #account: string | undefined;

  constructor({ held }: Book, cost: number) {
    this.#held = held;
    this.#cost = cost;
  }

  /** Cost that is set aside on this account. */
  on(account: string): number {
    return this.#account === account ? this.#cost : 0;
  }

  /** Sets the cost aside on this account, and on no other. */
  move(account: string | undefined): void {
    if (account === this.#account) return;
    this.end();
    if (!this.#held || account === undefined) return;
    this.#held.set(account, (this.#held.get(account) ?? 0) + this.#cost);
    this.#account = account;
  }

  /** Frees the units. */
  end(): void {
    const account = this.#account;
    this.#account = undefined;
    if (!this.#held || account === undefined) return;
    const rest = (this.#held.get(account) ?? 0) - this.#cost;
    if (rest > 0) this.#held.set(account, rest);
    else this.#held.delete(account);
  }
}

/** Figures of what is left, without what requests under way may use. */
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
 * Expected use of a request. A pool would refuse a request for more than any account has, so that much is not reserved there.
 * @param cost as the request says; `undefined` where it does not
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
 * Units that an account has left although it was refused for its quota: as the refusal says, or else the provider's usage endpoint.
 * @param own the account's credentials, resolved
 * @returns `undefined` where nothing is left, or that is not known
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

/** A job that is used is stored again after this time, so that it is kept as long as it is used. */
export const RENEW_MS = 86_400_000;
/**
 * Names of requests that are recognized by their body begin with this. To ask the pool for each body would delay each request, so it
 * is asked only after one took too long.
 */
export const BODY = `${REQUEST}body:`;

/** An answer in hand does not wait longer for a store that is gone. */
const ANSWER_MS = 250;

/** Names of jobs, without expired requests. */
export function idsOf(ids: readonly string[], { jobs }: Pick<CliState, 'jobs'>, now: number): string[] {
  const at = (id: string) => (Object.hasOwn(jobs, id) ? jobs[id]!.at : now);
  return ids.filter(id => !id.startsWith(REQUEST) || now - at(id) < REQUEST_MS);
}

/** Asks the pool for the job that a request names, unless this machine has it, and puts it into `state`. */
export async function jobInPool(
  ids: readonly string[],
  { plan, state, context, credentials }: { plan: Plan; state: CliState; context: Context; credentials: Credentials },
): Promise<{ id: string; account: string } | undefined> {
  // words of a path have no digit
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

/** The account to which a machine of the pool sent this body first, as far as known. */
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

/** Reports to the other machines of a pool which account has a job, or that no account does. */
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

/** End of an attempt, for the audit log. */
export type Ended = Pick<AuditEntry, 'account' | 'class' | 'exit' | 'signal' | 'ms'>;

interface JournalOptions {
  plan: Plan;
  invocation: Invocation;
  /** The state before the run, with the pauses of this one. */
  runState: CliState;
  context: Context;
  /** Expected use of the command, in the provider's unit. */
  cost: number;
  choice: Choice;
  leases: Pick<Leases, 'degraded'>;
  save?: Save | undefined;
  /** The program that asks through a gateway. */
  consumer?: string | undefined;
  /** See `AuditEntry.choice`. */
  ownChoice?: string | undefined;
}

export type Change = (state: CliState) => void;

/** Writes what a run has learned. */
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
    /** @param account `undefined` where the job is forgotten */
    job: (id: string, account: string | undefined) => {
      changes.push(state => {
        // the newest is the last
        delete state.jobs[id];
        if (account !== undefined) state.jobs[id] = { account, at: context.now() };
      });
    },
    /** Remembers a prepare command that has run, also for the rest of this run. */
    prepared: (digest: string, current: CliState) => {
      const remember = (state: CliState) => {
        state.lastPrepared = digest;
        if (!state.prepared.includes(digest)) state.prepared = [...state.prepared.slice(-199), digest];
      };
      remember(current);
      changes.push(remember);
    },
    /** @param credentials those of the account; the fingerprints of others that are paused as well are unknown */
    pause: (account: string, pause: Pause, credentials: Record<string, string>, entry: Ended) => {
      add({ ...entry, outcome: 'left' });
      runState.paused[account] = pause;
      changes.push(state =>
        pauseAccount(state, account, { ...pause, credential: fingerprint(state.salt, credentials) }),
      );
    },
    /** Pauses the other accounts as well: the limit is one of this network address. */
    pauseOthers: (account: string, pause: Pause) => {
      const others = plan.accounts.filter(({ name }) => name !== account).map(({ name }) => name);
      const pauseThem = (state: CliState) => {
        for (const name of others) extendPause(state, name, pause);
      };
      pauseThem(runState);
      changes.push(pauseThem);
    },
    /**
     * @param tookOver another account had failed before, so this one becomes the default
     * @param started when the attempt began: a limit that another run met since then stays
     */
    success: (account: string, tookOver: boolean, started: number, entry: Ended) => {
      add({ ...entry, outcome: 'ok', cost });
      // A choice for one command or one directory says nothing about the default, unless that failed itself.
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

/** Writes to state and audit log. A failure stops no command: a later run learns the same again. */
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
