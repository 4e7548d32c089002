// Defines the release manifest and its dates; types, validation and the published JSON Schema derive from it.
import * as z from 'zod/mini';
import project from '../data/project.json' with { type: 'json' };

export const PROJECT = 'culvert';
/** The schema's address, which every manifest names. There is no site at it yet. */
export const SCHEMA_URL = `${project.schemas}/release-manifest.v1.json`;
export const MANIFEST_NAME = 'release-manifest.v1.json';
export const SIDECAR_NAME = `${MANIFEST_NAME}.sig`;

const Name = z
  .string('must be text')
  .check(z.regex(/^culvert-.+/, `must start with "${PROJECT}-" and go on`), z.meta({ description: 'File name' }));

export const Artifact = z.strictObject(
  {
    name: Name,
    // not z.int(): that would add the largest exact double as a maximum, which the format does not have
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

/** A date-time that exists, published as JSON Schema's format of that name. */
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

/** The manifest's JSON Schema, draft 2020-12. */
export function jsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(Manifest, { target: 'draft-2020-12' });
  return { $schema, $id: SCHEMA_URL, ...rest };
}

/** The first few violations of a schema as one line: `artifacts[2].size must be at least 1; …`. */
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
 * counts where one can be: in the last minute of a UTC day (RFC 3339, section 5.7).
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
 * A date-time's instant, in milliseconds since 1970. A leap second is the second after it, as POSIX counts.
 * @param text what {@link isDateTime} accepts
 */
export function instant(text: string): number {
  const leap = text.slice(17, 19) === '60';
  const second = leap ? `${text.slice(0, 17)}59${text.slice(19)}` : text;
  return Date.parse(second.toUpperCase()) + (leap ? 1000 : 0);
}

/** The form this project writes: UTC, whole seconds. */
export function dateTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function daysIn(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
}
