// Applies an event to the snapshot: the only place that knows which event changes which part. Free of zod, so that every
// client can load it.
import type { Event } from './client.ts';
import type { EventName } from './contract.ts';
import type { Snapshot } from './schema.ts';

/** The parts of a snapshot that change by themselves. An event of the same name carries the new value of each. */
export const PARTS = [
  'tunnelCli',
  'status',
  'settings',
  'options',
  'tunnel',
  'splitTunnel',
  'account',
  'killSwitch',
  'update',
  'diagnosis',
  'remoteAccess',
  'changes',
  'lostChanges',
  'reminder',
  'lastPause',
  'toolAccounts',
  'networks',
  'trust',
] as const satisfies (keyof Snapshot & EventName)[];
export type Part = (typeof PARTS)[number];

/**
 * The snapshot after an event.
 * @param snapshot null before the first one; an event other than `snapshot` then changes nothing.
 * @returns the same object for an event that changes no part.
 */
export function applyEvent(snapshot: Snapshot | null, { event, id, data }: Event): Snapshot | null {
  if (event === 'snapshot') return data;
  if (!snapshot || !(PARTS as readonly string[]).includes(event)) return snapshot;
  return { ...snapshot, [event]: data, revision: Number(id) };
}
