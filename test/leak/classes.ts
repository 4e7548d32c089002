// Every kind of sender that must not get past the tunnel, and the verdict on every frame that did. Pure.

export interface Sender {
  /** Its packets carry it, or are known by address and port. */
  name: string;
  /** An unprivileged user or root on the client, a container behind it, or another host on its local network. */
  from: 'user' | 'root' | 'container' | 'neighbor';
  how: 'udp' | 'tcp' | 'flow' | 'ping' | 'raw' | 'join';
  to: string;
  port?: number;
  /** Bound to this device. */
  device?: string;
  /** Bound to this address. */
  source?: string;
  /** Bound to this port. */
  sourcePort?: number;
  /** Router that the packet names itself, by segment routing. */
  via?: string;
  /** Device of multicast. */
  out?: string;
  /** Device of a link-local destination. */
  scope?: string;
  mark?: number;
  /** Protocol number in the IP header, or of the socket of a UDP sender (UDP-Lite). */
  protocol?: number;
  /** Type of the ICMPv6 message of a raw sender; an echo request unless given. */
  type?: number;
  bytes?: number;
  broadcast?: boolean;
  /** One socket forever, instead of one for each packet. */
  held?: boolean;
  /** May leave where the local network is allowed. */
  lan?: boolean;
  /** Goes through the tunnel while that is up. */
  tunneled?: boolean;
}

/** The client on its uplink and in the tunnel, its neighbors, hosts of the internet, and Cloudflare's. */
export const HOSTS = {
  client4: '192.168.50.2',
  client6: 'fd50::2',
  tunnel4: '172.16.0.2',
  tunnel6: 'fd16::2',
  router4: '192.168.50.1',
  router6: 'fd50::1',
  neighbor4: '192.168.50.9',
  neighbor6: 'fd50::9',
  neighborLink: 'fe80::9',
  site4: '203.0.113.10',
  site6: '2001:db8:bad::10',
  resolver4: '8.8.8.8',
  resolver6: '2606:4700:4700::1111',
  wireguard4: '162.159.193.1',
  wireguard6: '2606:4700:100::1',
  masque4: '162.159.197.1',
  api4: '162.159.137.105',
  api6: '2606:4700:7::a29f:8969',
  doh4: '162.159.36.1',
} as const;
export const WIREGUARD_PORT = 2408;
/** Mark of warp-svc's own packets, with which they bypass the tunnel's routes. */
export const WARP_MARK = 0x100cf;
/** Device of the client's uplink. */
export const UPLINK = 'eth0';

const { site4, site6, resolver4, resolver6, neighbor4, neighbor6, wireguard4, wireguard6, api4, api6 } = HOSTS;
type Options = Omit<Sender, 'name' | 'from' | 'how' | 'to' | 'port'>;
const of =
  (from: Sender['from']) =>
  (name: string, how: Sender['how'], [to, port]: [to: string, port?: number], options: Options = {}): Sender => ({
    name,
    from,
    how,
    to,
    ...(port === undefined ? {} : { port }),
    ...options,
  });
const [user, root, container, neighbor] = [of('user'), of('root'), of('container'), of('neighbor')];
const T = { tunneled: true };
const LAN = { lan: true };

