// Defines the tunnel, its CLI and the registration of this device in the contract.
import * as z from 'zod/mini';
import * as actions from './actions.ts';
import { type ChangeOptions, ConfirmWithin, ForSeconds } from './changes.ts';
import { changeProblems, type EndpointTable, tunnelProblems } from './endpoint.ts';
import { Blocked, Count, Message, Time } from './values.ts';

export const ConnectionState = z.enum([
  'connected',
  'connecting',
  'disconnecting',
  'disconnected',
  'unable',
  'unknown',
]);
export type ConnectionState = z.infer<typeof ConnectionState>;

/** A value that this version of Culvert does not know: its name and itself, as the tunnel CLI prints them. */
export const UnknownValue = z.object({ name: z.string(), value: z.string() });
export type UnknownValue = z.infer<typeof UnknownValue>;
/** Why a device is not registered, or not with its organization. `culvert explain` knows each name. */
export const REGISTRATION_CAUSES = [
  /** The policy file is a symbolic link, which WARP does not follow. */
  'policy-link',
  /** WARP's service may not read the policy file. */
  'policy-owner',
  /** WARP could not read the policy file when it started, and nothing shows why anymore. */
  'policy-restart',
  /** The policy file is empty, or not XML with settings. */
  'policy-form',
  /** The configurations are in a list that WARP may ignore in XML. */
  'policy-configs',
  /** Values are variables that no program replaced. */
  'policy-variables',
  /** The service token lacks a part. */
  'policy-token',
  /** The organization is not the bare name of a team. */
  'policy-organization',
  /** This user may not read the policy file. */
  'policy-hidden',
  /** WARP registers the device with a service token, and it is not registered. */
  'token-refused',
  /** The policy file names an organization; the user has to sign in. */
  'sign-in',
  /** Registered as a consumer's device, although an organization manages the machine. */
  'consumer',
  'api-unreachable',
  'client-too-old',
  'old-registration',
  /** The organization removed the device. */
  'removed',
  'unknown-to-api',
  /** Registered again, or removed, while the tunnel was up. */
  'changed',
] as const;
export const RegistrationCause = z.object({
  code: z.enum(REGISTRATION_CAUSES),
  /** True if an organization manages this machine, so that clients must not offer to register it as a consumer's. */
  managed: z.boolean(),
  /** The organization that the policy file names, or null. */
  organization: z.nullable(z.string()),
  /** The host that WARP could not reach; null for other causes. */
  host: z.nullable(z.string()),
  /** Observations that show the cause, one line each, without secrets. */
  evidence: z.array(Message),
});
export type RegistrationCause = z.infer<typeof RegistrationCause>;

export const Status = z.object({
  state: ConnectionState,
  /**
   * `code` is the tunnel CLI's own name (`HappyEyeballsFailed`), or null if the tunnel CLI printed only text. `byUser` is true
   * if the tunnel is known to have been turned off by hand, which `Manual` alone does not prove; otherwise absent.
   */
  reason: z.nullable(z.object({ code: z.nullable(z.string()), text: z.string(), byUser: z.optional(z.literal(true)) })),
  network: z.nullable(z.enum(['healthy', 'unstable'])),
  blocked: z.nullable(Blocked),
  since: Time,
  /** Output of the tunnel CLI, redacted; null before the first output. */
  raw: z.nullable(z.string()),
  /**
   * Time at which the state was last known, if reads have failed since; `said` is the tunnel CLI's output instead, or null
   * without an answer. Absent while the state is known.
   */
  lastKnown: z.optional(z.object({ at: Time, said: z.nullable(z.string()) })),
  /** The state (`status`), the network, the reason and further values, if Culvert does not know them; otherwise absent. */
  unknown: z.optional(z.array(UnknownValue)),
  /** Why the device is not registered, or not with its organization; absent if nothing but the registration is missing. */
  registration: z.optional(RegistrationCause),
});
export type Status = z.infer<typeof Status>;

/** Arguments of `warp-cli mode`, and so of setMode. */
export const Mode = z.enum(actions.MODES);
export type Mode = z.infer<typeof Mode>;
export const Protocol = z.enum(actions.PROTOCOLS);
export type Protocol = z.infer<typeof Protocol>;

/** Settings by their names in `warp-cli settings` (`Always On`, `WARP tunnel protocol`); `Mode` is a value of setMode. */
export const Settings = z.catchall(z.object({ Mode: z.optional(z.string()) }), z.unknown());
export type Settings = z.infer<typeof Settings>;

/** Temporary access to a local network that an organization keeps in the tunnel. */
export const LocalNetworkAccess = z.object({
  allowed: z.boolean(),
  /** End of the access; null without a time limit, as in a policy that allows access until the next connection. */
  endsAt: z.nullable(Time),
});
export type LocalNetworkAccess = z.infer<typeof LocalNetworkAccess>;

