// Defines the wire types of `POST /api/why`: whether a target would go through the tunnel, and what the kernel says.
import * as z from 'zod/mini';
import { Message } from '../values.ts';

/** An address, a host or a URL. */
export const WhyRequest = z.strictObject({ target: z.string().check(z.minLength(1), z.maxLength(2048)) });

/** Reason for the way; `entry`: an entry of the list, `default`: no entry matched, `own`: this machine's address. */
export const WhyReason = z.enum(['own', 'disconnected', 'dns-only', 'proxy-only', 'entry', 'default', 'unknown']);
export type WhyReason = z.infer<typeof WhyReason>;

export const WhyAddress = z.object({
  address: z.string(),
  /** True if the kernel sends it through the tunnel; null if the kernel gave no answer. */
  tunnel: z.nullable(z.boolean()),
  /**
   * True if mode, connection and split tunnel should send it through the tunnel; null if they are not known. Absent in older
   * versions, where `tunnel` is this.
   */
  forecast: z.optional(z.nullable(z.boolean())),
  /** Reason of the forecast. */
  reason: WhyReason,
  /** The entry that decided, as the list prints it. */
  entry: z.nullable(z.string()),
  /** The kill switch would stop it, because it would leave outside the tunnel. */
  blocked: z.boolean(),
  /** The kernel's current route, from `ip route get`; null with the reason in `kernelProblem`. */
  kernel: z.nullable(
    z.object({
      device: z.nullable(z.string()),
      gateway: z.nullable(z.string()),
      source: z.nullable(z.string()),
      /** True for the tunnel's device. */
      tunnel: z.boolean(),
    }),
  ),
  kernelProblem: z.nullable(z.string()),
  /** `kernelProblem` to be translated; absent without one, and in older versions. */
  wording: z.optional(z.array(Message)),
  /** Forecast and kernel disagree. */
  disagrees: z.boolean(),
});
export type WhyAddress = z.infer<typeof WhyAddress>;

export const Why = z.object({
  ok: z.literal(true),
  target: z.object({ kind: z.enum(['ip', 'host']), value: z.string() }),
  /** The client's mode, as setMode takes it. */
  mode: z.nullable(z.string()),
  /** Meaning of the split tunnel's list: `exclude` bypasses the tunnel, `include` through it. */
  list: z.nullable(z.enum(['exclude', 'include'])),
  /** The fallback domain that has a host's name resolved outside the tunnel, and its resolvers where they are set. */
  fallback: z.nullable(z.object({ domain: z.string(), resolvers: z.array(z.string()) })),
  /** The entry of the split tunnel that names a host, or null; absent for addresses and in older versions. */
  nameEntry: z.optional(z.nullable(z.string())),
  /** The tunnel is emulated: nothing is routed, so the kernel was not asked. Absent otherwise. */
  demo: z.optional(z.literal(true)),
  /** The proxy that an app has to use in proxy mode: `127.0.0.1:40000`. */
  proxy: z.nullable(z.string()),
  addresses: z.array(WhyAddress),
  /** Why a host has no addresses. */
  resolveProblem: z.nullable(z.string()),
  /** `resolveProblem` to be translated; absent without one, and in older versions. */
  wording: z.optional(z.array(Message)),
});
export type Why = z.infer<typeof Why>;
