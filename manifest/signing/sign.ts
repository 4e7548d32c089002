// Makes the signed sidecar of a manifest, and refuses what an updater would refuse later.
import { type KeyObject, sign as signBytes } from 'node:crypto';
import { Refusal } from '../errors.ts';
import { readManifest } from '../parse-manifest.ts';
import { violations } from '../schema.ts';
import { checkStatement, formatSidecar, type Sidecar, Statement, signedBytes } from '../sidecar.ts';

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
