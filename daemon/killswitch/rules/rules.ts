// Renders the kill switch's nftables table as one transaction. Pure.
import { type Cidr, contains, type Endpoint, isEndpointPort, parseCidr } from './endpoints.ts';
import { TUNNEL_INTERFACES } from './place.ts';

export interface RuleOptions {
  /** Leaves private, link-local and multicast addresses reachable, except for DNS. */
  allowLan: boolean;
  /** Destinations outside the tunnel, for root alone. */
  endpoints: readonly Endpoint[];
  /** Names, not indexes, so that the rules hold while an interface comes and goes. */
  tunnelInterfaces?: readonly string[];
  /** Flags of the table (nft 1.1 and Linux 6.9 have both). */
  flags?: readonly ('owner' | 'persist')[];
}

export const TABLE = 'culvert';
/** ARPHRD_NONE (linux/if_arp.h), the type of TUN and WireGuard devices: a bridge or macvlan of that name is not a tunnel. */
export const TUNNEL_TYPE = 65534;
/** Base chains, each with its policy for packets that match no rule. */
export const CHAINS = {
  input: 'drop',
  forward: 'drop',
  output: 'drop',
  postrouting: 'drop',
  prerouting: 'accept',
} as const;

/** Set of the addresses on the link that asked for an address of this machine. */
export const ASKERS = 'askers';
/**
 * Sets for the time in which a user signs in to a network: the helper's user on the link, and the name servers there. At any
 * other time the sets are empty, and the kernel forgets each element unless it is repeated. Each repair reads them.
 */
export const SIGN_IN = { helpers: 'sign_in_helpers', servers: 'sign_in_servers' } as const;
/**
 * Set of device pairs. Packets of a program that an administrator allowed outside the tunnel are forwarded between the devices
 * of a pair. As for a sign-in, the kernel forgets each pair unless it is repeated.
 */
export const EXCEPTIONS = 'exceptions';
const FORGOTTEN_SECONDS = 5;
/** Mark of the helper's connections: no rule can match an incoming packet by its owner. */
const SIGN_IN_MARK = '0x20000000';
/** Protocols with ports, by number, since nft needs /etc/protocols for names: TCP, UDP, DCCP, SCTP and UDP-Lite. */
export const WITH_PORTS = '{ 6, 17, 33, 132, 136 }';
const DNS = 'th dport { 53, 853 }';
/** Addresses that `allowLan` leaves reachable. */
export const LAN = {
  ip: [
    '10.0.0.0/8',
    '172.16.0.0/12',
    '192.168.0.0/16',
    '169.254.0.0/16',
    '224.0.0.0/24',
    '239.0.0.0/8',
    '255.255.255.255',
  ],
  ip6: ['fe80::/10', 'fc00::/7', 'ff01::/16', 'ff02::/16', 'ff03::/16', 'ff04::/16', 'ff05::/16'],
} as const;

/**
 * Rules for ICMP messages to a container or local client with packets larger than the tunnel takes. Without these messages
 * large uploads hang. Conntrack does not know them, since they go out before the flow's address is translated.
 */
const TOO_LARGE = [
  `icmp type destination-unreachable icmp code frag-needed ip length <= 576 ip daddr ${set(LAN.ip)} accept`,
  `icmpv6 type packet-too-big ip6 length <= 1240 ip6 daddr ${set(LAN.ip6)} accept`,
];

/** Rules for packets of a sign-in's helper: TCP, and DNS to the name servers of the link. */
const SIGN_IN_LEAVING = [
  `tcp dport != { 53, 853 } meta skuid . oifname @${SIGN_IN.helpers} ct mark set ${SIGN_IN_MARK} accept`,
  `udp dport 53 meta skuid . oifname . ip daddr @${SIGN_IN.servers} ct mark set ${SIGN_IN_MARK} accept`,
];

const EXCEPTED = `iifname . oifname @${EXCEPTIONS} accept`;

/**
 * Rules for DHCP messages of system users (dhcpcd and systemd-networkd are not root), and for neighbor discovery that
 * a host sends.
 */
const LINK_PROTOCOLS = [
  'meta skuid < 1000 udp length <= 576 udp sport 68 udp dport 67 ip daddr 255.255.255.255 accept',
  'meta skuid < 1000 udp length <= 576 ip6 saddr fe80::/10 udp sport 546 udp dport 547 ip6 daddr ff02::1:2 accept',
  'icmpv6 type nd-router-solicit ip6 daddr ff02::2 ip6 hoplimit 255 accept',
  'icmpv6 type nd-neighbor-solicit ip6 daddr { ff02::1:ff00:0/104, fe80::/10 } ip6 hoplimit 255 accept',
  'icmpv6 type nd-neighbor-advert ip6 hoplimit 255 ip6 length < 64 ip6 daddr { ff02::1, fe80::/10 } accept',
  // RFC 4861, 7.2.4: an advertisement answers the address that asked, which for containers and many routers is not link-local
  `icmpv6 type nd-neighbor-advert ip6 hoplimit 255 ip6 length < 64 ip6 daddr @${ASKERS} accept`,
];

