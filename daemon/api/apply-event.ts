// Applies events to the snapshot; no other module maps events to parts. Free of zod, so that every client can load it.
import type { Event } from './client.ts';
import type { EventName } from './contract.ts';
import type { Snapshot } from './schema.ts';

/** The parts of a snapshot that events update. The event with a part's name carries its new value. */
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
  'hasOldParts',
] as const satisfies (keyof Snapshot & EventName)[];
export type Part = (typeof PARTS)[number];

/**
 * Returns the snapshot after an event, or the same object if the event changes no part.
 * @param snapshot null before the first snapshot; then only a `snapshot` event has an effect
 */
export function applyEvent(snapshot: Snapshot | null, { event, id, data }: Event): Snapshot | null {
  if (event === 'snapshot') return data;
  if (!snapshot || !(PARTS as readonly string[]).includes(event)) return snapshot;
  return { ...snapshot, [event]: data, revision: Number(id) };
}
