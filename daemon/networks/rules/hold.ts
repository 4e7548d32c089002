// Sets the values that rules decide, remembers them across restarts, and restores values when their rules no longer apply.
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod/mini';
import type { TunnelSubject } from '../../api/actions.ts';
import { type DecidedEffect, type NetworkDecision, RuleEffect, type RuleRecord } from '../../api/networks.ts';
import type { KillSwitch } from '../../api/schema.ts';
import { Time } from '../../api/values.ts';
import { actionsTo, currentValue, knownNow, Value, valueNotRead } from '../../changes/values.ts';
import type { ChangesControl, FeatureContext, KillSwitchControl, RoutesControl } from '../../controls.ts';
import { errno, reason } from '../../core/errors.ts';
import { makeDirectory, replaceFile } from '../../core/files.ts';
import { Problem } from '../../problem.ts';
import { addedTo, canonical, parseDocument, removedFrom } from '../../routes/document.ts';
import { isReturning } from './decide.ts';
import { keyOf, type Rule } from './rules.ts';

/** Time, in seconds, to notice and to keep a rule's change. */
const TRIAL_SECONDS = 120;
/** Subjects that can cut the machine off from the network. */
const CUT_OFF: readonly DecidedEffect['subject'][] = ['mode', 'protocol', 'killSwitch'];
/** Maximum number of kept effects in the memory. */
const MAX_KEPT = 200;

interface Holding {
  limit: Limit | undefined;
  rules: readonly Rule[];
  /** False if WARP has crashed or is not registered, for example. Then only the kill switch holds. */
  hasWarp: boolean;
}

