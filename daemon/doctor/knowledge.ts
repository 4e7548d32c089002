// Reads the shipped knowledge of the tunnel client: known bugs by version, codes with causes, documented limits and addresses,
// and lines of its service's journal.
// A user's files with the same names in ~/.config/culvert/knowledge add entries, or replace entries with the same id.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import * as z from 'zod/mini';
import { INSTALLED, readUpdated } from '../../wrapper/catalog/updated.ts';
import { pathsFor } from '../../wrapper/store/paths.ts';
import { REGISTRATION_CAUSES } from '../api/tunnel.ts';
import { reason } from '../core/errors.ts';
import { readText } from '../core/files.ts';
import { isPattern } from '../core/shape.ts';
import { VERSION } from '../system/installation.ts';
import { serviceManager } from '../system/service-manager.ts';
import { type Manager, withServiceWords } from '../view/client/service-words.ts';
import { compareVersions } from '../view/versions.ts';

const Text = z.string().check(z.maxLength(4_000));
const Texts = z.array(Text);
const Version = z.string().check(z.regex(/^\d{1,4}(\.\d{1,5}){1,3}$/));

/** Conditions in addition to the version. Every given part must match. */
export const Condition = z.strictObject({
  mode: z.optional(Texts),
  protocol: z.optional(z.enum(['MASQUE', 'WireGuard'])),
  split: z.optional(z.enum(['exclude', 'include'])),
  state: z.optional(Texts),
  reason: z.optional(Texts),
  zero_trust: z.optional(z.boolean()),
  fallback: z.optional(z.enum(['any', 'with-server', 'without-server'])),
  distribution: z.optional(Texts),
  setting: z.optional(z.record(z.string(), z.union([z.string(), z.boolean()]))),
  restarts: z.optional(z.boolean()),
  portal: z.optional(z.boolean()),
  uplink_mtu_below: z.optional(z.int()),
  ipv6_only: z.optional(z.boolean()),
});
export type Condition = z.infer<typeof Condition>;

const Issue = z.object({
  id: Text,
  title: Text,
  since: z.optional(Version),
  fixed: z.optional(Version),
  last_listed: z.optional(Version),
  severity: z.enum(['high', 'medium', 'low']),
  applies: z._default(Texts, []),
  symptom: Text,
  check: z.optional(Text),
  advice: Text,
  source: z.optional(Text),
  when: z.optional(Condition),
  /** The check that examines this issue in more detail. */
  checked_by: z.optional(Text),
});
export type Issue = z.infer<typeof Issue>;
const Change = z.object({
  version: Version,
  what: Text,
  effect_on_clients: z.optional(Text),
  source: z.optional(Text),
});
type Change = z.infer<typeof Change>;
const Code = z.object({
  code: Text,
  also: z._default(Texts, []),
  kind: Text,
  basis: z.optional(Text),
  title: Text,
  meaning: Text,
  causes: z._default(Texts, []),
  try: z._default(Texts, []),
  check: z.optional(Text),
  source: z.optional(Text),
  /** The cause of a missing registration that this is. Its title and its first sentence are those of the program. */
  cause: z.optional(z.enum(REGISTRATION_CAUSES)),
});
export type Code = z.infer<typeof Code>;
const Limit = z.object({
  topic: Text,
  fact: Text,
  values: z._default(Texts, []),
  check: z.optional(Text),
  source: z.optional(Text),
});
type Limit = z.infer<typeof Limit>;
/** A regular expression without regard to case. */
const Expression = Text.check(z.refine(text => isPattern(text, 'i'), 'is no regular expression'));
const JournalPattern = z.object({
  id: Text,
  /** Matches the line itself; without it, `pattern` does. */
  line: z.optional(Expression),
  /** Matches the line and the two lines after it. */
  pattern: Expression,
  /** Must not match them. A signed catalog has no lookahead (wrapper/catalog/bounds.ts). */
  unless: z.optional(Expression),
  meaning: Text,
  /** Maximum age of a line: ten minutes, the age of the service's process, or the time since the computer's start. */
  span: z.enum(['recent', 'start', 'boot']),
  /** A value of `Status.blocked` in which alone the line says something. */
  when: z.optional(Text),
  /** Why a device is not registered, if that is what the line says. */
  cause: z.optional(z.enum(REGISTRATION_CAUSES)),
  /** The entry of codes.toml with more on it. */
  code: z.optional(Text),
  /** True if a restart of the service helps. */
  restart: z.optional(z.boolean()),
  source: Text,
  /** Day of the source. */
  date: z.string().check(z.regex(/^\d{4}-\d\d-\d\d$/)),
});
export type JournalPattern = z.infer<typeof JournalPattern>;

