// Computes the status of the connection from the stored state and the time, and prints it in the format of a release.
import type { Faults } from './faults.ts';
import type { State } from './state.ts';
import type { CliGeneration } from './version.ts';

/** `NetworkHealthy`, or `{EstablishingConnection: '162.159.198.2:443'}`. */
type Reason = string | { [name: string]: unknown };
export interface Status {
  status: 'Connected' | 'Connecting' | 'Disconnected' | 'Unable';
  reason: Reason | null;
}

/** A status in the form that a release prints. */
interface Shown {
  status: string;
  reason?: Reason;
}

/** @returns `nextAt` in ms since the epoch: the end of the current phase, or null without one */
export function statusAt(state: State, now: number, faults: Faults): { status: Status; nextAt: number | null } {
  const final = (status: Status) => ({ status, nextAt: null });
  if (faults.has('not-in-api') !== null) return final(unable({ RegistrationMissing: 'DoesNotExistInApi' }));
  if (state.registration === null) return final(unable({ RegistrationMissing: missingReason(state) }));
  if (state.connection === null) {
    const why = faults.has('reason');
    if (why !== null) return final({ status: 'Disconnected', reason: reasonOf(why) });
    return final({ status: 'Disconnected', reason: state.change ? { SettingsChanged: state.change } : 'Manual' });
  }
  const failure = faults.has('unable');
  if (failure !== null) return final(unable(reasonOf(failure)));
  if (faults.has('insufficient-resource') !== null)
    return final(unable({ InsufficientSystemResource: 'FileDescriptor' }));
  if (faults.has('no-network') !== null) return final(unable('NoNetwork'));
  const forced = faults.has('reason');
  const phases = phasesOf(state);
  const stuck = faults.has('stuck');
  if (stuck !== null) {
    const phase = phases.find(each => nameOf(each) === stuck);
    return final({ status: 'Connecting', reason: phase ?? (stuck ? reasonOf(stuck) : phases[0]!) });
  }
  let end = state.connection.since;
  for (const [index, reason] of phases.entries()) {
    const fault = FAILURES[nameOf(reason)];
    end += state.connection.phases[index] ?? 0;
    if (now < end) return { status: { status: 'Connecting', reason }, nextAt: end };
    if (fault && faults.has(fault.fault) !== null) return final(unable(fault.reason));
  }
  // Only the name was recorded. The real client's next step is unknown, so the emulator keeps trying.
  if (effectiveMode(state) === 'proxy' && state.proxyRefused === state.settings.proxyPort)
    return final(unable('ProxyAddressBound'));
  if (forced !== null) return final({ status: 'Connected', reason: reasonOf(forced) });
  return final({ status: 'Connected', reason: faults.has('network-unstable') !== null ? DEGRADED : 'NetworkHealthy' });
}

/** Returns the time of the connection, or null without one. */
export function connectedAt(state: State, now: number, faults: Faults): number | null {
  if (statusAt(state, now, faults).status.status !== 'Connected') return null;
  return state.connection!.since + state.connection!.phases.reduce((sum, each) => sum + each, 0);
}

/** Splits the duration of connecting into finding an endpoint, establishing and checking. */
export function phaseDurations(total: number): number[] {
  const first = Math.round(total * 0.35);
  const second = Math.round(total * 0.4);
  return [first, second, Math.max(total - first - second, 0)];
}

export function effectiveProtocol(state: State, generation: CliGeneration): 'MASQUE' | 'WireGuard' {
  const preferred = state.policy?.protocol ?? state.settings.protocol;
  return preferred ?? (generation.has('masqueDefault') ? 'MASQUE' : 'WireGuard');
}

export const effectiveMode = (state: State) => state.policy?.mode ?? state.settings.mode ?? 'warp';

// The names are real; the form of this payload is known only from tests of other programs.
const DEGRADED: Reason = { NetworkDegraded: { loss_percent: 8, rtt_ms: 400 } };
const FAILURES: Record<string, { fault: 'happy-eyeballs-failed' | 'dns-lookup-failed'; reason: Reason }> = {
  PerformingHappyEyeballs: { fault: 'happy-eyeballs-failed', reason: 'HappyEyeballsFailed' },
  PerformingConnectivityChecks: {
    fault: 'dns-lookup-failed',
    reason: { ConnectivityCheckFailed: 'DNSLookupFailed' },
  },
};

const unable = (reason: Reason): Status => ({ status: 'Unable', reason });
/** Parses a reason: a bare name without quotes, which shells remove, or JSON. */
function reasonOf(text: string): Reason {
  if (/^\w+$/.test(text)) return text;
  const value: unknown = JSON.parse(text);
  if (typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value)))
    return value as Reason;
  throw new TypeError(`a reason is a name or an object: ${text}`);
}
const nameOf = (reason: Reason) => (typeof reason === 'string' ? reason : (Object.keys(reason)[0] ?? ''));
const missingReason = (state: State) =>
  state.missing === 'ManualDeletion' ? { Invalidated: 'ManualDeletion' } : 'DaemonStartup';

