// Lists what can be changed for a while, or until it is confirmed. Free of zod, so that every client can load it.
import type { ActionName } from './actions.ts';

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

/** What each action changes, for the actions that take `confirmWithin` and `forSeconds`. */
export const SUBJECT_OF: { readonly [A in ActionName]?: TunnelSubject } = {
  connect: 'connection',
  disconnect: 'connection',
  setMode: 'mode',
  enableLocalProxy: 'mode',
  setProtocol: 'protocol',
  resetProtocol: 'protocol',
  setEndpoint: 'endpoint',
  resetEndpoint: 'endpoint',
  setMasqueOptions: 'masque',
  resetMasqueOptions: 'masque',
  setProxyPort: 'proxyPort',
  setFamilies: 'families',
  setGatewayId: 'gatewayId',
  resetGatewayId: 'gatewayId',
  addFallbackDomain: 'fallback',
  removeFallbackDomain: 'fallback',
  resetFallbackDomains: 'fallback',
  addSplitIp: 'routes',
  removeSplitIp: 'routes',
  addSplitRange: 'routes',
  removeSplitRange: 'routes',
  resetSplitIps: 'routes',
  addSplitHost: 'routes',
  removeSplitHost: 'routes',
  resetSplitHosts: 'routes',
};
