// `status` in the words of each era.
import type { Reason, Status } from '../connection.ts';
import type { Era } from '../version.ts';

export function statusText(status: Status, era: Era): string {
  const lines = statusLines(status, era);
  if (era.has('successBeforeStatus')) return `Success\n${lines}`;
  return era.has('successAfterStatus') ? `${lines}Success\n` : lines;
}

/** @returns an object whose keys stand in the order in which they are printed */
export function statusJson({ status, reason }: Status, era: Era): { status: string; reason?: Reason } {
  if (reason === null || (status === 'Connected' && !era.has('networkHealth'))) return { status };
  return { status, reason: reason === null || !changed(reason) || era.has('settingsChanged') ? reason : 'Manual' };
}

/** The status without the `Success` that older releases print with it. */
export function statusLines({ status, reason }: Status, era: Era): string {
  const name = status === 'Unable' && !era.has('unableAlone') ? 'Unable to connect' : status;
  if (status === 'Connected') {
    if (!era.has('networkHealth') || reason === null) return `Status update: ${name}\n`;
    return `Status update: ${name}\nNetwork: ${reason === 'NetworkHealthy' ? 'healthy' : 'unstable'}\n`;
  }
  const why = reason === null ? '' : words(reason, era);
  if (why === '') return `Status update: ${name}\n`;
  if (status === 'Connecting' && !era.has('connectingReason')) return `Status update: ${name}\n`;
  return era.has('reasonLine')
    ? `Status update: ${name}\nReason: ${why}\n`
    : `Status update: ${name}. Reason: ${why}\n`;
}

const changed = (reason: Reason) => typeof reason === 'object' && 'SettingsChanged' in reason;

function words(reason: Reason, era: Era): string {
  const name = typeof reason === 'string' ? reason : (Object.keys(reason)[0] ?? '');
  const detail = typeof reason === 'string' ? null : reason[name];
  switch (name) {
    case 'Manual':
      return 'Manual Disconnection';
    case 'SettingsChanged':
      return era.has('settingsChanged') ? 'Settings Changed' : 'Manual Disconnection';
    case 'RegistrationMissing':
      return era.has('reasonLine') ? `Registration Missing due to: ${cause(detail)}` : 'Registration Missing';
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
const spaced = (name: string) => name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2');

/** `PerformingConnectivityChecks` -> `Performing connectivity checks` */
function sentence(name: string): string {
  const [first = '', ...rest] = spaced(name).split(' ');
  return [first, ...rest.map(word => (/^[A-Z]{2,}$/.test(word) ? word : word.toLowerCase()))].join(' ');
}
