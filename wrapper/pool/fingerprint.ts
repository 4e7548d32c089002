// Identifies an account in the store without its credential.
import type { Account } from '../store/config.ts';
import { sha256 } from '../store/hash.ts';

/**
 * 48 bits of SHA-256 over the CLI and all values of a credential. It is the same on every machine, so it has no salt:
 * a reader of the store can test guesses, which does not help against keys made at random.
 * @param env the account's variables with their values
 */
export function poolFingerprint(account: Pick<Account, 'cli' | 'name'>, env: Record<string, string>): string {
  const values = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  // without a credential the account is its name: a CLI that is switched by a directory or an argument
  const identity = values.length > 0 ? values : account.name;
  return sha256('culvert pool 1\0', JSON.stringify([account.cli, identity])).slice(0, 12);
}

/**
 * Changes with a credential and is quick to compute, where node:crypto takes 3 ms to load. It only shows that a kept fingerprint is out of date: 64 bits of two FNV-1a sums, salted, in a file of the user's own.
 */
export function markOf(salt: string, env: Record<string, string>): string {
  const text = `${salt}${JSON.stringify(Object.entries(env))}`;
  let [low, high] = [0x811c9dc5, 0xcbf29ce4];
  for (let i = 0; i < text.length; i++) {
    low = Math.imul(low ^ text.charCodeAt(i), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(text.length - 1 - i), 0x01000193);
  }
  return `${(low >>> 0).toString(16)}.${(high >>> 0).toString(16)}`;
}

/** Whether reading a source starts no program. */
export function isCheap(account: Pick<Account, 'env'>): boolean {
  return Object.values(account.env).every(source => source.startsWith('env:') || source.startsWith('file:'));
}