export const SENDERS: readonly Sender[] = [
  user('tcp4', 'tcp', [site4, 8443], T),
  user('tcp6', 'tcp', [site6, 8443], T),
  user('udp4', 'udp', [site4, 9001], T),
  user('udp6', 'udp', [site6, 9001], T),
  user('udp4, one socket', 'udp', [site4, 9002], { held: true }),
  user('udp6, one socket', 'udp', [site6, 9002], { held: true }),
  user('udp4, fragmented', 'udp', [site4, 9003], { bytes: 4000, ...T }),
  user('udp6, fragmented', 'udp', [site6, 9003], { bytes: 4000, ...T }),
  user('icmp4', 'ping', [site4], T),
  user('icmp6', 'ping', [site6], T),

  user('dns4', 'udp', [resolver4, 53], T),
  user('dns6', 'udp', [resolver6, 53], T),
  user('dns4 over tcp', 'tcp', [resolver4, 53], T),
  user('dns6 over tcp', 'tcp', [resolver6, 53], T),
  user('dns4 over tls', 'tcp', [resolver4, 853], T),
  user('dns4 to the router', 'udp', [HOSTS.router4, 53]),
  user('dns6 to the router', 'udp', [HOSTS.router6, 53]),
  user('dns4 to the router, tcp', 'tcp', [HOSTS.router4, 53]),
  user('dns6 to a link-local address', 'udp', ['fe80::1', 53], { scope: UPLINK }),

  user('bound to the uplink, tcp4', 'tcp', [site4, 8444], { device: UPLINK }),
  user('bound to the uplink, tcp6', 'tcp', [site6, 8444], { device: UPLINK }),
  user('bound to the uplink, udp4', 'udp', [site4, 9004], { device: UPLINK }),
  user('bound to the uplink, udp6', 'udp', [site6, 9004], { device: UPLINK }),
  user('bound to the uplink, icmp4', 'ping', [site4], { device: UPLINK }),
  user('bound to the uplink, icmp6', 'ping', [site6], { device: UPLINK }),
  user('bound to the uplink, dns4', 'udp', ['8.8.4.4', 53], { device: UPLINK }),
  user('bound to the address, udp4', 'udp', [site4, 9005], { source: HOSTS.client4 }),
  user('bound to the address, udp6', 'udp', [site6, 9005], { source: HOSTS.client6 }),

  user('to the endpoint, udp4', 'udp', [wireguard4, WIREGUARD_PORT]),
  user('to the endpoint, udp6', 'udp', [wireguard6, WIREGUARD_PORT]),
  user('to the MASQUE endpoint, udp4', 'udp', [HOSTS.masque4, 443]),
  user('to the MASQUE endpoint, tcp4', 'tcp', [HOSTS.masque4, 443]),
  user('to the API, tcp4', 'tcp', [api4, 443]),
  user('to the API, tcp6', 'tcp', [api6, 443]),

  user('mdns4', 'udp', ['224.0.0.251', 5353], { out: UPLINK, ...LAN }),
  user('mdns6', 'udp', ['ff02::fb', 5353], { out: UPLINK, ...LAN }),
  user('ssdp4', 'udp', ['239.255.255.250', 1900], { out: UPLINK, ...LAN }),
  user('global multicast4', 'udp', ['233.252.0.1', 9006], { out: UPLINK }),
  user('global multicast6', 'udp', ['ff0e::db8:1', 9006], { out: UPLINK }),
  user('broadcast', 'udp', ['255.255.255.255', 9007], { broadcast: true, device: UPLINK, ...LAN }),
  user('broadcast on the network', 'udp', ['192.168.50.255', 9007], { broadcast: true, ...LAN }),
  user('igmp', 'join', ['239.1.2.3'], { out: UPLINK, ...LAN }),
  user('mld', 'join', ['ff05::4:5'], { out: UPLINK, ...LAN }),

  user('lan, tcp4', 'tcp', [neighbor4, 8080], LAN),
  user('lan, tcp6', 'tcp', [neighbor6, 8080], LAN),
  user('lan, udp4', 'udp', [neighbor4, 9008], LAN),
  user('lan, udp6', 'udp', [neighbor6, 9008], LAN),
  user('lan, icmp4', 'ping', [neighbor4], LAN),
  user('lan, icmp6', 'ping', [neighbor6], LAN),
  user('link-local, udp6', 'udp', [HOSTS.neighborLink, 9008], { scope: UPLINK, ...LAN }),

  root('root, tcp4', 'tcp', [site4, 8445], T),
  root('root, tcp6', 'tcp', [site6, 8445], T),
  root('root, udp4', 'udp', [site4, 9011], T),
  root('root, udp6', 'udp', [site6, 9011], T),
  root('root, raw icmp4', 'raw', [site4], { protocol: 1, ...T }),
  root('root, raw icmp6', 'raw', [site6], { protocol: 58, ...T }),
  root('root, unknown protocol4', 'raw', [site4], { protocol: 253, ...T }),
  root('root, unknown protocol6', 'raw', [site6], { protocol: 253, ...T }),
  root("root, with the tunnel's mark, tcp4", 'tcp', [site4, 8446], { mark: WARP_MARK }),
  root("root, with the tunnel's mark, udp4", 'udp', [site4, 9012], { mark: WARP_MARK }),
  root("root, with the tunnel's mark, udp6", 'udp', [site6, 9012], { mark: WARP_MARK }),
  root('endpoint, wrong port, udp4', 'udp', [wireguard4, 9999], { mark: WARP_MARK }),
  root('endpoint, wrong port, udp6', 'udp', [wireguard6, 9999], { mark: WARP_MARK }),
  root('endpoint, wrong port, tcp4', 'tcp', [wireguard4, 80], { mark: WARP_MARK }),
  root('endpoint, dns4', 'udp', [wireguard4, 53], { mark: WARP_MARK }),
  root('endpoint, icmp4', 'ping', [wireguard4], { mark: WARP_MARK }),
  root('API, wrong protocol, udp4', 'udp', [api4, 443], { mark: WARP_MARK }),
  root('API, wrong port, tcp4', 'tcp', [api4, 80], { mark: WARP_MARK }),
  root('resolver of Cloudflare, dns4', 'udp', [HOSTS.doh4, 53], { mark: WARP_MARK }),
  root('resolver of Cloudflare, https', 'tcp', [HOSTS.doh4, 443], { mark: WARP_MARK }),

  container('forwarded, tcp4', 'tcp', [site4, 8447], T),
  container('forwarded, tcp6', 'tcp', [site6, 8447], T),
  container('forwarded, udp4', 'udp', [site4, 9021], T),
  container('forwarded, udp6', 'udp', [site6, 9021], T),
  container('forwarded, udp4, one socket', 'udp', [site4, 9022], { held: true }),
  container('forwarded, udp6, one socket', 'udp', [site6, 9022], { held: true }),
  container('forwarded, udp4, fragmented', 'udp', [site4, 9023], { bytes: 4000, ...T }),
  container('forwarded, icmp4', 'ping', [site4], T),
  container('forwarded, icmp6', 'ping', [site6], T),
  container('forwarded, dns4', 'udp', [resolver4, 53], T),
  container('forwarded, dns6', 'udp', [resolver6, 53], T),
  container('forwarded, dns4 to the router', 'udp', [HOSTS.router4, 53]),
  container('forwarded, to the endpoint, udp4', 'udp', [wireguard4, WIREGUARD_PORT]),
  container('forwarded, to the endpoint, udp6', 'udp', [wireguard6, WIREGUARD_PORT]),
  container('forwarded, to the API, tcp4', 'tcp', ['162.159.138.105', 443]),
  container('forwarded, lan, udp4', 'udp', [neighbor4, 9024], LAN),
  container('forwarded, lan, icmp4', 'ping', [neighbor4], LAN),

  // answers of the client
  neighbor('answer to tcp4', 'tcp', [HOSTS.client4, 8080], LAN),
  neighbor('answer to tcp6', 'tcp', [HOSTS.client6, 8080], LAN),
  neighbor('answer to icmp4', 'ping', [HOSTS.client4], LAN),
  neighbor('answer to icmp6', 'ping', [HOSTS.client6], LAN),
  neighbor('answer to a closed port, udp4', 'udp', [HOSTS.client4, 9031], LAN),
  neighbor("answer for the tunnel's address, tcp4", 'tcp', [HOSTS.tunnel4, 8080]),
  neighbor("answer for the tunnel's address, tcp6", 'tcp', [HOSTS.tunnel6, 8080]),
  neighbor("answer for the tunnel's address, icmp4", 'ping', [HOSTS.tunnel4]),
];

