// Reads and sets the split tunnel's list with the fewest runs of the tunnel CLI, and restores the previous list after a failure.
import type { ActionName, ActionRequest } from '../api/actions.ts';
import { PRESETS, type RouteOrigin } from '../api/routes.ts';
import type { SplitTunnel } from '../api/schema.ts';
import type { FeatureContext } from '../controls.ts';
import { reason } from '../core/errors.ts';
import { Problem } from '../problem.ts';
import { DEFAULT_ROUTES } from '../view/default-routes.ts';
import { ADD, canonical, type Entry, type Mode, REMOVE } from './document.ts';

type Context = Pick<FeatureContext, 'state' | 'tunnel'>;
type Phase = 'applying' | 'rolling-back';

/** Maximum number of passes. Another program may change the list during a pass; if it still differs, the call fails. */
const PASSES = 3;

export interface SplitList {
  /** Returns the current list. @throws Problem routes-failed if it can't be read now */
  current(): Promise<SplitTunnel>;
  /** Returns a test that is true if the tunnel CLI has a command for a reset. */
  supported(): Promise<(action: ActionName) => boolean>;
  /** Sets the list, reads it back, and retries missing entries. @throws Problem */
  set(wanted: readonly Entry[], phase: Phase): Promise<void>;
  /** Sets the list, or restores the previous list. @throws Problem, with `notRestored` if the restoration fails too */
  setOrRollBack(wanted: readonly Entry[], before: readonly Entry[]): Promise<void>;
}

export function createSplitList({ state, tunnel }: Context): SplitList {
  async function current(): Promise<SplitTunnel> {
    await tunnel.refresh('stale');
    // a busy machine, or a daemon that has just started, may need more time
    if (!isKnown()) await tunnel.refresh('all');
    if (isKnown()) return state.snapshot().splitTunnel;
    throw new Problem('routes-failed', 'The tunnel client did not report the split tunnel.', {
      hint: state.snapshot().status.blocked ? 'See: culvert status' : 'Try again, or see: culvert doctor',
    });
  }

  /** True if the list was read. Before the first read, it is empty too. */
  function isKnown(): boolean {
    const { mode, ips, hosts } = state.snapshot().splitTunnel;
    const isRead = mode !== null || ips.length + hosts.length > 0;
    return isRead && !tunnel.stale().some(({ part }) => part === 'splitTunnel');
  }

  async function supported(): Promise<(action: ActionName) => boolean> {
    const names = ['resetSplitIps', 'resetSplitHosts'] as const;
    const answers = await Promise.all(names.map(name => tunnel.supports(name)));
    return action => names.some((name, at) => name === action && answers[at]!);
  }

  async function set(entries: readonly Entry[], phase: Phase): Promise<void> {
    const supports = await supported();
    let done = 0;
    const runActions = async (actions: readonly ActionRequest[]) => {
      const total = done + actions.length;
      for (const action of actions) {
        state.publish('routes', { phase, done, total });
        await tunnel.runAction(action).catch(error => unlessDone(action, entries, error));
        done += 1;
      }
    };
    await tunnel.batch(async () => {
      for (let pass = 0; ; pass++) {
        const { resets, rest } = await callsTo(entries, supports);
        if (resets.length + rest.length === 0) return;
        if (pass === PASSES)
          throw new Problem('routes-failed', `The tunnel client accepted the list, and ${rest.length} entries differ.`);
        await runActions(resets);
        await runActions(resets.length ? (await callsTo(entries, () => false)).rest : rest);
      }
    });
    state.publish('routes', { phase: 'done', done, total: done });
  }

  /** Ignores the failure if another program made the same change first. */
  async function unlessDone({ value }: ActionRequest, list: readonly Entry[], error: unknown): Promise<void> {
    const has = (entries: readonly Entry[]) => entries.some(entry => entry.value === value);
    const now = await current().catch(() => null);
    if (value === undefined || !now || has(entriesOf(now)) !== has(list)) throw error;
  }

  async function callsTo(after: readonly Entry[], supports: (action: ActionName) => boolean) {
    const split = await current();
    return callsFor({ mode: split.mode, before: entriesOf(split), after, supports });
  }

  async function setOrRollBack(entries: readonly Entry[], before: readonly Entry[]): Promise<void> {
    try {
      await set(entries, 'applying');
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem('routes-failed', reason(error), {}, error);
      try {
        await set(before, 'rolling-back');
      } catch (undo) {
        const both = new AggregateError([problem, undo], 'The change failed, and so did its undo.');
        const hint = 'The previous list is restored as soon as the tunnel client accepts it.';
        const lost = withHint(problem, hint, both);
        lost.notRestored = true;
        throw lost;
      }
      const restored = withHint(problem, 'The list is as it was before.');
      restored.uncertain = false;
      throw restored;
    }
  }

  return { current, supported, set, setOrRollBack };
}

