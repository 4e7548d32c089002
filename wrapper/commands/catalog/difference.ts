// Compares a signed catalog with the one in use, and checks that it keeps to the rules of this version.
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { createTwoFilesPatch } from 'diff';
import { parse } from 'smol-toml';
import { reason } from '../../../daemon/core/errors.ts';
import { readText } from '../../../daemon/core/files.ts';
import { isRecord } from '../../../daemon/core/shape.ts';
import { explainJournal, explainKnowledge, explainTexts } from '../../catalog/bounds.ts';
import { entriesIn, loadCatalog } from '../../catalog/catalog.ts';
import { checkedText } from '../../catalog/fields.ts';
import { readCatalogText } from '../../catalog/files.ts';
import { Provider } from '../../catalog/provider.ts';
import { refused } from '../../catalog/release.ts';
import { checkEntry } from '../../catalog/rules.ts';
import { CATALOG_FILES, type CatalogFile, type Container, readUpdated } from '../../catalog/updated.ts';
import type { Context } from '../../context.ts';
import { explainIssues } from '../../system/explain-issues.ts';

type Files = Container['files'];

/** Maximum number of tools in a catalog. */
const MAX_ENTRIES = 300;
/** Maximum depth of tables in a knowledge file. */
const MAX_DEPTH = 10;
/** Problems to name; one is enough to refuse. */
const NAMED = 5;

/**
 * Checks what a signed catalog says: its form, its texts, and what it may change (`rules.ts`).
 * @throws WrapError `catalog-unknown-form` where a later version of Culvert may know more, `catalog-forbidden`
 */
export function checkContents(files: Files, context: Pick<Context, 'catalog'>): void {
  const { providers: shipped } = loadCatalog(context.catalog, '');
  const entries = entriesOf(files['providers.toml']);
  const problems: string[] = [];
  if (Object.keys(entries).length > MAX_ENTRIES) problems.push(`it has more than ${MAX_ENTRIES} entries`);
  const text = explainTexts(entries);
  if (text !== undefined) problems.push(`providers.toml ${text}`);
  const lost = Object.keys(shipped).filter(name => !Object.hasOwn(entries, name));
  if (lost.length > 0) problems.push(`it lacks ${lost.join(', ')}`);
  for (const [name, entry] of Object.entries(entries)) {
    const parsed = Provider.safeParse(entry);
    if (!parsed.success) throw unknownForm(`the entry of ${name}: ${explainIssues(parsed.error)}`);
    problems.push(...checkEntry(name, parsed.data, shipped));
  }
  for (const [name, content] of knowledgeIn(files)) {
    const document = documentOf(name, content);
    const patterns = name === 'journal.toml' ? explainJournal(document) : undefined;
    for (const problem of [explainTexts(document), explainKnowledge(document), patterns])
      if (problem !== undefined) problems.push(`${name} ${problem}`);
  }
  if (problems.length === 0) return;
  const more = problems.length > NAMED ? `; and ${problems.length - NAMED} more` : '';
  throw refused('catalog-forbidden', `${problems.slice(0, NAMED).join('; ')}${more}`, {
    hint: 'its signature is good, but no catalog may do this; report it',
  });
}

function entriesOf(text: string): Record<string, Record<string, unknown>> {
  try {
    return entriesIn(text);
  } catch (error) {
    throw unknownForm(`providers.toml: ${reason(error)}`, error);
  }
}

function documentOf(name: string, text: string): Record<string, unknown> {
  try {
    return parse(text, { maxDepth: MAX_DEPTH });
  } catch (error) {
    throw unknownForm(`${name}: ${reason(error).split('\n')[0]}`, error);
  }
}

function unknownForm(why: string, cause?: unknown) {
  return refused('catalog-unknown-form', why, { hint: 'it may be for a later version: update Culvert first', cause });
}

function knowledgeIn(files: Files): [CatalogFile, string][] {
  return CATALOG_FILES.filter(name => name !== 'providers.toml').flatMap((name): [CatalogFile, string][] => {
    const text = files[name];
    return text === undefined ? [] : [[name, text]];
  });
}

export interface Difference {
  entries: {
    cli: string;
    change: 'added' | 'changed';
    /** Fields with another value. */
    fields: string[];
    checked: { before: string; after: string };
  }[];
  knowledge: { file: string; added: number; changed: number; removed: number }[];
  /** The lines, as `diff -u` shows them. */
  patch: string;
}

/** Compares a checked catalog with the one in use, without the user's own entries, which stay. */
export function differenceOf(files: Files, context: Context): Difference {
  const { updated } = readUpdated(context.paths.catalogUpdates);
  const before = textsInUse(updated?.files, context);
  const { providers } = loadCatalog(context.catalog, '', updated?.files['providers.toml']);
  const entries = Object.entries(entriesIn(files['providers.toml'])).flatMap(([cli, raw]): Difference['entries'] => {
    const next = Provider.parse(raw);
    const old = Object.hasOwn(providers, cli) ? providers[cli] : undefined;
    const checked = { before: checkedText(old?.checked), after: checkedText(next.checked) };
    if (!old) return [{ cli, change: 'added', fields: [], checked }];
    const fields = Object.keys(Provider.shape).filter(
      field => !isDeepStrictEqual(Reflect.get(next, field), Reflect.get(old, field)),
    );
    return fields.length === 0 ? [] : [{ cli, change: 'changed', fields, checked }];
  });
  const knowledge = knowledgeIn(files).flatMap(([file, text]) => {
    const counts = compare(before[file] ?? '', text);
    return counts.added + counts.changed + counts.removed === 0 ? [] : [{ file, ...counts }];
  });
  const patch = CATALOG_FILES.filter(name => files[name] !== undefined && files[name] !== before[name])
    .map(name => createTwoFilesPatch(name, name, before[name] ?? '', files[name]!, 'in use', 'new', { context: 2 }))
    .join('\n');
  return { entries, knowledge, patch: patch.replaceAll(/^=+\n/gm, '') };
}

function textsInUse(updated: Files | undefined, { catalog }: Context): Partial<Record<CatalogFile, string>> {
  // the directory in a build, and that in the sources
  const knowledge = catalog.endsWith('.toml')
    ? join(dirname(catalog), '../knowledge')
    : join(catalog, '../../../data/knowledge');
  return Object.fromEntries(
    CATALOG_FILES.map(name => {
      const shipped = name === 'providers.toml' ? readCatalogText(catalog) : readText(join(knowledge, name));
      return [name, updated?.[name] ?? shipped ?? ''];
    }),
  );
}

/** Counts entries, which are known by their id. */
function compare(before: string, after: string): { added: number; changed: number; removed: number } {
  const [old, next] = [before, after].map(byId);
  const added = [...next!.keys()].filter(id => !old!.has(id)).length;
  const removed = [...old!.keys()].filter(id => !next!.has(id)).length;
  const changed = [...next!].filter(([id, entry]) => old!.has(id) && !isDeepStrictEqual(old!.get(id), entry)).length;
  return { added, changed, removed };
}

/** The entries of all tables of a file of knowledge, by table and id. */
function byId(text: string): Map<string, unknown> {
  const entries = new Map<string, unknown>();
  let document: Record<string, unknown> = {};
  try {
    document = parse(text);
  } catch {
    // the text in use can't be read, so everything is new
  }
  for (const [table, list] of Object.entries(document))
    for (const entry of Array.isArray(list) ? list : [list]) {
      const id = isRecord(entry) ? (entry.id ?? entry.code ?? entry.topic ?? entry.what ?? entry.name) : undefined;
      entries.set(`${table} ${String(id ?? entries.size)}`, entry);
    }
  return entries;
}
