// Checks whether a server stays reachable: WARP's own firewall, routing rules next to WARP's, and traffic that is forwarded.
import type { Message } from '../../api/values.ts';
import { formatAddress, parseRange } from '../../routes/ranges.ts';
import { sshPorts, sshSessions } from '../../routes/surroundings.ts';
import { DEFAULT_ROUTES } from '../../view/default-routes.ts';
import { N_ } from '../../view/translator.ts';
import { type Check, message, NoVerdict, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import {
  adminCommands,
  covers,
  excludeFix,
  INTERNET,
  isConnected,
  isOutsideTunnel,
  modeOf,
  modeWord,
  RECONNECT,
  routesTraffic,
  tunnelOf,
  vendorPage,
} from '../world/facts.ts';
import { WARP_TABLE, warpFirewall } from '../world/firewall.ts';
import { bridges, isOtherTunnel, type Link, links, routes, TUNNEL_LINK, tunnelLink } from '../world/ip.ts';
import {
  type DeclaredRule,
  declaredRules,
  isPresent,
  ownerOf,
  type PolicyRule,
  policyRules,
  ruleWords,
} from '../world/policy-rules.ts';
import { listeningOn, processesNamed } from '../world/sockets.ts';
import type { World } from '../world/world.ts';
import { rawJournalOf } from './machine.ts';

const EXCLUDE = 'culvert routes add ADDRESS';
const NO_SERVER = message('No SSH server listens here.');

export const inboundFirewall: Check = {
  id: 'inbound-firewall',
  title: N_('Connections to this machine through WARP’s firewall'),
  group: 'network',
  source: 'https://github.com/NixOS/nixpkgs/pull/168092',
  async probe(world) {
    if (!routesTraffic(modeOf(world))) return notApplicable(message('The mode is “%s”.', modeWord(modeOf(world))));
    const [networks, port] = await Promise.all([localNetworks(world), sshPort(world)]);
    const tunneled = excludable(
      world,
      networks.map(({ dst }) => dst),
    );
    const isSafe = port === null && tunneled.length === 0 && tunnelOf(world).splitTunnel.mode !== null;
    const outside = networks.map(({ dev, dst }) => message('%s: %s is outside the tunnel', dev, dst));
    // WARP is to let in what the split tunnel excludes; only root can see whether it does
    if (isSafe && process.getuid?.() !== 0) return ok(NO_SERVER, ...outside);
    const firewall = await warpFirewall(world).catch(error => {
      if (isSafe && error instanceof NoVerdict) return 'unreadable' as const;
      throw error;
    });
    if (isSafe && typeof firewall === 'string') return ok(NO_SERVER, ...outside);
    if (firewall === 'unreadable')
      return notApplicable(
        message('Only an administrator can read it: %s', 'sudo culvert doctor --only inbound-firewall'),
      );
    if (firewall === 'absent') return ok(message('WARP has no table “%s” now.', WARP_TABLE));
    const foreign = firewall.foreign.map(rule => message('not a rule of WARP: %s', rule));
    if (!firewall.drops) return ok(message('The table “%s” of WARP lets connections in.', WARP_TABLE), ...foreign);
    const seen = message(
      'The table “%s” of WARP drops connections from outside the tunnel, except from %d ranges.',
      WARP_TABLE,
      firewall.ranges.length,
    );
    const isDropped = (range: string) => !covers(firewall.ranges, range);
    const dropped = networks.filter(({ dst }) => isDropped(dst));
    const toExclude = excludable(
      world,
      dropped.map(({ dst }) => dst),
    );
    const isLost = toExclude.length === 0 && tunnelOf(world).splitTunnel.mode !== null;
    if (dropped.length > 0)
      return problem(
        [seen, ...dropped.map(({ dev, dst }) => message('%s: it drops the local network %s', dev, dst)), ...foreign],
        isLost
          ? message('Other machines of the local network can’t reach this one, although the network is excluded.')
          : message('Other machines of the local network can’t reach this one. Exclude the network from the tunnel.'),
        !isLost
          ? excludeFix(world, toExclude, message('Exclude the local network'))
          : isConnected(world)
            ? RECONNECT
            : null,
      );
    return judgeSsh(world, { evidence: [seen, ...foreign], isDropped, ranges: firewall.ranges, port });
  },
};

/** Returns the ports on which an SSH server accepts connections of other machines, as text; null without one. */
async function sshPort(world: World): Promise<string | null> {
  const ports = [...sshPorts(world.files.locate(''))];
  const sockets = (await Promise.all(ports.map(port => listeningOn(world, port)))).flat();
  const open = sockets.filter(({ protocol, address }) => protocol === 'tcp' && !/^127\.|^::1$/.test(address));
  return open.length === 0 ? null : [...new Set(open.map(each => each.port))].join(', ');
}

interface Inbound {
  evidence: Message[];
  isDropped(range: string): boolean;
  ranges: readonly string[];
  /** Ports of the SSH server, or null. */
  port: string | null;
}

/** Judges a firewall that lets the local network in, by the SSH server and its sessions. */
async function judgeSsh(world: World, { evidence, isDropped, ranges, port: ports }: Inbound) {
  if (ports === null) return ok(...evidence, NO_SERVER);
  const port = message('An SSH server listens on port %s.', ports);
  const inTunnel = new Set((await tunnelLink(world))?.addr_info.map(({ local }) => local));
  const sessions = sshSessions(world.files.locate('')).filter(({ local }) => !inTunnel.has(local));
  const peers = [...new Set(sessions.map(({ peer }) => peer))].filter(isDropped);
  if (peers.length > 0)
    return problem(
      [...evidence, port, ...peers.map(peer => message('an SSH session is open from %s, which it drops', peer))],
      message('A new SSH connection from there will get no answer. Exclude the address from the tunnel.'),
      excludeFix(world, excludable(world, peers), message('Exclude the addresses of open SSH sessions')),
    );
  const usual = new Set<string>(DEFAULT_ROUTES);
  const own = tunnelOf(world).splitTunnel.ips.filter(({ value }) => !usual.has(value) && covers(ranges, value));
  if (own.length > 0)
    return ok(...evidence, port, message('Also let in: %s', own.map(({ value }) => value).join(', ')));
  return notice(
    [...evidence, port],
    [
      message('SSH from the Internet gets no answer while the tunnel is connected.'),
      message('Exclude each address from which you need it: %s', EXCLUDE),
    ],
  );
}

/** Returns those of the ranges that go into the tunnel, once; none while the list is not known. */
function excludable(world: World, ranges: readonly string[]): string[] {
  if (tunnelOf(world).splitTunnel.mode === null) return [];
  return [...new Set(ranges)].filter(range => !isOutsideTunnel(world, range));
}

/** Private networks (RFC 1918, RFC 4193): a provider's public network is not the user's to exclude. */
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];

