// Defines the release manifest, and parses it after checks of its size, encoding, JSON, schema, dates and file names.
import * as z from 'zod/mini';
import { reason } from '../daemon/core/errors.ts';
import { escaped } from '../daemon/core/printable.ts';
import project from '../data/project.json' with { type: 'json' };
import { Refusal, type RefusalCode } from './errors.ts';

export const PROJECT = 'culvert';
/** Address of the schema, which every manifest contains. No site exists at this address yet. */
export const SCHEMA_URL = `${project.schemas}/release-manifest.v1.json`;
export const MANIFEST_NAME = 'release-manifest.v1.json';
export const SIDECAR_NAME = `${MANIFEST_NAME}.sig`;
/** Maximum size in bytes, which is enough for some 6,000 artifacts. */
export const MANIFEST_LIMIT = 1024 * 1024;

const Name = z
  .string('must be text')
  .check(z.regex(/^culvert-.+/, `must start with "${PROJECT}-" and go on`), z.meta({ description: 'File name' }));

export const Artifact = z.strictObject(
  {
    name: Name,
    // z.int() would add the largest exact double as a maximum, which the format does not have
    size: z
      .number('must be a number')
      .check(
        z.refine(Number.isInteger, 'must be a whole number'),
        z.minimum(1, 'must be at least 1'),
        z.meta({ type: 'integer', description: 'Size in bytes' }),
      ),
    sha256: z
      .string('must be text')
      .check(
        z.regex(/^[a-f0-9]{64}$/, 'must be 64 lowercase hexadecimal digits'),
        z.meta({ description: 'SHA-256 digest of the content' }),
      ),
  },
  'must be an object',
);
export type Artifact = z.infer<typeof Artifact>;

/** A valid date and time, which the JSON Schema describes with the format `date-time`. */
export const DateTime = z
  .string('must be text')
  .check(z.refine(isDateTime, 'must be a date and time such as 2026-11-21T12:00:00Z'), z.meta({ format: 'date-time' }));

export const Manifest = z
  .strictObject(
    {
      schema: z.literal(SCHEMA_URL, `must be "${SCHEMA_URL}"`),
      project: z.literal(PROJECT, `must be "${PROJECT}"`),
      tag: z.optional(z.string('must be text').check(z.minLength(1, 'must not be empty'))),
      generated_at: DateTime,
      artifacts: z.array(Artifact, 'must be a list').check(z.minLength(1, 'must have at least one item')),
    },
    'must be an object',
  )
  .check(z.meta({ title: 'Release manifest, version 1' }));
export type Manifest = z.infer<typeof Manifest>;

/** Returns the manifest's JSON Schema, draft 2020-12. */
export function jsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(Manifest, { target: 'draft-2020-12' });
  return { $schema, $id: SCHEMA_URL, ...rest };
}

/**
 * Reads a manifest without checking its signature; `verifySidecar` does that before an update is applied.
 * @param bytes the file's bytes
 * @throws Refusal `manifest-too-large`, `manifest-malformed`, `manifest-invalid`, `schema-unknown`, `project-foreign`,
 *   `date-invalid`, `name-foreign`, `name-unsafe`, `name-duplicate`
 */
export function readManifest(bytes: Uint8Array): Manifest {
  if (bytes.length > MANIFEST_LIMIT) {
    throw new Refusal('manifest-too-large', `The manifest has ${bytes.length} bytes; the limit is ${MANIFEST_LIMIT}.`);
  }
  let value: unknown;
  try {
    value = parseJson(bytes);
  } catch (cause) {
    throw new Refusal('manifest-malformed', `The manifest is not JSON: ${escaped(reason(cause))}.`, { cause });
  }
  const parsed = Manifest.safeParse(value);
  if (!parsed.success) {
    const { issues } = parsed.error;
    throw new Refusal(kind(value, issues), `The manifest breaks its schema: ${escaped(violations(issues, value))}.`);
  }
  checkNames(parsed.data.artifacts.map(({ name }) => name));
  return parsed.data;
}

/**
 * Refuses names that could leave their directory, contain invisible characters, are too long, or occur twice.
 * @throws Refusal `name-unsafe`, `name-duplicate`
 */
export function checkNames(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    const fault = unsafe(name);
    if (fault) throw new Refusal('name-unsafe', `The name "${escaped(name)}" ${fault}.`);
    if (seen.has(name)) throw new Refusal('name-duplicate', `The name "${escaped(name)}" occurs twice.`);
    seen.add(name);
  }
}

