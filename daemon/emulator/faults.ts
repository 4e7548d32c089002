// Defines the faults that a user can turn on: their names, their notation, and the commands that each fault affects.
import { Failure } from '../core/errors.ts';

/** Every fault with its effect; the value in brackets is optional. */
export const FAULTS = {
  'service-down': 'the service does not run (No such file or directory)',
  'connection-refused': 'the service refuses the connection',
  'socket-late': '[=ms, 2000] the service is down for so long, then up',
  terms: 'the terms are not accepted, until --accept-tos or a yes at the prompt',
  'not-registered': 'there is no registration',
  'not-authorized': 'every command but status and settings is refused: another user registered',
  'policy-lock': 'an organization locks the switch and its settings',
  hang: 'never answers',
  'hang-deaf': 'never answers and ignores SIGTERM, SIGINT and SIGHUP',
  grandchild: '[=s, 30] leaves a process behind that holds stdout and stderr open',
  cut: '[=bytes, half] output ends in the middle',
  'unknown-output': 'output in a form that no release prints',
  huge: '[=bytes, 2 MiB] prints that much before its answer',
  slow: '[=ms, 1000] answers late',
  'json-exit-0': 'errors are JSON under -j, even without a service; exit code 0',
  'json-exit-1': 'errors are JSON under -j, even without a service; exit code 1',
  'text-errors': 'errors stay text on stderr, even under -j',
  'listener-exits': '[=ms, 0] a listener ends after so long',
  'network-unstable': 'connected, but the network is unstable',
  'no-network': 'no network',
  'happy-eyeballs-failed': 'no endpoint answers',
  'dns-lookup-failed': 'the connectivity check fails at its DNS lookup',
  'insufficient-resource': 'the service runs out of file descriptors',
  'not-in-api': 'the registration was deleted on the server',
  'proxy-silent': 'in proxy mode nothing listens',
  'proxy-deaf': 'in proxy mode the port is open, and nothing answers',
  stuck: '[=PHASE] connecting never gets beyond this phase: EstablishingConnection',
  unable: '=REASON a wanted connection is Unable for this reason: CaptivePortalTimedOut',
  reason: '=REASON what is connected or disconnected is so for this reason: NetworkHealthy, {"NetworkDegraded":…}',
} as const;
type FaultName = keyof typeof FAULTS;

interface Fault {
  name: FaultName;
  value: string | null;
  /** First words of the affected commands; null for every command that SPARED does not exempt. */
  scope: string | null;
}

/** Creates the error for an invalid fault, word of `--emulate`, or variable. */
export const usage = (message: string) => new Failure(message, { code: 'usage' });

/** Commands that a fault without a scope does not affect. */
const SPARED: Partial<Record<FaultName, RegExp>> = {
  'not-authorized': /^(status|settings)$/,
  'policy-lock':
    /^(connect|status|settings|vnet|override .*|registration (show|new|token|devices)|tunnel (dump|stats|ip list|host list)|trusted ssid list)$/,
};

export interface Faults {
  /** Returns the fault's value, or '' for a fault without one; null if the fault does not affect the command. */
  strikes(name: FaultName, command: string): string | null;
  /** Does the same for a fault of the whole service, and ignores the fault's scope. */
  has(name: FaultName): string | null;
}

/**
 * Parses comma-separated `name[=value][@command words]`: `slow=200@connect,network-unstable`.
 * A value in braces or quotes may contain commas.
 * @throws Failure `usage` for an unknown name
 */
export function parseFaults(...texts: string[]): Faults {
  const list = texts.flatMap(text => split(text).map(parseOne));
  return {
    strikes(name, command) {
      const fault = list.find(each => each.name === name && covers(each, command));
      return fault ? (fault.value ?? '') : null;
    },
    has(name) {
      const fault = list.find(each => each.name === name);
      return fault ? (fault.value ?? '') : null;
    },
  };
}

const split = (text: string) =>
  (text.match(/(?:\{[^}]*\}+|"[^"]*"|[^,])+/g) ?? []).map(part => part.trim()).filter(Boolean);

function parseOne(text: string): Fault {
  const [, name = '', value = null, scope = null] = text.match(/^([a-z0-9-]+)(?:=(.*?))?(?:@([a-z -]+))?$/s) ?? [];
  if (!Object.hasOwn(FAULTS, name)) {
    throw usage(`There is no fault "${text}". The faults are: ${Object.keys(FAULTS).join(', ')}.`);
  }
  return { name: name as FaultName, value, scope };
}

function covers(fault: Fault, command: string): boolean {
  if (fault.scope !== null) return command === fault.scope || command.startsWith(`${fault.scope} `);
  return !SPARED[fault.name]?.test(command);
}
