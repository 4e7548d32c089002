// Defines the wire types of the list of what was blocked.
import * as z from 'zod/mini';
import { Time } from '../values.ts';

const Count = z.int().check(z.gte(0));

export const BlockedEntry = z.object({
  /** Rule that blocked; `forwarded` is for machines behind this one. */
  rule: z.enum(['kill-switch', 'dns', 'forwarded', 'tunnel-only']),
  /** User of the program; null for another machine behind this one. */
  uid: z.nullable(Count),
  /** systemd unit of the program; null if it is not known or has ended. */
  unit: z.nullable(z.string()),
  /** Names of processes that are in that unit now, three at most. */
  programs: z.array(z.string()),
  /** Address of the machine behind this one, a container for instance; null for packets of this machine. */
  source: z.nullable(z.string()),
  /** `tcp`, `udp`, `icmp`, `ipv6-icmp`, or a number. */
  protocol: z.string(),
  address: z.string(),
  port: z.nullable(Count),
  packets: Count,
  /** Time of the first packet; with several, it may be up to a minute too early. */
  since: Time,
  last: Time,
});
export type BlockedEntry = z.infer<typeof BlockedEntry>;

export const BlockedList = z.object({
  /** Start of the recording, before which nothing is known; null while the root service does not run, and so blocks nothing. */
  recordingSince: z.nullable(Time),
  /** The latest ones first, 256 at most. */
  entries: z.array(BlockedEntry),
  /** Destinations that are not listed: those of other users, and those beyond the length of the list. */
  hidden: Count,
  /** Packets whose destination found no room in the kernel. */
  missed: Count,
});
export type BlockedList = z.infer<typeof BlockedList>;
export const BlockedResponse = z.extend(BlockedList, { ok: z.literal(true) });
export type BlockedResponse = z.infer<typeof BlockedResponse>;
