// Holds state and credentials for turns, and the cost that requests under way set aside.
import type { Context, Credentials } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { type CliState, readState } from '../store/state.ts';
import { openCredentials } from './accounts/credentials.ts';
import { costOf } from './choose/capacity.ts';
import type { Save } from './journal.ts';

/** Source of what is known, and the place for what turns learn. */
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
 * Expected use of a request. A pool would refuse one that wants more than any account has, so that is not reserved there.
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
