// Collects what a run learns and stores it in one go, after the upstream's output has been passed on.
import { type AuditEntry, writeAudit } from './audit.ts';
import type { Invocation } from './invocation.ts';
import type { Plan } from './plan.ts';
import { type Context, say } from './run.ts';
import { type CliState, fingerprint, type Resting, setDefault, updateState } from './state.ts';

export type Journal = ReturnType<typeof startJournal>;

/** How an attempt ended, for the audit log. */
export type Ended = Pick<AuditEntry, 'account' | 'class' | 'exit' | 'signal' | 'ms'>;

/**
 * @param known the state before the run
 * @param cost what the command is expected to use, in the provider's unit
 */
export function startJournal(plan: Plan, invocation: Invocation, known: CliState, context: Context, cost: number) {
  const changes: ((state: CliState) => void)[] = [];
  const entries: AuditEntry[] = [];
  const command = invocation.command.split(' ')[0] ?? '';
  const add = (entry: Omit<AuditEntry, 'at' | 'cli' | 'command'>) => {
    entries.push({ at: context.now(), cli: plan.cli, command, ...entry });
  };
  return {
    add,
    job: (id: string, account: string) => {
      changes.push(state => {
        state.jobs[id] = { account, at: context.now() };
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
    rest: (account: string, resting: Resting, credentials: Record<string, string>, entry: Ended) => {
      add({ ...entry, outcome: 'left' });
      changes.push(state => {
        state.resting[account] = { ...resting, credential: fingerprint(state.salt, credentials) };
      });
    },
    /** @param tookOver another account had failed before, so this one becomes the default */
    success: (account: string, tookOver: boolean, entry: Ended) => {
      add({ ...entry, outcome: 'ok', cost });
      const first = plan.accounts.find(each => each.enabled)?.name;
      if (tookOver) changes.push(state => setDefault(state, account, first));
      if (known.resting[account]) changes.push(state => delete state.resting[account]);
      if (known.remaining[account]) changes.push(state => spend(state, account, cost));
    },
    /** Writes state and audit log. Neither failing stops the command: what was learnt is learnt again. */
    store: () => {
      try {
        if (changes.length > 0) {
          updateState(context.paths, plan.cli, state => {
            for (const change of changes) change(state);
          });
        }
      } catch (error) {
        say(`${plan.cli}: the state could not be stored: ${(error as Error).message}`);
      }
      if (plan.audit) writeAudit(context.paths, entries);
    },
  };
}

function spend(state: CliState, account: string, cost: number): void {
  const known = state.remaining[account];
  if (typeof known?.remaining === 'number') known.remaining = Math.max(0, known.remaining - cost);
}
