// Identifies an account in the store without its credential.
import type { Account } from '../store/config.ts';
import { hmac, sha256 } from '../system/hash.ts';

/**
 * 48 bits of SHA-256 over the CLI and all values of a credential. It is the same on every machine, so it has no salt:
 * a reader of the store can test guesses, which does not help against keys made at random.
 * @param env the account's variables with their values
 */
export function poolFingerprint(account: Pick<Account, 'cli' | 'name'>, env: Record<string, string>): string {
  const values = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  return values.length > 0 ? digest([account.cli, values]) : nameFingerprint(account);
}

/** Fingerprint of an account by its name, for one without a credential or with a rotating one. */
export function nameFingerprint({ cli, name }: Pick<Account, 'cli' | 'name'>): string {
  return digest([cli, name]);
}

/** The same over the `identity` that the configuration declares. */
export function identityFingerprint({ cli }: Pick<Account, 'cli'>, identity: string): string {
  return digest([cli, { identity }]);
}

function digest(value: unknown): string {
  return sha256('culvert pool 1\0', JSON.stringify(value)).slice(0, 12);
}

/** Changes with a credential, and with the sources that it comes from. Kept in a file of the user's own. */
export function markOf(salt: string, { env }: Pick<Account, 'env'>, values: Record<string, string> = {}): string {
  return hmac(salt, JSON.stringify([env, values])).slice(0, 16);
}
