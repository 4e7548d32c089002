// Lists the files in which WARP puts the organization's certificates.

/** WARP 2024.12.554 and newer put it there on Debian and Ubuntu; `.crt` is a link to `.pem`. */
export const SYSTEM_PLACES = [
  '/usr/local/share/ca-certificates/managed-warp.pem',
  '/usr/local/share/ca-certificates/managed-warp.crt',
] as const;
export const DIRECTORY = '/var/lib/cloudflare-warp/installed_certs';
/** Deprecated since 2025-06: certificates are appended and never removed, so it serves only where nothing else does. */
export const OLD_PLACE = '/var/lib/cloudflare-warp/installed_cert.pem';
