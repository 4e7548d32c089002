// `status` in the words of each generation.
import type { Reason, Status } from '../client/connection.ts';
import type { CliGeneration } from '../version.ts';

/** @returns an object with its keys in the order in which they are printed */
export function statusJson({ status, reason }: Status, generation: CliGeneration): { status: string; reason?: Reason } {
  if (reason === null || (status === 'Connected' && !generation.has('networkHealth'))) return { status };
  return {
    status,
    reason: reason === null || !changed(reason) || generation.has('settingsChanged') ? reason : 'Manual',
  };
}

export function statusText({ status, reason }: Status, generation: CliGeneration): string {
  const name = status === 'Unable' && !generation.has('unableAlone') ? 'Unable to connect' : status;
  if (status === 'Connected') {
    if (!generation.has('networkHealth') || reason === null) return `Status update: ${name}\n`;
    return `Status update: ${name}\nNetwork: ${reason === 'NetworkHealthy' ? 'healthy' : 'unstable'}\n`;
  }
  const why = reason === null ? '' : words(reason, generation);
  if (why === '') return `Status update: ${name}\n`;
  if (status === 'Connecting' && !generation.has('connectingReason')) return `Status update: ${name}\n`;
  return generation.has('reasonLine')
    ? `Status update: ${name}\nReason: ${why}\n`
    : `Status update: ${name}. Reason: ${why}\n`;
}

const changed = (reason: Reason) => typeof reason === 'object' && 'SettingsChanged' in reason;

function words(reason: Reason, generation: CliGeneration): string {
  const name = typeof reason === 'string' ? reason : (Object.keys(reason)[0] ?? '');
  const detail = typeof reason === 'string' ? null : reason[name];
  switch (name) {
    case 'Manual':
      return 'Manual Disconnection';
    case 'SettingsChanged':
      return generation.has('settingsChanged') ? 'Settings Changed' : 'Manual Disconnection';
    case 'RegistrationMissing':
      return generation.has('reasonLine') ? `Registration Missing due to: ${cause(detail)}` : 'Registration Missing';
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
    // Its siblings are written in one case or the other; those below were not recorded.
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
