// Records blocked traffic while a client asks for it: keeps the table of `recording.ts` in step with the rules in force, reads
// it, and removes it when no client has asked for a while. It knows no processes, which come in as `RecorderEdges`.
import type { BlockedEntry, BlockedList } from '../api/schema.ts';
import { createQueue } from './pacing.ts';
import {
  parseRecording,
  RECORDING_TABLE,
  type Recorded,
  type Recording,
  renderRecording,
  unitOf,
} from './recording.ts';
import type { RuleOptions } from './rules/rules.ts';
import type { ProgramRules } from './rules/tunnel-only.ts';
import type { Kernel } from './table.ts';
import { messageOf, SwitchError } from './wording.ts';

/** Longest time for which one call keeps the recording on. */
export const MAX_LEASE_SECONDS = 900;
/** Interval between reads, short enough to date the first packet. */
const LOOK_MS = 60_000;

interface RecorderEdges {
  nft: RecordingNft;
  /** Returns the names of some processes in a cgroup, given by its path below the root of the hierarchy. */
  programsIn(cgroup: string): string[];
  /** Milliseconds since the epoch. */
  now(): number;
  report(trouble: string): void;
}

export interface Recorder {
  /** Removes a table that an earlier service left. Never throws. */
  start(): Promise<void>;
  /** Wraps a kernel so that the recording follows its rules. */
  followSwitch(kernel: Kernel<RuleOptions>): Kernel<RuleOptions>;
  followPrograms(kernel: Kernel<ProgramRules>): Kernel<ProgramRules>;
  /**
   * Lists a user's traffic that was blocked in the last ten minutes; for root, the traffic of all users. Keeps recording for
   * `seconds`.
   * @throws SwitchError Failed
   */
  read(uid: number, seconds: number): Promise<BlockedList>;
  /** Ends the recording. Never throws. */
  end(): Promise<void>;
}

export function createRecorder({ nft, programsIn, now, report }: RecorderEdges): Recorder {
  const inTurn = createQueue();
  const table = createRecordingTable(nft);
  const inForce: { rules: RuleOptions | null; uids: readonly number[] } = { rules: null, uids: [] };
  let leaseUntil = 0;
  /** Times when the recording began and when it was last read. */
  let began = 0;
  let readAt = 0;
  /** Time of the first packet of each entry. */
  let first = new Map<string, number>();
  let timer: ReturnType<typeof setTimeout> | null = null;

  /** Brings the table in step with the rules in force. @throws Error with nft's message */
  async function settle(): Promise<void> {
    if (now() >= leaseUntil) await remove();
    else if (await table.load(renderRecording(inForce))) began = readAt = now();
  }

  async function remove(): Promise<void> {
    if (timer) clearTimeout(timer);
    timer = null;
    leaseUntil = 0;
    first.clear();
    if (table.isLoaded()) await table.remove();
  }

  /** Reads the table. Tries twice, since another program may flush it. @throws Error */
  async function look(): Promise<Recording> {
    for (let attempt = 1; attempt <= 2; attempt++) {
      await settle();
      const recording = await table.read();
      if (recording) return remembered(recording);
    }
    throw new Error('another program removes the table');
  }

  function remembered(recording: Recording): Recording {
    const at = now();
    first = new Map(
      recording.entries.map(({ key, packets, age }) => {
        const last = at - age * 1000;
        return [key, first.get(key) ?? (packets === 1 ? last : Math.min(last, readAt))];
      }),
    );
    readAt = at;
    return recording;
  }

  function plan(): void {
    if (timer) clearTimeout(timer);
    const left = leaseUntil - now();
    timer = setTimeout(() => void quietly(left > LOOK_MS ? lookAgain : settle), Math.min(left, LOOK_MS) + 1);
  }

  async function lookAgain(): Promise<void> {
    await look();
    plan();
  }

  const quietly = (step: () => Promise<unknown>) =>
    inTurn(step).then(
      () => {},
      error => report(`what is blocked is not recorded: ${messageOf(error)}`),
    );

  const changed = () => {
    if (table.isLoaded()) void quietly(settle);
  };

  return {
    start: () => quietly(table.remove),
    followSwitch: kernel =>
      follow(kernel, options => {
        inForce.rules = options;
        changed();
      }),
    followPrograms: kernel =>
      follow(kernel, options => {
        inForce.uids = options?.uids ?? [];
        changed();
      }),
    read: (uid, seconds) =>
      inTurn(async () => {
        leaseUntil = Math.max(leaseUntil, now() + seconds * 1000);
        try {
          const recording = await look();
          return listOf(recording, { uid, began, readAt, first, programsIn });
        } catch (error) {
          throw new SwitchError('Failed', `What was blocked could not be read: ${messageOf(error)}`, error);
        } finally {
          plan();
        }
      }),
    end: () => quietly(remove),
  };
}

