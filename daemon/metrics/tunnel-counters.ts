// Counts what becomes of the tunnel: changes, time connected, and bytes that go on across reconnects. Pure.
import type { ConnectionState, Tunnel } from '../api/schema.ts';
import { passedSince } from '../history/observe.ts';
import { type Counters, nameOr } from '../history/records.ts';

export interface TunnelCounts {
  /** By reason; '' where none was given. */
  changes: ReadonlyMap<string, number>;
  attempts: number;
  connectedSeconds: number;
  receivedBytes: number;
  sentBytes: number;
}

export interface TunnelCounters {
  /** The state, whenever one is published. @param reason the tunnel client's code @param now ms of a steady clock */
  state(state: ConnectionState, reason: string | null | undefined, now: number): void;
  /** The figures, whenever they are published. */
  figures(tunnel: Tunnel): void;
  /** @param now ms of a steady clock */
  counts(now: number): TunnelCounts;
}

/** The client has about 60 reasons; what a later one may print must not make a metric for each. */
const REASONS = 100;

/** All counts begin at 0, with the state and the figures of now. */
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

/** Counters of a tunnel that was down count from 0: the client starts over for each connection. */
function fromZero(state: ConnectionState): Counters | null {
  return state === 'disconnected' ? { at: 0, received: 0, sent: 0 } : null;
}
