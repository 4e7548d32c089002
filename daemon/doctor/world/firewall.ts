// Reads the table that WARP keeps in the packet filter: what it lets in, and rules that others put there.
import * as z from 'zod/mini';
import { parseRange, prefixes } from '../../routes/ranges.ts';
import { message } from '../../view/message.ts';
import { NoVerdict } from '../errors.ts';
import { TUNNEL_LINK } from './ip.ts';
import type { World } from './world.ts';

/** Family and name of the table (github.com/NixOS/nixpkgs/pull/168092, 2022-06; the same in reports of 2026). */
export const WARP_TABLE = 'inet cloudflare-warp';

/** Effect of WARP's table on new packets to this machine. */
interface Firewall {
  /** True if it drops or rejects what no rule accepts. */
  drops: boolean;
  /** Ranges and addresses that may send anything. */
  ranges: string[];
  /** Accepting rules that WARP does not write, in words of nft: by port, mark, or another device. */
  foreign: string[];
}

const Chain = z.object({ name: z.string(), hook: z.optional(z.string()), policy: z.optional(z.string()) });
const Rule = z.object({ chain: z.string(), expr: z._default(z.array(z.record(z.string(), z.unknown())), []) });
const NftSet = z.object({ name: z.string(), elem: z.optional(z.array(z.unknown())) });
const Listing = z.object({
  nftables: z.array(
    z.object({
      chain: z.optional(Chain),
      rule: z.optional(Rule),
      set: z.optional(NftSet),
    }),
  ),
});
type Rule = z.infer<typeof Rule>;

/**
 * Returns WARP's firewall, `absent` without its table, or `unreadable` for a user who may not list tables.
 * @throws NoVerdict if nft is missing, or its output is not understood
 */
export function warpFirewall(world: World): Promise<Firewall | 'absent' | 'unreadable'> {
  return world.once('warp-firewall', async () => {
    const words = ['-j', 'list', 'table', ...WARP_TABLE.split(' ')];
    const { exitCode, stdout, stderr } = await world.tools.run('nft', words, { mebibytes: 4 });
    if (exitCode === 0) return firewallOf(stdout);
    if (/no such file/i.test(stderr)) return 'absent';
    if (/not permitted|permission denied|must be root/i.test(stderr)) return 'unreadable';
    throw new NoVerdict(message('%s failed: %s', `nft list table ${WARP_TABLE}`, stderr.trim().split('\n')[0] ?? ''));
  });
}

/** Reads the output of `nft -j list table`. @throws NoVerdict */
function firewallOf(text: string): Firewall {
  let objects: z.infer<typeof Listing>['nftables'];
  try {
    objects = z.parse(Listing, JSON.parse(text)).nftables;
  } catch (error) {
    throw new NoVerdict(message('The output of %s was not understood.', `nft list table ${WARP_TABLE}`), error);
  }
  const input = objects.flatMap(({ chain }) => chain ?? []).find(({ hook }) => hook === 'input');
  const sets = new Map(objects.flatMap(({ set }) => (set ? [[set.name, set.elem ?? []] as const] : [])));
  const rules = objects.flatMap(({ rule }) => (rule && rule.chain === input?.name ? [rule] : []));
  const end = rules.at(-1)?.expr ?? [];
  const endsWithDrop = end.length > 0 && end.every(part => 'drop' in part || 'reject' in part || 'counter' in part);
  const accepting = rules.filter(({ expr }) => expr.some(part => 'accept' in part)).map(rule => matchesOf(rule));
  return {
    drops: input?.policy === 'drop' || endsWithDrop,
    ranges: accepting.flatMap(matches => (matches.length === 1 ? rangesIn(matches[0]!, sets) : [])),
    foreign: accepting
      .filter(isForeign)
      .map(matches => matches.map(({ key, right }) => `${key} ${wordOf(right)}`).join(' ')),
  };
}

interface Match {
  /** The left side, as `ip saddr`, `iifname` or `ct mark`. */
  key: string;
  right: unknown;
}

const Left = z.union([
  z.object({ payload: z.object({ protocol: z.string(), field: z.string() }) }),
  z.object({ meta: z.object({ key: z.string() }) }),
  z.object({ ct: z.object({ key: z.string() }) }),
]);
const Matching = z.object({ op: z.optional(z.string()), left: z.unknown(), right: z.unknown() });

function matchesOf({ expr }: Rule): Match[] {
  return expr.flatMap(({ match }) => {
    const { data } = z.safeParse(Matching, match);
    if (!data) return [];
    // a negated match never counts as a range that may send anything
    const negated = data.op === '!=' ? '!= ' : '';
    return [{ key: `${negated}${keyOf(data.left)}`, right: data.right }];
  });
}

function keyOf(left: unknown): string {
  const { data } = z.safeParse(Left, left);
  if (!data) return '?';
  if ('payload' in data) return `${data.payload.protocol} ${data.payload.field}`;
  return 'ct' in data ? `ct ${data.ct.key}` : data.meta.key;
}

const SOURCES = new Set(['ip saddr', 'ip6 saddr']);
/** Devices in WARP's own rules. */
const OWN_DEVICES = new Set(['lo', TUNNEL_LINK]);

/** True for a rule with a mark, another device, or a port of this machine and no source: WARP writes none of these. */
function isForeign(matches: readonly Match[]): boolean {
  const has = (pattern: RegExp) => matches.some(({ key }) => pattern.test(key));
  if (has(/^(ct mark|mark)$/)) return true;
  const device = matches.find(({ key }) => key === 'iifname' || key === 'iif');
  if (device) return typeof device.right === 'string' && !OWN_DEVICES.has(device.right);
  return has(/ dport$/) && !has(/ (saddr|sport)$/);
}

/** Returns the ranges of a match by source: an address, a prefix, a range, or a set of them. */
function rangesIn({ key, right }: Match, sets: ReadonlyMap<string, readonly unknown[]>): string[] {
  if (!SOURCES.has(key)) return [];
  const named = typeof right === 'string' && right.startsWith('@') ? sets.get(right.slice(1)) : undefined;
  const { data: literal } = z.safeParse(z.object({ set: z.array(z.unknown()) }), right);
  return (named ?? literal?.set ?? [right]).flatMap(rangeOf);
}

const Prefix = z.object({ prefix: z.object({ addr: z.string(), len: z.int() }) });
const Span = z.object({ range: z.tuple([z.string(), z.string()]) });

function rangeOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  const prefix = z.safeParse(Prefix, value).data?.prefix;
  if (prefix) return [`${prefix.addr}/${prefix.len}`];
  const span = z.safeParse(Span, value).data?.range;
  const range = span && parseRange(span.join('-'));
  return range && typeof range !== 'string' ? prefixes(range) : [];
}

function wordOf(right: unknown): string {
  return typeof right === 'string' || typeof right === 'number' ? String(right) : JSON.stringify(right);
}
