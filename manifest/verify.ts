// The only way to a release that may be applied: the signature over bytes first, then the schema, then age and channel.
import { verify as verifySignature } from 'node:crypto';
import lt from 'semver/functions/lt.js';
import valid from 'semver/functions/valid.js';
import { instant } from './date.ts';
import { parseJson } from './json.ts';
import { pinnedKeys, type VerifyKey } from './keys.ts';
import { MANIFEST_LIMIT, readManifest } from './read.ts';
import { printable, Refusal, reason } from './refusals.ts';
import { RELEASE_KEYS } from './release-keys.ts';
import { type Manifest, violations } from './schema.ts';
import { type Channel, SIDECAR_LIMIT, Statement, signedBytes, splitSidecar } from './sidecar.ts';

export { type ArtifactFault, checkArtifact } from './artifact.ts';
export { MANIFEST_LIMIT } from './read.ts';
export { Refusal } from './refusals.ts';
export { type Channel, SIDECAR_LIMIT } from './sidecar.ts';

declare const verified: unique symbol;

/** A release whose signature, schema, serial, expiry and channel have been checked. Only `verifySidecar` makes one. */
export interface Verified {
  readonly [verified]: true;
  readonly manifest: Readonly<Manifest>;
  /** The release's version: the manifest's tag without a leading v. */
  readonly version: string;
  /** To be remembered, once this release is installed, as the `lastSerial` of the next check. */
  readonly serial: number;
  readonly expiresAt: string;
  readonly channel: Channel;
  readonly minimumVersion: string;
  readonly signer: { readonly id: string; readonly name: string };
}

/** What a release is held against. What is left out is not checked; an updater leaves nothing out. */
export interface Expectations {
  keys: readonly VerifyKey[];
  /** Milliseconds since 1970. */
  now: number;
  /** The serial of the last release that was accepted. The same again is fine, a lower one is a rollback. */
  lastSerial?: number | undefined;
  channels?: readonly Channel[] | undefined;
  /** The version that is installed. */
  installed?: string | undefined;
}

/** No release is valid for longer, so that a slip of the pen can't make one valid for ever. */
export const LONGEST_LIFE_DAYS = 400;
const DAY = 86_400_000;
/** Clocks differ; what claims to be made later than this is not from here, or the clock was turned back. */
const CLOCK_TOLERANCE = DAY;

/** The keys that this build trusts to sign a release. */
export function releaseKeys(): VerifyKey[] {
  return pinnedKeys(RELEASE_KEYS);
}

/**
 * Verifies a release: the signature over the exact bytes before anything is parsed, then everything it says.
 * @param manifest the bytes of `release-manifest.v1.json`
 * @param sidecar the bytes of `release-manifest.v1.json.sig`; `undefined` when there is none
 * @throws Refusal `unsigned`, `sidecar-too-large`, `sidecar-malformed`, `key-unknown`, `signature-invalid`,
 *   `sidecar-invalid`, `expired`, `not-yet-valid`, `serial-older`, `channel-other`, `tag-not-version`, `version-older`,
 *   `version-unreachable`, and those of `readManifest`
 */
export function verifySidecar(manifest: Uint8Array, sidecar: Uint8Array | undefined, expected: Expectations): Verified {
  if (!sidecar) throw new Refusal('unsigned', 'The manifest has no signature.');
  if (manifest.length > MANIFEST_LIMIT) readManifest(manifest); // refuses
  const { signer, statementBytes } = checkSignature(manifest, sidecar, expected.keys);
  const statement = readStatement(statementBytes);
  const parsed = readManifest(manifest);
  const version = checkStatement(statement, parsed);
  checkAge(statement, parsed, expected);
  checkFit(statement, version, expected);
  return Object.freeze({
    manifest: parsed,
    version,
    serial: statement.serial,
    expiresAt: statement.expires_at,
    channel: statement.channel,
    minimumVersion: statement.minimum_version,
    signer: { id: signer.id, name: signer.name },
  }) as Verified;
}

/**
 * What must hold between a statement and its manifest; `sign` checks it as well.
 * @returns the release's version
 * @throws Refusal `tag-not-version`, `sidecar-invalid`
 */
