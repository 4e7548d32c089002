// Parses the connection status and its reason from any version of the tunnel CLI; unreadable output is "unknown".
import type { Status } from '../../api/schema.ts';
import { isRecord } from '../../core/shape.ts';
import { capitalized } from '../../core/terminal.ts';
import { excerpt, failureOf, type Json, jsonOf, linesOf, type Printed } from './output.ts';

/** A status without the time and the raw text, which the store adds. */
export type StatusReading = Pick<Status, 'state' | 'reason' | 'network' | 'blocked'>;

/** Status if nothing certain is known. */
export const UNKNOWN: StatusReading = { state: 'unknown', reason: null, network: null, blocked: null };

/** Parses the answer of `warp-cli status`, JSON or text. Never throws; never guesses "connected" or "disconnected". */
export function parseStatus(printed: Printed): StatusReading {
  const answer = parseStatusText(printed.stdout);
  if (answer) return answer;
  const failure = failureOf(printed);
  switch (failure?.kind) {
    case 'not-registered':
      return {
        state: 'unable',
        reason: { code: failure.code ?? 'RegistrationMissing', text: failure.message },
        network: null,
        blocked: 'not-registered',
      };
    case 'cli-missing':
    case 'cli-too-old':
    case 'service-stopped':
    case 'service-hangs':
    case 'terms-not-accepted':
    case 'not-authorized':
      return { ...UNKNOWN, blocked: failure.kind };
    default:
      return UNKNOWN;
  }
}

/** Length of the two parts kept of a longer text: a status with a long reason has only tens of KiB. */
const STATUS_CHARACTERS = 65_536;

/** Parses the status in an answer, or in a message of a listening CLI; null without a status. */
export function parseStatusText(printed: string): StatusReading | null {
  const text = excerpt(printed, STATUS_CHARACTERS);
  const value = jsonOf(text);
  return isRecord(value) ? parseObject(value) : parseLines(linesOf(text));
}

export const STATES = new Map<string, Status['state']>(
  Object.entries({
    connected: 'connected',
    connecting: 'connecting',
    disconnecting: 'disconnecting',
    disconnected: 'disconnected',
    unable: 'unable',
    'unable to connect': 'unable',
  }),
);

function parseObject(value: Json): StatusReading | null {
  if (typeof value.status !== 'string') return null;
  const state = STATES.get(value.status.toLowerCase());
  if (!state) return value.status === 'Success' ? null : { ...UNKNOWN, reason: reasonOfJson(value.reason) };
  const reason = reasonOfJson(value.reason);
  // the text form prints these two as `Network: healthy` and `Network: unstable`, not as a reason
  if (reason?.code === 'NetworkHealthy') return reading(state, null, 'healthy');
  return reading(state, reason, reason?.code === 'NetworkDegraded' ? 'unstable' : null);
}

/** Networks by the first word after `Network:`. JSON has `NetworkDegraded`, so text may later use "degraded" too. */
export const NETWORKS = new Map<string, Status['network']>([
  ['healthy', 'healthy'],
  ['unstable', 'unstable'],
  ['degraded', 'unstable'],
]);

function parseLines(lines: string[]): StatusReading | null {
  const at = lines.findLastIndex(line => /^Status update:/i.test(line));
  if (at < 0) return null;
  // up to 2024, the reason is on the same line, after a full stop
  const [, word = '', sameLine] = /^Status update:\s*(.*?)(?:\.\s*Reason:\s*(.*))?$/i.exec(lines[at] ?? '') ?? [];
  const state = STATES.get(word.trim().replace(/\.$/, '').toLowerCase());
  const rest = lines.slice(at + 1);
  const reason = reasonOfText(sameLine ?? fieldOf(rest, 'Reason') ?? '');
  const network = /^\w+/.exec(fieldOf(rest, 'Network')?.toLowerCase() ?? '')?.[0] ?? '';
  if (!state) return { ...UNKNOWN, reason };
  return reading(state, reason, NETWORKS.get(network) ?? null);
}

function fieldOf(lines: string[], key: string): string | undefined {
  return lines
    .find(line => line.startsWith(`${key}:`))
    ?.slice(key.length + 1)
    .trim();
}

function reading(state: Status['state'], reason: Reason | null, network: Status['network']): StatusReading {
  const unregistered = state !== 'connected' && reason?.code === 'RegistrationMissing';
  return { state, reason, network, blocked: unregistered ? 'not-registered' : null };
}

