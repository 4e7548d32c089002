// Lists what can be changed for a while, or until it is confirmed. Free of zod, so that every client can load it.

/** What can be changed for a while; there is at most one such change of each. */
export const SUBJECTS = [
  'connection',
  'mode',
  'protocol',
  'endpoint',
  'masque',
  'proxyPort',
  'families',
  'gatewayId',
  'fallback',
  'routes',
  'killSwitch',
] as const;

/** What the daemon itself takes back. The kill switch is its root service's, which outlives the daemon. */
export type TunnelSubject = Exclude<(typeof SUBJECTS)[number], 'killSwitch'>;
