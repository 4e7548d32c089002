// Defines the state that all processes of the emulator share, creates the initial state, and stores it in a file.
import { readFileSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { errno, Failure } from '../core/errors.ts';
import { makeDirectory, replaceFile } from '../core/files.ts';
import { acquireLock } from '../core/lock.ts';
import { parseJson } from '../core/shape.ts';

/** Milliseconds since the epoch. */
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
interface Device {
  device_id: string;
  name: string;
  model: string;
  active: boolean;
}

interface Registration {
  id: string;
  deviceId: string;
  publicKey: string;
  accountType: 'free' | 'limited' | 'unlimited' | 'team';
  accountId: string;
  license: string | null;
  organization: string | null;
}

/** Rules of an organization; consumers have no policy. */
interface Policy {
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
  /** Null if the user never set it. */
  mode: string | null;
  proxyPort: number;
  protocol: 'MASQUE' | 'WireGuard' | null;
  masque: 'h3-only' | 'h2-only' | 'h3-with-h2-fallback' | null;
  endpoint: string | null;
  families: 'off' | 'malware' | 'full';
  gatewayId: string | null;
  dnsLog: boolean;
  qlog: boolean;
  environment: 'Normal' | 'FedRAMP-High' | null;
  disableForWifi: boolean;
  disableForEthernet: boolean;
  ssids: string[];
  splitMode: 'exclude' | 'include';
  /** Null for the default list. */
  ips: Route[] | null;
  hosts: Route[];
  fallback: Fallback[] | null;
  activeVnet: string | null;
}

/** Settings with changes that the status reports (`SettingsChanged`). */
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

export interface State {
  format: 1;
  /** Source of all values that look random. */
  seed: number;
  /** Version to emulate if the environment names none. */
  version: string | null;
  /** Faults set by `--emulate fault=…`, in the notation of `faults.ts`. */
  faults: string;
  /** Time when the service starts, with the fault `socket-late`. */
  serviceUpAt: Time | null;
  /** Total duration of a new connection's phases, in ms. */
  connectMs: number;
  registration: Registration | null;
  /** The reason for a missing registration. */
  missing: 'DaemonStartup' | 'ManualDeletion';
  /** Organization of the current browser login. */
  enrolling: string | null;
  policy: Policy | null;
  /** Start of a connection, duration of each phase in ms, and endpoints to try. */
  connection: { since: Time; phases: number[]; endpoints: string[] } | null;
  /** The last change while disconnected. */
  change: { current: Summary; previous: Summary } | null;
  settings: Settings;
  override: { code: string; until: Time } | null;
  localNetworkUntil: Time | null;
  vnets: VirtualNetwork[];
  otherDevices: Device[];
  ipv6: boolean;
  /** The process that listens in proxy mode, and its owner, each as `PID START`. */
  proxyHost: { process: string; owner: string } | null;
  /** The port that proxy mode could not open. */
  proxyRefused: number | null;
  /** Source address of the proxy's connections, for recognition in tests. */
  proxyFrom: string | null;
  /** Fixed statistics, for a test. */
  stats: Partial<Stats>;
  /** Fixed origins of settings, for a test: `{"Mode": "network policy"}`. */
  sources: Record<string, string>;
}

const DEFAULT_CONNECT_MS = 1200;

/** Returns the state of a registered free account that is disconnected: `connect` suffices for a tunnel. */
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
    otherDevices: [],
    ipv6: true,
    proxyHost: null,
    proxyRefused: null,
    proxyFrom: null,
    stats: {},
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

/** Returns a source of hexadecimal digits that depends only on the seed. */
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

const LOCK_WAIT_MS = 15_000;

/**
 * Returns the stored state; the first call creates it. Renames an invalid file (an editor's accident, a full disk) to
 * `….broken` and creates a new state.
 */
export function load(file: string): State {
  return read(file) ?? update(file, state => state);
}

/**
 * Changes the state under the lock. `change` may alter its argument.
 * Replaces the file only if something changed, so listeners notice only changes.
 * @returns the result of `change` @throws Failure if a living process holds the lock for 15 s
 */
export function update<T>(file: string, change: (state: State) => T): T {
  makeDirectory(dirname(file));
  const lock = acquireLock(`${file}.lock`, LOCK_WAIT_MS);
  if ('heldBy' in lock)
    throw new Failure(`The state is locked by ${file}.lock (process ${lock.heldBy}). Wait for it, or end it.`);
  try {
    const stored = read(file);
    if (stored === null) putAside(file);
    const state = stored ?? initialState(Math.floor(Math.random() * 0xffffffff));
    const before = stored === null ? '' : serialize(stored);
    const result = change(state);
    const after = serialize(state);
    if (after !== before) replaceFile(file, after, { durable: false });
    return result;
  } finally {
    lock.release();
  }
}

const serialize = (state: State) => `${JSON.stringify(state, null, 1)}\n`;

function read(file: string): State | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (errno(error) === 'ENOENT') return null;
    throw error;
  }
  return parseState(text);
}

function putAside(file: string): void {
  try {
    renameSync(file, `${file}.broken`);
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw error;
  }
}

/** Parts that can be null although they are not null initially. */
const NULLABLE = ['registration', 'license'];

/** Parses a state that has every part of an initial state with the same type; null for anything else. */
function parseState(text: string): State | null {
  const value = parseJson(text);
  return isState(value) ? value : null;
}

function isState(value: unknown): value is State {
  const model = initialState(0);
  return fits(value, model) && (value as State).format === model.format;
}

function fits(value: unknown, model: unknown): boolean {
  if (model === null) return value !== undefined;
  if (Array.isArray(model)) return Array.isArray(value);
  if (typeof model !== 'object') return typeof value === typeof model;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(model).every(([key, part]) => {
    const field = Reflect.get(value, key);
    return (field === null && NULLABLE.includes(key)) || fits(field, part);
  });
}