export interface Knowledge {
  issues: Issue[];
  changes: Change[];
  codes: Code[];
  limits: Limit[];
  patterns: JournalPattern[];
  /** Files or entries that could not be used, one sentence each. */
  problems: string[];
}

/** Files with their tables, and the key that identifies an entry of each table. */
const FILES = {
  'known-issues.toml': { issue: ['issues', Issue, 'id'], change: ['changes', Change, 'what'] },
  'codes.toml': { code: ['codes', Code, 'code'], limit: ['limits', Limit, 'topic'] },
  'journal.toml': { pattern: ['patterns', JournalPattern, 'id'] },
} as const;
const BYTES = 1024 * 1024;

/** A directory, or files of a signed catalog by name. */
type KnowledgeSource =
  | string
  | { name: string; files: { readonly [name: string]: string | undefined }; problem?: string | undefined };

/**
 * Reads the knowledge in `sources`, later entries over earlier entries. Never throws: lists unusable files and
 * entries in `problems`, and uses the rest.
 * @param manager what starts services here instead of systemd: texts such as `{restart warp-svc}` become its commands
 */
export function loadKnowledge(sources: readonly KnowledgeSource[], manager: Manager = serviceManager()): Knowledge {
  const knowledge: Knowledge = { issues: [], changes: [], codes: [], limits: [], patterns: [], problems: [] };
  for (const source of sources) {
    if (typeof source !== 'string' && source.problem !== undefined)
      knowledge.problems.push(`${source.name} is not used: ${source.problem}.`);
    for (const [name, tables] of Object.entries(FILES)) {
      const path = typeof source === 'string' ? join(source, name) : `${name} of ${source.name}`;
      const text = typeof source === 'string' ? textAt(path, knowledge.problems) : (source.files[name] ?? null);
      const document = text === null ? null : parseDocument(path, text, { manager, problems: knowledge.problems });
      if (!document) continue;
      for (const [table, [part, schema, key]] of Object.entries(tables))
        merge({ knowledge, part, schema, key, path }, document[table]);
    }
  }
  return knowledge;
}

function textAt(path: string, problems: string[]): string | null {
  if (!existsSync(path)) return null;
  const text = readText(path);
  if (text === null) problems.push(`${path} can't be read.`);
  return text;
}

function parseDocument(
  path: string,
  text: string,
  { manager, problems }: { manager: Manager; problems: string[] },
): Record<string, unknown> | null {
  try {
    if (text.length > BYTES) throw new Error('it is longer than 1 MiB');
    return parse(withServiceWords(text, manager));
  } catch (error) {
    const why = error instanceof TomlError ? `line ${error.line}: ${error.message.split('\n')[0]}` : reason(error);
    problems.push(`${path} is not used: ${why}`);
    return null;
  }
}

interface Part {
  knowledge: Knowledge;
  part: 'issues' | 'changes' | 'codes' | 'limits' | 'patterns';
  schema: z.ZodMiniType;
  key: string;
  path: string;
}

function merge({ knowledge, part, schema, key, path }: Part, entries: unknown): void {
  if (entries === undefined) return;
  const list = knowledge[part] as Record<string, unknown>[];
  for (const [at, entry] of (Array.isArray(entries) ? entries : [entries]).entries()) {
    const parsed = z.safeParse(schema, entry);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      knowledge.problems.push(
        `${path}: entry ${at + 1} of ${part} is not used: ${issue?.path.join('.')}: ${issue?.message}`,
      );
      continue;
    }
    const value = parsed.data as Record<string, unknown>;
    const index = list.findIndex(other => other[key] === value[key]);
    if (index < 0) list.push(value);
    else list[index] = value;
  }
}

/**
 * Returns the sources of knowledge: the program's directory, the signed catalog that `culvert-wrap catalog update` took, and the
 * user's directory.
 * @param shipped directory of the installed files @param userConfig the user's configuration file
 * @param rules the version whose rules the catalog must have passed; undefined in the sources
 */
