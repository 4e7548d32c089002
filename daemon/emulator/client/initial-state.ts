// Makes the state of a client that was just installed, with identifiers that follow from the seed.
import type { Policy, Registration, Settings, State } from './state.ts';

const DEFAULT_CONNECT_MS = 1200;

/** A registered free account, terms accepted, disconnected: one `connect` away from a tunnel. */
export function initialState(seed: number): State {
  return {
    format: 1,
    seed,
    version: null,
    faults: '',
    serviceUpAt: null,
    connectMs: DEFAULT_CONNECT_MS,
    registration: initialRegistration(seed),
    missing: 'DaemonStartup',
    enrolling: null,
    policy: null,
    connection: null,
    change: null,
    settings: initialSettings(),
    override: null,
    localNetworkUntil: null,
    vnets: [],
    targets: [],
    otherDevices: [],
    ipv6: true,
    network: {
      v4_iface: { name: 'eth0', id: '00000000-0000-0000-0000-000000000000', addr: '192.0.2.10', kind: 'Ethernet' },
      v6_iface: null,
      dns_servers: [{ address: '192.0.2.1' }],
      captive_network: false,
      setup_dns: ['127.0.2.2', '127.0.2.3', 'fd01:db8:1111::2', 'fd01:db8:1111::3'],
    },
    proxyHost: null,
    proxyRefused: null,
    proxyFrom: null,
    stats: {},
    dnsStats: null,
    sources: {},
  };
}

export function initialSettings(): Settings {
  return {
    alwaysOn: false,
    mode: null,
    proxyPort: 40000,
    protocol: null,
    masque: null,
    endpoint: null,
    mtu: null,
    pmtud: null,
    families: 'off',
    gatewayId: null,
    dnsLog: false,
    qlog: false,
    environment: null,
    disableForWifi: false,
    disableForEthernet: false,
    ssids: [],
    splitMode: 'exclude',
    ips: null,
    hosts: [],
    fallback: null,
    activeVnet: null,
  };
}

export function initialRegistration(seed: number): Registration {
  const hex = hexFrom(seed);
  const id = uuid(hex);
  const part = () => hex(8);
  return {
    id,
    deviceId: id,
    publicKey: `3059301306072a8648ce3d020106082a8648ce3d030107034200${hex(130)}`,
    accountType: 'free',
    accountId: hex(32),
    license: `${part()}-${part()}-${part()}`,
    organization: null,
  };
}

export function organizationPolicy(seed: number): Policy {
  const hex = hexFrom(seed + 1);
  return {
    switchLocked: false,
    mode: null,
    protocol: null,
    gateway: { id: hex(32), servers: ['162.159.36.1', '2606:4700:4700::1111'] },
    captivePortal: 180,
    disableAutoFallback: false,
    supportUrl: '',
    appleCheckIps: '17.253.0.0/16',
    allowModeSwitch: true,
    allowUpdates: false,
    allowLeave: true,
    localNetwork: true,
    profileId: uuid(hex),
  };
}

/** A stream of hexadecimal digits that depends on the seed alone. */
export function hexFrom(seed: number): (length: number) => string {
  let word = seed >>> 0;
  const next = () => {
    word = (word + 0x6d2b79f5) >>> 0;
    let t = Math.imul(word ^ (word >>> 15), word | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0).toString(16).padStart(8, '0');
  };
  return length => {
    let text = '';
    while (text.length < length) text += next();
    return text.slice(0, length);
  };
}

function uuid(hex: (length: number) => string): string {
  return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
}
