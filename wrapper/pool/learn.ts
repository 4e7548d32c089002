// Puts what the pool says about accounts into this machine's own state: for `status`, metrics and the panel, which ask
// no store, and for commands that run without the store.
import type { Context } from '../context.ts';
import type { Account } from '../store/config.ts';
import { isPaused, type Pause } from '../store/pause.ts';
import { type CliState, recordRemaining, updateState } from '../store/state.ts';
import type { Identified } from './identify.ts';
import type { Unavailable } from './store/store.ts';

interface Machine {
  cli: string;
  context: Pick<Context, 'now' | 'paths'>;
  /** As it was before the command. */
  state: CliState;
}

/** Time for which a credential that another machine saw refused is shown as paused; the next command learns it again. */
const REFUSED_MS = 3_600_000;
/** A difference that is not worth a write. */
const SAME_MS = 10_000;

/** Stores why the pool leased none of these accounts. */
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
    // The store has it; a full or read-only disk does not stop a command.
  }
}