export function knowledgeSources(
  shipped: string,
  userConfig: string,
  env: NodeJS.ProcessEnv,
  rules: string | undefined = INSTALLED || undefined,
): KnowledgeSource[] {
  const directory = pathsFor(env).catalogUpdates;
  const { updated, problem } = readUpdated(directory, { version: VERSION, rules });
  const signed = { name: `the catalog of ${updated?.generatedAt ?? directory}`, files: updated?.files ?? {}, problem };
  return [shipped, signed, join(dirname(userConfig), 'knowledge')];
}

/**
 * Returns `yes` if a version has a bug, or `maybe` if the first affected version is unknown.
 * If no version fixes the bug, it counts up to the last release that lists it.
 */
export function affects({ since, fixed, last_listed }: Issue, version: string): 'yes' | 'maybe' | 'no' {
  if (since && compareVersions(version, since) < 0) return 'no';
  if (fixed ? compareVersions(version, fixed) >= 0 : last_listed && compareVersions(version, last_listed) > 0)
    return 'no';
  return since ? 'yes' : 'maybe';
}

/** Returns the values of a documented limit, such as the addresses of a provider's resolvers. */
export function limitValues({ limits }: Knowledge, topic: string): string[] {
  return limits.find(limit => limit.topic === topic)?.values ?? [];
}

/** Returns a link to a page of the vendor's public documentation; null for other sources, such as recordings. */
export function sourceLink(source: string | undefined): string | null {
  if (!source) return null;
  if (/^https?:\/\//.test(source)) return source;
  if (!source.startsWith('src/')) return null;
  return `https://github.com/cloudflare/cloudflare-docs/blob/production/${source}`;
}

/** Minimum letters of a name that may occur anywhere in a line; shorter names, such as `Paused`, are ordinary words too. */
const LONG = 8;
/** Minimum letters to search for. */
const ENOUGH = 3;

/**
 * Returns the entries for a word or a line, best first: with the same code, else with the same alias, else with names in
 * the line (from its end), else with these words in names and titles. Ignores case, spaces and underscores.
 */
export function explain(codes: readonly Code[], words: string): Code[] {
  const letters = lettersOf(words);
  if (letters === '') return [];
  const exact = codes.filter(({ code }) => lettersOf(code) === letters);
  if (exact.length > 0) return exact;
  const same = codes.filter(({ also }) => also.some(name => lettersOf(name) === letters));
  if (same.length > 0) return same;
  const named = codes
    .flatMap(code => {
      const place = placeIn(code, words);
      return place ? [{ code, place }] : [];
    })
    .sort((a, b) => bestFirst(a.place, b.place))
    .map(({ code }) => code);
  if (named.length > 0) return named;
  if (letters.length < ENOUGH) return [];
  const part = ({ code, also }: Code) => [code, ...also].some(name => lettersOf(name).includes(letters));
  const titled = ({ title }: Code) => wordsOf(title).includes(wordsOf(words).trimEnd());
  return [...codes.filter(part), ...codes.filter(code => !part(code) && titled(code))];
}

/** Returns the position of an entry's best name in a line; null without one. */
function placeIn({ code, also }: Code, line: string): Place | null {
  const places = [code, ...also].flatMap(name => placeOf(name, line) ?? []);
  return places.sort(bestFirst)[0] ?? null;
}

interface Place {
  /** Offset in the letters of the line. */
  end: number;
  length: number;
}

/** Sorts the last part first, because it is the cause: `Registration Missing due to: Revoked`. */
function bestFirst(a: Place, b: Place): number {
  return b.end - a.end || b.length - a.length;
}

/** Finds a name in a line; a short name only at the end: `Reason: Paused`. */
function placeOf(name: string, line: string): Place | null {
  const [letters, all] = [lettersOf(name), lettersOf(line)];
  const { length } = letters;
  if (length < LONG) return wordsOf(line).endsWith(wordsOf(name)) ? { end: all.length, length } : null;
  const at = all.lastIndexOf(letters);
  return at < 0 ? null : { end: at + length, length };
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, '');
}

/** Returns ` a few words `, with one space around each word. */
function wordsOf(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()} `;
}
