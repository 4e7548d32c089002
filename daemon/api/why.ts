// Defines the two answers to whether traffic goes through the tunnel: the forecast with the kernel's view, and a trace page's.
import * as z from 'zod/mini';
import type { EndpointTable } from './endpoint.ts';
import { Message, Time } from './values.ts';

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

/** `limitSeconds`: time for the answer of the page. */
export const ProofRequest = z.strictObject({ limitSeconds: z.optional(z.int().check(z.gte(1), z.lte(15))) });
export type ProofRequest = z.infer<typeof ProofRequest>;

export const Proof = z.object({
  ok: z.literal(true),
  /** The page saw the request come through the tunnel. */
  through: z.boolean(),
  /** The page said whether the tunnel was used. */
  answered: z.boolean(),
  /** Words of the page, or the reason why it could not be read. */
  seen: Message,
  /** Public address, and IATA code of the data center, that the page saw; null if it did not say. */
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
