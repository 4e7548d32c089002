// Verifies a release that may be applied: first the signatures over its bytes, then the schema, then age and channel.
import lt from 'semver/functions/lt.js';
import { reason } from '../daemon/core/errors.ts';
import { escaped } from '../daemon/core/printable.ts';
import { Refusal } from './errors.ts';
import { pinnedKeys, RELEASE_KEYS, RELEASE_THRESHOLD } from './keys.ts';
import { instant, MANIFEST_LIMIT, type Manifest, parseJson, readManifest, violations } from './schema.ts';
import { type Channel, checkSignatures, checkStatement, newlyRevoked, Statement, type Trust } from './signatures.ts';

export { checkArtifact } from './artifacts.ts';
export { Refusal } from './errors.ts';
export { MANIFEST_LIMIT } from './schema.ts';
export { type Channel, SIDECAR_LIMIT, type Trust } from './signatures.ts';

declare const verified: unique symbol;

/** A release whose signatures, schema, serial, expiry and channel have been checked. Only `verifySidecar` makes one. */
export interface Verified {
  readonly [verified]: true;
  readonly manifest: Readonly<Manifest>;
  /** The release's version: the manifest's tag without a leading v. */
  readonly version: string;
  /** To be recorded as the `lastSerial` of the next check. */
  readonly serial: number;
  readonly expiresAt: string;
  readonly channel: Channel;
  readonly minimumVersion: string;
  readonly signers: readonly { readonly id: string; readonly name: string }[];
  /** Ids of the trusted keys that this release revokes for the first time: to be recorded, and `serial` with them. */
  readonly revoked: readonly string[];
}

/** Expected values of a release. Absent ones are not checked; an updater gives them all. */
export interface Expectations extends Trust {
  /** Milliseconds since 1970. */
  now: number;
  /** The highest serial that was accepted. The same again is fine, a lower one is a rollback. */
  lastSerial?: number | undefined;
  channels?: readonly Channel[] | undefined;
  /** The version that is installed. */
  installed?: string | undefined;
}

/** No release is valid for longer from now on, so that a typing error cannot make one valid forever. */
const LONGEST_LIFE_DAYS = 400;
const DAY = 86_400_000;
/** Allowed difference between the clocks of the signer and of this machine. */
const CLOCK_TOLERANCE = DAY;

/** The keys that this build trusts to sign a release, how many of them have to, and those that were revoked before it was built. */
export function releaseTrust(): Trust {
  const revoked = pinnedKeys(RELEASE_KEYS.filter(pin => pin.revoked)).map(({ id }) => id);
  return { keys: pinnedKeys(RELEASE_KEYS), threshold: RELEASE_THRESHOLD, revoked };
}

/**
 * Verifies a release: the signatures over the exact bytes before anything is parsed, then everything it says.
 * @param manifest the bytes of `release-manifest.v1.json`
 * @param sidecar the bytes of `release-manifest.v1.json.sig`; `undefined` when it is missing
 * @throws Refusal `unsigned`, `sidecar-too-large`, `sidecar-malformed`, `key-unknown`, `key-revoked`,
 *   `signature-invalid`, `signatures-missing`, `sidecar-invalid`, `expired`, `not-yet-valid`, `serial-future`,
 *   `serial-older`, `channel-other`, `tag-not-version`, `version-older`, `version-unreachable`, and those of
 *   `readManifest`
 */
export function verifySidecar(manifest: Uint8Array, sidecar: Uint8Array | undefined, expected: Expectations): Verified {
  if (!sidecar) throw new Refusal('unsigned', 'The manifest has no signature.');
  if (manifest.length > MANIFEST_LIMIT) readManifest(manifest); // refuses
  const { signers, statement: bytes } = checkSignatures(manifest, sidecar, expected);
  const statement = readStatement(bytes);
  const parsed = readManifest(manifest);
  const version = checkStatement(statement, parsed);
  const revoked = newlyRevoked(statement, signers, expected);
  checkAge(statement, parsed, expected.now);
  checkSerial(statement, revoked.length > 0, expected);
  checkFit(statement, version, expected);
  const release: Omit<Verified, typeof verified> = {
    manifest: parsed,
    version,
    serial: statement.serial,
    expiresAt: statement.expires_at,
    channel: statement.channel,
    minimumVersion: statement.minimum_version,
    signers: signers.map(({ id, name }) => ({ id, name })),
    revoked,
  };
  return Object.freeze(release) as Verified;
}

function readStatement(bytes: Uint8Array): Statement {
  let value: unknown;
  try {
    value = parseJson(bytes);
  } catch (cause) {
    throw new Refusal('sidecar-invalid', `The signed statement is not JSON: ${escaped(reason(cause))}.`, { cause });
  }
  const parsed = Statement.safeParse(value);
  if (parsed.success) return parsed.data;
  const what = escaped(violations(parsed.error.issues, value));
  throw new Refusal('sidecar-invalid', `The signed statement breaks its schema: ${what}.`);
}

function checkAge(statement: Statement, manifest: Manifest, now: number): void {
  if (instant(manifest.generated_at) > now + CLOCK_TOLERANCE) {
    throw new Refusal('not-yet-valid', `The release was made in the future, at ${manifest.generated_at}.`);
  }
  if (instant(statement.expires_at) <= now) {
    throw new Refusal('expired', `The release expired at ${statement.expires_at}.`);
  }
  // from now and not from when it was made: a release that is the newest for years is signed again and again
  const left = (instant(statement.expires_at) - now) / DAY;
  if (left > LONGEST_LIFE_DAYS + CLOCK_TOLERANCE / DAY) {
    const days = `${Math.ceil(left)} days from now; the longest is ${LONGEST_LIFE_DAYS}`;
    throw new Refusal('sidecar-invalid', `The release expires ${days}.`);
  }
}

/**
 * A serial is at most the time in seconds, so that no signer can use up the numbers and lock out later releases.
 * A release that revokes a key starts the count again, because the stolen key may have raised it (TUF, section 5.3.11).
 */
function checkSerial({ serial }: Statement, revokes: boolean, { now, lastSerial }: Expectations): void {
  if (serial * 1000 > now + CLOCK_TOLERANCE) {
    throw new Refusal('serial-future', `The release has serial ${serial}, which is later than the time in seconds.`);
  }
  if (lastSerial !== undefined && serial < lastSerial && !revokes) {
    throw new Refusal('serial-older', `The release has serial ${serial}; serial ${lastSerial} was seen before.`);
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
