// Names the owners of policy-routing rules, and reads rules that the machine's configuration declares.
import type { Message } from '../../api/values.ts';
import { message } from '../../view/message.ts';
import { rules, TUNNEL_TABLE } from './ip.ts';
import type { World } from './world.ts';

/** A rule, with each part in one form, so that rules can be compared. */
export interface PolicyRule {
  family: 4 | 6;
  priority: number | null;
  not: boolean;
  from: string | null;
  to: string | null;
  /** `0x100cf`, or `0x80000/0xff0000`. */
  fwmark: string | null;
  iif: string | null;
  oif: string | null;
  /** Number or name of the table; null for a rule that only drops. */
  table: string | null;
}

type RuleOwner = 'system' | 'WARP' | 'Tailscale' | 'WireGuard' | 'Mullvad' | 'NordVPN' | 'sing-box' | 'other';

/**
 * Owners by table and mark. Tailscale: wgengine/router, table 52 and mark 0x80000. Mullvad: talpid-routing, 0x6d6f6c65.
 * NordVPN: mark 0xe1f1 and table 205. sing-box: route/auto_route, table 2022. All read in their public sources, 2026-11.
 */
const OWNERS: readonly [RuleOwner, (rule: PolicyRule) => boolean][] = [
  ['WARP', ({ table }) => table === TUNNEL_TABLE],
  ['Tailscale', ({ table, fwmark }) => table === '52' || fwmark === '0x80000/0xff0000'],
  ['Mullvad', ({ table, fwmark }) => table === '1836018789' || fwmark === '0x6d6f6c65'],
  ['NordVPN', ({ table, fwmark }) => table === '205' || fwmark === '0xe1f1'],
  ['sing-box', ({ table }) => table === '2022'],
  // wg-quick(8) and NetworkManager use one number as mark and as table
  [
    'WireGuard',
    ({ not, table, fwmark }) => not && fwmark !== null && table !== null && Number(fwmark) === Number(table),
  ],
  [
    'system',
    ({ table, from, to, fwmark, iif, oif }) => isPlain({ from, to, fwmark, iif, oif }) && SYSTEM.has(table ?? ''),
  ],
];
const SYSTEM = new Set(['local', 'main', 'default']);

function isPlain(rule: Pick<PolicyRule, 'from' | 'to' | 'fwmark' | 'iif' | 'oif'>): boolean {
  return Object.values(rule).every(part => part === null);
}

export function ownerOf(rule: PolicyRule): RuleOwner {
  return OWNERS.find(([, owns]) => owns(rule))?.[0] ?? 'other';
}

/** Returns the kernel's rules of both families, in the order in which it asks them. @throws NoVerdict */
export async function policyRules(world: World): Promise<PolicyRule[]> {
  const all = (await rules(world)).map(({ family, rule }) => {
    const text = (name: string) => (rule[name] === undefined || rule[name] === null ? null : String(rule[name]));
    const address = (name: 'src' | 'dst') => {
      const value = text(name);
      if (value === null || value === 'all') return null;
      const length = text(`${name}len`);
      return plainAddress(length === null ? value : `${value}/${length}`);
    };
    const [mark, mask] = [text('fwmark'), text('fwmask')];
    return {
      family,
      priority: Number(text('priority') ?? 0),
      not: 'not' in rule,
      from: address('src'),
      to: address('dst'),
      fwmark: mark === null ? null : markOf(mask === null ? mark : `${mark}/${mask}`),
      iif: text('iif'),
      oif: text('oif'),
      table: text('table'),
    };
  });
  return all.sort((a, b) => a.family - b.family || (a.priority ?? 0) - (b.priority ?? 0));
}

/** Removes the length of a single address, which `ip` does not print. */
function plainAddress(text: string): string {
  return text.replace(/^([\d.]+)\/32$|^([\da-f:]+)\/128$/i, '$1$2').toLowerCase();
}

function markOf(text: string): string {
  const [mark = '', mask] = text.split('/').map(part => `0x${Number(part).toString(16)}`);
  return mask === undefined || mask === '0xffffffff' ? mark : `${mark}/${mask}`;
}

/** Returns a rule as `ip rule` prints it, without its priority. */
export function ruleWords({ not, from, to, fwmark, iif, oif, table }: PolicyRule): string[] {
  return [
    ...(not ? ['not'] : []),
    'from',
    from ?? 'all',
    ...(to === null ? [] : ['to', to]),
    ...(fwmark === null ? [] : ['fwmark', fwmark]),
    ...(iif === null ? [] : ['iif', iif]),
    ...(oif === null ? [] : ['oif', oif]),
    ...(table === null ? [] : ['lookup', table]),
  ];
}

