// Verifies a release before it is applied: first its signatures, then its schema, and then its age and channel.
import lt from 'semver/functions/lt.js';
import { reason } from '../daemon/core/errors.ts';
import { escaped } from '../daemon/core/printable.ts';
import { Refusal } from './errors.ts';
import { pinnedKeys, RELEASE_KEYS, RELEASE_THRESHOLD } from './keys.ts';
import { instant, MANIFEST_LIMIT, type Manifest, parseJson, readManifest, violations } from './schema.ts';
import {
  type Channel,
  checkSignatures,
  checkStatement,
  newlyRevoked,
  type Purpose,
  Statement,
  type Trust,
} from './signatures.ts';

export { checkArtifact } from './artifacts.ts';
export { Refusal } from './errors.ts';
export { MANIFEST_LIMIT } from './schema.ts';
export { type Channel, type Purpose, SIDECAR_LIMIT, type Trust } from './signatures.ts';

declare const verified: unique symbol;

/** A release whose signatures, schema, serial, expiry and channel have been checked. Only `verifySidecar` creates it. */
export interface Verified<For extends Purpose = Channel> {
  readonly [verified]: true;
  readonly manifest: Readonly<Manifest>;
  /** The release's version: the manifest's tag without a leading v. */
  readonly version: string;
  /** The caller must record it as the `lastSerial` of the next check. */
  readonly serial: number;
  readonly expiresAt: string;
  readonly channel: For;
  readonly minimumVersion: string;
  readonly signers: readonly { readonly id: string; readonly name: string }[];
  /** Ids of trusted keys that this release revokes for the first time. The caller must record them with `serial`. */
  readonly revoked: readonly string[];
}

/** Expected values of a release. Missing values are not checked; an updater must give all of them. */
export interface Expectations<For extends Purpose = Channel> extends Trust {
  /** Milliseconds since 1970. */
  now: number;
  /** The highest serial accepted so far. The same serial is accepted again; a lower serial is a rollback. */
  lastSerial?: number | undefined;
  channels?: readonly For[] | undefined;
  /** The installed version. */
  installed?: string | undefined;
}

/** Longest time until a release expires. The limit keeps a typing error from making a release valid forever. */
const MAX_LIFE_DAYS = 400;
const DAY = 86_400_000;
/** Allowed difference between the clocks of the signer and of this machine. */
const CLOCK_TOLERANCE = DAY;

/** Returns the keys that this build trusts, the number of them that must sign, and the keys that it lists as revoked. */
export function releaseTrust(): Trust {
  const revoked = pinnedKeys(RELEASE_KEYS.filter(pin => pin.revoked)).map(({ id }) => id);
  return { keys: pinnedKeys(RELEASE_KEYS), threshold: RELEASE_THRESHOLD, revoked };
}

/**
 * Verifies a release. It checks the signatures of the exact bytes before it parses the statement and the manifest.
 * @param manifest the bytes of `release-manifest.v1.json`
 * @param sidecar the bytes of `release-manifest.v1.json.sig`; `undefined` when it is missing
 * @throws Refusal `unsigned`, `sidecar-too-large`, `sidecar-malformed`, `key-unknown`, `key-revoked`,
 *   `signature-invalid`, `signatures-missing`, `sidecar-invalid`, `expired`, `not-yet-valid`, `serial-future`,
 *   `serial-older`, `channel-other`, `tag-not-version`, `version-older`, `version-unreachable`, and those of
 *   `readManifest`
 */
export function verifySidecar<For extends Purpose = Channel>(
  manifest: Uint8Array,
  sidecar: Uint8Array | undefined,
  expected: Expectations<For>,
): Verified<For> {
  if (!sidecar) throw new Refusal('unsigned', 'The manifest has no signature.');
  if (manifest.length > MANIFEST_LIMIT) readManifest(manifest); // throws manifest-too-large
  const { signers, statement: bytes } = checkSignatures(manifest, sidecar, expected);
  const statement = readStatement(bytes);
  const parsed = readManifest(manifest);
  const version = checkStatement(statement, parsed);
  const revoked = newlyRevoked(statement, signers, expected);
  checkAge(statement, parsed, expected.now);
  checkSerial(statement, revoked.length > 0, expected);
  checkFit(statement, version, expected);
  const release: Omit<Verified<Purpose>, typeof verified> = {
    manifest: parsed,
    version,
    serial: statement.serial,
    expiresAt: statement.expires_at,
    channel: statement.channel,
    minimumVersion: statement.minimum_version,
    signers: signers.map(({ id, name }) => ({ id, name })),
    revoked,
  };
  // `checkFit` has compared the channel
  return Object.freeze(release) as Verified<For>;
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
  // count from now, because maintainers sign a release again and again while it is the newest
  const left = (instant(statement.expires_at) - now) / DAY;
  if (left > MAX_LIFE_DAYS + CLOCK_TOLERANCE / DAY) {
    const days = `${Math.ceil(left)} days from now; the longest is ${MAX_LIFE_DAYS}`;
    throw new Refusal('sidecar-invalid', `The release expires ${days}.`);
  }
}

/**
 * Checks a release's serial. It is at most the time in seconds, which keeps a signer from using up the numbers and locking
 * out later releases. A release that revokes a key may have a lower serial, because a thief of the key may have raised the
 * serial (TUF, section 5.3.11).
 */
function checkSerial({ serial }: Statement, revokes: boolean, { now, lastSerial }: Expectations<Purpose>): void {
  if (serial * 1000 > now + CLOCK_TOLERANCE) {
    throw new Refusal('serial-future', `The release has serial ${serial}, which is later than the time in seconds.`);
  }
  if (lastSerial !== undefined && serial < lastSerial && !revokes) {
    throw new Refusal('serial-older', `The release has serial ${serial}; serial ${lastSerial} was seen before.`);
  }
}

function checkFit(statement: Statement, version: string, { channels, installed }: Expectations<Purpose>): void {
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
