// Defines the networks that this machine is on, and the rules for them, in the contract.
import * as z from 'zod/mini';
import { MODES, PROTOCOLS } from './actions.ts';
import { ConfirmWithin } from './changes.ts';
import { Empty, type EndpointTable } from './endpoint.ts';
import { RoutePreset } from './routes.ts';
import { Message, Time } from './values.ts';

/** One physical link that is up. Bridges, tunnels and other virtual devices do not count. */
export const NetworkLink = z.object({
  device: z.string(),
  kind: z.enum(['wifi', 'ethernet', 'mobile', 'other']),
  /** The SSID of a Wi-Fi network; otherwise the name of the connection, where there is one. */
  name: z.nullable(z.string()),
  /** Identifies the connection in NetworkManager. */
  uuid: z.nullable(z.string()),
  /** Address of the IPv4 default gateway, and its hardware address. */
  gateway: z.nullable(z.string()),
  gatewayHardware: z.nullable(z.string()),
  /** Hardware address of the Wi-Fi access point. */
  bssid: z.nullable(z.string()),
  /** `psk` has a password that all users share, `enterprise` one for each user. Null if nothing reports it. */
  security: z.nullable(z.enum(['open', 'wep', 'psk', 'enterprise'])),
  metered: z.nullable(z.boolean()),
  /** As the network service sees it. */
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

/** The networks that a rule is for: those to which everything applies that it names. */
export const NetworkMatch = z.object({
  ssid: z.optional(Label),
  security: z.optional(z.enum(['open', 'wep', 'psk', 'enterprise'])),
  uuid: z.optional(Label),
  /** Hardware address of the gateway. */
  gateway: z.optional(Hardware),
  /** Hardware addresses of access points. */
  bssid: z.optional(z.array(Hardware).check(z.maxLength(64))),
  beacon: z.optional(Beacon),
  /** Networks that no rule without `any` is for; `no-rule` is for those that no other rule is for. */
  any: z.optional(z.enum(['unknown-wifi', 'ethernet', 'no-rule'])),
});
export type NetworkMatch = z.infer<typeof NetworkMatch>;

/** Values that hold on a network. */
export const NetworkEffects = z.object({
  warp: z.optional(z.enum(['connect', 'pause'])),
  mode: z.optional(z.enum(MODES)),
  protocol: z.optional(z.enum(PROTOCOLS)),
  /** Turning it off needs an administrator, so that no rule does. */
  killSwitch: z.optional(z.literal(true)),
  /** Entries of this machine that bypass WARP for as long as the rule holds. */
  routes: z.optional(RoutePreset),
});
export type NetworkEffects = z.infer<typeof NetworkEffects>;

export const NetworkRule = z.object({
  name: Label,
  match: NetworkMatch,
  effects: NetworkEffects,
  /** Anyone can copy a name and an address; the key of a beacon can't be copied. */
  proof: z.enum(['copyable', 'beacon']),
  /** It can lower the protection. */
  weakens: z.boolean(),
  /** The user allowed it to do so, or refused. Null before. */
  allowed: z.nullable(z.boolean()),
});
export type NetworkRule = z.infer<typeof NetworkRule>;

/** One thing that a rule sets. */
export const RuleEffect = z.object({
  subject: z.enum(['connection', 'mode', 'protocol', 'killSwitch', 'routes']),
  /** `on`, `off`, or a value of the rule. */
  value: z.string().check(z.maxLength(64)),
  /** Name of the rule. */
  rule: z.string().check(z.maxLength(64)),
});
export type RuleEffect = z.infer<typeof RuleEffect>;

/** An effect in the history; `ended`: the value before is set again. */
export const RuleRecord = z.extend(RuleEffect, { ended: z.optional(z.literal(true)) });
export type RuleRecord = z.infer<typeof RuleRecord>;

export const NetworkDecision = z.object({
  /** The rule of each link; null if none is for it. */
  links: z.array(z.object({ device: z.string(), rule: z.nullable(z.string()) })),
  effects: z.array(
    z.extend(RuleEffect, {
      /** `holds`: it is set when the network changes; `asks`: the user has to allow it first. */
      state: z.enum(['holds', 'asks', 'left']),
      /** Why it is left. */
      reason: z.nullable(z.enum(['other-link', 'managed', 'locked', 'refused'])),
    }),
  ),
});
export type NetworkDecision = z.infer<typeof NetworkDecision>;
export type DecidedEffect = NetworkDecision['effects'][number];

/** The networks as they are followed now. */
export const NetworksState = z.object({
  /** The service that reported the links; null if none runs. */
  service: z.nullable(NetworkService),
  links: z.array(NetworkLink),
  rules: z.array(NetworkRule),
  decision: NetworkDecision,
  /** The last thing that a rule changed on this network; null before. */
  acted: z.nullable(z.object({ rule: z.string(), at: Time })),
  /** The user reverted it, so that no rule does anything until the network changes. */
  reverted: z.boolean(),
  /** Why a rule could not be followed. */
  problem: z.nullable(z.string()),
});
export type NetworksState = z.infer<typeof NetworksState>;

/** A line of the document that is not understood; null if that is not one line. */
const Invalid = z.object({ line: z.nullable(z.int()), reason: z.string(), message: Message });
export type InvalidRule = z.infer<typeof Invalid>;

export const Networks = z.extend(NetworksState, {
  ok: z.literal(true),
  document: z.string(),
  /** Changes with every change of the document; pass it as `ifRevision`. */
  revision: z.string(),
  /** A document with an invalid rule is not followed at all. */
  invalid: z.array(Invalid),
});
export type Networks = z.infer<typeof Networks>;

const Document = z.string().check(z.maxLength(32_768));

export const NetworksRequest = z.strictObject({
  document: Document,
  ifRevision: z.optional(z.string().check(z.maxLength(64))),
  /** Changes that the rules make immediately revert unless they are confirmed. */
  confirmWithin: z.optional(ConfirmWithin),
});
export type NetworksRequest = z.infer<typeof NetworksRequest>;

/** A network to try the rules on. Without one: the present ones. */
const Supposed = z.strictObject({
  kind: z.enum(['wifi', 'ethernet', 'mobile', 'other']),
  name: z.optional(Label),
  uuid: z.optional(Label),
  security: z.optional(z.enum(['open', 'wep', 'psk', 'enterprise'])),
  gatewayHardware: z.optional(Hardware),
  bssid: z.optional(Hardware),
  /** The beacon at this address is there with the right key, or all are. */
  beacon: z.optional(z.union([z.boolean(), BeaconAddress])),
});
export type SupposedNetwork = z.infer<typeof Supposed>;

export const NetworksWhatIf = z.strictObject({
  network: z.optional(Supposed),
  /** Rules to try; default: those that are set. */
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
    summary: 'What the rules, or those of a document, would do here or on another network; nothing is changed',
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
