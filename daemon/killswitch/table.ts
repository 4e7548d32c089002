// Keeps a table of the packet filter in its wanted state: lists it, compares it with its rules, replaces it if they differ, and
// verifies that the kernel has the rules.
import type { Protection } from './report.ts';
import { ASKERS, CHAINS, EXCEPTIONS, type RuleOptions, SIGN_IN, TABLE } from './rules/rules.ts';

/** One table of the packet filter, as nft changes and lists it. */
export interface Kernel<Options = RuleOptions> {
  /** Enforcing program and version, such as `nftables 1.0.6`. */
  readonly backend: string | null;
  /** Replaces the table in one transaction and lists it. @throws Error with nft's message; nothing has changed then */
  replace(options: Options): Promise<Listing | null>;
  /** @throws Error with nft's message */
  remove(): Promise<void>;
  /** Returns the present table, or null. @throws Error when the kernel can't be asked */
  list(): Promise<Listing | null>;
  /** Returns the protection of a listed table from foreign changes. */
  protection(listing: Listing | null): Protection;
  /** Turns the reports of foreign changes on or off. */
  watch(on: boolean): void;
}

/** @param verify throws unless the listed table has the rules. Calls of the returned functions must not overlap. */
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
    /**
     * Puts rules in force unless the kernel holds them, and listens for foreign changes. @param key equal for equal rules
     * @throws Error
     */
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
    /**
     * Returns the rules last put in force, and their table's fingerprint; null without rules. `kernel.remove` does not
     * reset it.
     */
    inForce: (): { rules: Rules; fingerprint: string } | null => inForce,
  };
}

function requireTable(listing: Listing | null): void {
  if (!listing || listing.dormant) throw new Error('nft accepted the rules, but the kernel does not have them');
}

/** Sets whose elements the kernel adds and removes. */
const DYNAMIC: readonly unknown[] = [ASKERS, EXCEPTIONS, ...Object.values(SIGN_IN)];

/** One listed object: `{chain: {…}}`, `{rule: {…}}`. */
type Item = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;

export interface Listing {
  /** Flags of the table: `owner`, `persist`. */
  flags: readonly string[];
  /** True if a flag turned the table off. */
  dormant: boolean;
  /** Equal for equal rules: it leaves out handles, counters and the elements of dynamic sets. */
  fingerprint: string;
  items: readonly Item[];
}

/** @returns null if the text is not the table's listing. */
export function parseListing(json: string, name = TABLE): Listing | null {
  let items: Item[];
  try {
    const { nftables } = JSON.parse(json) as { nftables?: unknown };
    if (!Array.isArray(nftables) || !nftables.every(isItem)) return null;
    items = nftables.filter(item => !item.metainfo);
  } catch {
    return null;
  }
  const table = items.find(item => item.table?.name === name && item.table.family === 'inet')?.table;
  if (!table) return null;
  const flags = [table.flags ?? []].flat() as string[]; // nft prints one flag as a string, several as a list
  const objects = items.filter(item => !item.table);
  // by exclusion: nft 1.0.6 prints garbage as the name of the dormant flag
  const dormant = flags.some(flag => flag !== 'owner' && flag !== 'persist');
  return { flags, dormant, items: objects, fingerprint: JSON.stringify([dormant, objects], without) };
}

function isItem(value: unknown): value is Item {
  const isObject = (part: unknown) => typeof part === 'object' && part !== null;
  return isObject(value) && Object.values(value as object).every(isObject);
}

/**
 * True if a table stops packets that leave this machine, whatever else it contains. A table of 0.2.7 or older has no
 * postrouting chain.
 */
export function isBlocking(listing: Listing | null): boolean {
  const drops = (hook: string) => listing?.items.find(({ chain }) => chain?.hook === hook)?.chain?.policy === 'drop';
  return drops('output') && drops('postrouting') && !listing?.dormant;
}

/**
 * Returns a sentence about the first difference between a listing and `text` that could let packets out, or null. Such a
 * difference is a base chain without its hook or policy, or with an extra or missing rule.
 */
export function missingRules(listing: Listing | null, text: string): string | null {
  if (!listing) return `there is no table inet ${TABLE}`;
  if (listing.dormant) return 'the table is dormant';
  const chains = listing.items.flatMap(({ chain }) => (chain ? [chain] : []));
  for (const [name, policy] of Object.entries(CHAINS)) {
    const chain = chains.find(chain => chain.name === name);
    if (chain?.hook !== name || chain.type !== 'filter') return `chain ${name} is not at its hook`;
    if (chain.policy !== policy) return `the policy of chain ${name} is ${String(chain.policy)}`;
    const rules = listing.items.filter(({ rule }) => rule?.chain === name).length;
    const given = countRules(text, name);
    if (rules !== given) return `chain ${name} has ${rules} rules instead of ${given}`;
  }
  return chains.length === Object.keys(CHAINS).length ? null : 'there is a chain more';
}

function countRules(text: string, chain: string): number {
  const [, body = ''] = new RegExp(`^ {2}chain ${chain} \\{\\n(.*?)\\n {2}\\}`, 'ms').exec(text) ?? [];
  return body.split('\n').filter(line => !/^\s*(#|type |$)/.test(line)).length;
}

function without(this: unknown, key: string, value: unknown): unknown {
  if (key === 'elem' && DYNAMIC.includes((this as { name?: unknown }).name)) return undefined;
  return key === 'handle' || key === 'packets' || key === 'bytes' ? undefined : value;
}
