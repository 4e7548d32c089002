// The wire types: every JSON shape that crosses the API, as a zod schema and a type of the same name.
import * as z from 'zod/mini';

/** ISO 8601 in UTC, as `Date.prototype.toISOString` prints it. */
const Time = z.iso.datetime();
const Count = z.number().check(z.nonnegative());

/** Every stable error code; the API sends `urn:culvert:problem:<code>`. */
export const PROBLEM_CODES = [
  'peer-not-allowed',
  'token-required',
  'host-not-allowed',
  'origin-not-allowed',
  'fetch-site-not-allowed',
  'unsupported-media-type',
  'payload-too-large',
  'malformed-request',
  'malformed-json',
  'invalid-body',
  'invalid-query',
  'argument-rejected',
  'key-not-settable',
  'precondition-failed',
  'config-broken',
  'config-not-writable',
  'not-found',
  'method-not-allowed',
  'uri-too-long',
  'headers-too-large',
  'request-timeout',
  'busy',
  'cli-missing',
  'service-stopped',
  'terms-not-accepted',
  'not-registered',
  'not-authorized',
  'unsupported-by-cli',
  'tunnel-cli-failed',
  'tunnel-cli-timeout',
  'killswitch-not-installed',
  'killswitch-denied',
  'killswitch-failed',
  'app-not-found',
  'app-not-launchable',
  'app-launch-failed',
  'proxy-not-enabled',
  'proxy-port-in-use',
  'proxy-not-answering',
  'proxy-not-verified',
  'update-refused',
  'update-not-applicable',
  'update-failed',
  'internal-error',
] as const;
export const ProblemCode = z.enum(PROBLEM_CODES);
export type ProblemCode = z.infer<typeof ProblemCode>;

/** An RFC 9457 problem document. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: ProblemCode,
  hint: z.optional(z.string()),
  errors: z.optional(z.array(z.object({ path: z.string(), message: z.string() }))),
  exitCode: z.optional(z.nullable(z.int())),
  stderr: z.optional(z.string()),
  /** Of `update-refused`: which of the manifest's refusals, or the updater's own. */
  reason: z.optional(z.string()),
});
export type Problem = z.infer<typeof Problem>;

// ── the tunnel ───────────────────────────────────────────────────────────────────────────────────────────────────────

export const ConnectionState = z.enum([
  'connected',
  'connecting',
  'disconnecting',
  'disconnected',
  'unable',
  'unknown',
]);
export type ConnectionState = z.infer<typeof ConnectionState>;

/** The one thing a user must do before anything else makes sense. */
export const Blocked = z.enum([
  'cli-missing',
  'service-stopped',
  'terms-not-accepted',
  'not-registered',
  'not-authorized',
]);
export type Blocked = z.infer<typeof Blocked>;

export const Status = z.object({
  state: ConnectionState,
  /** `code` is the tunnel CLI's own name (`HappyEyeballsFailed`), or null where only text was printed. */
  reason: z.nullable(z.object({ code: z.nullable(z.string()), text: z.string() })),
  network: z.nullable(z.enum(['healthy', 'unstable'])),
  blocked: z.nullable(Blocked),
  since: Time,
  /** What the tunnel CLI printed, redacted; null before its first word. */
  raw: z.nullable(z.string()),
});
export type Status = z.infer<typeof Status>;

/** `name` arguments of `warp-cli mode`, and so of setMode. */
export const Mode = z.enum(['warp', 'doh', 'warp+doh', 'dot', 'warp+dot', 'proxy', 'tunnel_only']);
export type Mode = z.infer<typeof Mode>;
export const Protocol = z.enum(['MASQUE', 'WireGuard']);
export type Protocol = z.infer<typeof Protocol>;

/** Keys as `warp-cli settings` names them (`Always On`, `WARP tunnel protocol`), `Mode` as setMode takes it. */
export const Settings = z.catchall(z.object({ Mode: z.optional(z.string()) }), z.unknown());
export type Settings = z.infer<typeof Settings>;

