// Keeps the state of a provider's accounts in memory for a gateway, and stores changes by requests a few times a second.
import { setTimeout as sleep } from 'node:timers/promises';
import { reason } from '../../daemon/core/errors.ts';
import type { Context, Credentials } from '../context.ts';
import { openCredentials } from '../run/accounts/ready.ts';
import type { Book, Change } from '../run/book.ts';
import { loadPlan } from '../run/invocation.ts';
import { type AuditEntry, writeAudit } from '../store/audit.ts';
import { type Plan, stampOf } from '../store/plan.ts';
import type { Resolved } from '../store/secrets.ts';
import { type CliState, readState, stateStamp, updateState } from '../store/state.ts';
import { say, WrapError } from '../system/errors.ts';
import type { Consumer } from './admit.ts';
import type { Refused } from './messages.ts';

const WRITE_EVERY_MS = 200;
/** Longest wait for another process's lock. The gateway serves nothing during the wait, so it tries again later. */
const LOCK_MS = 50;
/** Pause before a failed write is repeated. */
const RETRY_MS = 1_000;
/** Longest time for which an answer about a job waits until it can be stored, and the pause between two attempts. */
const STORED_MS = 2_000;
const PAUSE_MS = 100;
/** Time after which programs for credentials run again. */
const CREDENTIALS_MS = 60_000;
const MAX_CHANGES = 10_000;

type Lazy = Awaited<ReturnType<Context['load']>>;

/** The provider's last answer about a limit. */
interface LastRefused extends Refused {
  /** The program that made the request, which the answer may quote. */
  consumer: Consumer;
  class: string;
  /** End of the pause in milliseconds since the epoch, or `undefined` if it is unknown. */
  until: number | undefined;
  /** True if the provider stated the end. */
  isStated: boolean;
}

/** The state of one gateway, which all its requests share. */
export class Ledger implements Book {
  readonly #cli: string;
  /** The context of requests, in which parallel queries of the provider's usage share one query. */
  readonly context: Context;
  readonly #planStamp: () => string;
  readonly #stateStamp: () => string;
  #plan: Plan | undefined;
  /** Stamp of the last sources that could not be read. */
  #unreadable = '';
  #state: CliState | undefined;
  #stamp = '';
  #credentials: { value: Credentials; since: number } | undefined;
  #changes: Change[] = [];
  #entries: AuditEntry[] = [];
  lastRefused: LastRefused | undefined;
  readonly held = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  /** True if the last write failed and the failure was reported. */
  #isFailing = false;
  #waiting: Promise<void> | undefined;

  constructor(cli: string, context: Context) {
    this.#cli = cli;
    let asking: { state: CliState; problems: ReturnType<Lazy['refreshUsage']> } | undefined;
    const learn = (state: CliState, { remaining, history, salt }: CliState) =>
      Object.assign(state, { remaining, history, salt });
    const load: Context['load'] = async () => {
      const lazy = await context.load();
      const refreshUsage: typeof lazy.refreshUsage = async (plan, state, ...given) => {
        // a request with an older state would query again, and the answer would overwrite what others have spent since
        if (!asking) learn(state, this.state());
        const ask = () =>
          lazy.refreshUsage(plan, state, ...given).finally(() => {
            asking = undefined;
            // the answers are in the file, but this turn of the event loop may have an older stamp of the file
            this.#state = undefined;
          });
        asking ??= { state, problems: ask() };
        const { state: asked, problems } = asking;
        await problems;
        // the answers are in the state of the request that made the query
        learn(state, asked);
        return problems;
      };
      return { ...lazy, refreshUsage };
    };
    this.context = { ...context, load, staysAlive: true, sharesStore: true };
    this.#planStamp = oncePerTurn(() => stampOf(context));
    this.#stateStamp = oncePerTurn(() => stateStamp(context.paths, cli));
  }

