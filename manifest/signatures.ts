// Signs releases, and decides which keys count for one: those pinned, not revoked before, and with a signature over its exact bytes.
import { type KeyObject, sign as signBytes, verify as verifySignature } from 'node:crypto';
import { Refusal } from './errors.ts';
import type { VerifyKey } from './keys.ts';
import { readManifest } from './parse-manifest.ts';
import { violations } from './schema.ts';
import {
  checkStatement,
  formatSidecar,
  SIDECAR_LIMIT,
  type Sidecar,
  Statement,
  signedBytes,
  splitSidecar,
} from './sidecar.ts';

/** Trusted keys, and the number that have to sign. */
export interface Trust {
  /** Each key outranks those before it. */
  keys: readonly VerifyKey[];
  /** 1 where it is left out. */
  threshold?: number | undefined;
  /** Ids of keys that an earlier release revoked. */
  revoked?: readonly string[] | undefined;
}

/**
 * Checks the signatures of a release. Signatures of unknown keys count for nothing; one of a trusted key has to fit.
 * @returns the keys that count, in the order of their rank, and the signed statement's bytes
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
 * The keys that a release revokes for the first time. A key is revoked by keys that outrank it, as many as a release
 * needs, so that a thief of the key for daily use cannot revoke the one that is locked away.
 * @param signers what {@link checkSignatures} returned
 * @returns ids; a key that this build does not pin needs no revocation
 * @throws Refusal `sidecar-invalid` when the signers may not revoke one of them
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

/** Makes the raw Ed25519 signature (64 bytes) over some bytes. */
export type Signer = (bytes: Buffer) => Buffer;

/** Signs with a private key in memory. The same input gives the same signature (RFC 8032). */
export function signerOf(key: KeyObject): Signer {
  return bytes => signBytes(null, bytes, key);
}

/**
 * The exact bytes of a statement about a manifest.
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
 * Signs a manifest together with a statement, in addition to the signatures of other keys that are there already.
 * @param keyId the id of the signer's key
 * @returns the bytes of the sidecar
 */
export function addSignature({ signatures, statement }: Sidecar, manifest: Uint8Array, keyId: string, sign: Signer) {
  const signature = sign(signedBytes(keyId, statement, manifest));
  const others = signatures.filter(other => other.keyId !== keyId);
  return formatSidecar({ signatures: [...others, { keyId, signature }], statement });
}
