// Reads the split tunnel as a document, previews and applies new documents, and keeps previous documents for undo.

import { createHash } from 'node:crypto';
import type { RoutesCause, RoutesResponse } from '../api/routes.ts';
import type { Snapshot, SplitTunnel } from '../api/schema.ts';
import type { ChangesControl, FeatureContext, RoutesControl, RoutesPlan } from '../controls.ts';
import { reason } from '../core/errors.ts';
import { Problem } from '../problem.ts';
import { message } from '../view/message.ts';
import { canonical, type Entry, formatDocument, parseDocument } from './document.ts';
import { currentOf, type History, loadHistory, record, saveHistory, undoTarget } from './document-history.ts';
import { preview } from './preview.ts';
import { callsFor, createSplitList, entriesOf, originOf, type SplitList } from './split-list.ts';
import { readPresets, readSurroundings } from './surroundings.ts';

/** @param changes sets a list so that the previous one returns after a kill, or without a confirmation */
export function createRoutes(
  context: Pick<FeatureContext, 'paths' | 'state' | 'tunnel' | 'say'>,
  changes: Pick<ChangesControl, 'setRoutes'>,
): RoutesControl {
  const { paths, state, say } = context;
  const list = createSplitList(context);
  const { current } = list;

  /** Adds the document of the present list to the history on disk. A failure is only reported: the list is set. */
  function saveDocument(split: SplitTunnel, document: string, cause: RoutesCause): void {
    const entries = split.ips.length + split.hosts.length;
    const item = { at: new Date().toISOString(), cause, revision: revisionOf(split), entries, document };
    try {
      saveHistory(paths.routes, record(loadHistory(paths.routes, say), item));
    } catch (error) {
      say(`Routes: ${reason(error)} This list can't be restored.`);
    }
  }

  /** The history, with the present list as its current document. */
  function historyWith(split: SplitTunnel): History {
    const history = loadHistory(paths.routes, say);
    if (currentOf(history)?.revision === revisionOf(split)) return history;
    saveDocument(split, textOf(split), 'outside');
    return loadHistory(paths.routes, say);
  }

  /** @param choose selects the document, from the present list */
  async function set(
    choose: (split: SplitTunnel) => string,
    cause: RoutesCause,
    { ifRevision, confirmWithin }: SetOptions,
  ): Promise<RoutesResponse> {
    return changes.setRoutes({
      confirmWithin,
      async plan() {
        refuseManaged(state.snapshot());
        const split = await current();
        if (ifRevision !== undefined && ifRevision !== revisionOf(split)) throw changedSinceRead();
        return planFor(choose(split), split);
      },
      async work({ entries, before, previous, document, added, removed }) {
        if (previous) {
          historyWith(await current());
          await list.setOrRollBack(entries, before);
        }
        const split = await current();
        saveDocument(split, document, cause);
        return { ok: true, revision: revisionOf(split), added, removed };
      },
    });
  }

  return {
    read: () => readRoutes(list, context),
    preview: request => previewRoutes(request, list, context),
    apply: ({ document, cause, ...options }) => set(() => document, cause ?? 'api', options),

    undo(options) {
      const documentBefore = (split: SplitTunnel) => {
        const target = undoTarget(historyWith(split));
        if (target) return target.document;
        throw new Problem('nothing-to-undo', 'No earlier document of routes is kept.', {
          hint: 'To revert changes of other programs: culvert routes add, culvert routes remove',
        });
      };
      return set(documentBefore, 'undo', options);
    },

    history(id) {
      const history = loadHistory(paths.routes, say);
      const target = undoTarget(history);
      const items = id === undefined ? history.items : history.items.filter(item => item.id === id);
      if (id !== undefined && items.length === 0) throw new Problem('not-found', `No document ${id} is kept.`);
      return {
        ok: true,
        documents: items.toReversed().map(({ id: number, at, cause, entries, document }) => ({
          id: number,
          at,
          cause,
          entries,
          current: number === history.current,
          undo: number === target?.id,
          ...(id === undefined ? {} : { document }),
        })),
      };
    },

    async remember() {
      if (state.snapshot().status.blocked) return; // the action fails as well
      try {
        historyWith(await current());
      } catch (error) {
        say(`Routes: this change can't be undone: ${reason(error)}`);
      }
    },

    presets: () => ({ ok: true, presets: readPresets() }),

    async restore(entries) {
      await list.set(entries.map(canonical), 'rolling-back');
      const split = await current();
      const item = loadHistory(paths.routes, say).items.findLast(({ revision }) => revision === revisionOf(split));
      saveDocument(split, item?.document ?? textOf(split), 'revert'); // the stored document has its comments
    },
  };
}

