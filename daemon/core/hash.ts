// Computes digests and random keys.
import { createHash, createHmac, randomBytes } from 'node:crypto';

/** Returns the SHA-256 of bytes. */
export function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** Returns the SHA-256 of the joined parts, in hexadecimal. */
export function sha256(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

/** Returns the SHA-1 in hexadecimal, for protocols that require it. */
export function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

/** Returns the HMAC-SHA-256, in hexadecimal. */
export function hmac(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

/** Returns random bytes in hexadecimal, suitable for a key. */
export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}
