// Forwards the packets of links to the uplink: keeps forwarding, packet filter and routing rules in step with the links.
import type { OutsideRules, Uplink } from './rules/outside.ts';
import { addressesOf, NETWORK, NETWORK_6, numberOf } from './rules/place.ts';
import { createTable, type Kernel } from './table.ts';

type Family = 4 | 6;

/** Default routes past the tunnel, by address family; null without a route. */
type Uplinks = Record<Family, { device: string; mtu: number; resolver: string | null } | null>;

/** The process that a link was made for. */
export interface Owner {
  uid: number;
  pid: number;
  startTime: string;
}

export interface PassageEdges {
  /** The existing links, by number; null for an unfinished link. */
  links(): ReadonlyMap<number, Owner | null>;
  kernel: Kernel<OutsideRules>;
  rules(family: Family): Promise<Rule[]>;
  addRule(family: Family, words: readonly string[], priority: number): Promise<void>;
  removeRule(family: Family, words: readonly string[]): Promise<void>;
  /** Returns the device, MTU and resolver of the default route past the tunnel; null without a route. */
  uplink(family: Family): Promise<Uplinks[Family]>;
  /** Turns on forwarding from devices. @returns true if only this service turned it on for the first device; null: impossible */
  forward(family: Family, devices: readonly string[]): boolean | null;
  /** Turns off the forwarding that `forward` turned on, except for these devices of each family. */
  stopForwarding(but: Record<Family, readonly string[]>): void;
  /** Remembers, also for a later service, whether there may be something to remove. */
  remember(on: boolean): void;
  /** Turns on or off the calls of `check` that follow changes of links, routes or rules. */
  watch(on: boolean): void;
}

/** Calls of the returned functions must not overlap. */
export function createPassage(edges: PassageEdges) {
  const table = createTable(edges.kernel);
  let outer: string[] = [];

  async function open(found: Uplinks): Promise<OutsideRules['uplinks']> {
    edges.remember(true);
    edges.watch(true);
    const links = [...edges.links().keys()].sort((a, b) => a - b);
    const devices = links.map(number => addressesOf(number).device);
    const uplinkOf = (family: Family): Uplink | null => {
      const uplink = found[family];
      const guarded = uplink && edges.forward(family, [uplink.device, ...devices]);
      return guarded === null ? null : { ...uplink!, guarded };
    };
    const uplinks = { 4: uplinkOf(4), 6: uplinkOf(6) };
    const devicesOf = (family: Family) => uplinks[family]?.device ?? [];
    outer = [devicesOf(4), devicesOf(6)].flat();
    await table.keep({ links, uplinks });
    await route(4, [...devices.map(device => ['iif', device]), ['to', NETWORK]]);
    await route(6, [...devices.map(device => ['iif', device]), ['to', NETWORK_6]]);
    edges.stopForwarding({ 4: devices.concat(devicesOf(4)), 6: devices.concat(devicesOf(6)) });
    return uplinks;
  }

  async function route(family: Family, wanted: readonly string[][]): Promise<void> {
    const { add, remove, priority } = planRules(await edges.rules(family), wanted);
    for (const words of add) await edges.addRule(family, words, priority);
    for (const words of remove) await edges.removeRule(family, words);
  }

  async function close(): Promise<void> {
    edges.watch(false);
    table.release();
    edges.stopForwarding({ 4: [], 6: [] });
    for (const family of [4, 6] as const) await route(family, []);
    await table.remove(); // forwarding is off by now
    edges.remember(false);
  }

  return {
    uplinks: async (): Promise<Uplinks> => ({ 4: await edges.uplink(4), 6: await edges.uplink(6) }),
    /** Opens the passage for all links. @returns the uplinks that packets are forwarded to. @throws Error */
    open,
    /** @throws Error */
    close,
    isOpen: () => table.inForce() !== null,
    /** Devices that lead outside the tunnel. */
    devices: (): readonly string[] => outer,
  };
}

interface Rule {
  priority: number;
  /** Words that name this service's rule to `ip rule`; null for a foreign rule. */
  ours: string[] | null;
}

type Json = Readonly<Record<string, unknown>>;

/** Parses all rules except the local table's, in the kernel's order. @throws Error unless the text is a list of rules */
export function parseRoutingRules(text: string): Rule[] {
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
 * Plans the changes that establish the wanted rules, each once and before all foreign rules: the rules to delete, the rules to
 * add, and the priority of added rules. The kernel puts a rule without a priority right before the first rule, so foreign rules
 * pass ours again and again.
 * @param wanted words of each rule
 */
function planRules(
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

/**
 * Returns the device and router of the best default route; null without a route. @throws Error unless the text is a list of
 * routes
 */
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