/** Returns the phases of the mode: modes without a tunnel do not look for an endpoint. */
function phasesOf(state: State): Reason[] {
  if (['doh', 'dot'].includes(effectiveMode(state))) {
    return ['CheckingForRouteToDnsEndpoint', 'ApplyingDnsSettings', 'PerformingConnectivityChecks'];
  }
  const endpoints = state.connection?.endpoints ?? [];
  return [
    { PerformingHappyEyeballs: endpoints },
    { EstablishingConnection: endpoints[0] ?? null },
    'PerformingConnectivityChecks',
  ];
}

/** Returns the endpoints, for consumers as observed: MASQUE on 443, WireGuard on 2408. */
function endpointsFor(state: State, generation: CliGeneration): string[] {
  if (state.settings.endpoint) return [state.settings.endpoint];
  const [v4, v6] =
    effectiveProtocol(state, generation) === 'MASQUE'
      ? ['162.159.198.2:443', '[2606:4700:103::2]:443']
      : ['162.159.192.10:2408', '[2606:4700:d0::a29f:c003]:2408'];
  return state.ipv6 ? [v4, v6] : [v4];
}

/** Starts a connection, or starts it again. */
export function beginConnection(state: State, now: number, generation: CliGeneration): void {
  state.connection = {
    since: now,
    phases: phaseDurations(state.connectMs),
    endpoints: endpointsFor(state, generation),
  };
}

/** @returns an object with the keys in printed order */
export function statusJson({ status, reason }: Status, generation: CliGeneration): Shown {
  if (reason === null || (status === 'Connected' && !generation.has('networkHealth'))) return { status };
  return { status, reason: changed(reason) && !generation.has('settingsChanged') ? 'Manual' : reason };
}

/** @param shown result of `statusJson` */
export function statusText({ status, reason }: Shown): string {
  if (reason === undefined) return `Status update: ${status}\n`;
  if (status === 'Connected')
    return `Status update: ${status}\nNetwork: ${reason === 'NetworkHealthy' ? 'healthy' : 'unstable'}\n`;
  return `Status update: ${status}\nReason: ${words(reason)}\n`;
}

const changed = (reason: Reason) => typeof reason === 'object' && 'SettingsChanged' in reason;

function words(reason: Reason): string {
  const name = typeof reason === 'string' ? reason : (Object.keys(reason)[0] ?? '');
  const detail = typeof reason === 'string' ? null : reason[name];
  switch (name) {
    case 'Manual':
      return 'Manual Disconnection';
    case 'SettingsChanged':
      return 'Settings Changed';
    case 'RegistrationMissing':
      return `Registration Missing due to: ${cause(detail)}`;
    case 'PerformingHappyEyeballs':
      return `Performing happy eyeballs to ${list(detail)}`;
    case 'EstablishingConnection':
      return `Establishing connection to ${list(detail)}`;
    case 'CheckingForRouteToDnsEndpoint':
      return 'Checking for a route to the DNS endpoint';
    case 'ConnectivityCheckFailed':
      return `Connectivity check failed due to ${CAUSES[String(detail)] ?? spaced(String(detail))}`;
    case 'InsufficientSystemResource':
      return 'Insufficient system resource: file descriptor';
    // Recorded reasons use sentence case or title case; the reasons below were not recorded.
    default:
      return /^(Performing|Initializing|Applying|Setting|Configuring|Validating|Ensuring|Checking)/.test(name)
        ? sentence(name)
        : spaced(name);
  }
}

const CAUSES: Record<string, string> = {
  DaemonStartup: 'Daemon Startup',
  DoesNotExistInApi: 'Does not exist in API',
  DNSLookupFailed: 'DNS Lookup Failed',
};

function cause(detail: unknown): string {
  const inner = typeof detail === 'object' && detail !== null ? Object.values(detail)[0] : detail;
  return CAUSES[String(inner)] ?? spaced(String(inner));
}

const list = (detail: unknown) => (Array.isArray(detail) ? detail.join(' and ') : String(detail));

/** `HappyEyeballsFailed` -> `Happy Eyeballs Failed` */
const spaced = (name: string) => name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z])([A-Z][a-z])/g, '$1 $2');

/** `PerformingConnectivityChecks` -> `Performing connectivity checks` */
function sentence(name: string): string {
  const [first = '', ...rest] = spaced(name).split(' ');
  return [first, ...rest.map(word => (/^[A-Z]{2,}$/.test(word) ? word : word.toLowerCase()))].join(' ');
}
