// Pure: makes the list of what was blocked, for one reader, from what the kernel recorded.
import type { BlockedEntry, BlockedList } from '../../api/schema.ts';
import { type Recorded, type Recording, unitOf } from './entries.ts';

/** Length of a list: the bus takes small messages only. */
const MAX_ENTRIES = 256;

interface Reading {
  /** The reader: a user sees what was blocked of that user, and root sees all. */
  uid: number;
  /** When the recording began, and when it was read, in ms since the epoch. */
  began: number;
  readAt: number;
  /** Time of the first packet of each entry, by its key. */
  first: ReadonlyMap<string, number>;
  programsIn(cgroup: string): string[];
}

export function listOf({ entries, missed }: Recording, reading: Reading): BlockedList {
  const seen = entries.filter(({ uid }) => reading.uid === 0 || uid === reading.uid);
  const distinct = joined(seen.map(entry => entryOf(entry, reading)));
  const shown = distinct.sort((a, b) => b.last.localeCompare(a.last)).slice(0, MAX_ENTRIES);
  const cgroups = new Set(shown.flatMap(({ cgroup }) => cgroup ?? []));
  const programs = new Map([...cgroups].map(cgroup => [cgroup, reading.programsIn(cgroup)]));
  return {
    recordingSince: timeOf(reading.began),
    entries: shown.map(({ cgroup, ...entry }) => ({ ...entry, programs: programs.get(cgroup ?? '') ?? [] })),
    hidden: entries.length - seen.length + distinct.length - shown.length,
    missed,
  };
}

type Entry = Omit<BlockedEntry, 'programs'> & { cgroup: string | null };

function entryOf({ key, origin, age, packets, ...rest }: Recorded, { first, began, readAt }: Reading): Entry {
  return {
    ...rest,
    rule: ruleOf(origin, rest.port),
    unit: rest.cgroup === null ? null : unitOf(rest.cgroup),
    packets,
    since: timeOf(first.get(key) ?? began),
    last: timeOf(readAt - age * 1000),
  };
}

/** A unit may have several cgroups, and those that have gone have no names. */
function joined(entries: readonly Entry[]): Entry[] {
  const byIdentity = new Map<string, Entry>();
  for (const entry of entries) {
    const { rule, uid, unit, source, protocol, address, port } = entry;
    const identity = JSON.stringify([rule, uid, unit, source, protocol, address, port]);
    const other = byIdentity.get(identity);
    if (!other) byIdentity.set(identity, entry);
    else {
      other.packets += entry.packets;
      if (entry.since < other.since) other.since = entry.since;
      if (entry.last > other.last) other.last = entry.last;
    }
  }
  return [...byIdentity.values()];
}

/** DNS never leaves outside the tunnel, whatever else may. */
function ruleOf(origin: Recorded['origin'], port: number | null): BlockedEntry['rule'] {
  if (origin === 'program') return 'tunnel-only';
  if (origin === 'forwarded') return 'forwarded';
  return port === 53 || port === 853 ? 'dns' : 'kill-switch';
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
