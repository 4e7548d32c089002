// Says whether the device belongs to an organization, and where WARP installs its certificates, for the daemon's start.
import type { Snapshot } from '../api/schema.ts';

/** Files of WARP 2024.12.554 and newer on Debian and Ubuntu. `.crt` is a link to `.pem`. */
export const SYSTEM_PLACES = [
  '/usr/local/share/ca-certificates/managed-warp.pem',
  '/usr/local/share/ca-certificates/managed-warp.crt',
] as const;
export const DIRECTORY = '/var/lib/cloudflare-warp/installed_certs';
/** Deprecated since 2025-06. WARP only appends certificates here, so the file is a fallback. */
export const OLD_PLACE = '/var/lib/cloudflare-warp/installed_cert.pem';

/** True if the device belongs to an organization; null before the first read of the registration. */
export function isMember({ account: { registered, managed, organization, type } }: Snapshot): boolean | null {
  if (!registered) return registered;
  return managed === true || Boolean(organization) || /^teams?$/i.test(type ?? '');
}
