// Renders the table that keeps chosen programs in the tunnel, as one transaction. It recognizes them by the cgroup into which
// the root service put them, one for each user. Pure.
import { cgroupOf, PROBE, TUNNEL_INTERFACES } from './place.ts';
import { lines, quoted, replacing, set, TUNNEL_TYPE, WITH_PORTS } from './rules.ts';

export const PROGRAMS_TABLE = 'culvert_programs';

export interface ProgramRules {
  /** Users with a program. Each user must have a cgroup: nft rejects a missing path. */
  uids: readonly number[];
  tunnelInterfaces?: readonly string[];
  flags?: readonly ('owner' | 'persist')[];
}

/** Addresses of WARP's own resolver, which warp-svc serves while it is connected. */
const RESOLVERS = ['127.0.2.2', '127.0.2.3'] as const;
const RESOLVERS_6 = ['fd01:db8:1111::2', 'fd01:db8:1111::3'] as const;
/** Bit of the connection's mark, which outlives the socket: the last packets (TIME_WAIT, resets) have no cgroup. */
const MARK = '0x10000000';

/** Returns rules for packets that may leave a program. One table refuses all other packets, and another table records them. */
export function leavingProgram(tunnelInterfaces: readonly string[], then: string): string[] {
  return [
    `oifname "lo" ip daddr ${set(RESOLVERS)} accept`,
    `oifname "lo" ip6 daddr ${set(RESOLVERS_6)} accept`,
    `oifname "lo" meta l4proto ${WITH_PORTS} th dport { 53, 853 } ${then}`,
    'oifname "lo" accept',
    `oifname ${set(tunnelInterfaces.map(quoted))} meta oiftype ${TUNNEL_TYPE} accept`,
  ];
}

/** Returns rules for the programs of these users. They match only positively: a packet without a socket belongs to no program. */
export function programRules(uids: readonly number[], then: string): string[] {
  return uids.map(uid => `socket cgroupv2 level 3 "${cgroupOf(uid)}" ${then}`);
}

/** Renders the table for `nft -f -`. It replaces any table of the same name. @throws TypeError */
export function renderPrograms({ uids, tunnelInterfaces = TUNNEL_INTERFACES, flags = [] }: ProgramRules): string {
  const names = set(tunnelInterfaces.map(quoted));
  const tunnel = (side: 'iif' | 'oif') => `${side}name ${names} meta ${side}type ${TUNNEL_TYPE}`;
  const programs = (then: string) => lines(programRules(uids, then));
  const marked = `ct mark & ${MARK} == ${MARK}`;

  return `${replacing(flags, PROGRAMS_TABLE)}
table inet ${PROGRAMS_TABLE} {
${flags.length ? `  flags ${flags.join(', ')}\n` : ''}  counter refused { }

  # names are asked of WARP's resolver, whatever resolver of this machine the program turns to: another one may ask outside
  chain names {
    type nat hook output priority -100; policy accept;
${programs('goto ask')}  }
  chain ask {
    ip daddr ${set(RESOLVERS)} accept
    ip daddr 127.0.0.0/8 meta l4proto { 6, 17 } th dport 53 dnat ip to ${RESOLVERS[0]}
  }

  # before WARP's own chain, which drops without a word
  chain output {
    type filter hook output priority -10; policy accept;
${programs('goto leave')}    ${marked} goto leave_unseen
  }
  chain leave {
    ip daddr ${PROBE.address} udp dport ${PROBE.port} reject with icmpx admin-prohibited
    ct mark set ct mark | ${MARK}
${lines(leavingProgram(tunnelInterfaces, 'counter name refused reject'))}    # fails at once; an older connection waits, for the tunnel may come back
    tcp flags & (fin | syn | rst | ack) == syn counter name refused reject with tcp reset
    counter name refused reject with icmpx admin-prohibited
  }
  chain leave_unseen {
    oifname "lo" accept
    ${tunnel('oif')} accept
    counter name refused drop
  }

  # the device may have changed since the output hook, by another program's mark or address translation
  chain postrouting {
    type filter hook postrouting priority 2147483645; policy accept;
    ${marked} goto leave_unseen
  }

  # a listening program answers on no other link
  chain input {
    type filter hook input priority -10; policy accept;
    # a resolver that serves every address of this machine answers there where WARP does not, and may ask outside
    iifname "lo" ${marked} meta l4proto ${WITH_PORTS} th dport 53 socket wildcard 1 counter name refused reject
    iifname "lo" accept
${programs('goto arrive')}  }
  chain arrive {
    # a connection that begins at the other side is answered without a socket, again and again
    ${tunnel('iif')} ct mark set ct mark | ${MARK} accept
    counter name refused drop
  }
}
`;
}