  /**
   * Returns the plan, and reads it again after a change of the accounts or the catalog. If they can't be read, the last plan stays,
   * because an update may have installed a catalog that this process does not understand.
   * @throws WrapError those of `loadPlan`, the first time
   */
  async plan(): Promise<Plan> {
    const stamp = this.#planStamp();
    if (this.#plan && (this.#plan.stamp === stamp || this.#unreadable === stamp)) return this.#plan;
    try {
      this.#plan = await loadPlan(this.#cli, this.context);
      this.#credentials = undefined;
    } catch (error) {
      if (!this.#plan) throw error;
      if (this.#unreadable !== stamp)
        say(`${this.#cli}: the earlier accounts and catalog stay in use: ${reason(error)}`);
      this.#unreadable = stamp;
    }
    return this.#plan;
  }

  state(): CliState {
    const stamp = this.#stateStamp();
    if (this.#state && stamp === this.#stamp) return this.#state;
    const state = readState(this.context.paths, this.#cli);
    for (const change of this.#changes) change(state);
    this.#state = state;
    this.#stamp = stamp;
    return state;
  }

  credentials(): Credentials {
    const now = this.context.now();
    const { value, since = 0 } = this.#credentials ?? {};
    if (value && now - since < CREDENTIALS_MS) return value;
    const opened = openCredentials(this.#plan ?? { secretTimeoutMs: 0 }, this.context);
    const readers = new Map<string, () => Promise<Resolved>>();
    const of: Credentials['of'] = account => {
      const reader = readers.get(account.name) ?? oncePerTurn(() => opened.of(account));
      readers.set(account.name, reader);
      return reader();
    };
    this.#credentials = { value: { ...opened, of }, since: now };
    return this.#credentials.value;
  }

  /** Forgets credentials after a provider has refused one, because it may have been replaced. */
  forgetCredentials(): void {
    this.#credentials = undefined;
  }

  save = (changes: readonly Change[], entries: readonly AuditEntry[]): void => {
    const state = this.state();
    for (const change of changes) change(state);
    this.#changes.push(...changes);
    if (this.#plan?.audit) this.#entries.push(...entries);
    if (this.#changes.length + this.#entries.length > 0) this.#timer ??= setTimeout(() => this.write(), WRITE_EVERY_MS);
  };

  /** Writes pending changes, and ends the connection to the pool. */
  async close(): Promise<void> {
    await this.stored();
    clearTimeout(this.#timer);
    if (this.#changes.length > 0) say(`${this.#cli}: the state could not be stored before the end`);
    if (this.#plan?.pool) (await this.context.loadPool()).closeShared(this.context);
  }

  /** Writes pending changes, and waits up to 2 s for another process's lock. */
  async stored(): Promise<void> {
    if (!this.#waiting && this.write()) return;
    this.#waiting ??= this.#writeAfterOthers().finally(() => {
      this.#waiting = undefined;
    });
    await this.#waiting;
  }

  async #writeAfterOthers(): Promise<void> {
    const end = Date.now() + STORED_MS;
    do await sleep(PAUSE_MS);
    while (!this.write() && Date.now() < end);
  }

  /** Writes pending changes. @returns false if another process has the lock */
  write(): boolean {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { paths } = this.context;
    writeAudit(paths, this.#entries);
    this.#entries = [];
    if (this.#changes.length === 0) return true;
    const changes = this.#changes;
    const changeAll = (state: CliState) => {
      for (const change of changes) change(state);
    };
    try {
      this.#state = updateState(paths, this.#cli, changeAll, LOCK_MS);
      this.#stamp = stateStamp(paths, this.#cli);
      this.#changes = [];
      this.#isFailing = false;
      return true;
    } catch (error) {
      // an unstored change stays in memory, and the write is repeated later
      const isLocked = error instanceof WrapError && error.code === 'locked';
      if (!isLocked && !this.#isFailing) say(`${this.#cli}: the state could not be stored: ${reason(error)}`);
      this.#isFailing = !isLocked;
      if (changes.length > MAX_CHANGES) this.#changes = [];
      else this.#timer = setTimeout(() => this.write(), RETRY_MS);
      return !isLocked;
    }
  }
}

/** Returns a function that calls `read` at most once per turn of the event loop. */
export function oncePerTurn<T>(read: () => T): () => T {
  let result: { value: T } | undefined;
  return () => {
    if (result) return result.value;
    result = { value: read() };
    setImmediate(() => {
      result = undefined;
    });
    return result.value;
  };
}
