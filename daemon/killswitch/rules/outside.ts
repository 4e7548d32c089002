// Renders the table of programs outside the tunnel. Their packets leave by the uplink or not at all, and no other packets are
// forwarded because of them. Pure.
import { ANY_DEVICE, addressesOf, NETWORK, NETWORK_6, TUNNEL_INTERFACES } from './place.ts';
import { quoted, replacing, set } from './rules.ts';

export const OUTSIDE_TABLE = 'culvert_outside';

/** The way out for one address family. */
export interface Uplink {
  device: string;
  /** In bytes. */
  mtu: number;
  /** The uplink's resolver; null if none is known. */
  resolver: string | null;
  /** True if this service turned on forwarding there, so nothing else may use it. */
  guarded: boolean;
}

export interface OutsideRules {
  /** Numbers of the links. */
  links: readonly number[];
  /** Uplinks by family; null for a family without a way out. */
  uplinks: { 4: Uplink | null; 6: Uplink | null };
  flags?: readonly ('owner' | 'persist')[];
}

const DNS = 'meta l4proto { 6, 17 } th dport 53';
/** Headers of a TCP segment without options, in bytes. */
const HEADERS = { 4: 40, 6: 60 } as const;
const NEIGHBORS = 'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255 accept';

/** Renders the table for `nft -f -`. It replaces any table of the same name. @throws TypeError */
export function renderOutside({ links, uplinks, flags = [] }: OutsideRules): string {
  const families = ([4, 6] as const).flatMap(family => {
    const uplink = uplinks[family];
    return uplink && links.length ? [rulesOf(family, uplink, links)] : [];
  });
  const each = (rule: keyof FamilyRules) =>
    families.map(rules => (rules[rule] === null ? '' : `    ${rules[rule]}\n`)).join('');

  return `${replacing(flags, OUTSIDE_TABLE)}
table inet ${OUTSIDE_TABLE} {
${flags.length ? `  flags ${flags.join(', ')}\n` : ''}  counter refused { }

  # a program asks its gateway for names, which is the uplink's resolver
  chain names {
    type nat hook prerouting priority -100; policy accept;
${each('names')}  }

  chain forward {
    type filter hook forward priority -10; policy accept;
    iifname ${ANY_DEVICE} goto leave
    oifname ${ANY_DEVICE} goto arrive
    # answers to a program, where WARP's rule comes first for a moment
    ip daddr ${NETWORK} drop
    ip6 daddr ${NETWORK_6} drop
${each('guard')}  }
  chain leave {
    # not translated, they would leave with an address that nobody else knows
    ct state invalid counter name refused drop
    # a link keeps the MTU of the uplink that it was made for, and WARP drops what says that a packet is too big
${each('segmentsOut')}${each('leave')}    # it is sent again once our routing rules are before those of WARP
    oifname ${set(TUNNEL_INTERFACES.map(quoted))} counter name refused drop
    counter name refused reject with icmpx admin-prohibited
  }
  chain arrive {
${each('segmentsIn')}${each('answers')}    drop
  }
  chain translate {
    type nat hook postrouting priority 100; policy accept;
${each('translate')}  }

  # this machine itself is on the other side of the tunnel
  chain input {
    type filter hook input priority -10; policy accept;
    iifname ${ANY_DEVICE} goto here
  }
  chain here {
    ${NEIGHBORS}
    counter name refused drop
  }
  chain output {
    type filter hook output priority -10; policy accept;
    # an answer to a program quotes what it sent
    ip daddr ${NETWORK} oifname != ${ANY_DEVICE} drop
    ip6 daddr ${NETWORK_6} oifname != ${ANY_DEVICE} drop
    oifname ${ANY_DEVICE} goto there
  }
  chain there {
    ${NEIGHBORS}
    icmp type { destination-unreachable, time-exceeded, parameter-problem } accept
    icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem } accept
    drop
  }
}
`;
}

/** Rules that each family with a way out adds to the chains; null adds no rule. */
interface FamilyRules {
  names: string | null;
  guard: string | null;
  segmentsOut: string;
  segmentsIn: string;
  leave: string;
  answers: string;
  translate: string;
}

function rulesOf(family: 4 | 6, uplink: Uplink, links: readonly number[]): FamilyRules {
  const { resolver, guarded } = uplink;
  const device = quoted(uplink.device);
  const [ip, network] = family === 4 ? ['ip', NETWORK] : ['ip6', NETWORK_6];
  const only = `meta nfproto ipv${family}`;
  const largest = `${uplink.mtu - HEADERS[family]}`;
  const segments = `${only} tcp flags & syn == syn tcp option maxseg size > ${largest} tcp option maxseg size set ${largest}`;
  const programs = links.map(number => {
    const { device, address, address6 } = addressesOf(number);
    return { link: quoted(device), address: family === 4 ? address : address6 };
  });
  const sources = set(programs.map(({ link, address }) => `${link} . ${address}`));
  const addresses = set(programs.map(({ address }) => address));
  return {
    names: resolver && `iifname ${ANY_DEVICE} ${ip} daddr ${network} ${DNS} dnat ${ip} to ${checked(resolver, family)}`,
    guard: guarded ? `${only} iifname ${device} drop` : null,
    segmentsOut: `oifname ${device} ${segments}`,
    segmentsIn: `iifname ${device} ${segments}`,
    leave: `iifname . ${ip} saddr ${sources} oifname ${device} accept`,
    answers: `${only} iifname ${device} ct state established,related accept`,
    translate: `${ip} saddr ${addresses} oifname ${device} masquerade`,
  };
}

function checked(address: string, family: 4 | 6): string {
  if (!isResolver(address, family)) throw new TypeError(`no resolver: ${address}`);
  return address;
}

/** True for an address that a packet from a namespace can reach. */
export function isResolver(address: string, family: 4 | 6): boolean {
  return family === 4
    ? /^\d{1,3}(\.\d{1,3}){3}$/.test(address) && !/^(?:127|0)\./.test(address)
    : /^[0-9a-f:]{3,39}$/i.test(address) &&
        !/^(?:::1$|::$|fe[89ab])/i.test(address) &&
        !/^fd01:db8:1111:/i.test(address);
}