function unsafe(name: string): string | undefined {
  if (/[/\\]/.test(name)) return 'contains a path separator';
  if (name.includes('..')) return 'contains ".."';
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) return 'contains control or invisible characters';
  if (Buffer.byteLength(name) > 255) return 'is longer than the 255 bytes that file systems allow';
  return undefined;
}

/** Picks the most helpful code: another format or project takes precedence over any detail. */
function kind(value: unknown, issues: readonly { path: readonly PropertyKey[]; code: string }[]): RefusalCode {
  const head = value as { schema?: unknown; project?: unknown } | null;
  if (typeof head?.schema === 'string' && head.schema !== SCHEMA_URL) return 'schema-unknown';
  if (typeof head?.project === 'string' && head.project !== PROJECT) return 'project-foreign';
  const broken = (code: string, last: string) => issues.some(i => i.code === code && i.path.at(-1) === last);
  if (broken('custom', 'generated_at')) return 'date-invalid';
  if (broken('invalid_format', 'name')) return 'name-foreign';
  return 'manifest-invalid';
}

/**
 * Parses UTF-8 JSON.
 * @throws Error on bytes that are not UTF-8, a byte order mark, anything beyond RFC 8259, and a key that occurs twice
 *   in one object (`JSON.parse` takes the last value, and other parsers take the first)
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  const value: unknown = JSON.parse(text);
  rejectDuplicateKeys(text);
  return value;
}

/** Matches the strings of valid JSON, and the punctuation that separates keys from values. */
const TOKEN = /"(?:[^"\\]+|\\.)*"|[{}[\]:]/g;

/** Rejects keys that occur twice in an object. Recursion would overflow the stack on a deeply nested document. */
function rejectDuplicateKeys(text: string): void {
  const open: (Set<string> | undefined)[] = [];
  let last = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') recordKey(open.at(-1)!, JSON.parse(last));
    else last = token;
  }
}

function recordKey(keys: Set<string>, key: string): void {
  if (keys.has(key)) throw new Error(`the key ${JSON.stringify(key.slice(0, 40))} occurs twice in one object`);
  keys.add(key);
}

/** Describes the first five violations of a schema in one line: `artifacts[2].size must be at least 1; …`. */
export function violations(issues: readonly z.core.$ZodIssue[], value: unknown): string {
  const lines = issues.slice(0, 5).map(issue => `${place(issue.path)} ${complaint(issue, value)}`);
  if (issues.length > 5) lines.push(`and ${issues.length - 5} more`);
  return lines.join('; ');
}

function complaint(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.slice(0, 5).map(key => JSON.stringify(key.slice(0, 40)));
    return `has unknown keys: ${keys.join(', ')}`;
  }
  const field = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)[key], value);
  return field === undefined ? 'is missing' : issue.message;
}

function place(path: readonly PropertyKey[]): string {
  const text = path.map(part => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return text.replace(/^\./, '') || 'the document';
}

const FORM = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/**
 * Reports whether `text` is an RFC 3339 date-time that exists: no 30 February, hour 24 or offset of 25 hours. A leap second
 * is valid only in the last minute of a UTC day (RFC 3339, section 5.7).
 */
export function isDateTime(text: string): boolean {
  const match = FORM.exec(text);
  if (!match) return false;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const offset = (match[7] === '-' ? -1 : 1) * (Number(match[8] ?? 0) * 60 + Number(match[9] ?? 0));
  if (Number(match[8] ?? 0) > 23 || Number(match[9] ?? 0) > 59) return false;
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59) return false;
  return second < 60 || (second === 60 && (hour * 60 + minute - offset + 1440) % 1440 === 1439);
}

/**
 * Converts a date-time to milliseconds since 1970. A leap second counts as the second after it, as in POSIX.
 * @param text a date-time that {@link isDateTime} accepts
 */
export function instant(text: string): number {
  const leap = text.slice(17, 19) === '60';
  const second = leap ? `${text.slice(0, 17)}59${text.slice(19)}` : text;
  return Date.parse(second.toUpperCase()) + (leap ? 1000 : 0);
}

/** Formats a time as this project writes it: in UTC, in whole seconds. */
export function dateTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function daysIn(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
}
