// Defines the kill switch in the contract, with the list of blocked traffic.
import * as z from 'zod/mini';
import { ConfirmWithin } from './changes.ts';
import { type EndpointTable, killSwitchProblems } from './endpoint.ts';
import { Message, Time } from './values.ts';

export const KillSwitch = z.object({
  /** Wanted: stays true during a pause. */
  enabled: z.boolean(),
  allowLan: z.boolean(),
  /** Measured; null when it can't be known. */
  active: z.nullable(z.boolean()),
  /** Protection against a foreign `nft flush ruleset`. */
  protection: z.enum(['owner-persist', 'watchdog', 'none']),
  /** The rules are applied at boot before any network is. */
  bootGuard: z.boolean(),
  /** The enforcing program, such as `nftables 1.0.6`; null if the root service is not installed. */
  backend: z.nullable(z.string()),
  /** A sentence for people: why it does not block though it is wanted, or what could not be read. */
  detail: z.nullable(z.string()),
  /** `detail` to be translated; absent without one, and where daemon or root service are older. */
  wording: z.optional(z.array(Message)),
  installed: z.boolean(),
  /** The command that helps where something is missing, ready to be copied. */
  command: z.nullable(z.string()),
  /** End of a pause, or null. */
  pausedUntil: z.nullable(Time),
  /** When another program's change of the rules was last repaired; null without such a repair since it was turned on, and for an older root service. */
  repairedAt: z.nullable(Time),
  /** `confirmWithin` is understood: the installed root service can revert a change. */
  confirmable: z.boolean(),
  /** The present value is not confirmed: unless it is by `confirmBy`, the root service sets the previous one again. */
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
/** At most an hour; 0 ends a pause. */
export const KillSwitchPause = z.strictObject({ seconds: z.int().check(z.gte(0), z.lte(3600)) });
export type KillSwitchPause = z.infer<typeof KillSwitchPause>;
export const KillSwitchResponse = z.extend(KillSwitch, { ok: z.literal(true) });
export type KillSwitchResponse = z.infer<typeof KillSwitchResponse>;
const Whole = z.int().check(z.gte(0));

export const BlockedEntry = z.object({
  /** Rule that blocked; `forwarded` is for machines behind this one. */
  rule: z.enum(['kill-switch', 'dns', 'forwarded', 'tunnel-only']),
  /** User of the program; null for another machine behind this one. */
  uid: z.nullable(Whole),
  /** systemd unit of the program; null if it is not known or has ended. */
  unit: z.nullable(z.string()),
  /** Names of processes that are in that unit now, three at most. */
  programs: z.array(z.string()),
  /** Address of the machine behind this one, a container for instance; null for packets of this machine. */
  source: z.nullable(z.string()),
  /** `tcp`, `udp`, `icmp`, `ipv6-icmp`, or a number. */
  protocol: z.string(),
  address: z.string(),
  port: z.nullable(Whole),
  packets: Whole,
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
  hidden: Whole,
  /** Packets whose destination found no room in the kernel. */
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