/** @throws Problem not-authorized */
function refuseManaged({ account }: Snapshot): void {
  if (account.managed !== true) return;
  throw new Problem(
    'not-authorized',
    message('Your organization manages the split tunnel, so you can’t change it here.'),
    { hint: 'Ask the administrator of your organization for a change.' },
  );
}

interface Plan extends RoutesPlan {
  document: string;
  before: Entry[];
  /** The list to set. */
  entries: Entry[];
  added: number;
  removed: number;
}

/** @throws Problem document-invalid */
function planFor(document: string, split: SplitTunnel): Plan {
  const { add, remove, invalid } = preview(parseDocument(document), split);
  if (invalid.length) throw invalidDocument(invalid);
  const before = entriesOf(split);
  return {
    document,
    before,
    previous: add.length + remove.length > 0 ? before.map(({ value }) => value) : null,
    entries: without(before, remove).concat(add),
    added: add.length,
    removed: remove.length,
  };
}

interface SetOptions {
  ifRevision?: string | undefined;
  confirmWithin?: number | undefined;
}

function changedSinceRead(): Problem {
  return new Problem('precondition-failed', 'The split tunnel has changed since it was read.', {
    hint: 'Read it again, and repeat the change.',
  });
}

function invalidDocument(invalid: readonly { line: number; reason: string }[]): Problem {
  const { line, reason: why } = invalid[0]!;
  const more = invalid.length > 1 ? ` ${invalid.length - 1} more lines are wrong.` : '';
  return new Problem('document-invalid', `Line ${line}: ${why}.${more} Nothing was changed.`, {
    errors: invalid.slice(0, 100).map(each => ({ path: `line ${each.line}`, message: each.reason })),
  });
}

type Context = Pick<FeatureContext, 'paths' | 'state' | 'say'>;

async function readRoutes(list: SplitList, { paths, state, say }: Context): ReturnType<RoutesControl['read']> {
  const split = await list.current();
  const { managed } = state.snapshot().account;
  const item = currentOf(loadHistory(paths.routes, say));
  const revision = revisionOf(split);
  const document = item?.revision === revision ? item.document : textOf(split);
  const comments = commentsOf(document);
  const entries = [...split.ips, ...split.hosts].map(({ value: listed, description }) => {
    const { kind, value } = canonical(listed);
    return { kind, value, origin: originOf(value, managed, comments.get(value)), description };
  });
  return { ok: true, revision, mode: split.mode, readOnly: managed === true, entries, document };
}

async function previewRoutes(
  { document, sshPeer }: Parameters<RoutesControl['preview']>[0],
  list: SplitList,
  { state }: Context,
): ReturnType<RoutesControl['preview']> {
  const split = await list.current();
  const { tunnel: facts, settings } = state.snapshot();
  const env = sshPeer === undefined ? {} : { SSH_CONNECTION: sshPeer };
  const surroundings = readSurroundings(env, { endpoints: facts.endpoints, clientMode: settings.Mode ?? null });
  const difference = preview(parseDocument(document), split, surroundings);
  const before = entriesOf(split);
  const after = without(before, difference.remove).concat(difference.add);
  const { resets, rest } = callsFor({ mode: split.mode, before, after, supports: await list.supported() });
  const plain = (entries: readonly Entry[]) => entries.map(({ kind, value }) => ({ kind, value }));
  return {
    ok: true,
    revision: revisionOf(split),
    ...difference,
    add: plain(difference.add),
    remove: plain(difference.remove),
    calls: resets.length + rest.length,
  };
}

/** Identifies a list: the same for every order of its entries and every form in which the tunnel CLI prints them. */
function revisionOf(split: SplitTunnel): string {
  const values = entriesOf(split)
    .map(({ value }) => value)
    .sort();
  return createHash('sha256')
    .update([split.mode ?? '', ...values].join('\n'))
    .digest('hex')
    .slice(0, 16);
}

export function without(entries: readonly Entry[], removed: readonly Entry[]): Entry[] {
  const values = new Set(removed.map(({ value }) => value));
  return entries.filter(({ value }) => !values.has(value));
}

function commentsOf(document: string): Map<string, string | null> {
  const { lines } = parseDocument(document);
  return new Map(lines.flatMap(({ entries, comment }) => entries.map(({ value }) => [value, comment] as const)));
}

function textOf(split: SplitTunnel): string {
  return formatDocument(split, () => null);
}
