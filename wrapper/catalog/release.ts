// Verifies a catalog as a release is verified: signatures, serial, expiry and purpose, then each file against the manifest.
import { reason } from '../../daemon/core/errors.ts';
import { sha256 } from '../../daemon/core/hash.ts';
import { escaped } from '../../daemon/core/printable.ts';
import { Refusal, type Trust, type Verified, verifySidecar } from '../../manifest/verify.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import {
  CATALOG_FILES,
  CATALOG_LIMIT,
  type Container,
  isOlderBuild,
  readContainer,
  type UpdateState,
} from './updated.ts';

/** A verified catalog. Its texts are signed, and still have to keep to the rules (`rules/check.ts`). */
export interface SignedCatalog {
  release: Verified<'catalog'>;
  files: Container['files'];
  /** Digest of the whole file, which names the stored copy. */
  digest: string;
  /** Digest of the manifest, by which two catalogs with one serial differ. */
  manifest: string;
}

/** Conditions that a catalog has to meet. */
interface CatalogExpectations extends Trust {
  /** Milliseconds since 1970. */
  now: number;
  /** The version of the program; empty if it is unknown, as in the sources. */
  installed: string;
  /** Time of the catalog that the program brings, in seconds since 1970; by default that of the build. */
  shippedAt?: number | undefined;
  /** The state after earlier updates. */
  seen: Pick<UpdateState, 'serial' | 'manifest' | 'revoked'> | undefined;
}

/** Hints by the code of a refusal, because those for releases do not fit. The other codes share one. */
const HINTS: Partial<Record<string, string>> = {
  'key-unknown': 'take the catalog from the project that this Culvert comes from',
  'key-revoked': 'do not use it: the key that signed it may be stolen',
  'signature-invalid': 'do not use it; fetch it again, and report it if it still does not fit',
  expired: 'look for a newer one, and check the clock of this machine',
  'not-yet-valid': 'check the clock of this machine',
  'serial-future': 'check the clock of this machine',
  'serial-older': 'it has been replaced; fetch the current one',
  'channel-other': 'name a catalog, not a release',
  'version-older': 'nothing to do: this Culvert brings a newer catalog',
  'version-unreachable': 'update Culvert first',
};

/**
 * Reads and verifies a catalog. The signatures of the exact bytes come before anything in them is used.
 * @param bytes the file, at most {@link CATALOG_LIMIT}
 * @throws WrapError `catalog-malformed`, `catalog-damaged`, `serial-reused`, and the codes of `verifySidecar`
 */
export function verifyCatalog(bytes: Uint8Array, expected: CatalogExpectations): SignedCatalog {
  const { files, manifest, sidecar } = contentOf(bytes);
  const text = Buffer.from(manifest);
  const { seen, installed, shippedAt, revoked = [], ...rest } = expected;
  const known = { ...rest, revoked: [...revoked, ...(seen?.revoked ?? [])], lastSerial: seen?.serial };
  const release = refusing(() =>
    verifySidecar(text, sidecar === '' ? undefined : Buffer.from(sidecar), {
      ...known,
      channels: ['catalog'],
      installed: installed || undefined,
    }),
  );
  const { tag, generated_at: generatedAt } = release.manifest;
  if (isOlderBuild({ tag, generatedAt }, { version: installed, shippedAt }))
    throw refused('version-older', `it was made on ${generatedAt}, before the catalog of this version`, {
      hint: HINTS['version-older']!,
    });
  const own = sha256(text);
  if (seen && release.serial === seen.serial && own !== seen.manifest)
    throw refused('serial-reused', `it has the serial ${release.serial} of another catalog, which was used before`, {
      hint: 'do not use it; report it',
    });
  checkFiles(files, release);
  return { release, files, digest: sha256(bytes), manifest: own };
}

function contentOf(bytes: Uint8Array): Container {
  const broken = (why: string, cause?: unknown) =>
    refused('catalog-malformed', why, { hint: 'fetch it again: it is damaged, or no catalog', cause });
  if (bytes.length > CATALOG_LIMIT) throw broken(`it has more than ${CATALOG_LIMIT} bytes`);
  try {
    return readContainer(bytes);
  } catch (error) {
    throw broken(escaped(reason(error).split('\n')[0]!), error);
  }
}

/** Compares the files with the signed manifest, in both directions. */
function checkFiles(files: Container['files'], { manifest }: Verified<'catalog'>): void {
  const listed = new Map(manifest.artifacts.map(artifact => [artifact.name.replace(/^culvert-/, ''), artifact]));
  const damaged = (why: string) =>
    refused('catalog-damaged', why, { hint: 'do not use it; fetch it again, and report it if it still differs' });
  for (const name of CATALOG_FILES) {
    const text = files[name];
    const artifact = listed.get(name);
    if (text === undefined && !artifact) continue;
    if (text === undefined) throw damaged(`it lacks ${name}, which its manifest lists`);
    if (!artifact) throw damaged(`its manifest does not list ${name}`);
    const content = Buffer.from(text);
    if (content.length !== artifact.size || sha256(content) !== artifact.sha256)
      throw damaged(`${name} is not the file that was signed`);
    listed.delete(name);
  }
  // a later version may know the file, and says so by its minimum version
  const [foreign] = listed.keys();
  if (foreign !== undefined)
    throw refused('catalog-foreign', `it has ${escaped(foreign)}, which this version does not know`, {
      hint: 'update Culvert first',
    });
}

function refusing<T>(verify: () => T): T {
  try {
    return verify();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const why = error.message
      .replace(/^The release (?=\d)/, 'that of version ')
      .replace(/^The release/, 'it')
      .replace(/\.$/, '');
    throw refused(error.code, why[0]!.toLowerCase() + why.slice(1), {
      hint: HINTS[error.code] ?? 'do not use it; fetch it again, and report it if it is refused again',
      cause: error,
    });
  }
}

/** Creates the failure of a catalog that is not used. Nothing has been changed then. */
export function refused(code: string, why: string, more: { hint: string; cause?: unknown }): WrapError {
  return new WrapError(code, EXIT.data, `the catalog is refused: ${why}`, more);
}
