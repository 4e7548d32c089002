// Generates Ed25519 keys, derives their ids, and reads keys from PEM files and from the list that this build pins.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { sha256 } from '../daemon/core/hash.ts';
import project from '../data/project.json' with { type: 'json' };
import { Refusal } from './errors.ts';

/** A public key that verifies signatures. The `id` is derived from the key, and messages show the `name`. */
export interface VerifyKey {
  readonly id: string;
  readonly name: string;
  readonly key: KeyObject;
}

/** DER prefix that precedes the 32 bytes of an Ed25519 public key (RFC 8410, section 4). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** Returns a key's id in a sidecar: the first 8 bytes of the SHA-256 of its 32 raw bytes, in hexadecimal. */
export function keyId(key: KeyObject): string {
  return sha256(rawKey(key)).slice(0, 16);
}

/** Generates a key pair, and returns both keys as PEM (PKCS#8, SPKI) and the public key in the pinned form. */
export function generateKey(name: string): { privatePem: string; publicPem: string; pinned: PinnedKey; id: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
    pinned: { name, key: rawKey(publicKey).toString('base64') },
    id: keyId(publicKey),
  };
}

/**
 * Converts pinned keys to keys that verify signatures.
 * @throws Refusal `key-invalid`
 */
export function pinnedKeys(pinned: readonly PinnedKey[]): VerifyKey[] {
  return pinned.map(({ name, key: base64 }) => {
    const raw = Buffer.from(base64, 'base64');
    if (raw.length !== 32)
      throw new Refusal('key-invalid', `The pinned key "${name}" has ${raw.length} bytes, not 32.`);
    const key = createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' });
    return { id: keyId(key), name, key };
  });
}

/**
 * Reads a public key from PEM.
 * @param name name of the key in messages, which is its file
 * @throws Refusal `key-invalid`, also for a private key, which must not be used where a public key is enough
 */
export function readPublicKey(pem: Buffer, name: string): VerifyKey {
  if (pem.includes('PRIVATE KEY')) {
    throw new Refusal('key-invalid', `${name} holds a private key.`, { hint: 'Name the file ending in .pub.' });
  }
  const key = ed25519(() => createPublicKey(pem), name);
  return { id: keyId(key), name, key };
}

/**
 * Reads a private key from PEM (PKCS#8).
 * @param name name of the key in messages, which is its file
 * @throws Refusal `key-invalid`, without a cause, because the cause could quote the key
 */
export function readPrivateKey(pem: Buffer, name: string): KeyObject {
  if (pem.includes('ENCRYPTED')) {
    const hint = 'Let openssl ask for the passphrase: openssl pkey -in KEY | culvert-manifest sign --key - …';
    throw new Refusal('key-invalid', `The key in ${name} is encrypted.`, { hint });
  }
  return ed25519(() => createPrivateKey(pem), name);
}

/** Derives the public key from a private key. */
export function publicOf(key: KeyObject): VerifyKey {
  const id = keyId(key);
  return { id, name: id, key: createPublicKey(key) };
}

function ed25519(read: () => KeyObject, name: string): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch {
    throw new Refusal('key-invalid', `${name} holds no key that can be read.`);
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new Refusal('key-invalid', `The key in ${name} is of type ${key.asymmetricKeyType}, not Ed25519.`);
}

/** Returns the 32 bytes of an Ed25519 public key, also of a private key's public part. */
export function rawKey(key: KeyObject): Buffer {
  const { x } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' });
  return Buffer.from(x!, 'base64url');
}

/** A pinned key: a name for messages, and the 32 raw bytes of an Ed25519 public key in base64. */
export interface PinnedKey {
  readonly name: string;
  readonly key: string;
  /** True after the key was stolen or lost. The key keeps its rank, but its signatures no longer count. */
  readonly revoked?: boolean;
}

declare const __RELEASE_KEYS__: readonly PinnedKey[] | undefined;

/**
 * The keys that this build trusts, by rank. A key can revoke only the keys before it, so the daily key comes first and the
 * locked-away key last. `./culvert-tool release-key` writes the list to data/project.json. While the list is empty, every
 * signed release is refused (`key-unknown`). Other builders can set `__RELEASE_KEYS__`.
 */
export const RELEASE_KEYS: readonly PinnedKey[] =
  typeof __RELEASE_KEYS__ === 'undefined' ? project.releaseKeys.pinned : __RELEASE_KEYS__;

/** Number of pinned keys that must sign a release. */
export const RELEASE_THRESHOLD = project.releaseKeys.threshold;
