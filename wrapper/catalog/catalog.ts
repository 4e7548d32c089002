// Loads the shipped catalog and merges the user's entries into it.
import { parse } from 'smol-toml';
import * as z from 'zod/mini';
import { reason } from '../../daemon/core/errors.ts';
import { readOptional } from '../../daemon/core/files.ts';
import { isRecord } from '../../daemon/core/shape.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { explainIssues, explainToml } from '../system/explain-issues.ts';
import { CliName } from './fields.ts';
import { readCatalogText } from './files.ts';
import { Provider } from './provider.ts';
import { readUpdated } from './updated.ts';

const CatalogFile = z.strictObject({ providers: z.record(CliName, z.record(z.string(), z.unknown())) });

/** Maximum depth of tables in a catalog; entries have five levels. */
const MAX_DEPTH = 20;

export interface Catalog {
  providers: Record<string, Provider>;
  /** Names of the entries in the user's file. */
  overridden: string[];
  /** Names of the entries that a signed catalog replaced or added. */
  updated: string[];
  /** Problems of invalid entries, by the entry's name. Valid entries are unaffected. */
  problems: Record<string, string>;
}

/**
 * Loads the shipped catalog, puts the entries of a signed catalog in place of those of the same name, and merges the user's entries
 * into them key by key.
 * @param shipped path of the shipped providers.toml, or of its directory in the sources
 * @param user path of the user's providers.toml, which need not exist
 * @param signed text of the providers.toml of a signed catalog, which was checked before it was stored
 * @throws WrapError `catalog-broken` when a file can't be read, `catalog-missing` when there is no shipped catalog
 */
export function loadCatalog(shipped: string, user: string, signed?: string): Catalog {
  const base = readCatalog(shipped);
  if (!base) {
    throw new WrapError('catalog-missing', EXIT.config, `the catalog ${shipped} is missing`, { hint: 'install again' });
  }
  const own = readCatalog(user) ?? {};
  const newer = signed === undefined ? {} : usableIn(signed);
  Object.assign(base, newer);
  const catalog: Catalog = { providers: {}, overridden: Object.keys(own), updated: Object.keys(newer), problems: {} };
  for (const name of new Set([...Object.keys(base), ...Object.keys(own)])) {
    const [below, above] = [base, own].map(entries => (Object.hasOwn(entries, name) ? entries[name]! : {}));
    const parsed = Provider.safeParse(merge(below!, above!));
    if (parsed.success) catalog.providers[name] = parsed.data;
    else catalog.problems[name] = explainIssues(parsed.error, readOptional(user) ?? '', ['providers', name]);
  }
  return catalog;
}

/** Places of the three parts of a catalog. */
interface CatalogPlaces {
  catalog: string;
  paths: { userCatalog: string; catalogUpdates: string };
}

/** Loads the catalog in use: the shipped entries, those of a signed catalog, and the user's. @throws those of {@link loadCatalog} */
export function catalogOf({ catalog, paths }: CatalogPlaces): Catalog {
  return loadCatalog(catalog, paths.userCatalog, readUpdated(paths.catalogUpdates).updated?.files['providers.toml']);
}

/** Returns the entries of a catalog's text. @throws Error in one line if it has another form */
export function entriesIn(text: string): Record<string, Record<string, unknown>> {
  let raw: unknown;
  try {
    raw = parse(text, { maxDepth: MAX_DEPTH });
  } catch (error) {
    throw new Error(explainToml(error), { cause: error });
  }
  const parsed = CatalogFile.safeParse(raw);
  if (!parsed.success) throw new Error(explainIssues(parsed.error, text));
  return parsed.data.providers;
}

/** Returns the entries of a signed catalog that this version can use: after a downgrade, the shipped ones stay. */
function usableIn(signed: string): Record<string, Record<string, unknown>> {
  try {
    return Object.fromEntries(
      Object.entries(entriesIn(signed)).filter(([, entry]) => Provider.safeParse(entry).success),
    );
  } catch {
    return {};
  }
}

/**
 * Returns the catalog entry of one CLI.
 * @throws WrapError `unknown-cli` with the known names, `catalog-broken` when the entry is invalid
 */
export function providerOf(catalog: Catalog, name: string): Provider {
  const provider = Object.hasOwn(catalog.providers, name) ? catalog.providers[name] : undefined;
  if (provider) return provider;
  const problem = Object.hasOwn(catalog.problems, name) ? catalog.problems[name] : undefined;
  if (problem) {
    throw new WrapError('catalog-broken', EXIT.config, `the catalog entry of ${name} can't be used: ${problem}`, {
      hint: 'correct it in ~/.config/culvert-wrap/providers.toml',
    });
  }
  throw new WrapError('unknown-cli', EXIT.usage, `${name} is not in the catalog`, {
    hint: `known: ${Object.keys(catalog.providers).join(', ')}. Add [providers.${name}] with bin = "${name}" to ~/.config/culvert-wrap/providers.toml`,
  });
}

function readCatalog(file: string): Record<string, Record<string, unknown>> | undefined {
  const broken = (why: string, cause?: unknown) =>
    new WrapError('catalog-broken', EXIT.config, `${file} can't be read: ${why}`, {
      hint: 'correct it, or remove it to use the shipped catalog alone',
      cause,
    });
  let text: string | undefined;
  try {
    text = readCatalogText(file);
  } catch (error) {
    throw broken(reason(error), error);
  }
  if (text === undefined) return undefined;
  try {
    return entriesIn(text);
  } catch (error) {
    throw broken(reason(error), error);
  }
}

/** Merges tables key by key. Any other value of `above`, including an array, replaces the value of `below`. */
function merge(below: Record<string, unknown>, above: Record<string, unknown>): Record<string, unknown> {
  const result = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const old = below[key];
    result[key] = isTable(old) && isTable(value) ? merge(old, value) : value;
  }
  return result;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && !(value instanceof Date);
}
