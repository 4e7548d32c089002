// Renders and parses the table that records blocked traffic. Its chains accept every packet, so they can't open what the other
// tables block. Its sets have a fixed size, and their elements time out. Pure.
import { ALL_HOSTS, ANY_DEVICE, PROBE, THIS_NODE, TUNNEL_INTERFACES } from './rules/place.ts';
import { ASKERS, leavingRules, lines, type RuleOptions, WITH_PORTS } from './rules/rules.ts';
import { leavingProgram, programRules } from './rules/tunnel-only.ts';

export const RECORDING_TABLE = 'culvert_blocked';
/** Time that a destination stays in the list after its last packet. */
const KEPT_SECONDS = 600;
/** Maximum number of destinations in each set. */
const SET_SIZE = 256;

/** The rules in force, which block the traffic. */
interface InForce {
  /** Rules of the kill switch; null if it blocks nothing. */
  rules: RuleOptions | null;
  /** Users with programs that use the tunnel only. */
  uids: readonly number[];
}

/** Sender of a packet: a user's unit, a user alone, a program that uses the tunnel only, or another machine behind this one. */
type Origin = 'unit' | 'user' | 'program' | 'forwarded';
/** Parts of an element, in order. */
type Part = 'uid' | 'cgroup' | 'source' | 'protocol' | 'address' | 'port';

interface RecordingSet {
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

/** Sets of the table for each origin and family, with and without ports. */
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

/** Cgroup levels of units: 5 or 6 for programs of a user's session, 3 for sessions, 2 for system services. Deepest first. */
const UNIT_LEVELS = [6, 5, 4, 3, 2];
/** Cgroup level of tunnel-only programs, below the slice of the user's programs. */
const PROGRAM_LEVEL = 4;

/** Renders the table as one transaction for `nft -f -`. Existing records stay. @throws TypeError */
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
    // routine link traffic, which the rules allow to neighbors that asked
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
    // the programs that an administrator allowed outside the tunnel are in a set of another table
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

/**
 * Returns rules that record a packet. A rule ends the chain, unless the packet lacks a part or the set is full; the next rule
 * then applies.
 */
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

/** A blocked destination, as the kernel recorded it. */
export interface Recorded {
  /** Key of the destination and its origin. */
  key: string;
  origin: Origin;
  /** Null for forwarded traffic. */
  uid: number | null;
  /** Path of the cgroup below the root of the hierarchy; null if it is unknown, or no longer exists. */
  cgroup: string | null;
  /** Address of the machine behind this one; null for packets from this machine. */
  source: string | null;
  /** Name of the protocol, or its number if /etc/protocols does not have it. */
  protocol: string;
  address: string;
  port: number | null;
  packets: number;
  /** Seconds since the last packet. */
  age: number;
}

export interface Recording {
  entries: Recorded[];
  /** Number of packets that found no room in any set. */
  missed: number;
}

interface Element {
  val?: { concat?: unknown[] };
  expires?: number;
  counter?: { packets?: number };
}
interface Item {
  table?: { name?: string };
  set?: { name?: string; elem?: { elem?: Element }[] };
  counter?: { name?: string; packets?: number };
}

/** @returns null if the text is not the table's listing */
export function parseRecording(json: string): Recording | null {
  let items: Item[];
  try {
    const { nftables } = JSON.parse(json) as { nftables?: unknown };
    if (!Array.isArray(nftables)) return null;
    items = nftables as Item[];
  } catch {
    return null;
  }
  if (!items.some(({ table }) => table?.name === RECORDING_TABLE)) return null;
  const entries = SETS.flatMap(({ name, origin, parts }) => {
    const elements = items.find(({ set }) => set?.name === name)?.set?.elem ?? [];
    return elements.flatMap(({ elem }) => recordedOf(origin, parts, elem) ?? []);
  });
  return { entries, missed: items.find(({ counter }) => counter?.name === 'missed')?.counter?.packets ?? 0 };
}

function recordedOf(origin: Origin, parts: readonly Part[], element: Element | undefined): Recorded | null {
  const values = element?.val?.concat;
  if (values?.length !== parts.length) return null;
  const value = (part: Part) => (parts.includes(part) ? values[parts.indexOf(part)] : null);
  const [uid, port, cgroup, source] = [value('uid'), value('port'), value('cgroup'), value('source')];
  return {
    key: JSON.stringify([origin, ...values]),
    origin,
    uid: typeof uid === 'number' ? uid : null,
    // nft prints a removed cgroup as a number
    cgroup: typeof cgroup === 'string' ? cgroup : null,
    source: source === null ? null : String(source),
    protocol: String(value('protocol')),
    address: String(value('address')),
    port: typeof port === 'number' ? port : null,
    packets: element?.counter?.packets ?? 1,
    age: Math.max(0, KEPT_SECONDS - (element?.expires ?? KEPT_SECONDS)),
  };
}

/** Returns the unit of a cgroup: `user.slice/user-1000.slice/session-2.scope` -> `session-2.scope`. */
export function unitOf(cgroup: string): string {
  const names = cgroup.split('/').filter(Boolean).reverse();
  const unit = names.find(name => /\.(?:service|scope|socket|mount|swap)$/.test(name)) ?? names[0] ?? '';
  // a user can give a cgroup any name
  return unit.replace(/[^\x21-\x7e]/g, '?').slice(0, 200);
}