interface Reason {
  /** The CLI's name for the reason; null if its text matches no known name. */
  code: string | null;
  text: string;
}

/**
 * Parses a reason in JSON: a name, or an object with a name and its details.
 * Uses the sentence of the text form if it is known.
 */
export function reasonOfJson(value: unknown): Reason | null {
  if (value === null || value === undefined || value === '') return null;
  if (typeof value === 'string') return { code: value, text: sentence(value, undefined) };
  const entries = isRecord(value) ? Object.entries(value) : [];
  const [entry] = entries;
  if (entries.length !== 1 || !entry) return { code: null, text: JSON.stringify(value) };
  return { code: entry[0], text: sentence(entry[0], entry[1]) };
}

/** Parses a reason in text. */
export function reasonOfText(text: string): Reason | null {
  const trimmed = text.trim().replace(/\.$/, '');
  if (!trimmed) return null;
  return { code: CODES_BY_TEXT.find(([pattern]) => pattern.test(trimmed))?.[1] ?? null, text: trimmed };
}

/** True for the name of a reason that Culvert knows. */
export function isKnownReason(code: string): boolean {
  return ENGLISH.has(code) || SENTENCES.has(code) || PLAIN_NAMES.has(code);
}

/** True for the text of a reason that Culvert knows: captured English, or the words of a known name. */
export function isKnownReasonText(text: string): boolean {
  const letters = lettersOf(text);
  return CODES_BY_TEXT.some(([pattern]) => pattern.test(text)) || [...namesAndTexts()].some(each => letters === each);
}