/** Connections that existed before the kill switch was turned on; the sites listen there. */
export const FLOWS: readonly Sender[] = [
  user('flow from before, tcp4', 'flow', [site4, 7701]),
  user('flow from before, tcp6', 'flow', [site6, 7702]),
  user('flow from before, to the resolver', 'flow', ['8.8.4.4', 53]),
  root('flow from before, root, tcp4', 'flow', [site4, 7703]),
  container('flow from before, forwarded, tcp4', 'flow', [site4, 7704]),
  container('flow from before, forwarded, tcp6', 'flow', [site6, 7705]),
  user('flow from before, udp4', 'udp', [site4, 9041], { held: true }),
  container('flow from before, forwarded, udp4', 'udp', [site4, 9042], { held: true }),
];

/** Routed again by another program after the kernel noted the tunnel's device. See REROUTING. */
export const REROUTED: readonly Sender[] = [
  user('rerouted by a mark, udp4', 'udp', [site4, 9101]),
  user('rerouted by a mark, udp6', 'udp', [site6, 9101]),
  user('rerouted by a mark, tcp4', 'tcp', [site4, 9102]),
  user('rerouted by a mark, tcp6', 'tcp', [site6, 9102]),
  user('rerouted by a mark, icmp4', 'ping', ['203.0.113.11']),
  user('rerouted by a mark, dns4', 'udp', [resolver4, 53]),
  user('rerouted by a mark, dns6', 'udp', [resolver6, 53]),
  user('rerouted by a mark, dns4 over tcp', 'tcp', [HOSTS.doh4, 53]),
  user('rerouted by a mark, to the endpoint, udp4', 'udp', [wireguard4, 9103]),
  root('rerouted by a mark, root, udp4', 'udp', [site4, 9104]),
  root('rerouted by a mark, root, raw icmp6', 'raw', ['2001:db8:bad::11'], { protocol: 58 }),
  user('translated, udp4', 'udp', ['198.51.100.5', 9111], LAN),
  user('translated, tcp4', 'tcp', ['198.51.100.5', 9112], LAN),
  user('translated, udp6', 'udp', ['2001:db8:cafe::5', 9111], LAN),
  root('translated, root, udp4', 'udp', ['198.51.100.6', 9111], LAN),
  user('translated, dns4', 'udp', ['198.51.100.5', 53]),
  user('translated from loopback, dns4', 'udp', ['127.0.0.53', 53]),
  user('translated from loopback to another port, dns4', 'udp', ['127.0.0.54', 53]),
];

