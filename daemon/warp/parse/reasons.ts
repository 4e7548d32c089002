// Translates status reasons between the tunnel CLI's names in JSON and its English in text.
import { isObject } from './output.ts';

export interface Reason {
  /** The CLI's own name, or null if its English is not known to belong to one. */
  code: string | null;
  text: string;
}

/**
 * A reason as JSON has it: a name, or an object of one name and its details.
 * The sentence is the one that the text form prints, wherever that one is known.
 */
export function reasonOfJson(value: unknown): Reason | null {
  if (value === null || value === undefined || value === '') return null;
  if (typeof value === 'string') return { code: value, text: sentence(value, undefined) };
  const entries = isObject(value) ? Object.entries(value) : [];
  const [entry] = entries;
  if (entries.length !== 1 || !entry) return { code: null, text: JSON.stringify(value) };
  return { code: entry[0], text: sentence(entry[0], entry[1]) };
}

/** A reason as text has it. */
export function reasonOfText(text: string): Reason | null {
  const trimmed = text.trim().replace(/\.$/, '');
  if (!trimmed) return null;
  return { code: CODES_BY_TEXT.find(([pattern]) => pattern.test(trimmed))?.[1] ?? null, text: trimmed };
}

/** Captured English only: wording of our own must not be taken for the CLI's. */
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

/** Names with captured English, and names whose plain spelling would not tell a user what happened. */
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

/** Details whose captured English is not their name taken apart. */
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
    // The details are both settings in full, which no sentence can hold; the raw text has them.
    SettingsChanged: () => 'Settings Changed',
    NetworkDegraded: details => {
      if (!isObject(details)) return null;
      const { loss_percent: loss, rtt_ms: rtt } = details;
      const facts = [typeof loss === 'number' && `${loss} % loss`, typeof rtt === 'number' && `${rtt} ms round trip`];
      return joined('Network degraded: ', facts.filter(Boolean).join(', '));
    },
    Port53Bound: details => {
      const processes = isObject(details) ? details.offending_processes : undefined;
      const names = Array.isArray(processes) ? processes.filter(name => typeof name === 'string') : [];
      return joined('Port 53 is in use by ', names.join(', '));
    },
  }),
);

function sentence(code: string, details: unknown): string {
  const text = ENGLISH.get(code) ?? (NAME.test(code) ? capitalised(words(code).toLowerCase()) : code);
  const special = SENTENCES.get(code);
  return special ? (special(details) ?? text) : (joined(`${text}: `, detail(details)) ?? text);
}

function endpoints(start: string, details: unknown): string | null {
  const list = Array.isArray(details) ? details : [details];
  return joined(`${start} `, list.filter(item => typeof item === 'string').join(' and '));
}

/** `DaemonStartup` -> `Daemon Startup`; `{Invalidated: "ManualDeletion"}` -> `Invalidated (Manual Deletion)`. */
function detail(value: unknown): string | undefined {
  if (typeof value === 'string') return DETAILS.get(value) ?? words(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.map(detail).filter(Boolean).join(', ');
  if (!isObject(value)) return undefined;
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

/** A name that the tunnel CLI gives a thing, unlike a time, an address or a sentence. */
const NAME = /^[A-Za-z]\w*$/;

/** Takes a CamelCase or snake_case name apart; runs of capitals stay together (`DNSLookup` -> `DNS Lookup`). Other text stays as it is. */
function words(name: string): string {
  if (!NAME.test(name)) return name;
  return name
    .replace(/_/g, ' ')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .trim();
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
