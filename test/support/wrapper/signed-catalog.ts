// Signed catalogs, made without the program under test.
import { createHash, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readCatalogText } from '../../../wrapper/catalog/files.ts';
import { seal } from '../manifest/release.ts';
import { KEYS } from './release-keys.ts';

const root = new URL('../../../', import.meta.url);
/** The catalog's texts in the sources. */
export const TEXTS: Record<string, string> = {
  'providers.toml': readCatalogText(fileURLToPath(new URL('wrapper/catalog/providers', root)))!,
  'known-issues.toml': readFileSync(new URL('data/knowledge/known-issues.toml', root), 'utf8'),
  'codes.toml': readFileSync(new URL('data/knowledge/codes.toml', root), 'utf8'),
  'journal.toml': readFileSync(new URL('data/knowledge/journal.toml', root), 'utf8'),
};

const DAY = 86_400_000;
export const at = (days: number) => `${new Date(Date.now() + days * DAY).toISOString().slice(0, 19)}Z`;

export interface Wanted {
  files?: Record<string, string>;
  statement?: Record<string, unknown>;
  manifest?: Record<string, unknown>;
  signer?: KeyObject;
  /** Changes what was signed. */
  after?: (container: { format: string; manifest: string; sidecar: string; files: Record<string, string> }) => unknown;
}

/** A catalog as one file: that of the sources with these files, by default signed by the current key. */
export function makeCatalog({
  files = {},
  statement = {},
  manifest = {},
  signer = KEYS.current,
  after,
}: Wanted = {}): Buffer {
  const texts = { ...TEXTS, ...files };
  const text = JSON.stringify({
    schema: 'https://culvert.example/schemas/release-manifest.v1.json',
    project: 'culvert',
    tag: 'v0.2.7',
    generated_at: at(-1),
    artifacts: Object.entries(texts).map(([name, content]) => ({
      name: `culvert-${name}`,
      size: Buffer.byteLength(content),
      sha256: createHash('sha256').update(content).digest('hex'),
    })),
    ...manifest,
  });
  const signed = { serial: 1_000, expires_at: at(60), channel: 'catalog', minimum_version: '0.0.0-0', ...statement };
  const sidecar = seal(Buffer.from(text), signed, signer).toString();
  const container = { format: 'culvert-catalog 1', manifest: text, sidecar, files: texts };
  return Buffer.from(JSON.stringify(after ? after(container) : container));
}

/** Replaces a text that is there. */
export function edited(text: string, from: string | RegExp, to: string): string {
  const result = text.replace(from, () => to);
  if (result === text) throw new Error(`${from} is not in the text`);
  return result;
}

/** The entries of the sources, one of them edited. */
export const withEntry = (from: string | RegExp, to: string): Record<string, string> => ({
  'providers.toml': edited(TEXTS['providers.toml']!, from, to),
});
/** The entries of the sources and one more. */
export const withMore = (toml: string): Record<string, string> => ({
  'providers.toml': `${TEXTS['providers.toml']}\n${toml}`,
});