/** Rules of another program, as split tunneling, kube-proxy and local resolvers install them. */
export const REROUTING = `
table inet foreign_marks {
  chain output {
    type route hook output priority mangle;
    th dport { 53, 9101-9104 } ip daddr != { 127.0.0.0/8, 198.51.100.0/24 } meta mark set 1
    th dport { 53, 9101-9104 } meta nfproto ipv6 meta mark set 1
    ip daddr 203.0.113.11 meta mark set 1
    ip6 daddr 2001:db8:bad::11 meta mark set 1
  }
}
table ip foreign_nat {
  chain output {
    type nat hook output priority -100;
    ip daddr 127.0.0.54 udp dport 53 dnat to ${HOSTS.neighbor4}:5300
    ip daddr { 127.0.0.53, 198.51.100.0/24 } dnat to ${HOSTS.router4}
  }
  chain postrouting { type nat hook postrouting priority srcnat; oifname "${UPLINK}" masquerade; }
}
table ip6 foreign_nat {
  chain output { type nat hook output priority -100; ip6 daddr 2001:db8:cafe::/64 dnat to ${HOSTS.router6}; }
}
`;

/** Neighbor advertisements that no neighbor asked for. */
export const ADVERTISEMENTS: readonly Sender[] = [
  root('advertised to the internet', 'raw', [site6], { protocol: 58, type: 136 }),
  root('advertised to a resolver', 'raw', [resolver6], { protocol: 58, type: 136 }),
  root('advertised at length', 'raw', [neighbor6], { protocol: 58, type: 136, bytes: 500 }),
];

