// Lists what can be changed for a while, or until it is confirmed. Free of zod, so that every client can load it.

/** Subjects of temporary changes, with at most one change of each. */
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

/** Subjects that the daemon itself reverts. The kill switch is its root service's, which outlives the daemon. */
export type TunnelSubject = Exclude<(typeof SUBJECTS)[number], 'killSwitch'>;