/** @param changed called with the rules in force after each change; null if there are none */
function follow<Options>(kernel: Kernel<Options>, changed: (options: Options | null) => void): Kernel<Options> {
  return {
    ...kernel,
    async replace(options) {
      const listing = await kernel.replace(options);
      changed(options);
      return listing;
    },
    async remove() {
      await kernel.remove();
      changed(null);
    },
  };
}

/** Maximum length of a list: the bus takes only small messages. */
const MAX_ENTRIES = 256;

interface Reading {
  /** The reader: users see only their own blocked traffic, and root sees all. */
  uid: number;
  /** Times when the recording began and when it was read, in ms since the epoch. */
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

/** Joins entries that differ only in the cgroup: a unit may have several. A removed cgroup has no name. */
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

/** Returns the rule that blocked a packet. DNS never leaves outside the tunnel, whatever else may. */
function ruleOf(origin: Recorded['origin'], port: number | null): BlockedEntry['rule'] {
  if (origin === 'program') return 'tunnel-only';
  if (origin === 'forwarded') return 'forwarded';
  return port === 53 || port === 853 ? 'dns' : 'kill-switch';
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

const REMOVAL = `delete table inet ${RECORDING_TABLE}`;
export const ABSENT = 'No such file or directory';

/** An nft process for the recording alone. `end` stops it; the next request starts another process. */
interface RecordingNft {
  ask(commands: string): Promise<string[]>;
  end(): void;
}

function createRecordingTable(nft: RecordingNft) {
  /** Text of the table in the kernel; null without a table. */
  let loaded: string | null = null;

  return {
    isLoaded: () => loaded !== null,
    /** @returns true if the table is new. @throws Error with nft's message */
    async load(text: string): Promise<boolean> {
      if (text === loaded) return false;
      const parts = text.split('\n').map(part => part.trim());
      const lines = await nft.ask(parts.filter(part => part !== '' && !part.startsWith('#')).join(';'));
      const error = errorIn(lines);
      if (error) throw new Error(`nft: ${error.replace(/^.*?Error: /, '')}`);
      const isNew = loaded === null;
      loaded = text;
      return isNew;
    },
    /** @returns null if another program removed the table. @throws Error */
    async read(): Promise<Recording | null> {
      const lines = await nft.ask(`list table inet ${RECORDING_TABLE}`);
      const recording = lines.map(line => (line.startsWith('{') ? parseRecording(line) : null)).find(Boolean);
      if (recording) return recording;
      const error = errorIn(lines) ?? 'no answer';
      if (!error.includes(ABSENT)) throw new Error(`nft: ${error}`);
      loaded = null;
      return null;
    },
    /** Also removes a table that an earlier service left. @throws Error */
    async remove(): Promise<void> {
      loaded = null;
      await nft.ask(REMOVAL);
      nft.end();
    },
  };
}

function errorIn(lines: readonly string[]): string | undefined {
  return lines.find(line => line.includes('Error: '));
}
