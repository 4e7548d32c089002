// Plans the runs of the tunnel CLI that turn one list of routes into another: the fewest that remove nothing that stays. Pure.
import type { ActionName, ActionRequest } from '../api/actions.ts';
import { originOf } from './defaults.ts';
import { ADD, type Entry, type Mode, REMOVE } from './document.ts';

export interface Calls {
  /**
   * Resets come first. After them the list has to be read and `callsFor` asked again, because each release has default
   * entries of its own.
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

/** warp-cli takes one entry per run in every release, and has no other batch than its resets. */
export function callsFor({ mode, before, after, supports }: Lists): Calls {
  const [had, wanted] = [valuesOf(before), valuesOf(after)];
  const add = after.filter(({ value }) => !had.has(value));
  const remove = before.filter(({ value }) => !wanted.has(value));
  const resets: ActionRequest[] = [];
  const isHost = ({ kind }: Entry) => kind === 'host';
  const isDefault = ({ value }: Entry) => originOf(value, false) === 'default';
  const common = before.filter(({ value }) => wanted.has(value));
  // in include mode the vendor's default is not known
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
    // additions first: what a wider entry covered stays covered by the narrower ones that replace it
    rest: [
      ...add.map(({ kind, value }): ActionRequest => ({ action: ADD[kind], value })),
      ...remove
        .filter(entry => !done(entry))
        .map(({ kind, value }): ActionRequest => ({ action: REMOVE[kind], value })),
    ],
  };
}

/** Entries that a reset can bring back and that then have to be removed: those of the vendor's list, about. */
const DEFAULT_ENTRIES = 30;

function valuesOf(entries: readonly Entry[]): Set<string> {
  return new Set(entries.map(({ value }) => value));
}

function count(entries: readonly Entry[], counts: (entry: Entry) => boolean): number {
  return entries.filter(counts).length;
}