export function checkStatement(statement: Statement, manifest: Manifest): string {
  const version = manifest.tag === undefined ? null : valid(manifest.tag);
  if (version === null) {
    const tag = manifest.tag === undefined ? 'no tag' : `the tag "${printable(manifest.tag)}"`;
    throw new Refusal('tag-not-version', `The manifest has ${tag}, so which version it releases is unknown.`);
  }
  const life = (instant(statement.expires_at) - instant(manifest.generated_at)) / DAY;
  if (life <= 0) throw new Refusal('sidecar-invalid', 'The release expires before it was made.');
  if (life > LONGEST_LIFE_DAYS) {
    const days = `${Math.ceil(life)} days after it was made; the longest is ${LONGEST_LIFE_DAYS}`;
    throw new Refusal('sidecar-invalid', `The release expires ${days}.`);
  }
  if (lt(version, statement.minimum_version)) {
    const both = `${statement.minimum_version}, is newer than the release itself, ${version}`;
    throw new Refusal('sidecar-invalid', `The minimum version, ${both}.`);
  }
  return version;
}

function checkSignature(manifest: Uint8Array, bytes: Uint8Array, keys: readonly VerifyKey[]) {
  if (bytes.length > SIDECAR_LIMIT) {
    throw new Refusal('sidecar-too-large', `The sidecar has ${bytes.length} bytes; the limit is ${SIDECAR_LIMIT}.`);
  }
  const sidecar = splitSidecar(bytes);
  if (!sidecar) throw new Refusal('sidecar-malformed', 'The sidecar does not begin with a line of signature.');
  const { keyId, signature, statement } = sidecar;
  const signer = keys.find(({ id }) => id === keyId);
  if (!signer) {
    const known = keys.length === 0 ? 'this build pins no release key yet' : `known: ${keys.map(k => k.id).join(', ')}`;
    throw new Refusal('key-unknown', `The release is signed with the key ${keyId}, which is not trusted (${known}).`);
  }
  if (!verifySignature(null, signedBytes(keyId, statement, manifest), signer.key, signature)) {
    const both = 'manifest or sidecar have been changed, or do not belong together';
    throw new Refusal('signature-invalid', `The signature does not fit: ${both}.`);
  }
  return { signer, statementBytes: statement };
}

function readStatement(bytes: Uint8Array): Statement {
  let value: unknown;
  try {
    value = parseJson(bytes);
  } catch (cause) {
    throw new Refusal('sidecar-invalid', `The signed statement is not JSON: ${printable(reason(cause))}.`, { cause });
  }
  const parsed = Statement.safeParse(value);
  if (parsed.success) return parsed.data;
  const what = printable(violations(parsed.error.issues, value));
  throw new Refusal('sidecar-invalid', `The signed statement breaks its schema: ${what}.`);
}

function checkAge(statement: Statement, manifest: Manifest, { now, lastSerial }: Expectations): void {
  if (instant(manifest.generated_at) > now + CLOCK_TOLERANCE) {
    throw new Refusal('not-yet-valid', `The release was made in the future, at ${manifest.generated_at}.`);
  }
  if (instant(statement.expires_at) <= now) {
    throw new Refusal('expired', `The release expired at ${statement.expires_at}.`);
  }
  if (lastSerial !== undefined && statement.serial < lastSerial) {
    throw new Refusal(
      'serial-older',
      `The release has serial ${statement.serial}; serial ${lastSerial} was seen before.`,
    );
  }
}

function checkFit(statement: Statement, version: string, { channels, installed }: Expectations): void {
  if (channels && !channels.includes(statement.channel)) {
    throw new Refusal(
      'channel-other',
      `The release is for the channel ${statement.channel}, not ${channels.join(' or ')}.`,
    );
  }
  if (installed === undefined) return;
  if (lt(version, installed)) {
    throw new Refusal('version-older', `The release is ${version}; ${installed} is installed.`);
  }
  if (lt(installed, statement.minimum_version)) {
    const need = `needs ${statement.minimum_version} or newer to update from; ${installed} is installed`;
    throw new Refusal('version-unreachable', `The release ${version} ${need}.`);
  }
}
