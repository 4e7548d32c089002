// Reads the shipped knowledge of the tunnel client: known bugs by version, codes with causes, documented limits and addresses.
// A user's files of the same names in ~/.config/culvert/knowledge add entries, and replace those with the same id.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import * as z from 'zod/mini';
import { reason } from '../core/errors.ts';
import { readText } from '../core/files.ts';
import { compareVersions } from '../warp/cli/version.ts';

const Text = z.string().check(z.maxLength(4_000));
const Texts = z.array(Text);
const Version = z.string().check(z.regex(/^\d{1,4}(\.\d{1,5}){1,3}$/));

/** Conditions besides the version. Every given part has to match. */
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

export interface Knowledge {
  issues: Issue[];
  changes: Change[];
  codes: Code[];
  limits: Limit[];
  /** Files or entries that could not be used, a sentence each. */
  problems: string[];
}

/** The files, and in each the tables with the key that identifies an entry. */
const FILES = {
  'known-issues.toml': { issue: ['issues', Issue, 'id'], change: ['changes', Change, 'what'] },
  'codes.toml': { code: ['codes', Code, 'code'], limit: ['limits', Limit, 'topic'] },
} as const;
const BYTES = 1024 * 1024;

/**
 * Reads the knowledge in `directories`, later ones over earlier ones. Never throws: what can't be used is named in
 * `problems`, and the rest counts.
 */
export function loadKnowledge(directories: readonly string[]): Knowledge {
  const knowledge: Knowledge = { issues: [], changes: [], codes: [], limits: [], problems: [] };
  for (const directory of directories)
    for (const [name, tables] of Object.entries(FILES)) {
      const path = join(directory, name);
      const document = readDocument(path, knowledge.problems);
      if (!document) continue;
      for (const [table, [part, schema, key]] of Object.entries(tables))
        merge({ knowledge, part, schema, key, path }, document[table]);
    }
  return knowledge;
}

function readDocument(path: string, problems: string[]): Record<string, unknown> | null {
  if (!existsSync(path)) return null;
  const text = readText(path);
  if (text === null) {
    problems.push(`${path} can't be read.`);
    return null;
  }
  try {
    if (text.length > BYTES) throw new Error('it is longer than 1 MiB');
    return parse(text);
  } catch (error) {
    const why = error instanceof TomlError ? `line ${error.line}: ${firstLine(error.message)}` : reason(error);
    problems.push(`${path} is not used: ${why}`);
    return null;
  }
}

interface Part {
  knowledge: Knowledge;
  part: 'issues' | 'changes' | 'codes' | 'limits';
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

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

/**
 * The directories of knowledge: the program's, then the user's.
 * @param shipped directory of the installed files @param userConfig the user's configuration file
 */
export function knowledgeDirectories(shipped: string, userConfig: string): string[] {
  return [shipped, join(dirname(userConfig), 'knowledge')];
}

/**
 * Reports whether a version has a bug: `maybe` where the first affected version is not known.
 * Without a version that fixes it, the bug counts up to the last release that lists it.
 */
export function affects({ since, fixed, last_listed }: Issue, version: string): 'yes' | 'maybe' | 'no' {
  if (since && compareVersions(version, since) < 0) return 'no';
  if (fixed ? compareVersions(version, fixed) >= 0 : last_listed && compareVersions(version, last_listed) > 0)
    return 'no';
  return since ? 'yes' : 'maybe';
}

/** Values of a documented limit, such as the addresses of a provider's resolvers. */
export function limitValues({ limits }: Knowledge, topic: string): string[] {
  return limits.find(limit => limit.topic === topic)?.values ?? [];
}

/** A link to a page of the vendor's public documentation; null for other sources, such as recordings. */
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
 * Entries that a word or a line means, best first: the same code, then the same name elsewhere, then the names in a line
 * from its end, then names and titles with these words. Upper and lower case, spaces and underscores
 * do not matter.
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

/** Position of an entry's most telling name in a line; null without one. */
function placeIn({ code, also }: Code, line: string): Place | null {
  const places = [code, ...also].flatMap(name => placeOf(name, line) ?? []);
  return places.sort(bestFirst)[0] ?? null;
}

interface Place {
  /** In letters of the line. */
  end: number;
  length: number;
}

/** The last part is the cause of the part before: `Registration Missing due to: Revoked`. */
function bestFirst(a: Place, b: Place): number {
  return b.end - a.end || b.length - a.length;
}

/** A short name counts at the end of a line only: `Reason: Paused`. */
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

/** ` a few words `, with one space around each. */
function wordsOf(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()} `;
}
