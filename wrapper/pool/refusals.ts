// Waits when the pool leases none of a run's accounts, describes the reasons, and stores them in this machine's state.
import type { Context } from '../context.ts';
import type { Account } from '../store/config.ts';
import { isPaused, type Pause } from '../store/pause.ts';
import type { Plan } from '../store/plan.ts';
import { noteLocal } from '../store/pool-file.ts';
import { type CliState, recordRemaining, updateState } from '../store/state.ts';
import { say } from '../system/errors.ts';
import { formatDuration, parseDuration } from '../system/notation.ts';
import type { Identified } from './identify.ts';
import type { AccountState, LeaseReply, Unavailable } from './store.ts';

type Refusal = LeaseReply & { kind: 'none' };

/** Longest wait for another run that is asking the provider. */
const ASKING_MS = 12_000;
const POLL_MS = [30, 250] as const;

/** Limits the time that a run waits for its accounts. */
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

  /** Waits until another request to the pool may succeed. Returns false if the run should stop waiting. */
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

/** Describes why the pool leased none of these accounts. */
export function describeRefusal(ids: readonly Identified[], { accounts }: Refusal): string {
  return accounts
    .map(({ fp, state, ms }) => {
      const name = ids.find(id => id.fp === fp)?.account.name ?? fp;
      return `"${name}" ${STATES[state]}${ms === undefined ? '' : ` for ${formatDuration(ms)}`}`;
    })
    .join(', ');
}

interface Machine {
  cli: string;
  context: Pick<Context, 'now' | 'paths'>;
  /** The state before the command. */
  state: CliState;
}

/** Assumed pause after a refusal that another machine met; the next command stores it again. */
const REFUSED_MS = 3_600_000;
/** Time differences below this are not written. */
const SAME_MS = 10_000;

/** Stores why the pool leased none of these accounts: for `status`, metrics, the panel, and commands without the store. */
export function learnRefusal(ids: readonly Identified[], rows: readonly Unavailable[], machine: Machine): void {
  const { state, context } = machine;
  const now = context.now();
  const changes: ((stored: CliState) => void)[] = [];
  for (const row of rows) {
    const account = ids.find(({ fp }) => fp === row.fp)?.account;
    if (!account) continue;
    const { name } = account;
    const entry = state.paused[name];
    if (row.state === 'paused' || row.state === 'refused') {
      const pause = pauseOf(row, now);
      const longer = entry?.until === null || (entry && entry.until >= pause.until! - SAME_MS);
      if (!(longer && isPaused(entry, now))) {
        changes.push(stored => {
          stored.paused[name] = pause;
        });
      }
    } else if (row.state === 'spent') {
      const figures = state.remaining[name];
      const left = row.remaining ?? 0;
      if (figures?.remaining === left && now - figures.at < SAME_MS) continue;
      const resets = row.ms === undefined ? null : new Date(now + row.ms).toISOString();
      changes.push(stored => {
        const earlier = stored.remaining[name] ?? { limit: null };
        recordRemaining(stored, name, { ...earlier, used: null, remaining: left, resets, at: now });
      });
    }
  }
  store(changes, machine);
}

/** Forgets that an account had nothing left, once the pool has leased it. */
export function learnLease({ name }: Account, machine: Machine): void {
  const figures = machine.state.remaining[name];
  if (figures?.remaining !== 0) return;
  const forget = (stored: CliState) => {
    if (stored.remaining[name]?.at === figures.at) delete stored.remaining[name];
  };
  store([forget], machine);
}

function pauseOf({ class: failure, state, ms }: Unavailable, now: number): Pause {
  const failureClass = (['quota', 'rate', 'auth'] as const).find(name => name === failure);
  return {
    class: failureClass ?? (state === 'refused' ? 'auth' : 'quota'),
    until: now + (ms ?? REFUSED_MS),
    since: now,
  };
}

function store(changes: readonly ((stored: CliState) => void)[], { cli, context }: Machine): void {
  if (changes.length === 0) return;
  try {
    updateState(context.paths, cli, stored => {
      for (const change of changes) change(stored);
    });
  } catch {
    // The store keeps the reasons, and a full or read-only disk must not stop a command.
  }
}
