// Reads the split tunnel as a document, previews and applies new documents, and keeps previous documents for undo.
import { readFileSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod/mini';
import { RoutesCause, type RoutesResponse } from '../api/routes.ts';
import type { Snapshot, SplitTunnel } from '../api/schema.ts';
import type { ChangesControl, FeatureContext, RoutesControl, RoutesPlan } from '../controls.ts';
import { errno, reason } from '../core/errors.ts';
import { makeDirectory, replaceFile } from '../core/files.ts';
import { sha256 } from '../core/hash.ts';
import { Problem } from '../problem.ts';
import { message } from '../view/message.ts';
import { canonical, type Entry, formatDocument, parseDocument } from './document.ts';
import { preview } from './preview.ts';
import { callsFor, createSplitList, entriesOf, originOf, type SplitList } from './split-list.ts';
import { readPresets, readSurroundings } from './surroundings.ts';

/** @param changes sets a list, and restores the previous list after a kill or without a confirmation */
export function createRoutes(
  context: Pick<FeatureContext, 'paths' | 'state' | 'tunnel' | 'say'>,
  changes: Pick<ChangesControl, 'setRoutes'>,
): RoutesControl {
  const { paths, state, say } = context;
  const list = createSplitList(context);
  const { current } = list;

  /** Adds the document of the present list to the history on disk. A failure is only reported, because the list is set. */
  function saveDocument(split: SplitTunnel, document: string, cause: RoutesCause): void {
    const entries = split.ips.length + split.hosts.length;
    const item = { at: new Date().toISOString(), cause, revision: revisionOf(split), entries, document };
    try {
      saveHistory(paths.routes, record(loadHistory(paths.routes, say), item));
    } catch (error) {
      say(`Routes: ${reason(error)} This list can't be restored.`);
    }
  }

  /** Returns the history, with the present list as its current document. */
  function historyWith(split: SplitTunnel): History {
    const history = loadHistory(paths.routes, say);
    if (currentOf(history)?.revision === revisionOf(split)) return history;
    saveDocument(split, textOf(split), 'outside');
    return loadHistory(paths.routes, say);
  }

  /** @param choose returns the document to set, given the present list */
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
      if (state.snapshot().status.blocked) return; // the action itself fails too
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
      saveDocument(split, item?.document ?? textOf(split), 'revert'); // the stored document has the user's comments
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
  const { tunnel: facts, settings, status } = state.snapshot();
  const env = sshPeer === undefined ? {} : { SSH_CONNECTION: sshPeer };
  const surroundings = readSurroundings(env, {
    endpoints: facts.endpoints,
    clientMode: settings.Mode ?? null,
    connected: status.state === 'connected',
  });
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

/** Returns a hash that identifies a list, regardless of the entries' order and the form that the tunnel CLI prints. */
function revisionOf(split: SplitTunnel): string {
  const values = entriesOf(split)
    .map(({ value }) => value)
    .sort();
  return sha256([split.mode ?? '', ...values].join('\n')).slice(0, 16);
}

function without(entries: readonly Entry[], removed: readonly Entry[]): Entry[] {
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

/** Maximum number of documents in the history. */
const KEPT = 20;

const Item = z.object({
  id: z.int(),
  at: z.iso.datetime(),
  cause: RoutesCause,
  /** ID of the previous document; null if it is not known. */
  before: z.nullable(z.int()),
  /** Identifies the list, regardless of the text. */
  revision: z.string(),
  entries: z.int(),
  document: z.string(),
});
type Item = z.infer<typeof Item>;
const History = z.object({ version: z.literal(1), current: z.nullable(z.int()), items: z.array(Item) });
type History = z.infer<typeof History>;

const NO_HISTORY: History = { version: 1, current: null, items: [] };

/** Adds the present list. A return to the previous document only moves `current`. @param entry `at`: ISO 8601 */
function record(history: History, entry: Omit<Item, 'id' | 'before'>): History {
  const now = currentOf(history);
  // the same list with other comments
  if (now?.revision === entry.revision) {
    const items = history.items.map(item => (item === now ? { ...now, document: entry.document } : item));
    return { ...history, items };
  }
  const before = undoTarget(history);
  if ((entry.cause === 'undo' || entry.cause === 'revert') && before?.revision === entry.revision)
    return { ...history, current: before.id };
  const id = Math.max(0, ...history.items.map(item => item.id)) + 1;
  return { version: 1, current: id, items: [...history.items, { ...entry, id, before: history.current }].slice(-KEPT) };
}

function currentOf({ current, items }: History): Item | null {
  return items.find(({ id }) => id === current) ?? null;
}

/** Returns the document that an undo restores, or null. */
function undoTarget(history: History): Item | null {
  const before = currentOf(history)?.before ?? null;
  return history.items.find(({ id }) => id === before) ?? null;
}

/** Reads the history, empty if the file is missing. A file that can't be parsed is renamed to `….broken`. */
function loadHistory(path: string, say: (line: string) => void): History {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errno(error) !== 'ENOENT') say(`${path} can't be read: ${reason(error)}.`);
    return NO_HISTORY;
  }
  try {
    return z.parse(History, JSON.parse(text));
  } catch (error) {
    say(`${path} is not understood and is kept as ${path}.broken: ${reason(error)}`);
    renameSync(path, `${path}.broken`);
    return NO_HISTORY;
  }
}

/** @throws FileError */
function saveHistory(path: string, history: History): void {
  makeDirectory(dirname(path));
  replaceFile(path, `${JSON.stringify(history)}\n`);
}