/** Matches for source routing: the packet does not end at the destination that the rules check. */
const SOURCE_ROUTES = ['exthdr rt exists', 'ip option lsrr exists', 'ip option ssrr exists'];

/** Rules for packets that may leave. One table blocks all other packets, and another table records them. */
interface Leaving {
  /** Interfaces of the tunnel, as a set. */
  names: string;
  /** Matches the tunnel on one side. */
  tunnel(side: 'iif' | 'oif'): string;
  /** @param then verdict for source-routed packets */
  local(then: string): string[];
  forwarded(then: string): string[];
  /** Matches DNS. */
  dns: string;
  /** Rules for the local network; empty if it is not allowed. */
  lan(side: 'saddr' | 'daddr'): string[];
}

export function leavingRules({ allowLan, endpoints, tunnelInterfaces = TUNNEL_INTERFACES }: RuleOptions): Leaving {
  const names = set(tunnelInterfaces.map(quoted));
  const tunnel = (side: 'iif' | 'oif') => `${side}name ${names} meta ${side}type ${TUNNEL_TYPE}`;
  const routed = (then: string) => SOURCE_ROUTES.map(match => `${match} ${then}`);
  return {
    names,
    tunnel,
    local: then => [
      'oifname "lo" accept',
      `${tunnel('oif')} accept`,
      ...routed(then),
      ...TOO_LARGE,
      ...LINK_PROTOCOLS,
      // warp-svc runs as root; no other user may use its exceptions
      ...grouped(endpoints).map(group => `meta skuid 0 ${matchOf(group, 'daddr', 'dport')} accept`),
    ],
    forwarded: then => [
      `${tunnel('oif')} accept`,
      `${tunnel('iif')} ct state established,related accept`,
      ...routed(then),
    ],
    dns: `meta l4proto ${WITH_PORTS} ${DNS}`,
    lan: side => (allowLan ? [`ip ${side} ${set(LAN.ip)} accept`, `ip6 ${side} ${set(LAN.ip6)} accept`] : []),
  };
}

/**
 * Renders the table as one transaction for `nft -f -`. It replaces any table of the same name.
 * @throws TypeError for an endpoint that must not be an exception, or an interface name that the kernel rejects.
 */
export function render(options: RuleOptions): string {
  const { endpoints, flags = [] } = options;
  const { names, tunnel, local, forwarded, lan } = leavingRules(options);
  const groups = grouped(endpoints);
  const leaving = [...local('counter name blocked drop'), ...SIGN_IN_LEAVING];

  return `${replacing(flags)}
table inet ${TABLE} {
${flags.length ? `  flags ${flags.join(', ')}\n` : ''}  counter blocked { }

  # addresses on the link that asked for this machine's
  set ${ASKERS} { type ipv6_addr; size 256; flags dynamic, timeout; timeout 5s; }

  # for a sign-in to a network
  set ${SIGN_IN.helpers} { type uid . ifname; flags timeout; timeout ${FORGOTTEN_SECONDS}s; }
  set ${SIGN_IN.servers} { type uid . ifname . ipv4_addr; flags timeout; timeout ${FORGOTTEN_SECONDS}s; }

  # programs outside the tunnel that an administrator allowed
  set ${EXCEPTIONS} { type ifname . ifname; flags timeout; timeout ${FORGOTTEN_SECONDS}s; }

  # rejects, so that programs fail at once instead of waiting for a timeout
  chain output {
    type filter hook output priority filter; policy ${CHAINS.output};
    # the network may name this machine's own addresses to the browser of a sign-in
    oifname "lo" meta skuid . oifname @${SIGN_IN.helpers} reject
${lines(leaving)}    # before the local network, whose router would forward DNS
    meta l4proto 6 ${DNS} counter name blocked reject with tcp reset
    meta l4proto ${WITH_PORTS} ${DNS} counter name blocked reject
${lines(lan('daddr'))}    counter name blocked reject with icmpx type admin-prohibited
  }

  # the same verdict on the device that the packet really leaves by: after the output hook noted the device, another
  # program's mark or address translation may route the packet again. The last priority before conntrack's confirmation.
  chain postrouting {
    type filter hook postrouting priority 2147483646; policy ${CHAINS.postrouting};
${lines(leaving)}    ${EXCEPTED}
    # answers for containers; \`iiftype\` reads the other device here, and the forward chain has checked the type
    iifname ${names} ct state established,related accept
    meta l4proto ${WITH_PORTS} ${DNS} counter name blocked drop
    # DNS that was translated to another port, and what nobody knows the first port of
    ct direction original meta l4proto ${WITH_PORTS} ct original proto-dst { 53, 853 } counter name blocked drop
    meta l4proto ${WITH_PORTS} ct state untracked counter name blocked drop
${lines(lan('daddr'))}    counter name blocked drop
  }

  # of containers and virtual machines
  chain forward {
    type filter hook forward priority filter; policy ${CHAINS.forward};
    ${EXCEPTED}
${lines(forwarded('counter name blocked drop'))}    meta l4proto ${WITH_PORTS} ${DNS} counter name blocked drop
${lines(lan('daddr'))}    counter name blocked drop
  }

  chain input {
    type filter hook input priority filter; policy ${CHAINS.input};
    iifname "lo" accept
    ${tunnel('iif')} accept
    udp sport 67 udp dport 68 accept
    ip6 saddr fe80::/10 udp sport 547 udp dport 546 accept
    icmpv6 type nd-neighbor-solicit ip6 hoplimit 255 ip6 saddr { fc00::/7, 2000::/3 } update @${ASKERS} { ip6 saddr }
    icmpv6 type { nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert, nd-redirect } ip6 hoplimit 255 accept
    # path MTU of the tunnel's own packets
    icmp type { destination-unreachable, time-exceeded, parameter-problem } ct state related accept
    icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem } ct state related accept
    ct mark ${SIGN_IN_MARK} ct state established accept
${lines(groups.map(group => `${matchOf(group, 'saddr', 'sport')} ct state established accept`))}${lines(lan('saddr'))}  }

  # CVE-2019-14899: the tunnel's address answers on no other link
  chain prerouting {
    type filter hook prerouting priority raw; policy ${CHAINS.prerouting};
    iifname "lo" accept
    ${tunnel('iif')} accept
    fib daddr . iif type != { local, broadcast, multicast, anycast } fib daddr type local drop
  }
}
`;
}

