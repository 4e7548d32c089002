// Defines the wire types of the kill switch.
import * as z from 'zod/mini';
import { ConfirmWithin } from '../changes.ts';
import { Message, Time } from '../values.ts';
import { HistorySignIn } from './sign-in.ts';

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
/** The last sign-in to a network since the daemon was started. */
export const KillSwitchSignIn = z.object({ ok: z.literal(true), signIn: z.nullable(HistorySignIn) });
