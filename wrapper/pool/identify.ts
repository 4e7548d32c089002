// Finds out which account in the store an account of this machine is.
import type { Context } from '../context.ts';
import { callerEnvironment } from '../run/accounts/environment.ts';
import type { Account } from '../store/config.ts';
import type { Plan } from '../store/plan.ts';
import { type LocalPool, noteLocal } from '../store/pool-file.ts';
import { type ReadFiles, resolveAccount } from '../store/secrets.ts';
import { isCheap, markOf, poolFingerprint } from './fingerprint.ts';

/** An account of this machine with what identifies it in the store. */
export interface Identified {
  account: Account;
  fp: string;
}

/**
 * Keeps fingerprints, so that a run looks up the one credential that it uses where that starts a program; `matches`
 * notices when that has changed since.
 * @param before what this machine has kept
 */
export function identification(plan: Plan, context: Context, before: LocalPool) {
  const { cli } = plan;
  let local = before;
  /** By fingerprint, those that were identified. */
  const known = new Map<string, Identified>();
  const files: ReadFiles = new Map();
  const remember = (account: Account, env: Record<string, string>): string => {
    const fp = poolFingerprint(account, env);
    local = noteLocal(context.paths, pool => {
      pool.fingerprints[cli] = { ...pool.fingerprints[cli], [account.name]: { fp, mark: markOf(pool.salt, env) } };
    });
    return fp;
  };
  /** The fingerprint of a credential, computed when it is another one than before. */
  const fingerprintOf = (account: Account, env: Record<string, string>): string => {
    const kept = local.fingerprints[cli]?.[account.name];
    return kept && kept.mark === markOf(local.salt, env) ? kept.fp : remember(account, env);
  };
  return {
    /**
     * What `identify` has read: most accounts of a CLI have their credentials in one file, and reading it takes 0.2 ms.
     */
    files,
    /**
     * The accounts whose credential is there.
     * @param again looks up also what starts a program
     */
    identify: async (accounts: readonly Account[], again = false): Promise<Identified[]> => {
      const found: Identified[] = [];
      const caller = callerEnvironment(context.env);
      files.clear();
      for (const account of accounts) {
        const kept = isCheap(account) || again ? undefined : local.fingerprints[cli]?.[account.name]?.fp;
        if (kept !== undefined) found.push({ account, fp: kept });
        else {
          const resolved = await resolveAccount(account, caller, plan.secretTimeoutMs, files);
          // Why one gives nothing is said when it is tried without a pool; here another account takes its place.
          if (resolved.ok) found.push({ account, fp: fingerprintOf(account, resolved.env) });
        }
      }
      for (const each of found) known.set(each.fp, each);
      return found;
    },
    /** Those of before with these fingerprints. */
    known: (fps: readonly string[]): Identified[] => fps.flatMap(fp => known.get(fp) ?? []),
    /** Whether a credential is the one that was leased; if not, the next lease is for the new one. */
    matches: (account: Account, fp: string, credentials: Record<string, string>): boolean =>
      fingerprintOf(account, credentials) === fp,
  };
}