/** Returns the text that removes the table, if it exists. Not for a table that another process owns. */
export function renderRemoval(table = TABLE): string {
  return `add table inet ${table}\ndelete table inet ${table}\n`;
}

/**
 * Returns the text that removes a table before it is added. Every nft has `add` and `delete`, but refuses an `add` with
 * different flags; an nft that knows flags has `destroy`.
 */
export function replacing(flags: readonly string[], table = TABLE): string {
  return flags.length ? `destroy table inet ${table}` : renderRemoval(table).trimEnd();
}

/** Ranges with the same protocol and ports. */
interface Group {
  ranges: Cidr[];
  protocol: Endpoint['protocol'];
  /** In ascending order. */
  ports: readonly number[];
}

/**
 * Groups endpoints without nested ranges, which a set does not take. Named sets of ranges with ports would crash `nft monitor`
 * 1.0.6.
 */
function grouped(endpoints: readonly Endpoint[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { cidr, protocol, ports: given } of endpoints) {
    const range = checked(cidr);
    if (protocol !== 'udp' && protocol !== 'tcp') throw new TypeError(`no protocol of an endpoint: ${protocol}`);
    const wrong = given.find(port => !isEndpointPort(port));
    if (wrong !== undefined) throw new TypeError(`no port of an endpoint: ${wrong}`);
    if (!given.length) continue;
    const ports = [...new Set(given)].sort((a, b) => a - b);
    const key = [range.family, protocol, ...ports].join(' ');
    const ranges = groups.get(key)?.ranges ?? [];
    if (ranges.some(other => contains(other, range))) continue;
    groups.set(key, { ranges: [...ranges.filter(other => !contains(range, other)), range], protocol, ports });
  }
  return [...groups.values()];
}

function matchOf({ ranges, protocol, ports }: Group, address: 'saddr' | 'daddr', port: 'sport' | 'dport'): string {
  const family = ranges[0]!.family === 4 ? 'ip' : 'ip6';
  const addresses = set(ranges.map(({ text }) => text));
  return `${family} ${address} ${addresses} ${protocol} ${port} ${set(ports.map(String))}`;
}

function checked(cidr: string): Cidr {
  const parsed = parseCidr(cidr);
  if (typeof parsed === 'string') throw new TypeError(parsed);
  return parsed;
}

export function quoted(name: string): string {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$/.test(name)) throw new TypeError(`no interface name: ${name}`);
  return `"${name}"`;
}

export function set(elements: readonly string[]): string {
  return `{ ${elements.join(', ')} }`;
}

/** Formats rules as lines of a chain. */
export function lines(rules: readonly string[]): string {
  return rules.map(rule => `    ${rule}\n`).join('');
}

/** Elements of each set, by its name. */
export type Elements = Readonly<Record<string, readonly string[]>>;

/** Returns the text of one transaction for `nft -i`. */
export function renderElements(elements: Elements, table: string): string {
  return Object.entries(elements)
    .flatMap(([name, values]) => {
      const set = `inet ${table} ${name}`;
      return [`flush set ${set}`, ...(values.length ? [`add element ${set} { ${values.join(', ')} }`] : [])];
    })
    .join('; ');
}
