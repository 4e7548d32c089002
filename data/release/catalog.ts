// Makes a catalog as one file (wrapper/catalog/updated.ts):
// node --import tsx data/release/catalog.ts files DIRECTORY writes what is signed, as culvert-NAME.toml;
// node --import tsx data/release/catalog.ts pack DIRECTORY OUT joins that with its manifest and signatures, once it keeps to the rules.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { replaceFile } from '../../daemon/core/files.ts';
import { MANIFEST_NAME, SIDECAR_NAME } from '../../manifest/schema.ts';
import { releaseTrust } from '../../manifest/verify.ts';
import { readCatalogText } from '../../wrapper/catalog/files.ts';
import { verifyCatalog } from '../../wrapper/catalog/release.ts';
import { CATALOG_FILES, CATALOG_LIMIT, type Container } from '../../wrapper/catalog/updated.ts';
import { checkContents } from '../../wrapper/commands/catalog/difference.ts';

const root = resolve(import.meta.dirname, '../..');
const catalog = join(root, 'wrapper/catalog/providers');

/** Texts of the sources by name; a file that the project does not have is left out. */
function sourceTexts(): [name: string, text: string][] {
  return CATALOG_FILES.flatMap((name): [string, string][] => {
    const file = join(root, 'data/knowledge', name);
    if (name === 'providers.toml') return [[name, readCatalogText(catalog) ?? '']];
    return existsSync(file) ? [[name, readFileSync(file, 'utf8')]] : [];
  });
}

/** @returns the bytes of the catalog @throws WrapError if it would be refused, Error if it is too large */
export function pack(directory: string, now: number): Buffer {
  const read = (name: string) => readFileSync(join(directory, name), 'utf8');
  const files = Object.fromEntries(
    CATALOG_FILES.filter(name => existsSync(join(directory, `culvert-${name}`))).map(name => [
      name,
      read(`culvert-${name}`),
    ]),
  );
  const container = { format: 'culvert-catalog 1', manifest: read(MANIFEST_NAME), sidecar: read(SIDECAR_NAME), files };
  const bytes = Buffer.from(`${JSON.stringify(container satisfies { [Key in keyof Container]: unknown })}\n`);
  if (bytes.length > CATALOG_LIMIT)
    throw new Error(`The catalog has ${bytes.length} bytes; the limit is ${CATALOG_LIMIT}.`);
  const trust = releaseTrust();
  if (trust.keys.length === 0) console.error('release: This tree pins no key, so no installation takes the catalog.');
  // a further signature is still to come where installations need several
  else verifyCatalog(bytes, { ...trust, threshold: 1, now, installed: '', seen: undefined });
  checkContents({ 'providers.toml': '', ...files }, { catalog });
  return bytes;
}

if (process.argv[1] === import.meta.filename) {
  const [what, directory = '', out = ''] = process.argv.slice(2);
  if (what === 'files')
    for (const [name, text] of sourceTexts()) writeFileSync(join(directory, `culvert-${name}`), text);
  else replaceFile(resolve(out), pack(directory, Date.now()), { mode: 0o644, exact: true });
}
