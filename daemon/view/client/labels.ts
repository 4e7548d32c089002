// Provides the texts that all clients share, for modes, setup steps, results of actions, and remote access.
import type {
  ActionName,
  Blocked,
  ConnectionState,
  Mode,
  ProblemCode,
  RemoteAccess,
  Snapshot,
} from '../../api/schema.ts';
import type { Mark } from '../form.ts';
import { formatCount } from '../format.ts';
import { wordMessage } from '../message.ts';
import { english, fill, N_, type Translator } from '../translator.ts';
import { type Manager, type ServiceVerb, serviceCommand, serviceSentence } from './service-words.ts';

/** Subject of a client's first page: the connection, a setup step, or a missing daemon. */
export type Look = ConnectionState | 'setup' | 'unavailable';

/** Returns the look of a snapshot. A setup step takes precedence over the connection. */
export function lookOf({
  status,
}: {
  status: Pick<Snapshot['status'], 'state' | 'blocked'>;
}): Exclude<Look, 'unavailable'> {
  return status.blocked ? 'setup' : status.state;
}

/** Returns a mode's name and description. An unknown mode keeps its id as the name. */
export function modeName(mode: string, { _ }: Translator): { title: string; subtitle: string } {
  const names: Record<Mode, { title: string; subtitle: string }> = {
    warp: { title: _('All traffic'), subtitle: _('All traffic and DNS go through the tunnel.') },
    'warp+doh': {
      title: _('All traffic, encrypted DNS (HTTPS)'),
      subtitle: _('All traffic goes through the tunnel, and DNS is encrypted inside it (HTTPS).'),
    },
    'warp+dot': {
      title: _('All traffic, encrypted DNS (TLS)'),
      subtitle: _('All traffic goes through the tunnel, and DNS is encrypted inside it (TLS).'),
    },
    doh: { title: _('DNS only'), subtitle: _('DNS is encrypted (HTTPS); everything else bypasses WARP.') },
    dot: {
      title: _('DNS only (TLS)'),
      subtitle: _('DNS is encrypted (TLS); everything else bypasses WARP.'),
    },
    proxy: {
      title: _('Chosen apps only'),
      subtitle: _('Apps that use the local proxy go through the tunnel; everything else bypasses WARP.'),
    },
    tunnel_only: {
      title: _('All traffic, your own DNS'),
      subtitle: _('All traffic goes through the tunnel; DNS stays as it is.'),
    },
  };
  return names[mode as Mode] ?? { title: mode, subtitle: '' };
}

/** True for a mode with a tunnel. False for DNS only, and without a mode. */
export function modeTunnelsRequests(mode: string | undefined): boolean {
  return mode !== undefined && mode !== 'doh' && mode !== 'dot';
}

/** Returns a mode's name with its id, which people type in a terminal: `Chosen apps only (proxy)`. */
export function modeLabel(mode: string, tr: Translator): string {
  const { title } = modeName(mode, tr);
  return title === mode ? mode : `${title} (${mode})`;
}

/** The oldest client with the commands that Culvert uses, according to the vendor's release notes. */
export const OLDEST_CLIENT = '2024.9.346';

/**
 * Returns a sentence about the missing setup step.
 * @param version the installed client's version, if it is known
 */
export function setupText(blocked: Blocked, { _ }: Translator, version: string | null = null): string {
  const sentences: Record<Blocked, string> = {
    'cli-missing': _('Cloudflare WARP is not installed.'),
    'cli-too-old':
      version === null
        ? fill(_('Cloudflare WARP is too old: install version %s or newer.'), OLDEST_CLIENT)
        : fill(_('Cloudflare WARP %s is too old: install version %s or newer.'), version, OLDEST_CLIENT),
    'service-stopped': _('The WARP service is not running.'),
    'service-hangs': _('WARP does not answer.'),
    'terms-not-accepted': _('The terms of service have not been accepted.'),
    'not-registered': _('This device is not set up.'),
    'not-authorized': _('You can’t change WARP on this computer.'),
  };
  return sentences[blocked];
}

/** Returns a text for a completed action, or null if its effect is visible. */
export function doneText(action: ActionName, { _ }: Translator): string | null {
  const labels: Partial<Record<ActionName, string>> = {
    acceptTerms: _('Terms accepted'),
    register: _('WARP is set up'),
    registerOrganization: _('Continue in the browser'),
    setRegistrationToken: _('WARP is set up'),
    setMode: _('Mode changed'),
    setProtocol: _('Protocol changed'),
    rotateKeys: _('New keys are in use'),
    resetSettings: _('Settings reset'),
    setLicense: _('License applied'),
  };
  return labels[action] ?? null;
}

/** The command that ends a simulated failure of the demo, which has no service. */
export const DEMO_RESET = 'culvert-emulator --emulate reset';

/** Returns a sentence with the command that ends a simulated failure. */
export function demoFault({ _ }: Translator): string {
  // Translators: %s is a command for a terminal
  return fill(_('The demo simulates this failure. End it with: %s'), DEMO_RESET);
}

/** Words how to start or restart WARP's service here, for a terminal. */
export function serviceStep(verb: ServiceVerb, manager: Manager): string {
  return `${wordMessage(serviceSentence(verb, manager), english)} ${serviceCommand(verb, manager)}`;
}

/**
 * Returns the next command to type for a setup step or a problem, or null if no command helps.
 * @param manager what starts services instead of systemd
 * @param emulated true for the demo, which has no service
 */
export function nextStep(
  code: ProblemCode,
  { manager, emulated }: { manager: Manager; emulated: boolean },
): string | null {
  if (emulated && code.startsWith('service-')) return demoFault(english);
  const steps: { [code in ProblemCode]?: string } = {
    'cli-missing': 'Install Cloudflare WARP (culvert doctor shows how), or try Culvert without it: culvert --demo',
    'service-stopped': serviceStep('start', manager),
    'service-hangs': serviceStep('restart', manager),
    'terms-not-accepted': 'Read and accept them with: culvert account accept-terms',
    'not-registered': 'Register this device with: culvert account register',
  };
  return steps[code] ?? null;
}

interface RemoteAccessText {
  title: string;
  /** A warning, or an empty string if the connections are encrypted. */
  detail: string;
  /** True if others on the network can read the traffic. */
  caution: boolean;
}

/** A warning about unencrypted connections, with ways to encrypt them. */
export const UNENCRYPTED = N_(
  'Others on the network can read this traffic and take over the access. Use ssh -L, or put a reverse proxy with TLS in front of Culvert.',
);

/** @returns null if remote access is off. */
export function describeRemoteAccess(remote: RemoteAccess | null, tr: Translator): RemoteAccessText | null {
  if (!remote) return null;
  const { _ } = tr;
  const isEncrypted = remote.address?.startsWith('https:') ?? false;
  return {
    title: _('Remote access is on'),
    detail: isEncrypted ? '' : _('Culvert does not encrypt these connections.'),
    caution: !isEncrypted,
  };
}

/** Names a row's mark, for assistive technology. */
export function markName(mark: Mark, { _ }: Translator): string {
  const names: Record<Mark, string> = {
    fine: _('In order'),
    active: _('In use'),
    hint: _('Hint'),
    problem: _('Problem'),
    waiting: _('Waiting'),
    off: _('Off'),
  };
  return names[mark];
}

/** Words the new place of a row that the user moved, for assistive technology. @param place from 1 */
export function placeText(title: string, place: number, count: number, tr: Translator): string {
  // Translators: the title of a row, its new place in a list, and the number of rows in the list
  return fill(tr._('%s: %d of %d'), title, formatCount(place, tr), formatCount(count, tr));
}
