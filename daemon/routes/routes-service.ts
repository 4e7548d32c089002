// Reads the split tunnel as a document, previews and applies new documents, and keeps those before for undo.
import type { RoutesCause, RoutesResponse } from '../api/routes.ts';
import type { Snapshot, SplitTunnel } from '../api/schema.ts';
import type { ChangesControl, FeatureContext, RoutesControl, RoutesPlan } from '../controls.ts';
import { Problem } from '../problem.ts';
import { reason } from '../system/errno.ts';
import { message } from '../view/message.ts';
import { canonical, type Entry, parseDocument } from './document.ts';
import { currentOf, type History, loadHistory, record, saveHistory, undoTarget } from './document-history.ts';
import { readPresets } from './presets.ts';
import { preview } from './preview.ts';
import { previewRoutes, readRoutes, revisionOf, textOf, without } from './read-routes.ts';
import { createSplitList, entriesOf } from './split-list.ts';

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
