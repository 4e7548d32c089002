// Computes the fingerprints that identify this machine's accounts in the store.
import { hmac, sha256 } from '../../daemon/core/hash.ts';
import type { Context, Credentials } from '../context.ts';
import type { Account } from '../store/config.ts';
import type { Plan } from '../store/plan.ts';
import { type Kept, type LocalPool, noteLocal } from '../store/pool-file.ts';
import { mayMint, startsProgram } from '../store/secrets.ts';

/** An account of this machine with the fingerprint that identifies it in the store. */
export interface Identified {
  account: Account;
  fp: string;
  /** True if the credential identifies the account. */
  byCredential: boolean;
}

type Identity = Omit<Identified, 'account'>;

/** A credential that is replaced within this time is short-lived. */
const SHORT_MS = 86_400_000;
/** Number of short-lived credentials in a row after which the account is identified by its name. */
const SHORT_ONES = 3;

/** Dependencies of `identification`. */
interface Needs {
  plan: Pick<Plan, 'cli'>;
  context: Pick<Context, 'now' | 'paths'>;
  credentials: Credentials;
  /** Locally stored state of the pool. */
  local: LocalPool;
}

/**
 * Identifies accounts by their declared identity, by their credential, or, if the credential changes each time, by their name.
 * Stores the result, so that a run does not start a credential program only to identify an account.
 */
export function identification({ plan: { cli }, context, credentials, local: before }: Needs) {
  let local = before;
  /** Identified accounts, by fingerprint. */
  const identities = new Map<string, Identified>();
  const changed = new Set<string>();
  /** Returns the stored identity of an account, if its sources have not changed since. */
  const keptOf = (account: Account): Kept | undefined => {
    const entry = local.fingerprints[cli]?.[account.name];
    return entry?.sources === markOf(local.salt, account) ? entry : undefined;
  };
  /** Identifies an account with a credential that has just been read. */
  const identityOf = async (account: Account, values: Record<string, string>): Promise<Identity> => {
    const entry = keptOf(account);
    const isSame = entry && (entry.rotates || entry.mark === markOf(local.salt, account, values));
    if (account.identity !== undefined || isSame) return identityWithout(account)!;
    const second = mayMint(account) ? await credentials.again(account) : undefined;
    const current = second?.ok ? second.env : values;
    const now = context.now();
    const short = entry && now - entry.since < SHORT_MS ? entry.short + 1 : 0;
    const rotates = JSON.stringify(current) !== JSON.stringify(values) || short >= SHORT_ONES;
    const fp = rotates ? nameFingerprint(account) : poolFingerprint(account, current);
    local = noteLocal(context.paths, pool => {
      const [sources, mark] = [markOf(pool.salt, account), markOf(pool.salt, account, current)];
      pool.fingerprints[cli] = {
        ...pool.fingerprints[cli],
        [account.name]: { fp, mark, sources, since: now, short, rotates },
      };
    });
    return { fp, byCredential: fp !== nameFingerprint(account) };
  };
  /** Identifies an account without its credential, if possible. */
  const identityWithout = (account: Account): Identity | undefined => {
    const { identity } = account;
    if (identity !== undefined) return { fp: identityFingerprint(account, identity), byCredential: false };
    const entry = keptOf(account);
    return entry && { fp: entry.fp, byCredential: entry.fp !== nameFingerprint(account) };
  };
  return {
    /**
     * Returns the accounts whose credential is available.
     * @param again also checks credentials from programs
     */
    identify: async (accounts: readonly Account[], again = false): Promise<Identified[]> => {
      const identified: Identified[] = [];
      for (const account of accounts) {
        const isSettled = !again || account.identity !== undefined || keptOf(account)?.rotates;
        let identity = startsProgram(account) && isSettled ? identityWithout(account) : undefined;
        if (!identity) {
          const resolved = await credentials.of(account);
          // An unreadable credential is not reported here, because another account takes over.
          if (resolved.ok) identity = await identityOf(account, resolved.env);
        }
        if (identity) identified.push({ account, ...identity });
      }
      for (const each of identified) identities.set(each.fp, each);
      return identified;
    },
    /** Returns the accounts with these fingerprints that were identified earlier. */
    known: (fps: readonly string[]): Identified[] => fps.flatMap(fp => identities.get(fp) ?? []),
    /**
     * Reports whether a credential belongs to the leased account; if not, the next lease is for the new credential's account.
     * After one change in a run, an account keeps its lease.
     */
    matches: async ({ account, fp }: Identified, values: Record<string, string>): Promise<boolean> => {
      if (changed.has(account.name) || (await identityOf(account, values)).fp === fp) return true;
      changed.add(account.name);
      return false;
    },
  };
}

/**
 * Returns 48 bits of SHA-256 over the CLI and all values of a credential. It has no salt, because every machine must get the same
 * result: a reader of the store can test guesses, but cannot guess random keys.
 * @param env the account's variables with their values
 */
function poolFingerprint(account: Pick<Account, 'cli' | 'name'>, env: Record<string, string>): string {
  const values = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  return values.length > 0 ? digest([account.cli, values]) : nameFingerprint(account);
}

/** Returns the fingerprint of an account's name, for accounts without a credential or with a rotating credential. */
function nameFingerprint({ cli, name }: Pick<Account, 'cli' | 'name'>): string {
  return digest([cli, name]);
}

/** Returns the fingerprint of the `identity` that the configuration declares. */
function identityFingerprint({ cli }: Pick<Account, 'cli'>, identity: string): string {
  return digest([cli, { identity }]);
}

function digest(value: unknown): string {
  return sha256('culvert pool 1\0', JSON.stringify(value)).slice(0, 12);
}

/** Returns a mark that changes with a credential and its sources. It is stored in a file of the user. */
function markOf(salt: string, { env }: Pick<Account, 'env'>, values: Record<string, string> = {}): string {
  return hmac(salt, JSON.stringify([env, values])).slice(0, 16);
}
