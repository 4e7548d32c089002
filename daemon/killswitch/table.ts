// Keeps a table of the packet filter as it should be: puts rules in force, proves that the kernel has them, and replaces the table
// where another program changed it.
import type { Protection } from './report.ts';
import type { RuleOptions } from './rules/rules.ts';
import type { Listing } from './rules/ruleset-diff.ts';

/** One table of the packet filter, as nft changes and lists it. */
export interface Kernel<Options = RuleOptions> {
  /** Enforcing program and version: `nftables 1.0.6`. */
  readonly backend: string | null;
  /** Replaces the table in one transaction and lists it. @throws Error with nft's message; nothing has changed then */
  replace(options: Options): Promise<Listing | null>;
  /** @throws Error with nft's message */
  remove(): Promise<void>;
  /** The present table, or null. @throws Error when the kernel can't be asked */
  list(): Promise<Listing | null>;
  /** Protection of a listed table from foreign changes. */
  protection(listing: Listing | null): Protection;
  /** Begins or ends to report foreign changes. */
  watch(on: boolean): void;
}

/** @param verify throws unless the listed table is made of the rules. Calls of the returned functions must not overlap. */
export function createTable<Rules>(
  kernel: Kernel<Rules>,
  verify: (listing: Listing | null, rules: Rules) => void = requireTable,
) {
  let inForce: { rules: Rules; key: string; fingerprint: string } | null = null;

  /** Puts rules in force, whatever the kernel holds. @throws Error */
  async function replace(rules: Rules, key = ''): Promise<void> {
    const listing = await kernel.replace(rules);
    verify(listing, rules);
    inForce = { rules, key, fingerprint: listing!.fingerprint };
  }

  /** Stops listening for foreign changes. The rules stay. */
  function release(): void {
    inForce = null;
    kernel.watch(false);
  }

  return {
    replace,
    release,
    /** Puts rules in force unless the kernel holds them, and listens for foreign changes. @param key equal for equal rules. @throws Error */
    async keep(rules: Rules, key = JSON.stringify(rules)): Promise<void> {
      const listing = await kernel.list();
      if (inForce && listing?.fingerprint === inForce.fingerprint && key === inForce.key) return;
      kernel.watch(true);
      await replace(rules, key);
    },
    /** @throws Error */
    async remove(): Promise<void> {
      release();
      if (await kernel.list()) await kernel.remove();
    },
    /** The rules that were put in force last, and the fingerprint of their table; null: none. */
    inForce: (): { rules: Rules; fingerprint: string } | null => inForce,
  };
}

function requireTable(listing: Listing | null): void {
  if (!listing || listing.dormant) throw new Error('nft accepted the rules, but the kernel does not have them');
}