/** Returns the private networks of this machine's own links, without those of containers and VPNs. */
async function localNetworks(world: World): Promise<{ dev: string; dst: string }[]> {
  const [table, all, inside] = await Promise.all([routes(world), links(world), bridges(world)]);
  const others = new Set([...inside, ...all.filter(isOtherTunnel)].map(({ ifname }) => ifname));
  return table.flatMap(({ dev, dst, gateway, table: name, type }) => {
    const isOwn = dev && !others.has(dev) && dev !== 'lo' && dev !== TUNNEL_LINK;
    return isOwn && dst?.includes('/') && !gateway && !name && !type && covers(PRIVATE, dst) ? [{ dev, dst }] : [];
  });
}

export const ruleOrder: Check = {
  id: 'rule-order',
  title: N_('Routing rules of other programs'),
  group: 'network',
  source: vendorPage('configure/route-traffic/client-architecture/'),
  async probe(world) {
    if (!routesTraffic(modeOf(world))) return notApplicable(message('The mode is “%s”.', modeWord(modeOf(world))));
    if (!isConnected(world)) return notApplicable(message('The tunnel is not connected.'));
    const [all, declared] = await Promise.all([policyRules(world), declaredRules(world)]);
    const lost = declared.rules.filter(({ rule }) => !isPresent(rule, all));
    const late = all.filter(rule => ownerOf(rule) === 'other' && comesAfterWarp(rule, all));
    const intoWarp = declared.intoWarpTable;
    const owners = describeOwners(all.filter(rule => !late.includes(rule)));
    if (lost.length + late.length + intoWarp.length === 0)
      return ok(...(owners.length > 0 ? owners : [message('Only the system has routing rules.')]), ...declared.unread);
    const evidence = [
      ...lost.map(({ file, rule }) => message('%s sets the rule “%s”, which is not there', file, text(rule))),
      ...late.map(rule => message('the rule “%s” (%s) comes after WARP’s', text(rule), String(rule.priority))),
      ...intoWarp.map(file => message('%s adds rules to the table “%s” of WARP', file, WARP_TABLE)),
      ...owners,
      ...declared.unread,
    ];
    const moved = [...lost.map(({ rule }) => rule), ...late];
    const targets = moved.flatMap(({ to }) => to ?? []);
    const isByTarget = moved.length > 0 && targets.length === moved.length;
    const fix = isByTarget
      ? excludeFix(world, excludable(world, targets), message('Exclude the destinations of these rules'))
      : lost.length > 0 && !lost.some(({ isInScript }) => isInScript)
        ? setAgain(lost)
        : null;
    return notice(
      evidence,
      [
        ...(lost.length > 0 ? [message('Another program has removed a rule, or it was never set.')] : []),
        ...(late.length > 0 ? [message('A rule after WARP’s has no effect on what WARP routes.')] : []),
        message(
          'In public reports, WARP puts its routing rule first again and rewrites its table when it reconnects. Only what is excluded from the tunnel stays: %s',
          EXCLUDE,
        ),
      ],
      fix,
    );
  },
};

