// Parses the bytes of a manifest: size limit, UTF-8, strict JSON, schema, then names that stay in their directory.
import { reason } from '../daemon/core/errors.ts';
import { escaped } from '../daemon/core/printable.ts';
import { Refusal, type RefusalCode } from './errors.ts';
import { Manifest, PROJECT, SCHEMA_URL, violations } from './schema.ts';

/** In bytes; enough for some 6,000 artifacts. */
export const MANIFEST_LIMIT = 1024 * 1024;

/**
 * Reads a manifest. No signature is needed; `verifySidecar` checks it before an update is applied.
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
 * Refuses names that could leave their directory, that look like other names, or that occur twice.
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

/** Picks the code that helps a person most: another format or project comes before any detail. */
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
 *   in one object (`JSON.parse` takes the last value, other parsers the first)
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  const value: unknown = JSON.parse(text);
  rejectDuplicateKeys(text);
  return value;
}

/** Matches the strings of valid JSON, and the punctuation that separates keys from values. */
const TOKEN = /"(?:[^"\\]+|\\.)*"|[{}[\]:]/g;

/** Keeps its own stack, because a recursion would fail at some depth, and the document decides how deep it is. */
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
