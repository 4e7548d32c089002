// Sets what was decided, and restores values whose rule no longer applies.
import type { DecidedEffect, NetworkDecision } from '../../api/schema/traffic/networks.ts';
import { reason } from '../../system/errno.ts';
import type { createApplier, Limit } from './apply.ts';
import { strengthOfMode } from './decide.ts';
import type { Keeper, Made } from './memory.ts';

export function createHolder(
  { memory, save }: Keeper,
  applier: ReturnType<typeof createApplier>,
  say: (line: string) => void,
) {
  let problem: string | null = null;

  async function attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      problem = `${what}: ${reason(error)}`;
      say(`Networks: ${problem}`);
    }
  }

  /** Forgets what a rule changed, and restores the previous value where that is wanted. */
  async function end(subjects: (made: Made) => boolean, returnsAll: boolean): Promise<void> {
    for (const entry of memory.made.filter(({ change }) => subjects(change)))
      await attempt(entry.change.subject, async () => {
        if (entry.returns || returnsAll) await applier.restore(entry.change);
        save({ made: memory.made.filter(each => each !== entry) });
      });
  }

  async function set(effect: DecidedEffect, limit: Limit): Promise<void> {
    const name = `${effect.subject} ${effect.value}`;
    if (memory.followed.includes(name)) return; // a change by hand since then holds
    const change = await applier.set(effect, limit);
    save({ followed: [...memory.followed, name] });
    if (change === null) return;
    save({ acted: { rule: effect.rule, at: new Date().toISOString() } });
    if (change === 'killSwitch') return;
    const before = memory.made.find(each => each.change.subject === change.subject && each.returns);
    const others = memory.made.filter(each => each.change.subject !== change.subject);
    const returns = before !== undefined || returnsAfter(change);
    save({ made: [...others, { change: joined(before?.change, change), returns }] });
  }

  return {
    problem: () => problem,
    async hold({ effects }: NetworkDecision, limit: Limit): Promise<void> {
      problem = null;
      const holding = effects.filter(({ state }) => state === 'holds');
      const lasts = ({ subject }: Made) => holding.some(each => each.subject === subject);
      await end(made => !lasts(made), false);
      for (const effect of holding) await attempt(effect.rule, () => set(effect, limit));
    },
    /** Restores everything that rules changed, except the kill switch. */
    async revert(): Promise<void> {
      problem = null;
      await end(() => true, true);
    },
  };
}

/** Joins two changes into one, which returns to the value that the user had. */
function joined(first: Made | undefined, second: Made): Made {
  if (first?.subject === 'routes' && second.subject === 'routes')
    return { subject: 'routes', set: [...new Set([...first.set, ...second.set])] };
  return first && 'before' in first && 'before' in second ? ({ ...second, before: first.before } as Made) : second;
}

/** True for a change of the protocol, and for one that lowered the protection: it reverts when the network is left. Others stay. */
function returnsAfter(made: Made): boolean {
  if (made.subject === 'connection') return !made.set;
  return made.subject !== 'mode' || strengthOfMode(made.set) < strengthOfMode(made.before);
}
