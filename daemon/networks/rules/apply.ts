// Sets what a rule says, and restores previous values.

import type { TunnelSubject } from '../../api/actions.ts';
import type { DecidedEffect, RuleRecord } from '../../api/networks.ts';
import { actionsTo, currentValue, knownNow, valueNotRead } from '../../changes/values.ts';
import type { ChangesControl, FeatureContext, KillSwitchControl, RoutesControl } from '../../controls.ts';
import { addedTo, canonical, parseDocument, removedFrom } from '../../routes/document.ts';
import type { Made } from './memory.ts';

/** `confirmWithin`: reverts unless the user confirms it. */
export type Limit = { confirmWithin?: number };
type Intend = (made: Made) => void;
type Settable = Parameters<typeof actionsTo>[0];

/** The parts that rules change. */
export interface Parts {
  changes: Pick<ChangesControl, 'runWithLimit'>;
  routes(): Promise<RoutesControl>;
  killSwitch(): Promise<Pick<KillSwitchControl, 'set' | 'decide'>>;
  /** Called with what a rule has set, and with what ended. */
  ruled(effect: RuleRecord): void;
}

export function createApplier(
  context: Pick<FeatureContext, 'state' | 'tunnel'>,
  { changes, routes, killSwitch }: Parts,
) {
  const { state, tunnel } = context;
  const valueNow = (subject: TunnelSubject) => currentValue(subject, knownNow(context));

  /**
   * The value that is set; null where the tunnel client reports none.
   * @throws Problem tunnel-cli-failed where it can't be read; the rule is then followed later
   */
  async function readValue(subject: TunnelSubject) {
    await tunnel.refresh('stale');
    const now = valueNow(subject);
    if (!now && tunnel.stale().length > 0) throw valueNotRead();
    return now?.value ?? null;
  }

  async function setValue(wanted: Settable, limit: Limit): Promise<void> {
    for (const action of actionsTo(wanted, null)) await changes.runWithLimit({ ...action, ...limit });
  }

  /** The entries of a preset; empty where there is no such preset. */
  async function preset(id: string): Promise<{ value: string; comment: string }[]> {
    const { entries } = (await routes()).presets().presets.find(each => each.id === id) ?? { entries: [] };
    return entries.map(({ value, source }) => ({ value: canonical(value).value, comment: `${id}, ${source}` }));
  }

  /** Adds the entries of a preset, and returns those that were not there. */
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
     * @param intend called before it changes a value of the tunnel or the routes
     * @returns what it changed; null where nothing was to change
     * @throws Problem as the tunnel and the kill switch
     */
    async set({ subject, value }: DecidedEffect, limit: Limit, intend: Intend): Promise<Made | null> {
      if (subject === 'killSwitch') {
        const { enabled, allowLan, confirmable } = state.snapshot().killSwitch;
        if (enabled) return null;
        await (await killSwitch()).set({ enabled: true, allowLan, ...(confirmable ? limit : {}) });
        return { subject };
      }
      if (subject === 'routes') return addPreset(value, limit, intend);
      const before = await readValue(subject);
      const set = subject === 'connection' ? value === 'on' : value;
      if (before === set || (before === null && subject !== 'protocol')) return null;
      const made = { subject, before, set } as Made;
      intend(made);
      await setValue({ subject, value: set } as Settable, limit);
      return made;
    },

    /** Splits a change of the routes into entries of a preset, and others. */
    async split(
      { set }: Extract<Made, { subject: 'routes' }>,
      id: string,
    ): Promise<{ kept: string[]; others: string[] }> {
      const values = new Set((await preset(id)).map(({ value }) => value));
      return { kept: set.filter(value => values.has(value)), others: set.filter(value => !values.has(value)) };
    },

    /** True where the value of an effect is set, and nothing waits to be confirmed. Null while something does, or it is not known. */
    isKept({ subject, value }: Pick<DecidedEffect, 'subject' | 'value'>): boolean | null {
      const { changes, killSwitch } = state.snapshot();
      if (changes.some(change => change.subject === subject && change.confirmBy !== null)) return null;
      if (subject === 'killSwitch') return killSwitch.enabled;
      const now = valueNow(subject as TunnelSubject);
      return now && now.value === value;
    },

    /**
     * Sets the previous value, unless it was changed since.
     * @returns whether it did
     * @throws Problem as `set`
     */
    async restore(made: Made): Promise<boolean> {
      if (made.subject === 'killSwitch') {
        const { enabled, allowLan, unconfirmed } = state.snapshot().killSwitch;
        if (!enabled) return false;
        const control = await killSwitch();
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
      if ((await readValue(made.subject)) !== made.set) return false;
      await setValue({ subject: made.subject, value: made.before } as Settable, {});
      return true;
    },
  };
}
