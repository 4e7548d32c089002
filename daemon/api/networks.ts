// Defines this machine's networks, and the rules for them, in the contract.
import * as z from 'zod/mini';
import { MODES, PROTOCOLS } from './actions.ts';
import { ConfirmWithin } from './changes.ts';
import { Empty, type EndpointTable } from './endpoint.ts';
import { RoutePreset } from './routes.ts';
import { Message, Time } from './values.ts';

/** A physical link that is up. Bridges, tunnels and other virtual devices do not count. */
export const NetworkLink = z.object({
  device: z.string(),
  kind: z.enum(['wifi', 'ethernet', 'mobile', 'other']),
  /** The SSID of a Wi-Fi network; otherwise the connection's name, if any. */
  name: z.nullable(z.string()),
  /** Identifies the connection in NetworkManager. */
  uuid: z.nullable(z.string()),
  /** IP address and hardware address of the IPv4 default gateway. */
  gateway: z.nullable(z.string()),
  gatewayHardware: z.nullable(z.string()),
  /** Hardware address of the Wi-Fi access point. */
  bssid: z.nullable(z.string()),
  /** `psk`: all users share a password; `enterprise`: each user has a password. Null if not reported. */
  security: z.nullable(z.enum(['open', 'wep', 'psk', 'enterprise'])),
  metered: z.nullable(z.boolean()),
  /** Connectivity as the network service reports it. */
  connectivity: z.nullable(z.enum(['none', 'portal', 'limited', 'full'])),
});
export type NetworkLink = z.infer<typeof NetworkLink>;

export const NetworkService = z.enum(['NetworkManager', 'systemd-networkd', 'iwd']);
export type NetworkService = z.infer<typeof NetworkService>;

const Hardware = z.string().check(z.regex(/^[\da-f]{2}(:[\da-f]{2}){5}$/));
const Sha256 = z.string().check(z.regex(/^[\da-f]{64}$/));
const Label = z.string().check(z.minLength(1), z.maxLength(64));

const BeaconAddress = z.string().check(z.maxLength(260), z.regex(/^(\[[\da-fA-F:.]+\]|[\w.-]+):\d{1,5}$/));

/** A TLS server inside the network, and the SHA-256 of its certificate. */
export const Beacon = z.object({
  /** `HOST:PORT` or `[ADDRESS]:PORT`. */
  address: BeaconAddress,
  sha256: Sha256,
});
export type Beacon = z.infer<typeof Beacon>;

/** Conditions of a rule; the rule applies to networks that meet all of them. */
export const NetworkMatch = z.object({
  ssid: z.optional(Label),
  security: z.optional(z.enum(['open', 'wep', 'psk', 'enterprise'])),
  uuid: z.optional(Label),
  /** Hardware address of the gateway. */
  gateway: z.optional(Hardware),
  /** Hardware addresses of access points. */
  bssid: z.optional(z.array(Hardware).check(z.maxLength(64))),
  beacon: z.optional(Beacon),
  /** Networks that no rule without `any` matches; `no-rule`: networks that no other rule matches. */
  any: z.optional(z.enum(['unknown-wifi', 'ethernet', 'no-rule'])),
});
export type NetworkMatch = z.infer<typeof NetworkMatch>;

/** Values that a rule sets on a network. */
export const NetworkEffects = z.object({
  warp: z.optional(z.enum(['connect', 'pause'])),
  mode: z.optional(z.enum(MODES)),
  protocol: z.optional(z.enum(PROTOCOLS)),
  /** Never false: turning the kill switch off needs an administrator. */
  killSwitch: z.optional(z.literal(true)),
  /** Entries of this machine that bypass WARP while the rule holds. */
  routes: z.optional(RoutePreset),
});
export type NetworkEffects = z.infer<typeof NetworkEffects>;

export const NetworkRule = z.object({
  name: Label,
  match: NetworkMatch,
  effects: NetworkEffects,
  /** `copyable`: a name or address, which anyone can copy; `beacon`: a key, which can't be copied. */
  proof: z.enum(['copyable', 'beacon']),
  /** True if the rule can lower the protection. */
  weakens: z.boolean(),
  /** The user's answer to a rule that weakens; null before an answer. */
  allowed: z.nullable(z.boolean()),
});
export type NetworkRule = z.infer<typeof NetworkRule>;

/** A value that a rule sets. */
export const RuleEffect = z.object({
  subject: z.enum(['connection', 'mode', 'protocol', 'killSwitch', 'routes']),
  /** `on`, `off`, or a value of the rule. */
  value: z.string().check(z.maxLength(64)),
  /** Name of the rule. */
  rule: z.string().check(z.maxLength(64)),
});
export type RuleEffect = z.infer<typeof RuleEffect>;

/** An effect in the history; `ended`: the previous value was restored. */
export const RuleRecord = z.extend(RuleEffect, { ended: z.optional(z.literal(true)) });
export type RuleRecord = z.infer<typeof RuleRecord>;

