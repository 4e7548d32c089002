// Checks that a signed statement fits its manifest: version, expiry, minimum version.
import lt from 'semver/functions/lt.js';
import valid from 'semver/functions/valid.js';
import { escaped } from '../../daemon/core/printable.ts';
import { Refusal } from '../errors.ts';
import { instant, type Manifest } from '../schema.ts';
import type { Statement } from '../sidecar.ts';

/**
 * Checks a statement against its manifest, before it is signed and when it is verified.
 * @returns the release's version
 * @throws Refusal `tag-not-version`, `sidecar-invalid`
 */
export function checkStatement(statement: Statement, manifest: Manifest): string {
  const version = manifest.tag === undefined ? null : valid(manifest.tag);
  if (version === null) {
    const tag = manifest.tag === undefined ? 'no tag' : `the tag "${escaped(manifest.tag)}"`;
    throw new Refusal('tag-not-version', `The manifest has ${tag}, so which version it releases is unknown.`);
  }
  const life = instant(statement.expires_at) - instant(manifest.generated_at);
  if (life <= 0) throw new Refusal('sidecar-invalid', 'The release expires before it was made.');
  if (lt(version, statement.minimum_version)) {
    const both = `${statement.minimum_version}, is newer than the release itself, ${version}`;
    throw new Refusal('sidecar-invalid', `The minimum version, ${both}.`);
  }
  return version;
}
