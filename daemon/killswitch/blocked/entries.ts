// Pure: reads what the kernel recorded (`nft -j list table`).
import { KEPT_SECONDS, type Origin, type Part, RECORDING_TABLE, SETS } from './recording.ts';

/** A destination that was blocked, as the kernel recorded it. */
export interface Recorded {
  /** The same for the same destination of the same origin. */
  key: string;
  origin: Origin;
  /** null: of another machine behind this one. */
  uid: number | null;
  /** Path of the cgroup below the root of the hierarchy; null if it is not known, or the cgroup has gone. */
  cgroup: string | null;
  /** Address of the machine behind this one; null for packets of this machine. */
  source: string | null;
  /** Name, or number where /etc/protocols does not have it. */
  protocol: string;
  address: string;
  port: number | null;
  packets: number;
  /** Seconds since the last packet. */
  age: number;
}

export interface Recording {
  entries: Recorded[];
  /** Packets that found no room in any set. */
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
    // nft prints the number of a cgroup that has gone
    cgroup: typeof cgroup === 'string' ? cgroup : null,
    source: source === null ? null : String(source),
    protocol: String(value('protocol')),
    address: String(value('address')),
    port: typeof port === 'number' ? port : null,
    packets: element?.counter?.packets ?? 1,
    age: Math.max(0, KEPT_SECONDS - (element?.expires ?? KEPT_SECONDS)),
  };
}

/** The unit that a cgroup belongs to: `user.slice/user-1000.slice/session-2.scope` -> `session-2.scope`. */
export function unitOf(cgroup: string): string {
  const names = cgroup.split('/').filter(Boolean).reverse();
  const unit = names.find(name => /\.(?:service|scope|socket|mount|swap)$/.test(name)) ?? names[0] ?? '';
  // a user can give a cgroup any name
  return unit.replace(/[^\x21-\x7e]/g, '?').slice(0, 200);
}