export const NetworkDecision = z.object({
  /** The rule of each link; null if no rule matches. */
  links: z.array(z.object({ device: z.string(), rule: z.nullable(z.string()) })),
  effects: z.array(
    z.extend(RuleEffect, {
      /** `holds`: set when the network changes; `asks`: the user must allow it first; `left`: not set. */
      state: z.enum(['holds', 'asks', 'left']),
      /** Reason for `left`. */
      reason: z.nullable(z.enum(['other-link', 'managed', 'locked', 'refused'])),
    }),
  ),
});
export type NetworkDecision = z.infer<typeof NetworkDecision>;
export type DecidedEffect = NetworkDecision['effects'][number];

/** Present networks, rules, and decision. */
export const NetworksState = z.object({
  /** The service that reported the links; null if none runs. */
  service: z.nullable(NetworkService),
  links: z.array(NetworkLink),
  rules: z.array(NetworkRule),
  decision: NetworkDecision,
  /** The last change that a rule made on this network; null before the first. */
  acted: z.nullable(z.object({ rule: z.string(), at: Time })),
  /** True if the user reverted the rules' changes: no rule acts until the network changes. */
  reverted: z.boolean(),
  /** True while the user's revert is not complete: no rule acts, and it is tried again. Absent otherwise. */
  reverting: z.optional(z.literal(true)),
  /** Reason why a rule could not be applied. */
  problem: z.nullable(z.string()),
});
export type NetworksState = z.infer<typeof NetworksState>;

/** An error in the document; `line` is null if it concerns no single line. */
const Invalid = z.object({ line: z.nullable(z.int()), reason: z.string(), message: Message });
export type InvalidRule = z.infer<typeof Invalid>;

export const Networks = z.extend(NetworksState, {
  ok: z.literal(true),
  document: z.string(),
  /** Changes with the document; pass it as `ifRevision`. */
  revision: z.string(),
  /** Errors in the document; with any, no rule applies. */
  invalid: z.array(Invalid),
});
export type Networks = z.infer<typeof Networks>;

const Document = z.string().check(z.maxLength(32_768));

export const NetworksRequest = z.strictObject({
  document: Document,
  ifRevision: z.optional(z.string().check(z.maxLength(64))),
  /** Seconds after which the rules' immediate changes revert unless they are confirmed. */
  confirmWithin: z.optional(ConfirmWithin),
});
export type NetworksRequest = z.infer<typeof NetworksRequest>;

/** A network to try the rules on. */
const Supposed = z.strictObject({
  kind: z.enum(['wifi', 'ethernet', 'mobile', 'other']),
  name: z.optional(Label),
  uuid: z.optional(Label),
  security: z.optional(z.enum(['open', 'wep', 'psk', 'enterprise'])),
  gatewayHardware: z.optional(Hardware),
  bssid: z.optional(Hardware),
  /** Address of the beacon to assume present with the right key; true for all beacons. */
  beacon: z.optional(z.union([z.boolean(), BeaconAddress])),
});
export type SupposedNetwork = z.infer<typeof Supposed>;

export const NetworksWhatIf = z.strictObject({
  network: z.optional(Supposed),
  /** Rules to try; default: the current rules. */
  document: z.optional(Document),
});
export type NetworksWhatIf = z.infer<typeof NetworksWhatIf>;

export const NetworksTried = z.object({
  ok: z.literal(true),
  rules: z.array(NetworkRule),
  decision: NetworkDecision,
  invalid: z.array(Invalid),
});
export type NetworksTried = z.infer<typeof NetworksTried>;

export const NetworksAnswer = z.strictObject({ rule: Label, answer: z.enum(['always', 'once', 'never']) });
export type NetworksAnswer = z.infer<typeof NetworksAnswer>;

export const networksEndpoints = {
  'GET /api/networks': {
    summary:
      'The physical links that are up, each with what identifies its network; the rules for networks, and what they do here. For two minutes after each request, changes come as `networks` events. Beacons of the rules are asked when the network or the rules change, and not for this request',
    response: Networks,
  },
  'POST /api/networks': {
    summary:
      'Set the rules for networks to a document. They hold immediately, and each time that the network changes; what they change now reverts with `confirmWithin` (seconds) unless it is confirmed',
    body: NetworksRequest,
    response: Networks,
    problems: ['document-invalid', 'precondition-failed', 'config-not-writable'],
  },
  'POST /api/networks/what-if': {
    summary: 'Predict the effect of the rules, or those of a document, here or on another network; changes nothing',
    body: NetworksWhatIf,
    response: NetworksTried,
  },
  'POST /api/networks/answer': {
    summary:
      'Allow a rule to lower the protection on a network that only a copyable name or address proves, or refuse; `once` is until the network changes',
    body: NetworksAnswer,
    response: Networks,
    problems: ['not-found'],
  },
  'POST /api/networks/revert': {
    summary: 'Revert what the rules changed here; they do nothing more until the network changes',
    body: Empty,
    response: Networks,
  },
} as const satisfies EndpointTable;