const text = (rule: PolicyRule) => ruleWords(rule).join(' ');

/** True for a rule that the kernel asks after WARP's. */
function comesAfterWarp({ family, priority }: PolicyRule, all: readonly PolicyRule[]): boolean {
  const own = all.find(rule => rule.family === family && ownerOf(rule) === 'WARP');
  return own !== undefined && (priority ?? 0) > (own.priority ?? 0);
}

/** Names the owner of each rule, in the kernel's order. */
function describeOwners(all: readonly PolicyRule[]): Message[] {
  return all.flatMap(rule => {
    const owner = ownerOf(rule);
    if (owner === 'system') return [];
    const words = quoted(`IPv${rule.family} ${rule.priority}: ${text(rule)}`);
    return [owner === 'other' ? words : message('%s has the rule “%s” (%s)', owner, text(rule), String(rule.priority))];
  });
}

/** Sets lost rules as they are declared. */
function setAgain(lost: readonly DeclaredRule[]) {
  const words = (verb: 'add' | 'del') =>
    lost.map(({ rule }) => [
      'ip',
      ...(rule.family === 6 ? ['-6'] : []),
      'rule',
      verb,
      ...ruleWords(rule),
      ...(rule.priority === null ? [] : ['priority', String(rule.priority)]),
    ]);
  return adminCommands(message('Set these rules again'), words('add'), { undo: words('del') });
}

const FORWARDING = '/proc/sys/net/ipv4/ip_forward';
const NOTHING_BEHIND = message('No network of others is behind this machine.');

export const forwardedTraffic: Check = {
  id: 'forwarded-traffic',
  title: N_('Traffic of containers, virtual machines and VPN clients'),
  group: 'network',
  source: vendorPage('troubleshooting/known-limitations/'),
  limitMs: 15_000,
  async probe(world) {
    if (!routesTraffic(modeOf(world))) return notApplicable(message('The mode is “%s”.', modeWord(modeOf(world))));
    if (!isConnected(world)) return notApplicable(message('The tunnel is not connected.'));
    const sources = await sourcesOf(world);
    if (sources.length === 0) return notApplicable(NOTHING_BEHIND);
    if ((await world.files.readText(FORWARDING))?.trim() === '0')
      return notApplicable(message('This machine forwards nothing (%s is 0).', FORWARDING));
    const all = await waysOf(world, sources);
    const ways = all.filter(({ isBridge, way }) => isBridge || way !== 'refused');
    if (ways.length === 0) return notApplicable(NOTHING_BEHIND);
    const isTunneled = ways.some(({ way }) => way === 'tunnel');
    const { lines, unread } = isTunneled ? await droppedSources(world) : NOTHING_DROPPED;
    const evidence = [...ways.map(describeWay), ...unread];
    const refused = ways.filter(({ way }) => way === 'refused');
    if (refused.length > 0) return problemOfRefused(world, refused, evidence);
    if (lines.length > 0)
      return problem(
        [
          ...lines.map(address => message('journal: WARP dropped packets with the source address %s', address)),
          ...evidence,
        ],
        WITH_OWN_ADDRESS,
        MASQUERADE,
      );
    const hasClients = ways.some(({ isBridge, way }) => !isBridge && way === 'tunnel');
    const isReplaced = hasClients && (await hasSourceNat(world));
    if (hasClients && isReplaced === false) return notice([...evidence, NOT_REPLACED], WITH_OWN_ADDRESS, MASQUERADE);
    if (isReplaced === null) evidence.push(UNREAD_NAT);
    if (isReplaced) evidence.push(message('The packet filter has rules that replace source addresses.'));
    const published = isTunneled ? await publishedPorts(world) : [];
    if (published.length === 0) return isReplaced === null ? { verdict: 'unknown', evidence } : ok(...evidence);
    return notice(
      [...evidence, message('ports that containers publish: %s', published.join(', '))],
      [
        message('Answers to clients on the Internet go into the tunnel, so they can’t reach these ports.'),
        message('Exclude each address from which you need it: %s', EXCLUDE),
      ],
    );
  },
};