function* namesAndTexts(): Generator<string> {
  for (const name of [...ENGLISH.keys(), ...SENTENCES.keys(), ...PLAIN_NAMES]) yield lettersOf(name);
  for (const text of ENGLISH.values()) yield lettersOf(text);
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** Codes by captured English; must not match Culvert's own wording. */
const CODES_BY_TEXT: [RegExp, string][] = [
  [/^Manual Disconnection$/i, 'Manual'],
  [/^Settings Changed$/i, 'SettingsChanged'],
  [/^Registration Missing\b/i, 'RegistrationMissing'],
  [/^Performing happy eyeballs to /i, 'PerformingHappyEyeballs'],
  [/^Establishing connection to /i, 'EstablishingConnection'],
  [/^Checking for a route to the DNS endpoint$/i, 'CheckingForRouteToDnsEndpoint'],
  [/^Connectivity check failed\b/i, 'ConnectivityCheckFailed'],
  [/^Happy Eyeballs Failed$/i, 'HappyEyeballsFailed'],
  [/^No Network$/i, 'NoNetwork'],
  [/^Insufficient system resource\b/i, 'InsufficientSystemResource'],
];

/** Further names of reasons, whose words explain themselves (strings of a released binary, 2026). */
const PLAIN_NAMES = new Set([
  'CheckingNetwork',
  'ConfiguringFirewallRules',
  'ConfiguringForwardProxy',
  'ConfiguringInitialFirewall',
  'ConfiguringLocalSockets',
  'ConflictingNetwork',
  'HostUnreachable',
  'InitializingSettings',
  'InitializingTunnelInterface',
  'PacketTunnelUnavailable',
  'Paused',
  'PerformingConnectivityChecks',
  'RegistrationChanged',
  'SettingRoutes',
  'Unknown',
  'ValidatingProxyConfiguration',
]);

/** Sentences for names with captured English, and for names that would not explain to a user what happened. */
const ENGLISH = new Map<string, string>(
  Object.entries({
    Manual: 'Manual Disconnection',
    SettingsChanged: 'Settings Changed',
    RegistrationMissing: 'Registration Missing',
    CheckingForRouteToDnsEndpoint: 'Checking for a route to the DNS endpoint',
    ConnectivityCheckFailed: 'Connectivity check failed',
    HappyEyeballsFailed: 'Happy Eyeballs Failed',
    NoNetwork: 'No Network',
    InsufficientSystemResource: 'Insufficient system resource',
    DisabledForWiFi: 'Disabled on this Wi-Fi network',
    DisabledForEthernet: 'Disabled on Ethernet networks',
    DisabledForNetwork: 'Disabled on this network',
    DisabledByOverride: 'Disabled by an administrator’s override code',
    InternalDNSError: 'Internal DNS error',
    InternalTunnelError: 'Internal tunnel error',
    InternalmTLSError: 'Internal mTLS error',
    EmergencyDisconnect: 'Disconnected by the administrator',
    TLSInterceptionDetected: 'Something on this network intercepts TLS',
    TLSInterceptionBlockingDOH: 'TLS interception blocks DNS over HTTPS',
    FailedToSetMtls: 'Failed to set up mTLS',
    Port53Bound: 'Port 53 is in use by another program',
    ProxyAddressBound: 'The proxy port is in use by another program',
    LocalPolicyFileFailedToParse: 'The local policy file could not be read',
    CaptivePortalTimedOut: 'Signing in to this network took too long',
    FailedToExcludeLan: 'The local network could not be excluded',
    EnsuringMtlsIdentity: 'Ensuring mTLS identity',
    ApplyingDnsSettings: 'Applying DNS settings',
    ConfiguringLocalDnsProxy: 'Configuring local DNS proxy',
    ValidatingDnsConfiguration: 'Validating DNS configuration',
    NetworkHealthy: 'Network healthy',
    NetworkDegraded: 'Network degraded',
  }),
);

/** Details with captured English that differs from the words of their name. */
const DETAILS = new Map<string, string>(
  Object.entries({
    DNSLookupFailed: 'DNS Lookup Failed',
    DoesNotExistInApi: 'Does not exist in API',
    DoesNotExistInAPI: 'Does not exist in API',
  }),
);

/** Sentences from a name and its details; `details` is undefined for a bare name. */
const SENTENCES = new Map<string, (details: unknown) => string | null>(
  Object.entries({
    PerformingHappyEyeballs: details => endpoints('Performing happy eyeballs to', details),
    EstablishingConnection: details => endpoints('Establishing connection to', details),
    RegistrationMissing: details => joined('Registration Missing due to: ', detail(details)),
    ConnectivityCheckFailed: details => joined('Connectivity check failed due to ', detail(details)),
    InsufficientSystemResource: details => joined('Insufficient system resource: ', detail(details)?.toLowerCase()),
    // the details are the old and new settings in full, which are too long for a sentence; the raw text has them
    SettingsChanged: () => 'Settings Changed',
    NetworkDegraded: details => {
      if (!isRecord(details)) return null;
      const { loss_percent: loss, rtt_ms: rtt } = details;
      const facts = [typeof loss === 'number' && `${loss} % loss`, typeof rtt === 'number' && `${rtt} ms round trip`];
      return joined('Network degraded: ', facts.filter(Boolean).join(', '));
    },
    Port53Bound: details => {
      const processes = isRecord(details) ? details.offending_processes : undefined;
      const names = Array.isArray(processes) ? processes.filter(name => typeof name === 'string') : [];
      return joined('Port 53 is in use by ', names.join(', '));
    },
  }),
);

function sentence(code: string, details: unknown): string {
  const text = ENGLISH.get(code) ?? (NAME.test(code) ? capitalized(words(code).toLowerCase()) : code);
  const special = SENTENCES.get(code);
  return special ? (special(details) ?? text) : (joined(`${text}: `, detail(details)) ?? text);
}

function endpoints(start: string, details: unknown): string | null {
  const list = Array.isArray(details) ? details : [details];
  return joined(`${start} `, list.filter(item => typeof item === 'string').join(' and '));
}

/** Words details: `DaemonStartup` -> `Daemon Startup`; `{Invalidated: "ManualDeletion"}` -> `Invalidated (Manual Deletion)`. */
function detail(value: unknown): string | undefined {
  if (typeof value === 'string') return DETAILS.get(value) ?? words(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.map(detail).filter(Boolean).join(', ');
  if (!isRecord(value)) return undefined;
  return Object.entries(value)
    .map(([name, inner]) => {
      const text = detail(inner);
      return text ? `${words(name)} (${text})` : words(name);
    })
    .join(', ');
}

function joined(start: string, rest: string | undefined): string | null {
  return rest ? start + rest : null;
}

/** Matches an identifier of the tunnel CLI, unlike a time, an address or a sentence. */
const NAME = /^[A-Za-z]\w*$/;

/** Splits a CamelCase or snake_case name into words (`DNSLookup` -> `DNS Lookup`). Other text stays unchanged. */
function words(name: string): string {
  if (!NAME.test(name)) return name;
  return name
    .replace(/_/g, ' ')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .trim();
}