/** True if the kernel has a declared rule; without a declared priority, with any. */
export function isPresent(declared: PolicyRule, present: readonly PolicyRule[]): boolean {
  const words = ruleWords(declared).join(' ');
  return present.some(
    rule =>
      rule.family === declared.family &&
      (declared.priority === null || declared.priority === rule.priority) &&
      ruleWords(rule).join(' ') === words,
  );
}

export interface DeclaredRule {
  file: string;
  /** True for a line of a script, which may run it under a condition only. */
  isInScript: boolean;
  rule: PolicyRule;
}

interface Declared {
  rules: DeclaredRule[];
  /** Files with commands that add rules to WARP's own table of the packet filter. */
  intoWarpTable: string[];
  /** Files that this user may not read. */
  unread: Message[];
}

/** Returns rules of systemd-networkd, of enabled units and their scripts, and of ifupdown. Leaves out those with shell variables. */
export function declaredRules(world: World): Promise<Declared> {
  return world.once('declared-rules', async () => {
    const { files } = world;
    const declared: Declared = { rules: [], intoWarpTable: [], unread: [] };
    const names = tableNames(await tablesText(world));
    const read = async (file: string) => {
      const text = await files.readText(file).catch(() => undefined);
      if (text === undefined) declared.unread.push(message('You may not read %s.', file));
      return text ?? '';
    };
    const keep = (file: string, text: string, found: readonly PolicyRule[], isInScript = false) => {
      for (const rule of found) {
        const table = names.get(rule.table ?? '') ?? rule.table ?? 'main';
        declared.rules.push({ file, rule: { ...rule, table }, isInScript });
      }
      if (INTO_WARP.test(text)) declared.intoWarpTable.push(file);
    };
    for (const directory of ['/etc/systemd/network', '/run/systemd/network'])
      for (const name of (await files.list(directory)).filter(each => each.endsWith('.network'))) {
        const text = await read(`${directory}/${name}`);
        keep(`${directory}/${name}`, '', networkdRules(text));
      }
    for (const name of await enabledUnits(world)) {
      const lines = commandLines(await read(`/etc/systemd/system/${name}`), UNIT);
      keep(`/etc/systemd/system/${name}`, lines, ruleCommands(lines));
      for (const script of scriptsIn(lines)) {
        const text = (await files.readText(script).catch(() => null)) ?? '';
        if (text.startsWith('#!')) keep(script, text, ruleCommands(text), true);
      }
    }
    const drops = (await files.list('/etc/network/interfaces.d')).map(name => `interfaces.d/${name}`);
    if (await files.stat('/etc/network/interfaces'))
      for (const name of ['interfaces', ...drops]) {
        const lines = commandLines(await read(`/etc/network/${name}`), IFUPDOWN);
        keep(`/etc/network/${name}`, lines, ruleCommands(lines));
      }
    return declared;
  });
}

/** Returns the units in /etc/systemd/system that a target wants. */
async function enabledUnits({ files }: World): Promise<string[]> {
  const names = await files.list('/etc/systemd/system');
  const wanted = await Promise.all(
    names.filter(name => /\.(wants|requires)$/.test(name)).map(name => files.list(`/etc/systemd/system/${name}`)),
  );
  const enabled = new Set(wanted.flat());
  return names.filter(name => name.endsWith('.service') && enabled.has(name));
}

/** Returns the names of tables: of the distribution, then those of this machine (ip-route(8)). */
async function tablesText({ files }: World): Promise<string> {
  const drops = (await files.list(TABLES_D)).filter(name => name.endsWith('.conf')).map(name => `${TABLES_D}/${name}`);
  const all = ['/usr/share/iproute2/rt_tables', '/etc/iproute2/rt_tables', ...drops.sort()];
  const texts = await Promise.all(all.map(file => files.readText(file).catch(() => null)));
  return texts.map(text => text ?? '').join('\n');
}
const TABLES_D = '/etc/iproute2/rt_tables.d';

/** Maps numbers to names, which `ip` prints for the tables in rt_tables. */
function tableNames(text: string): Map<string, string> {
  const named = [...text.matchAll(/^[ \t]*(\d+)[ \t]+(\S+)/gm)].map(([, number, name]) => [number!, name!] as const);
  return new Map([['253', 'default'], ['254', 'main'], ['255', 'local'], ...named]);
}

