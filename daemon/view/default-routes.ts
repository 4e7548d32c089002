// Lists the vendor's default split-tunnel entries and fallback domains, to distinguish them from the user's entries.

/** Canonical entries from consumer releases 2023.3 and 2026.3, and the vendor's documentation of split tunnels. */
export const DEFAULT_ROUTES: readonly string[] = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '224.0.0.0/24',
  '239.255.255.250',
  '240.0.0.0/4',
  '255.255.255.255',
  'fc00::/7',
  'fd00::/8',
  'fe80::/10',
  'ff01::/16',
  'ff02::/16',
  'ff03::/16',
  'ff04::/16',
  'ff05::/16',
  // Apple's push and FaceTime services
  '17.57.144.0/22',
  '17.188.20.0/23',
  '17.188.128.0/18',
  '17.249.0.0/16',
  '17.252.0.0/16',
  '2403:300:a42::/48',
  '2403:300:a51::/48',
  '2620:149:a44::/48',
  '2a01:b740:a42::/48',
];

/** Fallback domains of a client without changes, recorded from consumer releases 2023.7 and 2026.3. */
export const DEFAULT_FALLBACK: readonly string[] =
  'corp domain home home.arpa host internal intranet invalid lan local localdomain localhost private test'.split(' ');
