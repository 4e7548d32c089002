// Defines the two ways to find out whether traffic uses the tunnel: a forecast with the kernel's route, and a trace page.
import * as z from 'zod/mini';
import type { EndpointTable } from './endpoint.ts';
import { Message, Time } from './values.ts';

/** An address, a host or a URL. */
export const WhyRequest = z.strictObject({ target: z.string().check(z.minLength(1), z.maxLength(2048)) });

/** Reason for the route; `entry`: an entry of the list, `default`: no entry matched, `own`: this machine's address. */
export const WhyReason = z.enum(['own', 'disconnected', 'dns-only', 'proxy-only', 'entry', 'default', 'unknown']);
export type WhyReason = z.infer<typeof WhyReason>;

export const WhyAddress = z.object({
  address: z.string(),
  /** True if the kernel routes the address through the tunnel; null without an answer. */
  tunnel: z.nullable(z.boolean()),
  /**
   * True if mode, connection and split tunnel should send it through the tunnel; null if they are unknown. Absent in older
   * versions, which report the forecast as `tunnel`.
   */
  forecast: z.optional(z.nullable(z.boolean())),
  /** Reason of the forecast. */
  reason: WhyReason,
  /** The deciding entry, as printed in the list. */
  entry: z.nullable(z.string()),
  /** True if the kill switch would block the traffic because it would bypass the tunnel. */
  blocked: z.boolean(),
  /** The kernel's current route, from `ip route get`; if null, `kernelProblem` gives the reason. */
  kernel: z.nullable(
    z.object({
      device: z.nullable(z.string()),
      gateway: z.nullable(z.string()),
      source: z.nullable(z.string()),
      /** True for the tunnel's device. */
      tunnel: z.boolean(),
      /** The kernel's error for an address that it sends nowhere, which has no device. Absent for any other. */
      refusal: z.optional(z.string()),
    }),
  ),
  kernelProblem: z.nullable(z.string()),
  /** `kernelProblem` in translatable form; absent without a problem, and in older versions. */
  wording: z.optional(z.array(Message)),
  /** True if forecast and kernel disagree; false for an address that the kernel sends nowhere, and for the tunnel's endpoints. */
  disagrees: z.boolean(),
});
export type WhyAddress = z.infer<typeof WhyAddress>;

export const Why = z.object({
  ok: z.literal(true),
  target: z.object({ kind: z.enum(['ip', 'host']), value: z.string() }),
  /** The client's mode, a value of setMode. */
  mode: z.nullable(z.string()),
  /** Type of the split tunnel's list: entries of `exclude` bypass the tunnel, entries of `include` use it. */
  list: z.nullable(z.enum(['exclude', 'include'])),
  /** The fallback domain that makes a host's name resolve outside the tunnel, with its resolvers, if set. */
  fallback: z.nullable(z.object({ domain: z.string(), resolvers: z.array(z.string()) })),
  /** The entry of the split tunnel that names a host, or null; absent for addresses, for a list that is not known now, and in older versions. */
  nameEntry: z.optional(z.nullable(z.string())),
  /**
   * True if `nameEntry` should send the host through the tunnel; null without an entry, or if no tunnel is connected for all
   * apps. Absent for addresses and in older versions.
   */
  nameForecast: z.optional(z.nullable(z.boolean())),
  /** True if the host should bypass the tunnel, which the kill switch blocks. Absent for addresses and in older versions. */
  nameBlocked: z.optional(z.boolean()),
  /** Set for an emulated tunnel: nothing is routed, so the kernel was not asked. Absent otherwise. */
  demo: z.optional(z.literal(true)),
  /** The proxy that apps must use in proxy mode: `127.0.0.1:40000`. */
  proxy: z.nullable(z.string()),
  addresses: z.array(WhyAddress),
  /** Reason why a host has no addresses. */
  resolveProblem: z.nullable(z.string()),
  /** `resolveProblem` in translatable form; absent without a problem, and in older versions. */
  wording: z.optional(z.array(Message)),
});
export type Why = z.infer<typeof Why>;

/** `limitSeconds` is the time limit for the page's answer. */
export const ProofRequest = z.strictObject({ limitSeconds: z.optional(z.int().check(z.gte(1), z.lte(15))) });
export type ProofRequest = z.infer<typeof ProofRequest>;

export const Proof = z.object({
  ok: z.literal(true),
  /** True if the page saw the request come through the tunnel. */
  through: z.boolean(),
  /** True if the page said whether the tunnel was used. */
  answered: z.boolean(),
  /** The page's answer, or the reason why it could not be read. */
  seen: Message,
  /** Public address and data center (IATA code) that the page saw; null if not reported. */
  address: z.nullable(z.string()),
  dataCenter: z.nullable(z.string()),
  at: Time,
});
export type Proof = z.infer<typeof Proof>;

export const whyEndpoints = {
  'POST /api/why': {
    summary:
      'Whether an address, a host or a URL would go through the tunnel, what decides that, and what the kernel says. A name is looked up',
    body: WhyRequest,
    response: Why,
  },
  'POST /api/proof': {
    summary:
      'Send a request to the trace page (`warp.traceUrl`), through the local proxy in its mode, and answer whether it came through the tunnel and from which address. Neither the daemon nor a client does so unless the user asks; the address is in this response only',
    body: ProofRequest,
    response: Proof,
  },
} as const satisfies EndpointTable;
