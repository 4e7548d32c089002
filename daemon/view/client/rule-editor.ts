// Holds the draft of one network rule, tries it before the user saves it, and tries the rules on other networks.
import type {
  NetworkEffects,
  NetworkLink,
  NetworkMatch,
  NetworkRule,
  NetworksTried,
  SupposedNetwork,
} from '../../api/networks.ts';
import type { Model } from './model.ts';
import { changeNetworks, linesOf, ruleChange, withRule } from './network-document.ts';

/** The draft of a rule. */
export interface RuleDraft {
  /** Name of the rule to replace; null for a new rule. */
  replaces: string | null;
  name: string;
  match: NetworkMatch;
  effects: NetworkEffects;
}

interface RuleEditorState {
  draft: RuleDraft | null;
  /** All rules including the draft, and their effects on this network; null before they are tried. */
  tried: NetworksTried | null;
  /** True while the user edits what else identifies the draft's network. */
  marking: boolean;
  /** True while the user tests the rules on another network. */
  testing: boolean;
  /** The network in the last “What if…” question. */
  supposed: SupposedNetwork | null;
  /** The rules' decision on that network. */
  answer: NetworksTried | null;
}

export interface RuleEditor {
  state(): RuleEditorState;
  /** Begins a draft of an existing rule, or of a new rule for a network. */
  begin(rule: NetworkRule | null, link: NetworkLink | null): Promise<void>;
  /** Changes the draft, and tries it. */
  change(part: Partial<RuleDraft>): Promise<void>;
  /** Begins or ends the edit of what else identifies the draft's network. */
  mark(marking: boolean): void;
  /** Keeps the text in a field of the draft, by the row's id, until it is taken or the edit ends. The draft stays as it is. */
  type(id: string, text: string): void;
  /** Returns the texts that are in these fields, by the rows' ids. */
  typed(): ReadonlyMap<string, string>;
  cancel(): void;
  /**
   * Saves the draft.
   * @param allow true if the user agreed that the rule may lower the protection
   * @returns a function that reverts it, which throws the same errors
   * @throws ApiError, Unreachable
   */
  save(allow: boolean): Promise<() => Promise<void>>;
  /** Begins or ends the test of the rules on another network. */
  test(testing: boolean): void;
  /** Tries the current rules on a network. @throws ApiError, Unreachable */
  suppose(network: SupposedNetwork): Promise<void>;
}

/** @param changed called after every change of the state. */
export function createRuleEditor({ call }: Pick<Model, 'call'>, changed: () => void): RuleEditor {
  let state: RuleEditorState = {
    draft: null,
    tried: null,
    marking: false,
    testing: false,
    supposed: null,
    answer: null,
  };

  const typed = new Map<string, string>();
  /** The rule that the draft replaces, as it is saved; null for a new rule. */
  let edited: NetworkRule | null = null;

  function update(change: Partial<RuleEditorState>): void {
    state = { ...state, ...change };
    changed();
  }

  /** Tries the draft. After a failure, the draft has no answer, and the user can’t save it. */
  async function tryDraft(): Promise<void> {
    const { draft } = state;
    if (!draft || !isComplete(draft)) return;
    const { document } = await call('GET /api/networks');
    if (state.draft !== draft) return;
    const body = { document: withRule(document, { ...draft, lines: linesOf(draft) }) };
    const tried = await call('POST /api/networks/what-if', { body });
    if (state.draft === draft) update({ tried });
  }

  /** Ends the edit of the draft, and shows the given state. */
  function end(change: Partial<RuleEditorState> = {}): void {
    typed.clear();
    update({ draft: null, tried: null, marking: false, ...change });
  }

  async function set(draft: RuleDraft): Promise<void> {
    update({ draft, tried: null });
    await tryDraft();
  }

  return {
    state: () => state,
    begin(rule, link) {
      edited = rule;
      return set(
        rule
          ? { replaces: rule.name, name: rule.name, match: rule.match, effects: rule.effects }
          : { replaces: null, name: link?.name ?? '', match: link ? matchOf(link) : {}, effects: {} },
      );
    },
    async change(part) {
      if (state.draft) await set({ ...state.draft, ...part });
    },
    mark(marking) {
      typed.clear();
      update({ marking });
    },
    type(id, text) {
      if (text === '') typed.delete(id);
      else typed.set(id, text);
    },
    typed: () => typed,
    cancel: () => end(),
    async save(allow) {
      const { draft } = state;
      if (!draft) return async () => {};
      const { name } = draft;
      const before = edited;
      await changeNetworks({ call }, { do: 'add', ...draft, lines: linesOf(draft), ...(allow && { allow }) });
      end({ supposed: null, answer: null });
      return () =>
        changeNetworks({ call }, before ? { ...ruleChange(before), replaces: name } : { do: 'remove', name });
    },
    test: testing => update({ testing, supposed: null, answer: null }),
    async suppose(network) {
      update({ supposed: network, answer: null });
      const answer = await call('POST /api/networks/what-if', { body: { network } });
      if (state.supposed === network) update({ answer });
    },
  };
}

/** True for a rule with a name, a network and an effect. */
export function isComplete({ name, match, effects }: RuleDraft): boolean {
  const values = Object.values(match);
  return name !== '' && values.length > 0 && !values.includes('') && Object.keys(effects).length > 0;
}

/** Returns the best match for a network: its SSID with the security, or its connection's UUID. */
export function matchOf({ kind, name, uuid, security }: NetworkLink): NetworkMatch {
  if (kind === 'wifi') return { ssid: name ?? '', ...(name !== null && security ? { security } : {}) };
  return uuid === null ? { any: 'ethernet' } : { uuid };
}
