// Defines the wire types of a sign-in to a network while the kill switch is on.
import * as z from 'zod/mini';
import { Count, Time } from '../values.ts';

/** Bytes that a sign-in to a network sent to a host and received from it, outside the tunnel, while the kill switch was on. */
const PassedHost = z.object({
  /** A name or an address; `*` stands for all further hosts. */
  host: z.string().check(z.regex(/^[\w.:*-]{1,253}$/)),
  sent: Count,
  received: Count,
});
export type PassedHost = z.infer<typeof PassedHost>;
/**
 * Why a sign-in ended: `closed` by its command, `time` over, another `network`, the `tunnel` came, the kill switch was turned off or
 * paused (`unblocked`), the screen was locked or another user is at it (`away`), `logout`, `sleep` of the machine, or its `helper` or the root
 * `service` ended or stood still.
 */
const SignInEnd = z.enum([
  'closed',
  'time',
  'network',
  'tunnel',
  'unblocked',
  'away',
  'logout',
  'sleep',
  'helper',
  'service',
]);
export type SignInEnd = z.infer<typeof SignInEnd>;
/** One sign-in. */
export const HistorySignIn = z.object({
  ended: SignInEnd,
  endedAt: Time,
  hosts: z.array(PassedHost).check(z.maxLength(64)),
});
export type HistorySignIn = z.infer<typeof HistorySignIn>;
