// Signs releases, and checks their signatures against trusted keys. A sidecar has a line for each signature, followed by
// the signed statement, which allows verification before parsing.
import { type KeyObject, sign as signBytes, verify as verifySignature } from 'node:crypto';
import lt from 'semver/functions/lt.js';
import valid from 'semver/functions/valid.js';
import * as z from 'zod/mini';
import { escaped } from '../daemon/core/printable.ts';
import { Refusal } from './errors.ts';
import type { VerifyKey } from './keys.ts';
import { DateTime, instant, type Manifest, readManifest, violations } from './schema.ts';

export const SIDECAR_LIMIT = 4096;
const CHANNELS = ['stable', 'beta'] as const;
export type Channel = (typeof CHANNELS)[number];
/**
 * Purposes of a statement: the releases of a channel, or a catalog (wrapper/catalog/release.ts). An updater names its channel, so it
 * accepts no catalog as a release, and the two count their serials separately.
 */
export const PURPOSES = [...CHANNELS, 'catalog'] as const;
export type Purpose = (typeof PURPOSES)[number];

const KeyId = z.string('must be text').check(z.regex(/^[0-9a-f]{16}$/, 'must be 16 lowercase hexadecimal digits'));

/**
 * Facts for an updater beyond the manifest. `serial` rises with every release of a channel, which lets an updater refuse an
 * old release; after `expires_at` the release is refused; `minimum_version` is the oldest installed version that can
 * update to the release in one step; `revoked` lists the ids of keys that must no longer be trusted.
 */
export const Statement = z.strictObject(
  {
    serial: z
      .number('must be a number')
      .check(z.refine(Number.isSafeInteger, 'must be a whole number below 2^53'), z.minimum(1, 'must be at least 1')),
    expires_at: DateTime,
    channel: z.enum(PURPOSES, `must be one of ${PURPOSES.join(', ')}`),
    minimum_version: z
      .string('must be text')
      .check(z.refine(text => valid(text) === text, 'must be a version such as 1.2.3')),
    revoked: z.optional(z.array(KeyId, 'must be a list').check(z.minLength(1, 'must have at least one item'))),
  },
  'must be an object',
);
export type Statement = z.infer<typeof Statement>;

interface KeySignature {
  readonly keyId: string;
  readonly signature: Buffer;
}

/** A sidecar split by position, before verification and before its statement is parsed. */
export interface Sidecar {
  readonly signatures: readonly KeySignature[];
  /** The statement's exact bytes, including the newline at the end. */
  readonly statement: Buffer;
}

/** Maximum number of signatures in a sidecar. They take less than half of {@link SIDECAR_LIMIT}. */
const SIGNATURES_LIMIT = 8;
const LINE = /^culvert-sidecar 1 ed25519 ([0-9a-f]{16}) ([0-9a-f]{128})\n/;
const LINE_LENGTH = 'culvert-sidecar 1 ed25519 '.length + 16 + 1 + 128 + 1;

/** Formats a sidecar: a line `culvert-sidecar 1 ed25519 KEYID SIGNATURE` for each signature, then the statement. */
export function formatSidecar({ signatures, statement }: Sidecar): Buffer {
  const lines = signatures.map(
    ({ keyId, signature }) => `culvert-sidecar 1 ed25519 ${keyId} ${signature.toString('hex')}\n`,
  );
  return Buffer.concat([Buffer.from(lines.join('')), statement]);
}

/**
 * Splits a sidecar.
 * @returns undefined when the sidecar has no signature, more than {@link SIGNATURES_LIMIT}, or two by the same key
 */
export function splitSidecar(bytes: Uint8Array): Sidecar | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const signatures: KeySignature[] = [];
  // lowercase hexadecimal has one spelling for each signature, but base64 would let some bits flip unnoticed
  for (let at = 0; ; at += LINE_LENGTH) {
    const match = LINE.exec(buffer.toString('latin1', at, at + LINE_LENGTH));
    if (!match) return signatures.length === 0 ? undefined : { signatures, statement: buffer.subarray(at) };
    const keyId = match[1]!;
    if (signatures.length === SIGNATURES_LIMIT || signatures.some(signature => signature.keyId === keyId))
      return undefined;
    signatures.push({ keyId, signature: Buffer.from(match[2]!, 'hex') });
  }
}

/**
 * Returns the bytes that a key signs: the line up to the key's id (which ties a signature to this format), the
 * statement's length in 8 bytes (which fixes the boundary of the next parts), the statement, and the manifest.
 */
export function signedBytes(keyId: string, statement: Uint8Array, manifest: Uint8Array): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(statement.length));
  return Buffer.concat([Buffer.from(`culvert-sidecar 1 ed25519 ${keyId}\n`), length, statement, manifest]);
}

/**
 * Checks a statement against its manifest, both before signing and during verification.
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

/** Trusted keys, and the number of them that must sign. */
export interface Trust {
  /** Each key outranks those before it. */
  keys: readonly VerifyKey[];
  /** The default is 1. */
  threshold?: number | undefined;
  /** Ids of keys that an earlier release revoked. */
  revoked?: readonly string[] | undefined;
}

