// Publishes a tunnel's state and figures for a minute after noon.
import type { Status } from '../../../daemon/api/schema.ts';
import type { Seen } from '../../../daemon/history/observe.ts';
import { NO_TUNNEL } from '../../../daemon/state/store.ts';

export const NOON = Date.parse('2026-11-21T12:00:00Z');

/** @param received bytes since the connection began; absent for no figures */
export function seen(minute: number, state: Status['state'], code: string | null = null, received?: number): Seen {
  const at = NOON + minute * 60_000;
  const reason = code === null ? null : { code, text: 'somewhere.example' };
  const figures = {
    at: new Date(at).toISOString(),
    bytesReceived: received!,
    bytesSent: 0,
    latencyMs: 10,
    colo: 'AMS',
  };
  return {
    at,
    mode: 'warp',
    tunnel: received === undefined ? NO_TUNNEL : { ...NO_TUNNEL, ...figures },
    status: { state, reason, network: null, blocked: null, since: '', raw: '' },
  };
}