interface Source {
  device: string;
  /** True for containers and virtual machines; a VPN's device may serve no clients. */
  isBridge: boolean;
  /** An address behind the device. */
  address: string;
}

/** Returns networks of containers, virtual machines and VPN clients, each with an address in it. */
async function sourcesOf(world: World): Promise<Source[]> {
  const [all, inside, table] = await Promise.all([links(world), bridges(world), routes(world)]);
  const behind = [...inside, ...all.filter(isOtherTunnel)];
  return behind.flatMap(link => {
    const address = addressBehind(link) ?? table.find(({ dev, dst }) => dev === link.ifname && isAddress(dst))?.dst;
    return address ? [{ device: link.ifname, isBridge: inside.includes(link), address }] : [];
  });
}

const isAddress = (text: string | undefined) => /^\d+\.\d+\.\d+\.\d+$/.test(text ?? '');

/** Returns another address in the link's IPv4 network, or null for a link without one. */
function addressBehind({ addr_info }: Link): string | null {
  const own = addr_info.find(({ family, prefixlen = 32 }) => family === 'inet' && prefixlen < 31);
  const [network, address] = [`${own?.local}/${own?.prefixlen}`, own?.local ?? ''].map(parseRange);
  if (typeof network !== 'object' || typeof address !== 'object') return null;
  const first = network.first + 1n;
  return formatAddress(4, first === address.first ? first + 1n : first);
}

interface Way extends Source {
  way: 'tunnel' | 'outside' | 'refused';
  /** The device, or the kernel's error. */
  said: string;
}

/** Asks the kernel where it would forward packets to the Internet. @throws NoVerdict */
async function waysOf(world: World, sources: readonly Source[]): Promise<Way[]> {
  const queries = sources.map(({ device, address }) => `route get ${INTERNET} from ${address} iif ${device}\n`);
  const run = (input: string) => world.tools.run('ip', ['-o', '-batch', '-'], { input });
  const all = await run(queries.join(''));
  const lines = all.stdout.trim().split('\n');
  if (all.exitCode === 0 && lines.length === sources.length)
    return sources.map((source, at) => wayIn(source, lines[at]!));
  // an answer is missing, so each of several is asked for alone
  const alone = sources.length === 1 ? [all] : await Promise.all(queries.map(run));
  return sources.map((source, at): Way => {
    const { exitCode, stdout, stderr } = alone[at]!;
    if (exitCode === 0) return wayIn(source, stdout);
    const said = /RTNETLINK answers: (.*)/.exec(stderr)?.[1] ?? stderr.trim();
    return { ...source, way: 'refused', said };
  });
}

/** Reads a line of `ip -o route get`. @throws NoVerdict */
function wayIn(source: Source, line: string): Way {
  const device = /\bdev (\S+)/.exec(line)?.[1];
  if (!device) throw new NoVerdict(message('The output of %s was not understood.', 'ip route get'));
  return { ...source, way: device === TUNNEL_LINK ? 'tunnel' : 'outside', said: device };
}

function describeWay({ device, address, way, said }: Way): Message {
  if (way === 'refused') return message('%s: the kernel does not forward packets of %s: %s', device, address, said);
  return way === 'tunnel'
    ? message('%s: what it sends to the Internet goes into the tunnel', device)
    : message('%s: what it sends to the Internet leaves by %s', device, said);
}

const reversePath = (device: string) => `/proc/sys/net/ipv4/conf/${device}/rp_filter`;

/** Returns the filter for the reverse path of a device; it is strict if the larger of two values is 1 (ip-sysctl). */
async function filterOf({ files }: World, device: string): Promise<{ device: string; own: string; isStrict: boolean }> {
  const read = async (name: string) => (await files.readText(reversePath(name)).catch(() => null))?.trim() ?? '';
  const [own, all] = await Promise.all([read(device), read('all')]);
  return { device, own, isStrict: Math.max(Number(own), Number(all)) === 1 };
}

