// Collects what a run learns and stores it in one go, after the upstream's output has been passed on.

import { reason } from '../../daemon/core/errors.ts';
import type { Context, Invocation, Leases } from '../context.ts';
import { type AuditEntry, type AuditNote, writeAudit } from '../store/audit.ts';
import type { Pause } from '../store/pause.ts';
import type { Plan } from '../store/plan.ts';
import {
  type CliState,
  effectiveDefault,
  extendPause,
  fingerprint,
  pauseAccount,
  setDefault,
  updateState,
} from '../store/state.ts';
import { say } from '../system/errors.ts';
import { type Choice, isLow } from './choose/candidates.ts';

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
export type Save = (changes: readonly Change[], entries: readonly AuditEntry[]) => void;

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
    /** @param credentials those of the account; the others that are paused as well are not known by theirs */
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

/** Writes to state and audit log. Neither failing stops the command: what was learned is learned again. */
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
