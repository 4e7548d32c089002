// Defines the state of the emulated client: one JSON object in a file, shared by all its processes.

/** `ms` since the epoch. */
type Time = number;

export interface Route {
  value: string;
  description: string;
}
export interface Fallback {
  domain: string;
  description: string;
  servers: string[];
}
interface VirtualNetwork {
  id: string;
  name: string;
  description: string;
  default: boolean;
}
export interface Target {
  id: string;
  protocol: string;
  port: number;
  attributes: string;
  ip: string;
  vnet: string;
  usernames: string[];
}
interface Device {
  device_id: string;
  name: string;
  model: string;
  active: boolean;
}

export interface Registration {
  id: string;
  deviceId: string;
  publicKey: string;
  accountType: 'free' | 'limited' | 'unlimited' | 'team';
  accountId: string;
  license: string | null;
  organization: string | null;
}

/** Rules of an organization; consumers have no policy. */
export interface Policy {
  switchLocked: boolean;
  mode: string | null;
  protocol: 'MASQUE' | 'WireGuard' | null;
  gateway: { id: string; servers: string[] };
  captivePortal: number;
  disableAutoFallback: boolean;
  supportUrl: string;
  appleCheckIps: string;
  allowModeSwitch: boolean;
  allowUpdates: boolean;
  allowLeave: boolean;
  localNetwork: boolean;
  profileId: string;
}

export interface Settings {
  alwaysOn: boolean;
  /** null: never set by the user. */
  mode: string | null;
  proxyPort: number;
  protocol: 'MASQUE' | 'WireGuard' | null;
  masque: 'h3-only' | 'h2-only' | 'h3-with-h2-fallback' | null;
  endpoint: string | null;
  mtu: number | null;
  pmtud: boolean | null;
  families: 'off' | 'malware' | 'full';
  gatewayId: string | null;
  dnsLog: boolean;
  qlog: boolean;
  environment: 'Normal' | 'FedRAMP-High' | null;
  disableForWifi: boolean;
  disableForEthernet: boolean;
  ssids: string[];
  splitMode: 'exclude' | 'include';
  /** null: the default lists of the version that is asked. */
  ips: Route[] | null;
  hosts: Route[];
  fallback: Fallback[] | null;
  activeVnet: string | null;
}

/** The settings whose change the status reports (`SettingsChanged`). */
export interface Summary {
  always_on: boolean;
  switch_locked: boolean;
  auto_connect: null;
  operation_mode: string;
}

export interface Stats {
  v4: string;
  v6: string;
  handshakeAge: number;
  sent: number;
  received: number;
  latency: number;
  loss: number;
  colo: string;
  metal: string;
  curve: string;
}

/** As `debug network` prints it. */
interface Network {
  v4_iface: { name: string; id: string; addr: string; kind: unknown } | null;
  v6_iface: { name: string; id: string; addr: string; kind: unknown } | null;
  dns_servers: { address: string }[];
  captive_network: boolean;
  setup_dns: string[];
}

export interface State {
  format: 1;
  /** Everything that looks random follows from it. */
  seed: number;
  /** Version to speak where the environment names none. */
  version: string | null;
  /** Faults set by `--emulate fault=…`, in the notation of `faults.ts`. */
  faults: string;
  /** With the fault `socket-late`: when the service comes up. */
  serviceUpAt: Time | null;
  /** Duration of the next connections' phases, in `ms` in total. */
  connectMs: number;
  registration: Registration | null;
  /** The reason for a missing registration. */
  missing: 'DaemonStartup' | 'ManualDeletion';
  /** Organization whose browser login is under way. */
  enrolling: string | null;
  policy: Policy | null;
  /** Since when a connection is wanted, how long each of its phases takes, and which endpoints it tries. */
  connection: { since: Time; phases: number[]; endpoints: string[] } | null;
  /** The last change while disconnected. */
  change: { current: Summary; previous: Summary } | null;
  settings: Settings;
  override: { code: string; until: Time } | null;
  localNetworkUntil: Time | null;
  vnets: VirtualNetwork[];
  targets: Target[];
  otherDevices: Device[];
  ipv6: boolean;
  network: Network;
  /** The process that listens in proxy mode, and whose it is: each `PID START`. */
  proxyHost: { process: string; owner: string } | null;
  /** The port that proxy mode could not have. */
  proxyRefused: number | null;
  /** Source address of what the proxy connects to, by which a test recognizes them. */
  proxyFrom: string | null;
  /** Figures held still, for a test. */
  stats: Partial<Stats>;
  dnsStats: { queries: number; averageMs: number } | null;
  /** Origins of settings held still, for a test: `{"Mode": "network policy"}`. */
  sources: Record<string, string>;
}