async function problemOfRefused(world: World, refused: readonly Way[], evidence: Message[]) {
  const filters = await Promise.all(refused.map(({ device }) => filterOf(world, device)));
  const strict = filters.filter(({ isStrict }) => isStrict);
  if (strict.length === 0)
    return problem(
      evidence,
      message('The kernel refuses to forward these packets. Look at its routes: %s', 'ip route'),
    );
  // with slashes, because the name of a device may have dots (sysctl(8))
  const set = (device: string, value: string) => ['sysctl', '-w', `net/ipv4/conf/${device}/rp_filter=${value}`];
  const isKnown = strict.every(({ own }) => own !== '');
  return problem(
    [...evidence, ...strict.map(({ device }) => message('%s: the filter for the reverse path is strict', device))],
    message('The filter for the reverse path drops them, because answers would take another way. Make it loose.'),
    adminCommands(
      message('Make the filter for the reverse path loose'),
      strict.map(({ device }) => set(device, '2')),
      { undo: isKnown ? strict.map(({ device, own }) => set(device, own)) : [] },
    ),
  );
}

/** Before the usual priority of source NAT (100), so that a fixed address of another rule does not come first. */
const NAT_TABLE = 'culvert-forwarded';
const MASQUERADE = adminCommands(
  message('Masquerade what is forwarded into the tunnel'),
  [
    ['nft', `add table ip ${NAT_TABLE}`],
    ['nft', `add chain ip ${NAT_TABLE} postrouting { type nat hook postrouting priority 90; }`],
    ['nft', `add rule ip ${NAT_TABLE} postrouting oifname "${TUNNEL_LINK}" masquerade`],
  ],
  { undo: [['nft', `delete table ip ${NAT_TABLE}`]] },
);

const WITH_OWN_ADDRESS = message(
  'WARP carries only packets with its own address. Give forwarded packets this address (masquerading) where they enter the tunnel.',
);
const NOT_REPLACED = message('No rule of the packet filter replaces the source addresses of these packets.');
const UNREAD_NAT = message(
  'Only an administrator can see whether their source addresses are replaced: %s',
  'sudo culvert doctor --only forwarded-traffic',
);

/** True if any rule replaces source addresses, and null if not all rules can be read. A container engine sets its own rules. */
async function hasSourceNat({ tools, files }: World): Promise<boolean | null> {
  const listed = await tools.run('nft', ['list', 'ruleset'], { mebibytes: 4 }).catch(() => null);
  if (listed?.exitCode !== 0) return null;
  if (/\b(masquerade|snat)\b/i.test(listed.stdout)) return true;
  // tables of the old iptables, which nft does not list
  const old = await files.readText('/proc/net/ip_tables_names').catch(() => 'nat');
  return old?.split('\n').includes('nat') ? null : false;
}

/** Message of warp-svc about a packet with another source address (github.com/Nyr/openvpn-install/issues/1040, 2023-04). */
const MARTIAN = /Dropping martian, tun should not have seen this src_addr=([\da-f.:]+)/i;

/** True if Culvert's fix is in effect; only root may ask. */
async function isMasqueraded({ tools }: World): Promise<boolean> {
  const asked = await tools.run('nft', ['list', 'table', 'ip', NAT_TABLE]).catch(() => null);
  return asked?.exitCode === 0;
}

/** Age up to which a dropped packet counts. */
const RECENT_MS = 10 * 60_000;

interface Dropped {
  lines: string[];
  unread: Message[];
}
const NOTHING_DROPPED: Dropped = { lines: [], unread: [] };

async function droppedSources(world: World): Promise<Dropped> {
  try {
    const lines = (await rawJournalOf(world)).filter(({ at }) => at === null || world.now() - at <= RECENT_MS);
    const found = lines.flatMap(({ text }) => MARTIAN.exec(text)?.[1] ?? []);
    // the lines may be older than the fix
    if (found.length > 0 && (await isMasqueraded(world))) return NOTHING_DROPPED;
    return { lines: [...new Set(found)].slice(0, 4), unread: [] };
  } catch (error) {
    if (!(error instanceof NoVerdict)) throw error;
    return {
      lines: [],
      unread: [message('The journal of WARP can’t be read, so packets that WARP dropped are not known.')],
    };
  }
}

/** Returns the ports that Docker publishes to other machines: docker-proxy has them in its command line. */
async function publishedPorts(world: World): Promise<string[]> {
  const pids = await processesNamed(world, 'docker-proxy');
  const lines = await Promise.all(pids.map(pid => world.files.readText(`/proc/${pid}/cmdline`).catch(() => null)));
  const ports = lines.flatMap(line => {
    const words = line?.split('\0') ?? [];
    const after = (name: string) => words[words.indexOf(name) + 1] ?? '';
    const isLocal = /^127\.|^::1$/.test(after('-host-ip'));
    return words.includes('-host-port') && !isLocal ? [after('-host-port')] : [];
  });
  return [...new Set(ports)].sort((a, b) => Number(a) - Number(b));
}
