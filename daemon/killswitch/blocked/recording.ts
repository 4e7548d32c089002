// Pure: renders the table that records what is blocked. It has a table of its own whose chains let everything pass, so that
// nothing in it can open what the other tables block. The kernel bounds it: sets with a size, whose elements time out.

import { ANY_DEVICE } from '../outside/addresses.ts';
import { ALL_HOSTS, PROBE, THIS_NODE, TUNNEL_INTERFACES } from '../rules/place.ts';
import { ASKERS, leavingRules, lines, type RuleOptions, WITH_PORTS } from '../rules/rules.ts';
import { leavingProgram, programRules } from '../rules/tunnel-only.ts';

export const RECORDING_TABLE = 'culvert_blocked';
/** Time that a destination stays in the list after its last packet. */
export const KEPT_SECONDS = 600;
/** Destinations in each set. */
const SET_SIZE = 256;

/** Rules in force, which are what blocks. */
export interface InForce {
  /** Rules of the kill switch; null: it blocks nothing. */
  rules: RuleOptions | null;
  /** Users with programs that use the tunnel only. */
  uids: readonly number[];
}

/** Sender of a packet: a user's unit, a user alone, a program that uses the tunnel only, or another machine behind this one. */
export type Origin = 'unit' | 'user' | 'program' | 'forwarded';
/** Parts of an element, in order. */
export type Part = 'uid' | 'cgroup' | 'source' | 'protocol' | 'address' | 'port';

export interface RecordingSet {
  name: string;
  origin: Origin;
  family: 4 | 6;
  parts: readonly Part[];
}

const ORIGINS: Readonly<Record<Origin, readonly Part[]>> = {
  unit: ['uid', 'cgroup'],
  user: ['uid'],
  program: ['uid', 'cgroup'],
  forwarded: ['source'],
};

/** Sets of the table: by origin, by family, and with and without ports. */
export const SETS: readonly RecordingSet[] = (Object.keys(ORIGINS) as Origin[]).flatMap(origin =>
  ([4, 6] as const).flatMap(family =>
    [true, false].map(hasPort => ({
      name: `${origin}${family}${hasPort ? '_port' : ''}`,
      origin,
      family,
      parts: [...ORIGINS[origin], 'protocol' as const, 'address' as const, ...(hasPort ? (['port'] as const) : [])],
    })),
  ),
);

/** A program of a user's session lies at 5 or 6, a system service at 2, a session at 3. One further up is its ancestor. */
const UNIT_LEVELS = [6, 5, 4, 3, 2];
/** Below the slice of the user's programs. */
const PROGRAM_LEVEL = 4;

/** Renders the table as one transaction for `nft -f -`. What is recorded already stays. @throws TypeError */
export function renderRecording({ rules, uids }: InForce): string {
  return `table inet ${RECORDING_TABLE} {
  counter missed { }
  set ${ASKERS} { type ipv6_addr; size 1; flags dynamic, timeout; timeout 5s; }
${SETS.map(definitionOf).join('')}
  # before the chain of the table that refuses these
  chain programs { type filter hook output priority -11; policy accept; }
  chain output { type filter hook output priority -1; policy accept; }
  chain forward { type filter hook forward priority -1; policy accept; }
  chain leave { }
  chain note_own { }
  chain note_program { }
  chain note_forwarded { }
}
flush table inet ${RECORDING_TABLE}
table inet ${RECORDING_TABLE} {
  chain programs {
${lines(programRules(uids, 'goto leave'))}  }
  chain leave {
    # the test of the place
    ip daddr { ${PROBE.address}, ${ALL_HOSTS} } udp dport ${PROBE.port} accept
    ip6 daddr ${THIS_NODE} udp dport ${PROBE.port} accept
${lines([...leavingProgram(TUNNEL_INTERFACES, 'goto note_program'), 'goto note_program'])}  }
  chain output {
${rules ? lines(outputRules(rules)) : ''}  }
  chain forward {
${rules ? lines(forwardRules(rules)) : ''}  }
  chain note_own {
${lines([...UNIT_LEVELS.flatMap(level => notes('unit', level)), ...notes('user'), 'counter name missed'])}  }
  chain note_program {
${lines([...notes('program', PROGRAM_LEVEL), 'counter name missed'])}  }
  chain note_forwarded {
${lines([...notes('forwarded'), 'counter name missed'])}  }
}
`;
}

function outputRules(rules: RuleOptions): string[] {
  const { local, dns, lan } = leavingRules(rules);
  return [
    // part of the link, and of no interest: the rules let it pass to those who asked
    'icmpv6 type nd-neighbor-advert accept',
    ...local('goto note_own'),
    `${dns} goto note_own`,
    ...lan('daddr'),
    'goto note_own',
  ];
}

function forwardRules(rules: RuleOptions): string[] {
  const { forwarded, dns, lan } = leavingRules(rules);
  return [
    // an administrator may have allowed a program outside the tunnel, which the set of another table says
    `iifname ${ANY_DEVICE} accept`,
    `oifname ${ANY_DEVICE} accept`,
    ...forwarded('goto note_forwarded'),
    `${dns} goto note_forwarded`,
    ...lan('daddr'),
    'goto note_forwarded',
  ];
}

function definitionOf({ name, family, parts }: RecordingSet): string {
  const address = family === 4 ? 'ipv4_addr' : 'ipv6_addr';
  const types: Record<Part, string> = {
    uid: 'uid',
    cgroup: 'cgroupsv2',
    source: address,
    protocol: 'inet_proto',
    address,
    port: 'inet_service',
  };
  const type = parts.map(part => types[part]).join(' . ');
  return `  set ${name} { type ${type}; size ${SET_SIZE}; flags dynamic, timeout; timeout ${KEPT_SECONDS}s; }\n`;
}

/** Each ends the chain; where there is no such part of a packet, or no room in the set, the next one is tried. */
function notes(origin: Origin, level = 1): string[] {
  return SETS.filter(set => set.origin === origin).map(({ name, family, parts }) => {
    const ip = family === 4 ? 'ip' : 'ip6';
    const values: Record<Part, string> = {
      uid: 'meta skuid',
      cgroup: `socket cgroupv2 level ${level}`,
      source: `${ip} saddr`,
      protocol: 'meta l4proto',
      address: `${ip} daddr`,
      port: 'th dport',
    };
    const key = parts.map(part => values[part]).join(' . ');
    const isWithPort = parts.includes('port') ? '' : '!= ';
    return `meta nfproto ipv${family} meta l4proto ${isWithPort}${WITH_PORTS} update @${name} { ${key} counter } return`;
  });
}
