// Determines whether MASQUE uses HTTP/2, which needs no UDP, and whether this machine's user can choose it.
import type { ActionRequest, Snapshot } from '../../api/schema.ts';
import { compareVersions } from '../versions.ts';

/** The first release that can use HTTP/2, by Cloudflare's changelog of the Linux client. */
export const HTTP2_SINCE = '2025.4.929';

type Shown = Pick<Snapshot, 'settings' | 'tunnel' | 'options' | 'status'>;

/** Returns true if only HTTP/2 is set. WARP prints, for example, `MASQUE (HTTP/3 with HTTP/2 fallback)`. */
export function isHttp2Only({ options }: Pick<Snapshot, 'options'>): boolean {
  return versionsIn(options.masque) === 'HTTP/2';
}

/** Returns the HTTP versions in an option as WARP prints it: `HTTP/3,HTTP/2`; empty if it is not known. */
export function versionsIn(masque: string | null | undefined): string {
  return (masque ?? '').match(/HTTP\/[23]/g)?.join() ?? '';
}

/** Returns true if the tunnel uses HTTP/2, or tries to: releases print `MASQUE (HTTP/2)` or `MASQUE (HTTPS via TCP)`. */
export function usesHttp2(shown: Shown): boolean {
  const { settings, tunnel, status } = shown;
  const isMasque = (text: string) => /^masque/i.test(text);
  const printed = status.state === 'connected' ? (tunnel.protocol ?? '') : '';
  const versions = versionsIn(printed);
  if (isMasque(printed) && (versions !== '' || / via (TCP|UDP)/.test(printed)))
    return versions === 'HTTP/2' || / via TCP/.test(printed);
  const set = settings['WARP tunnel protocol'];
  return (typeof set !== 'string' || isMasque(set)) && isHttp2Only(shown);
}

/** Returns true unless the installed release is known to lack the option. */
export function knowsHttp2({ tunnelCli, options }: Pick<Snapshot, 'tunnelCli' | 'options'>): boolean {
  if (options.masque !== null) return true;
  return tunnelCli.version === null || compareVersions(tunnelCli.version, HTTP2_SINCE) >= 0;
}

/** Returns true if an organization decides the device's settings. */
export function isOrganizations({ account, options }: Pick<Snapshot, 'account' | 'options'>): boolean {
  return account.managed === true || account.organization !== null || options.organization !== null;
}

/** Returns true if this user can have MASQUE use HTTP/2 alone, and it does not yet. An organization decides it for its devices. */
export function offersHttp2(
  snapshot: Pick<Snapshot, 'settings' | 'tunnel' | 'tunnelCli' | 'account' | 'options'>,
): boolean {
  const { settings, tunnel, tunnelCli } = snapshot;
  if (!tunnelCli.available || tunnelCli.version === null || !knowsHttp2(snapshot) || isHttp2Only(snapshot))
    return false;
  if (isOrganizations(snapshot)) return false;
  return /^masque/i.test(String(settings['WARP tunnel protocol'] ?? tunnel.protocol ?? ''));
}

/** The action that makes MASQUE use HTTP/2 alone. With a fallback, releases of 2025 tried HTTP/3 again and again (usque#32). */
export const USE_HTTP2: ActionRequest = { action: 'setMasqueOptions', value: 'h2-only' };
