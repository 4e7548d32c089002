// Reads the split tunnel as a document, and previews what another document would change.
import { createHash } from 'node:crypto';
import type { SplitTunnel } from '../api/schema.ts';
import type { FeatureContext, RoutesControl } from '../controls.ts';
import { callsFor } from './calls.ts';
import { originOf } from './defaults.ts';
import { canonical, type Entry, formatDocument, parseDocument } from './document.ts';
import { currentOf, loadHistory } from './document-history.ts';
import { preview } from './preview.ts';
import { entriesOf, type SplitList } from './split-list.ts';
import { readSurroundings } from './surroundings.ts';

type Context = Pick<FeatureContext, 'paths' | 'state' | 'say'>;

export async function readRoutes(list: SplitList, { paths, state, say }: Context): ReturnType<RoutesControl['read']> {
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

export async function previewRoutes(
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
export function revisionOf(split: SplitTunnel): string {
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

export function textOf(split: SplitTunnel): string {
  return formatDocument(split, () => null);
}
