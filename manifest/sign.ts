// Makes the signed sidecar of a manifest, and refuses what an updater would refuse later.
import { createPublicKey, type KeyObject, sign as signBytes } from 'node:crypto';
import { keyId, type VerifyKey } from './keys.ts';
import { readManifest } from './read.ts';
import { Refusal } from './refusals.ts';
import { violations } from './schema.ts';
import { formatSidecar, Statement, signedBytes } from './sidecar.ts';
import { checkStatement } from './verify.ts';

export interface Signed {
  readonly sidecar: Buffer;
  readonly publicKey: VerifyKey;
}

/**
 * Signs a manifest's exact bytes together with a statement. The same input gives the same bytes (RFC 8032).
 * @param manifest the bytes of the manifest
 * @param key an Ed25519 private key
 * @returns the bytes of the sidecar, and the key that verifies them
 * @throws Refusal those of `readManifest`, `tag-not-version`, `sidecar-invalid`
 */
export function signManifest(manifest: Uint8Array, statement: Statement, key: KeyObject): Signed {
  const parsed = Statement.safeParse(statement);
  if (!parsed.success) {
    throw new Refusal('sidecar-invalid', `This can't be signed: ${violations(parsed.error.issues, statement)}.`);
  }
  checkStatement(parsed.data, readManifest(manifest));
  const id = keyId(key);
  const bytes = Buffer.from(`${JSON.stringify(parsed.data)}\n`);
  const signature = signBytes(null, signedBytes(id, bytes, manifest), key);
  return {
    sidecar: formatSidecar({ keyId: id, signature, statement: bytes }),
    publicKey: { id, name: id, key: createPublicKey(key) },
  };
}