/** Returns the entries of a list in their canonical form. */
export function entriesOf({ ips, hosts }: SplitTunnel): Entry[] {
  return [...ips, ...hosts].map(({ value }) => canonical(value));
}

function withHint(problem: Problem, sentence: string, cause = problem.cause): Problem {
  const hint = [sentence, problem.extras.hint].filter(Boolean).join(' ');
  return new Problem(problem.code, problem.said, { ...problem.extras, hint }, cause);
}

interface Calls {
  /**
   * Run resets first. Then read the list and call `callsFor` again, because the default entries differ by release.
   */
  resets: ActionRequest[];
  rest: ActionRequest[];
}

interface Lists {
  mode: Mode | null;
  before: readonly Entry[];
  after: readonly Entry[];
  supports(action: ActionName): boolean;
}

/**
 * Returns the fewest runs that turn one list into another without removing an entry that stays. Every release of warp-cli
 * takes one entry per run, and its only batch commands are resets.
 */
export function callsFor({ mode, before, after, supports }: Lists): Calls {
  const [had, wanted] = [valuesOf(before), valuesOf(after)];
  const add = after.filter(({ value }) => !had.has(value));
  const remove = before.filter(({ value }) => !wanted.has(value));
  const resets: ActionRequest[] = [];
  const isHost = ({ kind }: Entry) => kind === 'host';
  const isDefault = ({ value }: Entry) => originOf(value, false) === 'default';
  const common = before.filter(({ value }) => wanted.has(value));
  // the vendor's defaults for include mode are not known
  if (mode === 'exclude') {
    const direct = count(add, e => !isHost(e)) + count(remove, e => !isHost(e));
    const afterwards = count(after, e => !isHost(e) && !isDefault(e)) + DEFAULT_ENTRIES;
    if (direct > 1 + afterwards && common.every(e => isHost(e) || isDefault(e)) && supports('resetSplitIps'))
      resets.push({ action: 'resetSplitIps' });
  }
  if (count(remove, isHost) > 1 && !common.some(isHost) && supports('resetSplitHosts'))
    resets.push({ action: 'resetSplitHosts' });
  const done = (entry: Entry) =>
    resets.some(({ action }) => action === (isHost(entry) ? 'resetSplitHosts' : 'resetSplitIps'));
  return {
    resets,
    // additions come first: narrower entries cover the addresses before the removal of their wider entry
    rest: [
      ...add.map(({ kind, value }): ActionRequest => ({ action: ADD[kind], value })),
      ...remove
        .filter(entry => !done(entry))
        .map(({ kind, value }): ActionRequest => ({ action: REMOVE[kind], value })),
    ],
  };
}

/** Estimated number of default entries to remove after a reset: about the length of the vendor's list. */
const DEFAULT_ENTRIES = 30;

function valuesOf(entries: readonly Entry[]): Set<string> {
  return new Set(entries.map(({ value }) => value));
}

function count(entries: readonly Entry[], counts: (entry: Entry) => boolean): number {
  return entries.filter(counts).length;
}

const DEFAULTS = new Set(DEFAULT_ROUTES);

/** Start of the comment of an entry that a preset added: `docker, docker0`. */
const OF_PRESET = new RegExp(`^(${PRESETS.join('|')})(,|$)`);

/**
 * Returns the origin of an entry of the list.
 * @param value the value that `canonical` returns
 * @param managed true if an organization manages this device and its list
 * @param comment the entry's comment in the document that was set
 */
export function originOf(value: string, managed: boolean | null, comment: string | null = null): RouteOrigin {
  if (managed) return 'policy';
  if (DEFAULTS.has(value)) return 'default';
  return comment !== null && OF_PRESET.test(comment) ? 'preset' : 'user';
}
