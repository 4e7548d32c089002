// Pure: renders the kill switch's nftables table as one transaction.
import { type Cidr, parseCidr } from './cidr.ts';

export interface Endpoint {
  /** An address or a range on the internet, no wider than /16 or /32: `162.159.193.0/24`. */
  cidr: string;
  protocol: 'udp' | 'tcp';
  /** 1 to 65535, but not the ports of DNS (53, 853): those never leave outside the tunnel. */
  ports: readonly number[];
}

export interface RuleOptions {
  /** Leave private, link-local and multicast addresses reachable, DNS excepted. */
  allowLan: boolean;
  /** Where root, and root alone, may send outside the tunnel. */
  endpoints: readonly Endpoint[];
  /** Names, not indexes, so that the rules hold while an interface comes and goes. */
  tunnelInterfaces?: readonly string[];
  /** Flags of the table (nft 1.1 and Linux 6.9 have both). */
  flags?: readonly ('owner' | 'persist')[];
}

export const TABLE = 'culvert';
/** The name of warp-svc's device. */
const TUNNEL_INTERFACES: readonly string[] = ['CloudflareWARP'];
/** ARPHRD_NONE (linux/if_arp.h), the type of TUN and WireGuard devices: a bridge or macvlan of that name is not a tunnel. */
const TUNNEL_TYPE = 65534;
/** Base chains, each with its policy for packets that match no rule. */
export const CHAINS = {
  input: 'drop',
  forward: 'drop',
  output: 'drop',
  postrouting: 'drop',
  prerouting: 'accept',
} as const;

const DNS = '{ 53, 853 }';
/** What `allowLan` leaves reachable. */
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

/** The DHCP messages and the part of neighbor discovery that a host sends. */
const LINK_PROTOCOLS = [
  'udp sport 68 udp dport 67 ip daddr 255.255.255.255 accept',
  'ip6 saddr fe80::/10 udp sport 546 udp dport 547 ip6 daddr { ff02::1:2, ff05::1:3 } accept',
  'icmpv6 type nd-router-solicit ip6 daddr ff02::2 ip6 hoplimit 255 accept',
  'icmpv6 type nd-neighbor-solicit ip6 daddr { ff02::1:ff00:0/104, fe80::/10 } ip6 hoplimit 255 accept',
  // RFC 4861, 7.2.4: an advertisement answers the address that asked, which for containers and many routers is not
  // link-local. A next hop of another kind than the destination is a gateway, so the destination is not on the link.
  ...['{ ff02::1, fe80::/10 }', 'fc00::/7 rt ip6 nexthop fc00::/7', '2000::/3 rt ip6 nexthop 2000::/3'].map(
    link => `icmpv6 type nd-neighbor-advert ip6 hoplimit 255 ip6 length < 64 ip6 daddr ${link} accept`,
  ),
];

/**
 * Renders the table as one transaction for `nft -f -`. It replaces any table of the same name.
 * @throws TypeError for an endpoint that must not be an exception, or an interface name that the kernel rejects.
 */