/**
 * Checks the signatures of a release. Signatures by unknown or revoked keys are ignored; all others must be valid.
 * @returns the trusted signers in the order of their rank, and the signed statement's bytes
 * @throws Refusal `sidecar-too-large`, `sidecar-malformed`, `key-unknown`, `key-revoked`, `signature-invalid`,
 *   `signatures-missing`
 */
export function checkSignatures(manifest: Uint8Array, bytes: Uint8Array, trust: Trust) {
  if (bytes.length > SIDECAR_LIMIT) {
    throw new Refusal('sidecar-too-large', `The sidecar has ${bytes.length} bytes; the limit is ${SIDECAR_LIMIT}.`);
  }
  const sidecar = splitSidecar(bytes);
  if (!sidecar) throw new Refusal('sidecar-malformed', 'The sidecar does not begin with a signature.');
  const signers = trustedSigners(sidecar, trust);
  for (const { key, signature, id } of signers) {
    if (verifySignature(null, signedBytes(id, sidecar.statement, manifest), key, signature)) continue;
    const why = 'the manifest or the sidecar was changed, or they do not belong together';
    throw new Refusal('signature-invalid', `The signature does not fit: ${why}.`);
  }
  const threshold = trust.threshold ?? 1;
  if (signers.length < threshold) {
    const have = `${signers.length} of the ${threshold} trusted signatures it needs`;
    throw new Refusal('signatures-missing', `The release has ${have}.`);
  }
  return { signers, statement: sidecar.statement };
}

function trustedSigners({ signatures }: Sidecar, { keys, revoked = [] }: Trust) {
  const signers = keys.flatMap(key => {
    const entry = signatures.find(({ keyId }) => keyId === key.id);
    return entry ? [{ ...key, signature: entry.signature }] : [];
  });
  const ids = signatures.map(({ keyId }) => keyId).join(', ');
  if (signers.length === 0) {
    const list = keys.length === 0 ? 'this build pins no release key yet' : `known: ${keys.map(k => k.id).join(', ')}`;
    throw new Refusal('key-unknown', `The release is signed with the key ${ids}, which is not trusted (${list}).`);
  }
  const good = signers.filter(({ id }) => !revoked.includes(id));
  if (good.length === 0)
    throw new Refusal('key-revoked', `The release is signed with the key ${ids}, which was revoked.`);
  return good;
}

/**
 * Finds the keys that a release revokes for the first time. A revocation needs as many signers of a higher rank as a release
 * needs signers, because a thief of the daily key must not be able to revoke the locked-away key.
 * @param signers the signers that {@link checkSignatures} returned
 * @returns ids; a key that this build does not pin needs no revocation
 * @throws Refusal `sidecar-invalid` when too few signers outrank a revoked key
 */
export function newlyRevoked({ revoked = [] }: Statement, signers: readonly VerifyKey[], trust: Trust): string[] {
  const rank = (id: string) => trust.keys.findIndex(key => key.id === id);
  const fresh = [...new Set(revoked)].filter(id => rank(id) >= 0 && !trust.revoked?.includes(id));
  for (const id of fresh) {
    const above = signers.filter(signer => rank(signer.id) > rank(id)).length;
    if (above < (trust.threshold ?? 1))
      throw new Refusal(
        'sidecar-invalid',
        `The release revokes the key ${id}, but its signers do not outrank that key.`,
      );
  }
  return fresh;
}

/** Returns the raw Ed25519 signature (64 bytes) of some bytes. */
export type Signer = (bytes: Buffer) => Buffer;

/** Returns a signer for a private key in memory. The same input gives the same signature (RFC 8032). */
export function signerOf(key: KeyObject): Signer {
  return bytes => signBytes(null, bytes, key);
}

/**
 * Checks a statement about a manifest, and returns its exact bytes.
 * @param manifest the bytes of the manifest
 * @throws Refusal those of `readManifest`, `tag-not-version`, `sidecar-invalid`
 */
export function formatStatement(statement: Statement, manifest: Uint8Array): Buffer {
  const parsed = Statement.safeParse(statement);
  if (!parsed.success) {
    throw new Refusal('sidecar-invalid', `This can't be signed: ${violations(parsed.error.issues, statement)}.`);
  }
  checkStatement(parsed.data, readManifest(manifest));
  return Buffer.from(`${JSON.stringify(parsed.data)}\n`);
}

/**
 * Signs a manifest together with a statement. The sidecar keeps the signatures by other keys.
 * @param keyId the id of the signer's key
 * @returns the bytes of the sidecar
 */
export function addSignature({ signatures, statement }: Sidecar, manifest: Uint8Array, keyId: string, sign: Signer) {
  const signature = sign(signedBytes(keyId, statement, manifest));
  const others = signatures.filter(other => other.keyId !== keyId);
  return formatSidecar({ signatures: [...others, { keyId, signature }], statement });
}
