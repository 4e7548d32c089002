// Digests. node:crypto takes 2 ms to load, so that waits until one is needed.

const crypto = () => process.getBuiltinModule('node:crypto');

/** Loads node:crypto at a time when there is something to wait for. */
export function loadDigests(): void {
  crypto();
}

/** SHA-256 over the parts in turn, in hexadecimal. */
export function sha256(...parts: string[]): string {
  const hash = crypto().createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

/** SHA-1 in hexadecimal, where a protocol wants it. */
export function sha1(text: string): string {
  return crypto().createHash('sha1').update(text).digest('hex');
}

/** HMAC-SHA-256, in hexadecimal. */
export function hmac(key: string, text: string): string {
  return crypto().createHmac('sha256', key).update(text).digest('hex');
}

/** Random bytes in hexadecimal, good for a key. */
export function randomHex(bytes: number): string {
  return crypto().randomBytes(bytes).toString('hex');
}
