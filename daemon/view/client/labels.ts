// Holds the words that all clients share: modes, steps of the setup, results of actions, and remote access.
import type {
  ActionName,
  Blocked,
  ConnectionState,
  Mode,
  ProblemCode,
  RemoteAccess,
  Snapshot,
} from '../../api/schema.ts';
import { english, fill, N_, type Translator } from '../translator.ts';

/** Subject of a client's first page: the connection, a step that the user has to do first (`setup`), or no daemon. */
export type Look = ConnectionState | 'setup' | 'unavailable';

/** Look of a snapshot: a step of the setup comes before the state of the connection. */
export function lookOf({
  status,
}: {
  status: Pick<Snapshot['status'], 'state' | 'blocked'>;
}): Exclude<Look, 'unavailable'> {
  return status.blocked ? 'setup' : status.state;
}

/** A mode as people know it, with what it does. Other modes than the known show as they are. */
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

/** False in the modes for DNS only. */
export function modeTunnelsRequests(mode: string | undefined): boolean {
  return mode !== undefined && mode !== 'doh' && mode !== 'dot';
}

/** A mode for the terminal, where people type its id: `Chosen apps only (proxy)`. */
export function modeLabel(mode: string, tr: Translator): string {
  const { title } = modeName(mode, tr);
  return title === mode ? mode : `${title} (${mode})`;
}

/** The oldest client that Culvert can control: the first with its present commands, by the vendor's release notes. */
export const OLDEST_CLIENT = '2024.9.346';

/**
 * One sentence on what has to be set up first.
 * @param version the installed client's, where it is at hand
 */
export function setupText(blocked: Blocked, { _ }: Translator, version: string | null = null): string {
  const sentences: Record<Blocked, string> = {
    'cli-missing': _('Cloudflare WARP is not installed.'),
    'cli-too-old':
      version === null
        ? fill(_('Cloudflare WARP is too old: install version %s or newer.'), OLDEST_CLIENT)
        : fill(_('Cloudflare WARP %s is too old: install version %s or newer.'), version, OLDEST_CLIENT),
    'service-stopped': _('The WARP service is not running.'),
    'service-hangs': _('The WARP service is running, but does not answer.'),
    'terms-not-accepted': _('The terms of service have not been accepted.'),
    'not-registered': _('This device is not set up.'),
    'not-authorized': _('You can’t change WARP on this computer.'),
  };
  return sentences[blocked];
}

/** Words for an action that is done; null if its effect is visible anyway. */
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

/** Ends a failure of the demo, which fails only where it was set to, and has no service. */
export const DEMO_RESET = 'culvert-emulator --emulate reset';

/** The same as a sentence. */
export function demoFault({ _ }: Translator): string {
  // Translators: %s is a command for a terminal
  return fill(_('The demo simulates this failure. End it with: %s'), DEMO_RESET);
}

/** Starts or restarts WARP's service, in a terminal. @param systemd it runs this machine; elsewhere the program is started */
export function serviceCommand(verb: 'start' | 'restart', systemd: boolean): string {
  if (!systemd) return 'sudo warp-svc';
  return verb === 'start' ? 'sudo systemctl enable --now warp-svc' : 'sudo systemctl restart warp-svc';
}

/**
 * The next command to type in a terminal, for a setup step or the problem of that name; null if no command helps.
 * @param systemd it runs this machine
 * @param emulated the demo is in use, which has no service
 */
export function nextStep(
  code: ProblemCode,
  { systemd, emulated }: { systemd: boolean; emulated: boolean },
): string | null {
  if (emulated && code.startsWith('service-')) return demoFault(english);
  const steps: { [code in ProblemCode]?: string } = {
    'cli-missing': 'Install Cloudflare WARP (culvert doctor shows how), or try Culvert without it: culvert --demo',
    'service-stopped': systemd
      ? `Start it with: ${serviceCommand('start', systemd)}`
      : 'systemd does not run here. Start the program as root: warp-svc',
    'service-hangs': systemd
      ? `Restart it with: ${serviceCommand('restart', systemd)}`
      : 'systemd does not run here. End the program, and start it again as root: warp-svc',
    'terms-not-accepted': 'Read and accept them with: culvert account accept-terms',
    'not-registered': 'Register this device with: culvert account register',
  };
  return steps[code] ?? null;
}

interface RemoteAccessText {
  title: string;
  /** Empty while the connections are encrypted. */
  detail: string;
  /** Others on the network can read along. */
  caution: boolean;
}

/** Meaning of an unencrypted connection, and the ways to encrypt it. */
export const UNENCRYPTED = N_(
  'Others on the network can read this traffic and take over the access. Use ssh -L, or put a reverse proxy with TLS in front of Culvert.',
);

/** @returns null if no other machine shall be let in. */
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
