// Defines the kill switch and the list of blocked traffic in the contract.
import * as z from 'zod/mini';
import { ConfirmWithin } from './changes.ts';
import { type EndpointTable, killSwitchProblems } from './endpoint.ts';
import { Message, Time } from './values.ts';

export const KillSwitch = z.object({
  /** Wanted state: stays true during a pause. */
  enabled: z.boolean(),
  allowLan: z.boolean(),
  /** Measured state; null if it can't be measured. */
  active: z.nullable(z.boolean()),
  /** Protection against a foreign `nft flush ruleset`. */
  protection: z.enum(['owner-persist', 'watchdog', 'none']),
  /** True if the rules apply at boot before any network is up. */
  bootGuard: z.boolean(),
  /** The enforcing program, such as `nftables 1.0.6`; null if the root service is not installed. */
  backend: z.nullable(z.string()),
  /** A sentence for users: why the kill switch does not block although it is on, or what could not be read. */
  detail: z.nullable(z.string()),
  /** `detail` in translatable form; absent without it, and with an older daemon or root service. */
  wording: z.optional(z.array(Message)),
  installed: z.boolean(),
  /** The command to run if something is missing, ready to copy. */
  command: z.nullable(z.string()),
  /** End of a pause, or null. */
  pausedUntil: z.nullable(Time),
  /** Last repair of rules that another program changed; null if none since turning on, and for an older root service. */
  repairedAt: z.nullable(Time),
  /** True if the installed root service can revert a change (`confirmWithin`). */
  confirmable: z.boolean(),
  /** The unconfirmed change, if any: without confirmation by `confirmBy`, the root service restores `previous`. */
  unconfirmed: z.nullable(
    z.object({
      setAt: Time,
      confirmBy: Time,
      previous: z.object({ enabled: z.boolean(), allowLan: z.boolean() }),
    }),
  ),
});
export type KillSwitch = z.infer<typeof KillSwitch>;

export const KillSwitchRequest = z.strictObject({
  enabled: z.boolean(),
  allowLan: z.boolean(),
  /** Seconds after which the previous value returns, unless the change is confirmed. */
  confirmWithin: z.optional(ConfirmWithin),
});
export type KillSwitchRequest = z.infer<typeof KillSwitchRequest>;
/** Length of a pause, at most an hour; 0 ends the pause. */
export const KillSwitchPause = z.strictObject({ seconds: z.int().check(z.gte(0), z.lte(3600)) });
export type KillSwitchPause = z.infer<typeof KillSwitchPause>;
export const KillSwitchResponse = z.extend(KillSwitch, { ok: z.literal(true) });
export type KillSwitchResponse = z.infer<typeof KillSwitchResponse>;
const Whole = z.int().check(z.gte(0));

export const BlockedEntry = z.object({
  /** The rule that blocked the traffic; `forwarded` applies to machines behind this machine. */
  rule: z.enum(['kill-switch', 'dns', 'forwarded', 'tunnel-only']),
  /** User ID of the program; null for a machine behind this machine. */
  uid: z.nullable(Whole),
  /** systemd unit of the program; null if unknown or ended. */
  unit: z.nullable(z.string()),
  /** Names of at most three processes that the unit has now. */
  programs: z.array(z.string()),
  /** Address of the machine behind this machine, such as a container; null for this machine's packets. */
  source: z.nullable(z.string()),
  /** `tcp`, `udp`, `icmp`, `ipv6-icmp`, or a number. */
  protocol: z.string(),
  address: z.string(),
  port: z.nullable(Whole),
  packets: Whole,
  /** Time of the first packet; with several packets, up to a minute too early. */
  since: Time,
  last: Time,
});
export type BlockedEntry = z.infer<typeof BlockedEntry>;

export const BlockedList = z.object({
  /** Start of the recording, with no data before it; null while the root service does not run and so blocks nothing. */
  recordingSince: z.nullable(Time),
  /** At most 256 entries, latest first. */
  entries: z.array(BlockedEntry),
  /** Number of unlisted destinations: other users' destinations, and those beyond the list's length. */
  hidden: Whole,
  /** Packets whose destination did not fit into the kernel's list. */
  missed: Whole,
});
export type BlockedList = z.infer<typeof BlockedList>;
export const BlockedResponse = z.extend(BlockedList, { ok: z.literal(true) });
export type BlockedResponse = z.infer<typeof BlockedResponse>;

export const killSwitchEndpoints = {
  'GET /api/killswitch': { summary: 'State of the kill switch, measured', response: KillSwitchResponse },
  'POST /api/killswitch': {
    summary:
      'Set the kill switch; the reply is the state measured afterwards. With `confirmWithin` (seconds) the root service sets the previous value again unless the change is confirmed',
    body: KillSwitchRequest,
    response: KillSwitchResponse,
    problems: [...killSwitchProblems, 'unsupported-by-cli'],
  },
  'POST /api/killswitch/pause': {
    summary: 'Lift the block for some seconds, timed by the root service; 0 ends the pause',
    body: KillSwitchPause,
    response: KillSwitchResponse,
    problems: killSwitchProblems,
  },
  'GET /api/killswitch/blocked': {
    summary:
      'What was blocked of this user in the last ten minutes, the latest first. Recording begins with the first request, and ends a minute after the last one unless `warp.recordBlocked` is set',
    response: BlockedResponse,
    problems: killSwitchProblems,
  },
} as const satisfies EndpointTable;