export const VirtualNetworks = z.object({
  /** ID of the virtual network in use, or null. */
  active: z.nullable(z.string()),
  networks: z.array(z.object({ id: z.string(), name: z.string(), default: z.boolean() })),
});
export type VirtualNetworks = z.infer<typeof VirtualNetworks>;

/**
 * Settings, read from the output of any version of the tunnel CLI; null if the installed version does not report the
 * setting. No known version reports the DNS query log or a configured endpoint.
 */
export const Options = z.object({
  /** True if the organization locked the switch: only a code turns the tunnel off. */
  switchLocked: z.nullable(z.boolean()),
  /** True if the organization sets the mode. */
  modeLocked: z.nullable(z.boolean()),
  organization: z.nullable(z.string()),
  /** DNS filter for malware and adult content. */
  families: z.nullable(z.enum(['off', 'malware', 'full'])),
  /** ID of a DNS location of Cloudflare Zero Trust. */
  gatewayId: z.nullable(z.string()),
  fallbackDomains: z.array(z.object({ domain: z.string(), note: z.nullable(z.string()) })),
  wifiTrusted: z.nullable(z.boolean()),
  ethernetTrusted: z.nullable(z.boolean()),
  trustedSsids: z.nullable(z.array(z.string())),
  virtualNetworks: z.nullable(VirtualNetworks),
  /** HTTP version of MASQUE, as printed. */
  masque: z.nullable(z.string()),
  endpoint: z.nullable(z.string()),
  environment: z.nullable(z.string()),
  /** The organization's policy on access to the local network, as printed. */
  localNetwork: z.nullable(z.string()),
  localNetworkAccess: z.nullable(LocalNetworkAccess),
  /** Settings and values of settings that Culvert does not know; absent without any. `settings` has them too. */
  unknown: z.optional(z.array(UnknownValue)),
});
export type Options = z.infer<typeof Options>;

/** Facts about the running tunnel; a value is null if the tunnel CLI does not report it. */
export const Tunnel = z.object({
  /** Protocol as printed: `MASQUE (HTTPS via UDP)`. */
  protocol: z.nullable(z.string()),
  /** Port of the local proxy on 127.0.0.1, or null outside proxy mode. */
  proxyPort: z.nullable(z.int()),
  endpoints: z.array(z.string()),
  handshakeAgeSeconds: z.nullable(Count),
  bytesSent: z.nullable(Count),
  bytesReceived: z.nullable(Count),
  latencyMs: z.nullable(Count),
  /** Fraction of packets lost: 0.0002 is 0.02 %. */
  loss: z.nullable(Count),
  colo: z.nullable(z.string()),
  /** Time at which these figures were read; null if no figure is known. */
  at: z.nullable(Time),
});
export type Tunnel = z.infer<typeof Tunnel>;

const Route = z.object({ value: z.string(), description: z.nullable(z.string()) });
export const SplitTunnel = z.object({
  mode: z.nullable(z.enum(['exclude', 'include'])),
  ips: z.array(Route),
  hosts: z.array(Route),
});
export type SplitTunnel = z.infer<typeof SplitTunnel>;

export const AccountSummary = z.object({
  /** null before the first answer. */
  registered: z.nullable(z.boolean()),
  type: z.nullable(z.string()),
  organization: z.nullable(z.string()),
  managed: z.nullable(z.boolean()),
});
export type AccountSummary = z.infer<typeof AccountSummary>;

/** A finished run of the tunnel CLI, redacted. */
export const CommandOutput = z.object({
  ok: z.boolean(),
  argv: z.array(z.string()),
  /** null if the command was killed or never started. */
  exitCode: z.nullable(z.int()),
  stdout: z.string(),
  stderr: z.string(),
  durationMs: Count,
  at: Time,
});
export type CommandOutput = z.infer<typeof CommandOutput>;

export const COMMANDS = [
  'status',
  'settings',
  'splitTunnelDump',
  'splitTunnelIps',
  'splitTunnelHosts',
  'registration',
  'tunnelStats',
  'settingsText',
  'trustedSsids',
  'virtualNetworks',
  'localNetworkAccess',
] as const;
export const Commands = z.object({
  status: z.nullable(CommandOutput),
  settings: z.nullable(CommandOutput),
  splitTunnelDump: z.nullable(CommandOutput),
  splitTunnelIps: z.nullable(CommandOutput),
  splitTunnelHosts: z.nullable(CommandOutput),
  registration: z.nullable(CommandOutput),
  tunnelStats: z.nullable(CommandOutput),
  /** The settings as text, which contains more; null if `settings` is already text. */
  settingsText: z.nullable(CommandOutput),
  trustedSsids: z.nullable(CommandOutput),
  virtualNetworks: z.nullable(CommandOutput),
  localNetworkAccess: z.nullable(CommandOutput),
});
export type Commands = z.infer<typeof Commands>;
export type CommandName = (typeof COMMANDS)[number];

