// The keys that the tests' build of the wrapper trusts for catalogs.
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** A key that is the same in every process, so that one build serves all of them. */
function fixedKey(seed: number): KeyObject {
  const head = Buffer.from('302e020100300506032b657004220420', 'hex'); // PKCS #8 of Ed25519 (RFC 8410, section 7)
  return createPrivateKey({ key: Buffer.concat([head, Buffer.alloc(32, seed)]), format: 'der', type: 'pkcs8' });
}

/** The keys that the build pins, by rank, and one that it does not know. */
export const KEYS = { stolen: fixedKey(1), current: fixedKey(2), next: fixedKey(3) };
export const STRANGER = fixedKey(4);

const rawKey = (key: KeyObject) => String(createPublicKey(key).export({ format: 'jwk' }).x);
/** For `__RELEASE_KEYS__`. */
export const PINS = JSON.stringify(
  Object.entries(KEYS).map(([name, key]) => ({
    name,
    key: Buffer.from(rawKey(key), 'base64url').toString('base64'),
    ...(name === 'stolen' && { revoked: true }),
  })),
);
