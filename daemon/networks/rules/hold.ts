// Sets what was decided, and restores values whose rule no longer applies.
import type { DecidedEffect, NetworkDecision } from '../../api/networks.ts';
import { reason } from '../../system/errno.ts';
import type { createApplier, Limit, Parts } from './apply.ts';
import { strengthOfMode } from './decide.ts';
import type { Keeper, Made } from './memory.ts';
import { keyOf, type Rule } from './rules.ts';

/** Seconds in which the user can keep what a rule changed when the network changed. It takes time to notice. */
const TRIAL_SECONDS = 120;
/** They can cut the machine off from the network. */
const CUT_OFF: readonly DecidedEffect['subject'][] = ['mode', 'protocol', 'killSwitch'];
/** Kept effects that are remembered. */
const MAX_KEPT = 200;

interface Holding {
  limit: Limit | undefined;
  rules: readonly Rule[];
  /** Without WARP, which may have crashed or not be registered, only the kill switch holds. */
  hasWarp: boolean;
}

export function createHolder(
  { memory, save }: Keeper,
  applier: ReturnType<typeof createApplier>,
  { say, ruled }: { say(line: string): void } & Pick<Parts, 'ruled'>,
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
        const isRestored = (entry.returns || returnsAll) && (await applier.restore(entry.change));
        if (isRestored && entry.effect) ruled({ ...entry.effect, ended: true });
        const followed = memory.followed.filter(name => !name.startsWith(`${entry.change.subject} `));
        save({ made: memory.made.filter(each => each !== entry), followed });
      });
  }

  /** Restores the routes that another preset added than the one that holds. */
  async function endOtherRoutes(preset: string): Promise<void> {
    for (const entry of memory.made) {
      const { change } = entry;
      if (change.subject !== 'routes') continue;
      const { kept, others } = await applier.split(change, preset);
      if (!others.length) continue;
      await applier.restore({ subject: 'routes', set: others });
      const rest = { ...entry, change: { subject: 'routes' as const, set: kept } };
      save({ made: memory.made.map(each => (each === entry ? rest : each)) });
    }
  }

  /** Finds out which changes the user kept. */
  function learn(): void {
    const results = memory.tried.map(tried => {
      const [value = '', subject = ''] = tried.split(' ').reverse();
      return { tried, isKept: applier.isKept({ subject: subject as DecidedEffect['subject'], value }) };
    });
    if (!results.some(({ isKept }) => isKept !== null)) return;
    const those = (wanted: boolean | null) =>
      results.filter(({ isKept }) => isKept === wanted).map(({ tried }) => tried);
    save({ tried: those(null), kept: [...new Set([...memory.kept, ...those(true)])].slice(-MAX_KEPT) });
  }

  function record({ subject, value, rule }: DecidedEffect, change: Made): void {
    const before = memory.made.find(each => each.change.subject === change.subject && each.returns);
    const others = memory.made.filter(each => each.change.subject !== change.subject);
    const returns = before !== undefined || returnsAfter(change);
    save({ made: [...others, { change: joined(before?.change, change), returns, effect: { subject, value, rule } }] });
  }

  /** @param limit undefined: a change that can cut off has one until it was kept once */
  async function set(effect: DecidedEffect, limit: Limit | undefined, rules: readonly Rule[]): Promise<void> {
    const rule = rules.find(({ name }) => name === effect.rule);
    const trial = `${rule && keyOf(rule)} ${effect.subject} ${effect.value}`;
    const isTried = CUT_OFF.includes(effect.subject) && !memory.kept.includes(trial);
    const name = `${effect.subject} ${effect.value}`;
    if (memory.followed.includes(name)) return; // a change by hand since then holds
    // before it is changed: a change that fails, or that the daemon does not outlive, may have taken effect
    const intend = (made: Made) => void (returnsAfter(made) && record(effect, made));
    const change = await applier.set(effect, limit ?? (isTried ? { confirmWithin: TRIAL_SECONDS } : {}), intend);
    save({ followed: [...memory.followed, name] });
    if (change === null) return;
    ruled(effect);
    save({ acted: { rule: effect.rule, at: new Date().toISOString() } });
    if (isTried) save({ tried: [...memory.tried.filter(each => each !== trial), trial] });
    if (!returnsAfter(change)) record(effect, change);
  }

  return {
    problem: () => problem,
    async hold({ effects }: NetworkDecision, { limit, rules, hasWarp }: Holding): Promise<void> {
      problem = null;
      const holding = effects.filter(
        ({ state, subject }) => state === 'holds' && (hasWarp || subject === 'killSwitch'),
      );
      if (hasWarp) {
        learn();
        const lasts = ({ subject }: Made) => holding.some(each => each.subject === subject);
        await end(made => !lasts(made), false);
        const routes = holding.find(({ subject }) => subject === 'routes');
        if (routes) await attempt('routes', () => endOtherRoutes(routes.value));
      }
      for (const effect of holding) await attempt(effect.rule, () => set(effect, limit, rules));
    },
    /** Restores everything that rules changed. Turning the kill switch off needs an administrator, unless it was not kept yet. */
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
  if (made.subject === 'killSwitch') return false;
  return made.subject !== 'mode' || strengthOfMode(made.set) < strengthOfMode(made.before);
}