/** Service managers, and machines that usually have none, such as containers. `none`: no service manager that Culvert knows. */
export const SERVICE_MANAGERS = ['openrc', 's6', 'runit', 'gvisor', 'docker', 'podman', 'container', 'none'] as const;
export const ServiceManager = z.object({
  kind: z.enum(SERVICE_MANAGERS),
  /** True if it knows a service `warp-svc`, so that its own command starts WARP. */
  startsWarp: z.boolean(),
});
export type ServiceManager = z.infer<typeof ServiceManager>;

export const TunnelCli = z.object({
  available: z.boolean(),
  path: z.nullable(z.string()),
  version: z.nullable(z.string()),
  /** True for the embedded emulator, which tunnels nothing. */
  emulated: z.boolean(),
  /** Shell command that installs the tunnel CLI on this system; absent if unneeded or unknown. */
  installCommand: z.optional(z.string()),
  /** The service manager that replaces systemd; absent if systemd runs. */
  serviceManager: z.optional(ServiceManager),
});
export type TunnelCli = z.infer<typeof TunnelCli>;

/** A part of an answer that may be older than the tunnel CLI's present state. */
export const StalePart = z.object({
  part: z.enum(['status', 'settings', 'options', 'tunnel', 'splitTunnel', 'account', 'commands']),
  /** Time since the last successful read; null before the first read. */
  ageSeconds: z.nullable(Count),
});
export type StalePart = z.infer<typeof StalePart>;

export const Device = z.object({
  deviceId: z.string(),
  name: z.nullable(z.string()),
  model: z.nullable(z.string()),
  os: z.nullable(z.string()),
  active: z.nullable(z.boolean()),
});
export type Device = z.infer<typeof Device>;
export const Account = z.object({
  ok: z.literal(true),
  registered: z.nullable(z.boolean()),
  type: z.nullable(z.string()),
  organization: z.nullable(z.string()),
  deviceId: z.nullable(z.string()),
  accountId: z.nullable(z.string()),
  /** License key, masked except for the last four characters. */
  license: z.nullable(z.string()),
  managed: z.nullable(z.boolean()),
  devices: z.array(Device),
  stale: z.optional(z.array(StalePart)),
});
export type Account = z.infer<typeof Account>;

export const ActionName = z.enum(actions.ACTION_NAMES);
export type ActionName = actions.ActionName;

/** The sign-in address, including its token. */
export const SignInRequest = z.strictObject({ address: z.string().check(z.maxLength(8192)) });
/** An action with its value; the daemon's grammar checks the value and names the expected form. */
export const ActionRequest = z.strictObject({
  action: ActionName,
  value: z.optional(z.string()),
  confirmWithin: z.optional(ConfirmWithin),
  forSeconds: z.optional(ForSeconds),
  /** True if the change belongs to the previous change of routes: `POST /api/routes/undo` reverts both. */
  continues: z.optional(z.boolean()),
});
/** An action's request; only actions that change a `Subject` take the options. */
export type ActionRequest = actions.ActionRequest & ChangeOptions;
/** Reply once the tunnel CLI has accepted the action; the new state arrives as an event. */
export const ActionResponse = z.object({
  ok: z.literal(true),
  action: ActionName,
  result: z.nullable(CommandOutput),
  revision: z.int(),
});
export type ActionResponse = z.infer<typeof ActionResponse>;

export const tunnelEndpoints = {
  'GET /api/account': {
    summary: 'The registration of this device',
    response: Account,
    problems: [
      'cli-missing',
      'cli-too-old',
      'service-stopped',
      'service-hangs',
      'terms-not-accepted',
      'not-authorized',
      'tunnel-cli-failed',
    ],
  },
  'POST /api/account/sign-in': {
    summary:
      'Finish a sign-in with the address that the browser hands over; only for the organization that `registerOrganization` named within the last 15 minutes',
    body: SignInRequest,
    response: ActionResponse,
    problems: ['precondition-failed', ...tunnelProblems],
  },
  'POST /api/action': {
    summary:
      'Perform an action; the reply says that the tunnel CLI accepted, the new state arrives as an event. ' +
      'With `confirmWithin` (seconds) the previous value returns unless the change is confirmed, with `forSeconds` it returns in any case',
    body: ActionRequest,
    response: ActionResponse,
    problems: [...tunnelProblems, ...changeProblems],
  },
} as const satisfies EndpointTable;