const UNIT = /^ExecStart(?:Pre|Post)?=[-@:+!]*(.*)$/gm;
const IFUPDOWN = /^\s*(?:up|post-up|pre-up)\s+(.*)$/gm;
const INTO_WARP = /^[^#\n]*\bnft\b.*\b(?:add|insert)\s+rule\s+inet\s+cloudflare-warp\b/m;
/** A command on a separate line. A command after a condition, in quotes or in a comment may never run. */
const COMMAND = /^[ \t]*(?:\/\S*\/)?ip[ \t]+(?:-(4|6)[ \t]+)?rule[ \t]+add[ \t]+([^;&|"'$#\n]+)(\$)?/gm;

function commandLines(text: string, pattern: RegExp): string {
  return [...text.matchAll(pattern)].map(([, line]) => line).join('\n');
}

/** Returns the paths in command lines, one of which may be a script. */
function scriptsIn(lines: string): string[] {
  const paths = [...lines.matchAll(/(?:^|\s)(\/(?:etc|opt|root|srv|usr\/local|home|var)\/[\w./@-]+)/g)];
  return [...new Set(paths.map(([, path]) => path!))];
}

/** Returns the rules that `ip rule add` makes in a text. */
function ruleCommands(text: string): PolicyRule[] {
  return [...text.matchAll(COMMAND)].flatMap(([, family, words = '', variable]) => {
    const plain = words.replace(/\d?>\s*\S+/g, '').trim();
    const rule = variable ? null : parseRule(plain.split(/\s+/), family === '6' ? 6 : 4);
    return rule ? [rule] : [];
  });
}

/** Words of ip-rule(8), and the part of a rule that each sets. */
const PARTS: Record<string, keyof PolicyRule> = {
  from: 'from',
  to: 'to',
  fwmark: 'fwmark',
  iif: 'iif',
  dev: 'iif',
  oif: 'oif',
  table: 'table',
  lookup: 'table',
  pref: 'priority',
  preference: 'priority',
  priority: 'priority',
  order: 'priority',
};

/** Reads the words after `ip rule add`. Returns null for words that are not compared here. */
function parseRule(words: readonly string[], family: 4 | 6): PolicyRule | null {
  const rule = emptyRule(family);
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    const part = PARTS[word];
    const value = words[at + 1];
    if (word === 'not') rule.not = true;
    else if (!part || value === undefined) return null;
    else {
      setPart(rule, part, value);
      at++;
    }
  }
  return rule;
}

function emptyRule(family: 4 | 6): PolicyRule {
  return { family, priority: null, not: false, from: null, to: null, fwmark: null, iif: null, oif: null, table: null };
}

function setPart(rule: PolicyRule, part: keyof PolicyRule, value: string): void {
  if (part === 'priority') rule.priority = Number(value);
  else if (part === 'fwmark') rule.fwmark = markOf(value);
  else if (part === 'from' || part === 'to') rule[part] = value === 'all' ? null : plainAddress(value);
  else if (part === 'iif' || part === 'oif' || part === 'table') rule[part] = value;
  if (value.includes(':') && (part === 'from' || part === 'to')) rule.family = 6;
}

/** Keys of [RoutingPolicyRule] in systemd.network(5). */
const KEYS: Record<string, keyof PolicyRule> = {
  From: 'from',
  To: 'to',
  FirewallMark: 'fwmark',
  IncomingInterface: 'iif',
  OutgoingInterface: 'oif',
  Table: 'table',
  Priority: 'priority',
};

function networkdRules(text: string): PolicyRule[] {
  const sections = text.split(/^[ \t]*\[/m).filter(section => section.startsWith('RoutingPolicyRule]'));
  return sections.flatMap(section => {
    const rule = emptyRule(/^\s*Family\s*=\s*ipv6/im.test(section) ? 6 : 4);
    for (const [, key = '', value = ''] of section.matchAll(/^[ \t]*(\w+)[ \t]*=[ \t]*(\S+)[ \t]*$/gm)) {
      const part = KEYS[key];
      if (part) setPart(rule, part, value);
      else if (key === 'InvertRule') rule.not = /^(yes|true|1|on)$/i.test(value);
      else if (key !== 'Family') return []; // a condition that is not compared here
    }
    return [rule];
  });
}