export function createHolder(
  { memory, save }: Keeper,
  applier: ReturnType<typeof createApplier>,
  { say, ruled }: { say(line: string): void } & Pick<Parts, 'ruled'>,
) {
  let problem: string | null = null;
  /** True if a value was not restored, and has to be later. */
  let isPending = false;

  async function attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      problem = `${what}: ${reason(error)}`;
      say(`Networks: ${problem}`);
    }
  }

  /** Restores the previous values of changes with `returns`, and forgets changes. Keeps those that are not restored. */
  async function end(subjects: (made: Made) => boolean): Promise<void> {
    for (const entry of memory.made.filter(({ change }) => subjects(change)))
      await attempt(entry.change.subject, async () => {
        const isRestored = entry.returns && (await restore(entry));
        if (isRestored && entry.effect) ruled({ ...entry.effect, ended: true });
        const followed = memory.followed.filter(name => !name.startsWith(`${entry.change.subject} `));
        save({ made: memory.made.filter(each => each !== entry), followed });
      });
  }

  async function restore(entry: Memory['made'][number]): Promise<boolean> {
    try {
      return await applier.restore(entry.change, entry.denied !== true);
    } catch (error) {
      isPending = true;
      const isDenied = error instanceof Problem && error.code === 'killswitch-denied';
      if (isDenied) save({ made: memory.made.map(each => (each === entry ? { ...each, denied: true } : each)) });
      throw error;
    }
  }

  /** Removes the routes that rules added, except those of `preset`. */
  async function endOtherRoutes(preset: string): Promise<void> {
    for (const entry of memory.made) {
      const { change } = entry;
      if (change.subject !== 'routes') continue;
      const { kept, others } = await applier.split(change, preset);
      if (!others.length) continue;
      await restore({ ...entry, change: { subject: 'routes', set: others } });
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

  function record(effect: RuleEffect, change: Made): void {
    const before = memory.made.find(each => each.change.subject === change.subject && each.returns);
    const others = memory.made.filter(each => each.change.subject !== change.subject);
    const returns = before !== undefined || isReturning(change);
    save({ made: [...others, { change: joined(before?.change, change), returns, effect }] });
  }

  /** @param limit if undefined, a change that can cut the machine off has a limit until the user has kept it once */
  async function set({ subject, value, rule }: RuleEffect, limit: Limit | undefined, rules: readonly Rule[]) {
    const effect: RuleEffect = { subject, value, rule };
    const content = rules.find(({ name }) => name === rule);
    const name = `${subject} ${value}`;
    const trial = `${content && keyOf(content)} ${name}`;
    const isTried = CUT_OFF.includes(subject) && !memory.kept.includes(trial);
    if (memory.followed.includes(name)) return; // keep the user's later change
    // called before the change, which may take effect even if it fails or the daemon dies
    const intend = (made: Made) => void (isReturning(made) && record(effect, made));
    const change = await applier.set(effect, limit ?? (isTried ? { confirmWithin: TRIAL_SECONDS } : {}), intend);
    save({ followed: [...memory.followed, name] });
    if (change === null) return;
    ruled(effect);
    save({ acted: { rule, at: new Date().toISOString() } });
    if (isTried) save({ tried: [...memory.tried.filter(each => each !== trial), trial] });
    if (!isReturning(change)) record(effect, change);
  }

  return {
    problem: () => problem,
    /** True if a value that had to be restored was not. */
    isPending: () => isPending,
    async hold({ effects }: NetworkDecision, { limit, rules, hasWarp }: Holding): Promise<void> {
      problem = null;
      isPending = false;
      const holding = effects.filter(
        ({ state, subject }) => state === 'holds' && (hasWarp || subject === 'killSwitch'),
      );
      if (hasWarp) {
        learn();
        const lasts = ({ subject }: Made) => holding.some(each => each.subject === subject);
        await end(made => !lasts(made));
        const routes = holding.find(({ subject }) => subject === 'routes');
        if (routes) await attempt('routes', () => endOtherRoutes(routes.value));
      }
      for (const effect of holding) await attempt(effect.rule, () => set(effect, limit, rules));
    },
    /**
     * Restores all values that rules changed, or some of them; `isPending` then. Turning a kept kill switch off needs an
     * administrator.
     * @param isAsked true if the user asks for it, so that an administrator who refused is asked again
     */
    async revert(isAsked: boolean): Promise<void> {
      problem = null;
      isPending = false;
      save({
        made: memory.made.map(entry => ({ ...entry, returns: true, ...(isAsked && { denied: undefined }) })),
      });
      await end(() => true);
    },
  };
}

/** Joins two changes into one that reverts to the user's value. */
function joined(first: Made | undefined, second: Made): Made {
  if (first?.subject === 'routes' && second.subject === 'routes')
    return { subject: 'routes', set: [...new Set([...first.set, ...second.set])] };
  return first && 'before' in first && 'before' in second ? { ...second, before: first.before } : second;
}

/** A change reverts unless the user confirms it within `confirmWithin` seconds. */
export type Limit = { confirmWithin?: number };
type Intend = (made: Made) => void;
type Settable = Parameters<typeof actionsTo>[0];

/** The parts that rules change. */
export interface Parts {
  changes: Pick<ChangesControl, 'runWithLimit'>;
  routes(): Promise<RoutesControl>;
  killSwitch(): Promise<Pick<KillSwitchControl, 'read' | 'set' | 'decide'>>;
  /** Called with each effect that a rule set or that ended. */
  ruled(effect: RuleRecord): void;
}

export function createApplier(
  context: Pick<FeatureContext, 'state' | 'tunnel'>,
  { changes, routes, killSwitch }: Parts,
) {
  const { state, tunnel } = context;
  const valueNow = (subject: TunnelSubject) => currentValue(subject, knownNow(context));

  /**
   * Returns the current value with its subject.
   * @throws Problem tunnel-cli-failed if the value is unknown; the rule then applies or ends later
   */
  async function readValue(subject: TunnelSubject): Promise<Value> {
    await tunnel.refresh('stale');
    const now = valueNow(subject);
    if (!now) throw valueNotRead();
    return now;
  }

  async function setValue(subject: TunnelSubject, value: Plain | null, limit: Limit): Promise<void> {
    for (const action of actionsTo({ subject, value } as Settable, null))
      await changes.runWithLimit({ ...action, ...limit }, true);
  }

  /** Returns the entries of a preset, or an empty list if it does not exist. */
  async function preset(id: string): Promise<{ value: string; comment: string }[]> {
    const { entries } = (await routes()).presets().presets.find(each => each.id === id) ?? { entries: [] };
    return entries.map(({ value, source }) => ({ value: canonical(value).value, comment: `${id}, ${source}` }));
  }

  /** Adds the missing entries of a preset, and returns the change. */
  async function addPreset(id: string, limit: Limit, intend: Intend): Promise<Made | null> {
    const control = await routes();
    const { document, entries: present } = await control.read();
    const listed = new Set(present.map(({ value }) => canonical(value).value));
    const missing = (await preset(id)).filter(({ value }) => !listed.has(value));
    const set = missing.map(({ value }) => value);
    if (!set.length) return null;
    intend({ subject: 'routes', set });
    await control.apply({ document: addedTo(document, missing), cause: 'preset', ...limit });
    return { subject: 'routes', set };
  }

  return {
    /**
     * @param intend called before a value of the tunnel or the routes changes
     * @returns the change, or null if nothing changed
     * @throws Problem from the tunnel or the kill switch
     */
    async set({ subject, value }: RuleEffect, limit: Limit, intend: Intend): Promise<Made | null> {
      if (subject === 'killSwitch') {
        const { enabled, allowLan, confirmable } = state.snapshot().killSwitch;
        if (enabled) return null;
        await (await killSwitch()).set({ enabled: true, allowLan, ...(confirmable ? limit : {}) });
        return { subject };
      }
      if (subject === 'routes') return addPreset(value, limit, intend);
      const now = await readValue(subject);
      const set = subject === 'connection' ? value === 'on' : value;
      if (now.value === set) return null;
      const made: Made = { subject, before: now.value as Plain | null, set };
      intend(made);
      await setValue(subject, set, limit);
      return made;
    },

    /** Splits a change of the routes into the entries of a preset and all other entries. */
    async split(
      { set }: Extract<Made, { subject: 'routes' }>,
      id: string,
    ): Promise<{ kept: string[]; others: string[] }> {
      const values = new Set((await preset(id)).map(({ value }) => value));
      return { kept: set.filter(value => values.has(value)), others: set.filter(value => !values.has(value)) };
    },

    /** True if an effect's value is set and confirmed; null while a change waits for confirmation, or if the value is unknown. */
    isKept({ subject, value }: Pick<RuleEffect, 'subject' | 'value'>): boolean | null {
      const { changes, killSwitch } = state.snapshot();
      if (changes.some(change => change.subject === subject && change.confirmBy !== null)) return null;
      if (subject === 'killSwitch') return isUnknown(killSwitch) ? null : killSwitch.enabled;
      const now = valueNow(subject);
      return now && now.value === value;
    },

    /**
     * Restores the previous value, unless the value is known to have changed since.
     * @param mayAsk false to turn no kill switch off, which may ask for an administrator
     * @returns true if the value was restored
     * @throws Problem in the same cases as `set`, and if the present value is unknown
     */
    async restore(made: Made, mayAsk: boolean): Promise<boolean> {
      if (made.subject === 'killSwitch') {
        const control = await killSwitch();
        const now = await control.read();
        if (isUnknown(now)) throw new Problem('killswitch-failed', 'The kill switch does not report its state.');
        const { enabled, allowLan, unconfirmed } = now;
        if (!enabled) return false;
        if (!mayAsk) throw new Problem('killswitch-denied', 'An administrator has to turn the kill switch off.');
        await (unconfirmed ? control.decide('revert') : control.set({ enabled: false, allowLan }));
        return true;
      }
      if (made.subject === 'routes') {
        const control = await routes();
        const { document } = await control.read();
        const left = removedFrom(document, new Set(made.set));
        const isChanged = parseDocument(left).lines.length < parseDocument(document).lines.length;
        if (isChanged) await control.apply({ document: left, cause: 'preset' });
        return isChanged;
      }
      if ((await readValue(made.subject)).value !== made.set) return false;
      await setValue(made.subject, made.before, {});
      return true;
    },
  };
}

/** True if an installed kill switch that was not seen to be on may be on. */
function isUnknown({ enabled, active, installed }: KillSwitch): boolean {
  return !enabled && installed && active === null;
}

const Plain = z.union([z.boolean(), z.string()]);
type Plain = z.infer<typeof Plain>;
/** Subjects with one value: routes are a list, and rules only turn the kill switch on. */
const SIMPLE = RuleEffect.shape.subject.options.filter(each => each !== 'routes' && each !== 'killSwitch');
const Change = z.object({ subject: z.enum(SIMPLE), before: z.nullable(Plain), set: Plain });
/** Checks a property against the values of its subject. */
const validIn = (key: 'before' | 'set') =>
  z.refine<z.infer<typeof Change>>(({ subject, [key]: value }) => z.safeParse(Value, { subject, value }).success, {
    path: [key],
  });

/** A value that a rule set, with the previous value. */
const Made = z.discriminatedUnion('subject', [
  /** `set`: the canonical entries that a rule added. */
  z.object({ subject: z.literal('routes'), set: z.array(z.string()) }),
  /** A kill switch that a rule turned on. */
  z.object({ subject: z.literal('killSwitch') }),
  Change.check(validIn('before'), validIn('set')),
]);
type Made = z.infer<typeof Made>;

const Memory = z.object({
  version: z.literal(1),
  /** The last place where the rules were applied, or null. */
  place: z.nullable(z.string()),
  /** True if the user reverted the rules' changes at that place. */
  reverted: z.boolean(),
  /** True if the user's revert at that place is not complete. No rule acts until then, and it is tried again. */
  reverting: z._default(z.boolean(), false),
  acted: z.nullable(z.object({ rule: z.string(), at: Time })),
  /** Effects that were set at that place, as `subject value`. The user's later changes are kept. */
  followed: z.array(z.string()),
  /**
   * Changes by rules. A change with `returns` reverts when the device leaves the network. `denied`: an administrator
   * refused that, and is asked again only if the user asks for it.
   */
  made: z.array(
    z.object({
      change: Made,
      returns: z.boolean(),
      effect: z.optional(RuleEffect),
      denied: z.optional(z.boolean()),
    }),
  ),
  /** Effects in CUT_OFF that the user has neither kept nor reverted yet, as `key subject value` with the rule's key. */
  tried: z._default(z.array(z.string()), []),
  /** Effects in CUT_OFF that the user has kept once. They are set without a limit. */
  kept: z._default(z.array(z.string()), []),
  /** The user's answers about rules that lower the protection, by rule key. */
  answers: z.record(z.string(), z.boolean()),
});
export type Memory = z.infer<typeof Memory>;

const EMPTY: Memory = z.parse(Memory, {
  version: 1,
  place: null,
  reverted: false,
  acted: null,
  followed: [],
  made: [],
  answers: {},
});

/** Reads the memory, which is empty if its file is missing or damaged. */
function loadMemory(path: string, say: (line: string) => void): Memory {
  try {
    return z.parse(Memory, JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if (errno(error) !== 'ENOENT')
      say(`${path} can't be read, so answers about networks are asked again: ${reason(error)}`);
    return structuredClone(EMPTY);
  }
}

interface Keeper {
  readonly memory: Memory;
  /** Updates the memory and its file. A failure is only reported: the rules hold anyway. */
  save(change: Partial<Memory>): void;
}

export function keepMemory(path: string, say: (line: string) => void): Keeper {
  const memory = loadMemory(path, say);
  return {
    memory,
    save(change) {
      Object.assign(memory, change);
      try {
        makeDirectory(dirname(path));
        replaceFile(path, `${JSON.stringify(memory)}\n`);
      } catch (error) {
        say(`Networks: ${reason(error)}`);
      }
    },
  };
}