const DHCP = { sourcePort: 68, broadcast: true, device: UPLINK };
const DHCP6 = { sourcePort: 546, device: UPLINK, scope: UPLINK };
/** Senders at the edges of the exceptions, and ways around their ports and addresses. */
export const EDGES: readonly Sender[] = [
  user('as DHCP, by a user', 'udp', ['255.255.255.255', 67], { ...DHCP, ...LAN }),
  user('as DHCPv6, by a user', 'udp', ['ff02::1:2', 547], { ...DHCP6, ...LAN }),
  root('as DHCP, too long', 'udp', ['255.255.255.255', 67], { ...DHCP, bytes: 1200, ...LAN }),
  root('as DHCPv6, too long', 'udp', ['ff02::1:2', 547], { ...DHCP6, bytes: 1200, ...LAN }),
  root('as DHCPv6, beyond the link', 'udp', ['ff05::1:3', 547], { ...DHCP6, ...LAN }),
  root('as DHCP, to one host', 'udp', [neighbor4, 67], { sourcePort: 68, ...LAN }),
  user('source route, udp6', 'udp', [site6, 9201], { via: HOSTS.router6 }),
  container('forwarded, source route, udp6', 'udp', [site6, 9202], { via: HOSTS.router6 }),
  user('dns4 to the router, UDP-Lite', 'udp', [HOSTS.router4, 53], { protocol: 136 }),
  user('dns6 to the router, UDP-Lite', 'udp', [HOSTS.router6, 53], { protocol: 136 }),
  user('dns4 to another port, untracked', 'udp', [HOSTS.router4, 53]),
  container('forwarded, dns4 to another port, untracked', 'udp', [HOSTS.router4, 53]),
  root('too large, at length', 'raw', [site4], { protocol: 1, bytes: 1000 }),
];
/** Hides DNS from connection tracking, and its port from later chains. */
export const UNTRACKING = `
table ip foreign_untracking {
  chain output { type filter hook output priority raw; ip daddr ${HOSTS.router4} udp dport 53 notrack; }
  chain prerouting { type filter hook prerouting priority raw; ip daddr ${HOSTS.router4} udp dport 53 notrack; }
  chain later { type filter hook output priority mangle; ip daddr ${HOSTS.router4} udp dport 53 udp dport set 5300; }
  chain forwarded { type filter hook prerouting priority mangle; ip daddr ${HOSTS.router4} udp dport 53 udp dport set 5300; }
}
`;

/** Frames of one kind, as fixtures/wire.py counts them. */
export interface Seen {
  /** 4, 6, `arp`, or the number of another protocol of the link. */
  family: 4 | 6 | string;
  protocol: number;
  source: string;
  /** 0 for an ephemeral one. */
  sourcePort: number;
  destination: string;
  port: number;
  /** Type of an ICMP, ICMPv6 or IGMP message. */
  type: number | null;
  wireguard: boolean;
  canary: string | null;
  count: number;
}

export type Verdict = { allowed: string } | { leaked: string };

const [IGMP, TCP, UDP, ICMP6] = [2, 6, 17, 58];
const NEIGHBOR_DISCOVERY = [133, 135, 136];
/** Link-local addresses and groups, and the prefixes of the rig's links. */
const ON_LINK = /^(ff02|fe80|fd50|fd17|fd60):/;
const MLD = [131, 132, 143];

/**
 * Meaning of a frame on the uplink. A frame that is not certainly innocent has leaked.
 * @param senders whose packets may be there
 * @param allowLan whether the local network was ever allowed while these frames were counted
 */
export function judge(seen: Seen, senders: readonly Sender[], allowLan: boolean): Verdict {
  if (seen.family === 'arp') return { allowed: 'ARP' };
  if (seen.source === neighbor4 || seen.source === neighbor6)
    // a gateway for containers forwards for neighbors as well
    return allowLan ? { allowed: 'local network' } : { leaked: `forwarded for a neighbor: ${seen.canary}` };
  const sender = senders.find(({ name }) => name === seen.canary) ?? senders.find(by => isFrom(seen, by));
  if (sender) return allowLan && sender.lan ? { allowed: 'local network' } : { leaked: sender.name };
  const { protocol, destination, port, sourcePort, type } = seen;
  if (seen.wireguard && destination === wireguard4 && port === WIREGUARD_PORT) return { allowed: 'tunnel' };
  if (protocol === UDP && sourcePort === 68 && port === 67 && destination === '255.255.255.255')
    return { allowed: 'DHCP' };
  if (protocol === ICMP6 && NEIGHBOR_DISCOVERY.includes(type!) && ON_LINK.test(destination))
    return { allowed: 'neighbor discovery' };
  return { leaked: `protocol ${protocol}${type === null ? '' : ` type ${type}`} to ${destination}:${port}` };
}

/** TCP's handshake and the reports of group membership carry no payload to know them by. */
function isFrom(seen: Seen, { how, to, port }: Sender): boolean {
  if (how === 'join') return to.includes(':') ? isMld(seen) : seen.protocol === IGMP;
  if ((how !== 'tcp' && how !== 'flow') || seen.protocol !== TCP) return false;
  if (to === '198.51.100.5') return seen.destination === HOSTS.router4 && seen.port === port; // as REROUTING translates it
  return (seen.destination === to && seen.port === port) || (seen.source === to && seen.sourcePort === port);
}

const isMld = ({ protocol, type }: Seen) => protocol === ICMP6 && MLD.includes(type!);
