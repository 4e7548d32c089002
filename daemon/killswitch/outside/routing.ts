// Pure: reads what `ip -j` prints of rules and routes.
import { NETWORK, NETWORK_6, numberOf } from './addresses.ts';

export interface Rule {
  priority: number;
  /** Words that name a rule of ours to `ip rule`; null for a foreign rule. */
  ours: string[] | null;
}

type Json = Readonly<Record<string, unknown>>;

/** Every rule but that of the local table, in the order in which the kernel asks them. @throws Error where it is no such list */
export function parseRules(text: string): Rule[] {
  return list(text).flatMap((item): Rule[] => {
    const { priority, iif, dst, dstlen, table, fwmark } = item;
    if (typeof priority !== 'number') throw new Error('a rule has no priority');
    if (priority === 0 && table === 'local') return [];
    const isPlain = table === 'main' && item.not === undefined && fwmark === undefined;
    const to = `${dst}/${dstlen}`;
    if (isPlain && typeof iif === 'string' && numberOf(iif) !== null) return [{ priority, ours: ['iif', iif] }];
    if (isPlain && (to === NETWORK || to === NETWORK_6)) return [{ priority, ours: ['to', to] }];
    return [{ priority, ours: null }];
  });
}

/**
 * Changes that bring the rules to what is wanted, each once and all of them before foreign rules: the rules to delete, and the priority to
 * add at, with those to add. The kernel puts a rule that names no priority right before the first one, so others pass ours again and again.
 * @param wanted words of each rule
 */
export function planRules(
  rules: readonly Rule[],
  wanted: readonly string[][],
): { remove: string[][]; add: string[][]; priority: number } {
  const first = rules.findIndex(({ ours }) => !ours);
  const limit = rules[first]?.priority ?? 32766;
  const isKept = (words: readonly string[], index: number) =>
    (first < 0 || index < first) &&
    wanted.some(other => same(other, words)) &&
    rules.findIndex(({ ours }) => ours && same(ours, words)) === index;
  const kept = rules.flatMap(({ ours }, index) => (ours && isKept(ours, index) ? [ours] : []));
  return {
    remove: rules.flatMap(({ ours, priority }, index) =>
      ours && !isKept(ours, index) ? [[...ours, 'priority', String(priority)]] : [],
    ),
    add: wanted.filter(words => !kept.some(other => same(other, words))),
    priority: Math.max(0, limit - 1),
  };
}

/** The device of the best default route, and its router; null without such a route. @throws Error where it is no list of routes */
export function parseDefaultRoute(
  text: string,
  excluded: readonly string[],
): { device: string; router: string | null } | null {
  const routes = list(text).flatMap(({ dev, gateway, metric, flags, nexthops, type }) => {
    const [hop] = Array.isArray(nexthops) ? (nexthops as Json[]) : [];
    const device = dev ?? hop?.dev;
    const isDown = Array.isArray(flags) && (flags.includes('linkdown') || flags.includes('dead'));
    if (typeof device !== 'string' || isDown || (type !== undefined && type !== 'unicast')) return [];
    if (excluded.includes(device) || device === 'lo' || numberOf(device) !== null) return [];
    const router = gateway ?? hop?.gateway;
    return [{ device, router: typeof router === 'string' ? router : null, metric: Number(metric ?? 0) }];
  });
  const [best] = routes.sort((a, b) => a.metric - b.metric);
  return best ? { device: best.device, router: best.router } : null;
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => word === b[index]);
}

function list(text: string): Json[] {
  const value: unknown = text.trim() === '' ? [] : JSON.parse(text);
  if (!Array.isArray(value)) throw new Error('ip printed no list');
  return value as Json[];
}