/** Facts of the running tunnel; each is null where the tunnel CLI does not tell. */
export const Tunnel = z.object({
  /** As printed: `MASQUE (HTTPS via UDP)`. */
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
  /** When these figures were read; null where none are known. */
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

/** One finished run of the tunnel CLI, redacted. */
export const CommandOutput = z.object({
  ok: z.boolean(),
  argv: z.array(z.string()),
  /** null when it was killed or never started. */
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
] as const;
export const Commands = z.object({
  status: z.nullable(CommandOutput),
  settings: z.nullable(CommandOutput),
  splitTunnelDump: z.nullable(CommandOutput),
  splitTunnelIps: z.nullable(CommandOutput),
  splitTunnelHosts: z.nullable(CommandOutput),
  registration: z.nullable(CommandOutput),
  tunnelStats: z.nullable(CommandOutput),
});
export type Commands = z.infer<typeof Commands>;
export type CommandName = (typeof COMMANDS)[number];

export const TunnelCli = z.object({
  available: z.boolean(),
  path: z.nullable(z.string()),
  version: z.nullable(z.string()),
  /** True for the embedded stand-in: nothing is tunnelled. */
  emulated: z.boolean(),
});
export type TunnelCli = z.infer<typeof TunnelCli>;

export const KillSwitch = z.object({
  /** Wanted: stays true during a pause. */
  enabled: z.boolean(),
  allowLan: z.boolean(),
  /** Measured; null when it can't be known. */
  active: z.nullable(z.boolean()),
  /** What answers a foreign `nft flush ruleset`. */
  protection: z.enum(['owner-persist', 'watchdog', 'none']),
  /** The rules are applied at boot before any network is. */
  bootGuard: z.boolean(),
  /** What enforces it, such as `nftables 1.0.6`; null where the root service is not installed. */
  backend: z.nullable(z.string()),
  /** A sentence for people: why it does not block though it is wanted, or what could not be read. */
  detail: z.nullable(z.string()),
  installed: z.boolean(),
  /** The command that helps where something is missing, ready to be copied. */
  command: z.nullable(z.string()),
  /** End of a pause, or null. */
  pausedUntil: z.nullable(Time),
});
export type KillSwitch = z.infer<typeof KillSwitch>;

export const UpdateCheck = z.object({
  ok: z.literal(true),
  current: z.string(),
  channel: z.string(),
  latest: z.nullable(z.string()),
  updateAvailable: z.boolean(),
  manifest: z.nullable(
    z.object({ generatedAt: Time, tag: z.nullable(z.string()), signed: z.boolean(), signer: z.nullable(z.string()) }),
  ),
  checkedAt: Time,
  /** Why no answer could be had; `code` is the refusal's own. */
  problem: z.nullable(z.object({ code: z.string(), detail: z.string() })),
  /** Whether `POST /api/update/apply` can bring this installation to `latest`. */
  applicable: z.boolean(),
  /** Where it can't: the command that does it, ready to be copied. */
  command: z.nullable(z.string()),
  /** The version that `POST /api/update/rollback` goes back to, or null. */
  previous: z.nullable(z.string()),
  /** While an update is applied; sizes in bytes. */
  progress: z.nullable(
    z.object({ phase: z.enum(['downloading', 'verifying', 'installing']), received: Count, total: Count }),
  ),
});
export type UpdateCheck = z.infer<typeof UpdateCheck>;
/** All that a client shows; one per revision. */
export const Snapshot = z.object({
  ok: z.literal(true),
  revision: z.int(),
  generatedAt: Time,
  tunnelCli: TunnelCli,
  status: Status,
  settings: Settings,
  tunnel: Tunnel,
  splitTunnel: SplitTunnel,
  account: AccountSummary,
  killSwitch: KillSwitch,
  /** What the last check for updates found; null before one. */
  update: z.nullable(UpdateCheck),
  commands: Commands,
});
export type Snapshot = z.infer<typeof Snapshot>;

// ── requests and the other responses ─────────────────────────────────────────────────────────────────────────────────

export const ACTIONS = [
  'connect',
  'disconnect',
  'setMode',
  'setProtocol',
  'enableLocalProxy',
  'resetSplitIps',
  'acceptTerms',
  'register',
  'registerOrganization',
  'deleteRegistration',
  'setLicense',
  'setRegistrationToken',
  'rotateKeys',
  'resetSettings',
  'resetProtocol',
  'setEndpoint',
  'resetEndpoint',
  'setMasqueOptions',
  'resetMasqueOptions',
  'setProxyPort',
  'setFamilies',
  'setGatewayId',
  'resetGatewayId',
  'addFallbackDomain',
  'removeFallbackDomain',
  'resetFallbackDomains',
  'setDnsLog',
  'addSplitIp',
  'removeSplitIp',
  'addSplitRange',
  'removeSplitRange',
  'addSplitHost',
  'removeSplitHost',
  'resetSplitHosts',
  'addTrustedSsid',
  'removeTrustedSsid',
  'resetTrustedSsids',
  'setTrustedWifi',
  'setTrustedEthernet',
  'allowLocalNetwork',
  'stopLocalNetwork',
  'setOverrideCode',
  'setVirtualNetwork',
  'setEnvironment',
  'resetEnvironment',
] as const;
export const ActionName = z.enum(ACTIONS);
export type ActionName = z.infer<typeof ActionName>;

/** A mutation that takes nothing; still a JSON body, so that no web page can send it. */
export const Empty = z.strictObject({});
export type Empty = z.infer<typeof Empty>;
export const ActionRequest = z.strictObject({ action: ActionName, value: z.optional(z.string()) });
export type ActionRequest = z.infer<typeof ActionRequest>;
/** The reply says that the tunnel CLI accepted; the new state arrives as an event. */
export const ActionResponse = z.object({
  ok: z.literal(true),
  action: ActionName,
  result: z.nullable(CommandOutput),
  revision: z.int(),
});
export type ActionResponse = z.infer<typeof ActionResponse>;

export const Health = z.object({
  ok: z.literal(true),
  app: z.literal('culvert'),
  version: z.string(),
  apiVersion: z.int(),
  pid: z.int(),
  port: z.nullable(z.int()),
  startedAt: Time,
  tunnelCli: TunnelCli,
});
export type Health = z.infer<typeof Health>;

export const Version = z.object({
  ok: z.literal(true),
  version: z.string(),
  commit: z.nullable(z.string()),
  node: z.string(),
  apiVersion: z.int(),
  installFormat: z.enum(['source', 'user', 'system', 'appimage', 'deb']),
  tunnelCli: z.object({ version: z.nullable(z.string()) }),
});
export type Version = z.infer<typeof Version>;

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
  /** Masked: only the last four characters are shown. */
  license: z.nullable(z.string()),
  managed: z.nullable(z.boolean()),
  devices: z.array(Device),
});
export type Account = z.infer<typeof Account>;

export const KillSwitchRequest = z.strictObject({ enabled: z.boolean(), allowLan: z.boolean() });
export type KillSwitchRequest = z.infer<typeof KillSwitchRequest>;
/** At most an hour; 0 ends a pause. */
export const KillSwitchPause = z.strictObject({ seconds: z.int().check(z.gte(0), z.lte(3600)) });
export type KillSwitchPause = z.infer<typeof KillSwitchPause>;
export const KillSwitchResponse = z.extend(KillSwitch, { ok: z.literal(true) });
export type KillSwitchResponse = z.infer<typeof KillSwitchResponse>;

const Port = z.int().check(z.gte(1), z.lte(65535));
/** https, or http on this machine alone; without credentials, query and fragment. */
const HttpAddress = z
  .string()
  .check(
    z.maxLength(1024),
    z.regex(/^(https:\/\/[A-Za-z0-9.-]+|http:\/\/(127\.0\.0\.1|localhost|\[::1\]))(:\d{1,5})?(\/[A-Za-z0-9._~%/-]*)?$/),
  );
/** The daemon's configuration, every key present. */
export const Config = z.strictObject({
  server: z.strictObject({ port: Port, bind: z.union([z.ipv4(), z.ipv6()]) }),
  webui: z.strictObject({ enabled: z.boolean(), allowRemote: z.boolean() }),
  warp: z.strictObject({
    cli: z.string().check(z.minLength(1)),
    killSwitch: z.boolean(),
    /** Of the kill switch: leave the local network reachable. */
    allowLan: z.boolean(),
    /** Of the kill switch, beyond the shipped endpoints: comma-separated `CIDR` or `CIDR udp|tcp PORT`. */
    endpoints: z.string().check(z.maxLength(4096), z.regex(/^[\dA-Fa-f.:/,\sudtcp]*$/)),
    /** Of the check that traffic of the local proxy really leaves through the tunnel. */
    traceUrl: HttpAddress,
  }),
  ui: z.strictObject({
    openBrowser: z.boolean(),
    theme: z.enum(['system', 'light', 'dark']),
    locale: z.string().check(z.regex(/^[A-Za-z]{2,3}([_-][A-Za-z0-9]{2,8})*$/)),
  }),
  updates: z.strictObject({
    channel: z.enum(['stable', 'beta']),
    checkOnStartup: z.boolean(),
    /** Base address: manifest, sidecar and artifacts of a channel lie in `<source>/<channel>/`. */
    source: HttpAddress,
  }),
  tray: z.strictObject({ autostart: z.boolean() }),
});
export type Config = z.infer<typeof Config>;

/** Any part of the configuration; null takes an override back. */
export const ConfigPatch = z.strictObject(
  Object.fromEntries(
    Object.entries(Config.shape).map(([group, { shape }]) => [
      group,
      z.optional(z.partial(z.strictObject(mapValues(shape, key => z.nullable(key))))),
    ]),
  ),
);
export type ConfigPatch = { [G in keyof Config]?: { [K in keyof Config[G]]?: Config[G][K] | null } };

export const ConfigLayer = z.enum(['default', 'system', 'user', 'environment', 'session']);
export type ConfigLayer = z.infer<typeof ConfigLayer>;
/** What is wrong in a configuration file; the rest of the file, or the other layers, still count. */
export const ConfigProblem = z.object({
  file: z.string(),
  line: z.nullable(z.int()),
  key: z.nullable(z.string()),
  message: z.string(),
});
export type ConfigProblem = z.infer<typeof ConfigProblem>;
export const ConfigResponse = z.object({
  ok: z.literal(true),
  config: Config,
  /** Keys are dotted (`server.port`), one for every key. */
  sources: z.record(z.string(), ConfigLayer),
  /** Dotted keys whose stored value differs from the one this daemon started with. */
  restartRequired: z.array(z.string()),
  problems: z.array(ConfigProblem),
});
export type ConfigResponse = z.infer<typeof ConfigResponse>;

export const LogEntry = z.object({
  id: z.int(),
  at: Time,
  /** Who asked: `action`, `read`, or `watch`. */
  source: z.enum(['action', 'read', 'watch']),
  argv: z.array(z.string()),
  ok: z.boolean(),
  exitCode: z.nullable(z.int()),
  durationMs: Count,
  stdout: z.string(),
  stderr: z.string(),
});
export type LogEntry = z.infer<typeof LogEntry>;
export const Logs = z.object({
  ok: z.literal(true),
  /** Oldest first, `id` greater than `since`. */
  entries: z.array(LogEntry),
  /** Pass as the next `since`. */
  next: z.int(),
  capacity: z.int(),
});
export type Logs = z.infer<typeof Logs>;

/** How an app is made to use the proxy; `none`: no way is known, so it would go around. */
export const ProxyMethod = z.enum(['arguments', 'profile', 'environment', 'proxychains', 'none']);
export type ProxyMethod = z.infer<typeof ProxyMethod>;
export const App = z.object({
  /** The desktop file's id: `firefox-esr.desktop`. */
  id: z.string(),
  /** In the language of the daemon's session. */
  name: z.string(),
  /** An icon name of the theme or an absolute path. */
  icon: z.nullable(z.string()),
  categories: z.array(z.string()),
  kind: z.enum(['chromium', 'firefox', 'electron', 'generic']),
  packaging: z.enum(['native', 'flatpak', 'snap']),
  method: ProxyMethod,
  /** A sentence where `method` needs one: what is not certain, or what to install. */
  note: z.nullable(z.string()),
  /** Path of the desktop entry that starts it through the proxy, or null. */
  shortcut: z.nullable(z.string()),
});
export type App = z.infer<typeof App>;
export const Apps = z.object({ ok: z.literal(true), apps: z.array(App) });
export type Apps = z.infer<typeof Apps>;
export const LaunchRequest = z.strictObject({
  appId: z.string().check(z.minLength(1), z.maxLength(255)),
  /** Also make a shortcut. */
  shortcut: z.optional(z.boolean()),
  /** Refuse unless a request through the proxy is seen to leave through the tunnel. */
  verify: z.optional(z.boolean()),
});
export type LaunchRequest = z.infer<typeof LaunchRequest>;
export const LaunchResponse = z.object({
  ok: z.literal(true),
  appId: z.string(),
  /** null where the user's systemd session started it and did not tell. */
  pid: z.nullable(z.int()),
  proxy: z.object({ host: z.string(), port: z.int() }),
  shortcut: z.nullable(z.string()),
});
export type LaunchResponse = z.infer<typeof LaunchResponse>;
export const ShortcutRequest = z.strictObject({
  appId: z.string().check(z.minLength(1), z.maxLength(255)),
  /** true makes or renews it, false removes it. */
  present: z.boolean(),
});
export type ShortcutRequest = z.infer<typeof ShortcutRequest>;
export const ShortcutResponse = z.object({
  ok: z.literal(true),
  appId: z.string(),
  shortcut: z.nullable(z.string()),
});
export type ShortcutResponse = z.infer<typeof ShortcutResponse>;

/** The daemon restarts itself as `to` after this reply. */
export const UpdateResponse = z.object({ ok: z.literal(true), from: z.string(), to: z.string() });
export type UpdateResponse = z.infer<typeof UpdateResponse>;

function mapValues<T extends object, R>(o: T, f: (v: T[keyof T]) => R): { [K in keyof T]: R } {
  return Object.fromEntries(Object.entries(o).map(([k, v]) => [k, f(v)])) as { [K in keyof T]: R };
}
