// Lists the states that clients show. Free of zod, so that every client can load it.

/** All states. Shells rely on the names (org.culvert.Client1); later versions may add states. */
export const STATES = [
  'connected',
  'connecting',
  'disconnecting',
  'disconnected',
  /** Off for a limited time. */
  'paused',
  /** Not connected while the kill switch blocks all traffic. */
  'blocked',
  /** WARP tries to connect and can't. */
  'unable',
  /** Nothing works until the user acts, for example signs in to a network. */
  'needs-you',
  'unknown',
] as const;
export type State = (typeof STATES)[number];
