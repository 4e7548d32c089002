// Counts changes, connected time and bytes of the tunnel, and turns them and the snapshot into samples. Pure.
import type { Sample, Samples } from '../../wrapper/store/metrics/families.ts';
import type { Verdict } from '../api/doctor.ts';
import type { Snapshot, Tunnel } from '../api/schema.ts';
import { ConnectionState } from '../api/tunnel.ts';
import { passedSince } from '../history/observe.ts';
import { type Counters, nameOr } from '../history/records.ts';
import { isOld } from '../view/states/summary.ts';
import type { FAMILIES } from './families.ts';

export type DaemonSamples = Samples<typeof FAMILIES>;

/** Counts since the first request. */
interface Counted {
  tunnel: TunnelCounts;
  /** Requests by route and status, and calls by command and outcome. */
  requests: Iterable<readonly [readonly [string, string], number]>;
  calls: Iterable<readonly [readonly [string, string], number]>;
  /** The last verdict of each check, and the time of the last check in ms since the epoch. */
  verdicts: ReadonlyMap<string, Verdict>;
  checkedAt: number | null;
  /** Number of repairs of the kill switch's rules. */
  mended: number;
  openStreams: number;
}

export function samplesOf(snapshot: Snapshot, counted: Counted): DaemonSamples {
  const { tunnelCli, diagnosis } = snapshot;
  return {
    ...(tunnelCli.available
      ? {
          culvert_warp_info: [
            { labels: { version: tunnelCli.version ?? '', emulated: String(tunnelCli.emulated) }, value: 1 },
          ],
        }
      : {}),
    ...tunnelSamples(snapshot, counted.tunnel),
    ...killSwitchSamples(snapshot.killSwitch),
    culvert_warp_killswitch_mended_total: value(counted.mended),
    culvert_warp_health_findings: [...counted.verdicts].map(([id, verdict]) => ({ labels: { id, verdict }, value: 1 })),
    culvert_warp_health_checked_timestamp_seconds: value(counted.checkedAt === null ? null : counted.checkedAt / 1000),
    culvert_warp_health_diagnosis: diagnosis ? [{ labels: { id: diagnosis.id }, value: 1 }] : [],
    culvert_warp_cli_calls_total: pairs(counted.calls, 'command', 'outcome'),
    culvert_warp_api_requests_total: pairs(counted.requests, 'route', 'code'),
    culvert_warp_event_streams: value(counted.openStreams),
  };
}

function tunnelSamples({ status, tunnel }: Snapshot, counts: TunnelCounts): DaemonSamples {
  const present = isOld(status) ? 'unknown' : status.state;
  const { at, latencyMs, loss, handshakeAgeSeconds } = tunnel;
  return {
    culvert_warp_tunnel_state: ConnectionState.options.map(state => ({
      labels: { state },
      value: Number(state === present),
    })),
    culvert_warp_tunnel_state_changes_total: [...counts.changes].map(([reason, value]) => ({
      labels: { reason },
      value,
    })),
    culvert_warp_tunnel_connection_attempts_total: value(counts.attempts),
    culvert_warp_tunnel_connected_seconds_total: value(counts.connectedSeconds),
    culvert_warp_tunnel_receive_bytes_total: value(counts.receivedBytes),
    culvert_warp_tunnel_transmit_bytes_total: value(counts.sentBytes),
    culvert_warp_tunnel_latency_seconds: value(latencyMs === null ? null : latencyMs / 1000),
    culvert_warp_tunnel_loss_ratio: value(loss),
    culvert_warp_tunnel_handshake_age_seconds: value(handshakeAgeSeconds),
    culvert_warp_tunnel_figures_timestamp_seconds: value(at === null ? null : Date.parse(at) / 1000),
  };
}

function killSwitchSamples({ enabled, active, pausedUntil }: Snapshot['killSwitch']): DaemonSamples {
  return {
    culvert_warp_killswitch_wanted: value(Number(enabled)),
    culvert_warp_killswitch_engaged: value(active === null ? null : Number(active)),
    culvert_warp_killswitch_paused: value(Number(pausedUntil !== null)),
  };
}

/** Returns the one sample of a metric without labels; no sample for an unknown value. */
export function value(figure: number | null): Sample[] {
  return figure === null || !Number.isFinite(figure) ? [] : [{ labels: {}, value: figure }];
}

function pairs(table: Counted['requests'], first: string, second: string): Sample[] {
  return [...table].map(([[a, b], value]) => ({ labels: { [first]: a, [second]: b }, value }));
}

interface TunnelCounts {
  /** Number of changes by reason; '' if the tunnel client gave no reason. */
  changes: ReadonlyMap<string, number>;
  attempts: number;
  connectedSeconds: number;
  receivedBytes: number;
  sentBytes: number;
}

interface TunnelCounters {
  /** Takes each published state. @param reason the tunnel client's code @param now monotonic time, in ms */
  state(state: ConnectionState, reason: string | null | undefined, now: number): void;
  /** Takes all figures that are published. */
  figures(tunnel: Tunnel): void;
  /** @param now monotonic time, in ms */
  counts(now: number): TunnelCounts;
}

/** Maximum number of reasons, so that the output of a later client can't make a metric for each; the client has about 60. */
const REASONS = 100;

/** Creates counters that begin at 0, with the present state and figures. */
export function createTunnelCounters(first: { state: ConnectionState; tunnel: Tunnel; now: number }): TunnelCounters {
  let present = first.state;
  let since = first.now;
  let connectedMs = 0;
  let attempts = 0;
  const changes = new Map<string, number>();
  let last = countersOf(first.tunnel) ?? fromZero(present);
  let lastRead = first.tunnel.at;
  let [receivedBytes, sentBytes] = [0, 0];

  const connectedUntil = (now: number) => connectedMs + (present === 'connected' ? Math.max(0, now - since) : 0);

  return {
    state(state, reason, now) {
      // the phases of connecting are published one by one
      if (state === present) return;
      connectedMs = connectedUntil(now);
      since = now;
      if (state === 'connecting') attempts += 1;
      present = state;
      last ??= fromZero(state);
      const name = nameOr(reason) ?? '';
      const key = changes.has(name) || changes.size < REASONS ? name : 'other';
      changes.set(key, (changes.get(key) ?? 0) + 1);
    },
    figures(tunnel) {
      if (tunnel.at === null || tunnel.at === lastRead) return;
      lastRead = tunnel.at;
      const read = countersOf(tunnel);
      if (!read) return;
      if (last) {
        const passed = passedSince(last, read);
        receivedBytes += passed.received;
        sentBytes += passed.sent;
      }
      last = read;
    },
    counts: now => ({ changes, attempts, connectedSeconds: connectedUntil(now) / 1000, receivedBytes, sentBytes }),
  };
}

function countersOf({ at, bytesReceived, bytesSent }: Tunnel): Counters | null {
  if (at === null || bytesReceived === null || bytesSent === null) return null;
  return { at: Math.floor(Date.parse(at) / 1000), received: Math.round(bytesReceived), sent: Math.round(bytesSent) };
}

/** Returns zero counters for a tunnel that was down: the client starts over for each connection. */
function fromZero(state: ConnectionState): Counters | null {
  return state === 'disconnected' ? { at: 0, received: 0, sent: 0 } : null;
}
