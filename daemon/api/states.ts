// Lists the states that clients show. Free of zod, so that every client can load it.

/** Every state; the names are a promise to shells (org.culvert.Client1). More may come. */
export const STATES = [
  'connected',
  'connecting',
  'disconnecting',
  'disconnected',
  /** Off for a while. */
  'paused',
  /** Not connected, and the kill switch blocks all traffic. */
  'blocked',
  /** WARP tries to connect and can't. */
  'unable',
  /** Nothing works before the user has done something, such as signing in to a network. */
  'needs-you',
  'unknown',
] as const;
export type State = (typeof STATES)[number];
