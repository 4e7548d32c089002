// Computes digests.
import { createHash, createHmac, randomBytes } from 'node:crypto';

/** SHA-256 of bytes. */
export function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** SHA-256 over the parts in turn, in hexadecimal. */
export function sha256(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

/** SHA-1 in hexadecimal, where a protocol wants it. */
export function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

/** HMAC-SHA-256, in hexadecimal. */
export function hmac(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

/** Random bytes in hexadecimal, good for a key. */
export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}