export function render(options: RuleOptions): string {
  const { allowLan, endpoints, tunnelInterfaces = TUNNEL_INTERFACES, flags = [] } = options;
  const names = set(tunnelInterfaces.map(quoted));
  const tunnel = (side: 'iif' | 'oif') => `${side}name ${names} meta ${side}type ${TUNNEL_TYPE}`;
  const to = endpoints.flatMap(endpoint => exception(endpoint, 'daddr', 'dport'));
  const from = endpoints.flatMap(endpoint => exception(endpoint, 'saddr', 'sport'));
  const lan = (side: 'saddr' | 'daddr') =>
    allowLan ? [`ip ${side} ${set(LAN.ip)} accept`, `ip6 ${side} ${set(LAN.ip6)} accept`] : [];
  const leaving = [
    'oifname "lo" accept',
    `${tunnel('oif')} accept`,
    ...LINK_PROTOCOLS,
    // warp-svc runs as root; no other user may use its exceptions
    ...to.map(match => `meta skuid 0 ${match} accept`),
  ];

  return `${replacing(flags)}
table inet ${TABLE} {
${flags.length ? `  flags ${flags.join(', ')}\n` : ''}  counter blocked { }

  # rejects, so that programs fail at once instead of waiting for a timeout
  chain output {
    type filter hook output priority filter; policy ${CHAINS.output};
${lines(leaving)}    # before the local network, whose router would forward DNS
    udp dport ${DNS} counter name blocked reject
    tcp dport ${DNS} counter name blocked reject with tcp reset
${lines(lan('daddr'))}    counter name blocked reject with icmpx type admin-prohibited
  }

  # the same verdict on the device that the packet really leaves by: after the output hook noted the device, another
  # program's mark or address translation may route the packet again. The last priority before conntrack's confirmation.
  chain postrouting {
    type filter hook postrouting priority 2147483646; policy ${CHAINS.postrouting};
${lines(leaving)}    ${tunnel('iif')} ct state established,related accept
    udp dport ${DNS} counter name blocked drop
    tcp dport ${DNS} counter name blocked drop
    # DNS that was translated to another port
    ct direction original meta l4proto { tcp, udp } ct original proto-dst ${DNS} counter name blocked drop
${lines(lan('daddr'))}    counter name blocked drop
  }

  # of containers and virtual machines
  chain forward {
    type filter hook forward priority filter; policy ${CHAINS.forward};
    ${tunnel('oif')} accept
    ${tunnel('iif')} ct state established,related accept
    udp dport ${DNS} counter name blocked drop
    tcp dport ${DNS} counter name blocked drop
${lines(lan('daddr'))}    counter name blocked drop
  }

  chain input {
    type filter hook input priority filter; policy ${CHAINS.input};
    iifname "lo" accept
    ${tunnel('iif')} accept
    udp sport 67 udp dport 68 accept
    ip6 saddr fe80::/10 udp sport 547 udp dport 546 accept
    icmpv6 type { nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert, nd-redirect } ip6 hoplimit 255 accept
    # path MTU of the tunnel's own packets
    icmp type { destination-unreachable, time-exceeded, parameter-problem } ct state related accept
    icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem } ct state related accept
${lines(from.map(match => `${match} ct state established accept`))}${lines(lan('saddr'))}  }

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

/** Takes the table away, whether or not there is one. Not for a table that another process owns. */
export function renderRemoval(): string {
  return `add table inet ${TABLE}\ndelete table inet ${TABLE}\n`;
}

/** Every nft has `add` and `delete`; but an `add` is refused where flags differ, and what has flags has `destroy`. */
function replacing(flags: readonly string[]): string {
  return flags.length ? `destroy table inet ${TABLE}` : renderRemoval().trimEnd();
}

function exception({ cidr, protocol, ports }: Endpoint, address: 'saddr' | 'daddr', port: 'sport' | 'dport'): string[] {
  const { family, text } = checked(cidr);
  if (protocol !== 'udp' && protocol !== 'tcp') throw new TypeError(`no protocol of an endpoint: ${protocol}`);
  const wrong = ports.find(number => !isEndpointPort(number));
  if (wrong !== undefined) throw new TypeError(`no port of an endpoint: ${wrong}`);
  if (!ports.length) return [];
  const sorted = [...new Set(ports)].sort((a, b) => a - b);
  return [`${family === 4 ? 'ip' : 'ip6'} ${address} ${text} ${protocol} ${port} ${set(sorted.map(String))}`];
}

/** DNS is not an exception, wherever it goes. */
export function isEndpointPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65535 && port !== 53 && port !== 853;
}

function checked(cidr: string): Cidr {
  const parsed = parseCidr(cidr);
  if (typeof parsed === 'string') throw new TypeError(parsed);
  return parsed;
}

function quoted(name: string): string {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$/.test(name)) throw new TypeError(`no interface name: ${name}`);
  return `"${name}"`;
}

function set(elements: readonly string[]): string {
  return `{ ${elements.join(', ')} }`;
}

function lines(rules: readonly string[]): string {
  return rules.map(rule => `    ${rule}\n`).join('');
}
