// Names the places where WARP installs the certificates of an organization, for the daemon's start.

/** Files of WARP 2024.12.554 and newer on Debian and Ubuntu. `.crt` is a link to `.pem`. */
export const SYSTEM_PLACES = [
  '/usr/local/share/ca-certificates/managed-warp.pem',
  '/usr/local/share/ca-certificates/managed-warp.crt',
] as const;
export const DIRECTORY = '/var/lib/cloudflare-warp/installed_certs';
/** Deprecated since 2025-06. WARP only appends certificates here, so the file is a fallback. */
export const OLD_PLACE = '/var/lib/cloudflare-warp/installed_cert.pem';
