// Waits for an account of the pool as long as the user allows, and reports the reason for waiting.
import type { Context } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { noteLocal } from '../store/pool-file.ts';
import { formatDuration, parseDuration } from '../system/duration.ts';
import { say } from '../system/errors.ts';
import type { Identified } from './identify.ts';
import type { AccountState, LeaseReply } from './store/store.ts';

type Refusal = LeaseReply & { kind: 'none' };

/** Another run asks the provider, which may take this long. */
const ASKING_MS = 12_000;
const POLL_MS = [30, 250] as const;

/** Time that a run may wait for its accounts. */
export class Patience {
  readonly #plan: Plan;
  readonly #context: Context;
  readonly #deadline: number;
  #askedUntil = 0;
  #hasWaited = false;

  constructor(plan: Plan, context: Context) {
    this.#plan = plan;
    this.#context = context;
    this.#deadline = context.now() + (plan.capacity.wait ? parseDuration(plan.capacity.wait) : 0);
  }

  /** Begins to wait for one lease. */
  begin(): void {
    this.#askedUntil = this.#context.now() + ASKING_MS;
  }

  /** Waits until it is worth asking again. Returns whether it is. */
  async wait({ accounts, soon, ms }: Refusal): Promise<boolean> {
    const { signals } = this.#context;
    const now = this.#context.now();
    if (signals.received) return false;
    const isAsking = accounts.some(({ state }) => state === 'asking') && now < this.#askedUntil;
    if (isAsking || (soon && now < this.#deadline)) {
      this.#count();
      const pause = POLL_MS[0] + Math.random() * (POLL_MS[1] - POLL_MS[0]);
      await new Promise(resolve => setTimeout(resolve, pause));
      return !signals.received;
    }
    if (ms === undefined || now + ms > this.#deadline) return false;
    this.#count();
    say(`${this.#plan.cli}: no account of the pool is free; waiting ${formatDuration(ms)} for the first one`);
    await (await this.#context.load()).sleepUntil(now + Math.max(POLL_MS[0], ms), this.#context);
    return !signals.received;
  }

  #count(): void {
    if (this.#hasWaited) return;
    this.#hasWaited = true;
    noteLocal(this.#context.paths, local => {
      local.waits++;
    });
  }
}

const STATES: Record<AccountState, string> = {
  refused: 'was refused until its credential changes',
  paused: 'is paused',
  spent: 'has nothing left',
  reserved: 'has nothing left that is not reserved for a running command',
  busy: 'is in use by the maximum number of commands',
  asking: 'is being asked for',
  unknown: 'is not known yet',
};

/** Why the pool leased none of these accounts, in words. */
export function describeRefusal(ids: readonly Identified[], { accounts }: Refusal): string {
  return accounts
    .map(({ fp, state, ms }) => {
      const name = ids.find(id => id.fp === fp)?.account.name ?? fp;
      return `"${name}" ${STATES[state]}${ms === undefined ? '' : ` for ${formatDuration(ms)}`}`;
    })
    .join(', ');
}
