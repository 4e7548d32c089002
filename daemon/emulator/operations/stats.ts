// Figures of the running tunnel: a function of the seed and the time, so that every process prints the same.

import type { Context } from '../answer.ts';
import { connectedAt } from '../client/connection.ts';
import { hexFrom } from '../client/initial-state.ts';
import type { Stats } from '../client/state.ts';

/** Bytes a second, their swing, and the swing's period in seconds: traffic that rises, falls, and never runs back. */
const SENT = { rate: 2_400, swing: 0.7, period: 23 };
const RECEIVED = { rate: 19_000, swing: 0.9, period: 41 };
/** WireGuard makes new keys after two minutes (whitepaper, Rekey-After-Time); MASQUE keeps its handshake. */
const REKEY_SECONDS = 120;

/** @returns null while there is no connection */
export function statsAt(context: Context, protocol: 'MASQUE' | 'WireGuard'): Stats | null {
  const { state, now, faults } = context;
  const since = connectedAt(state, now, faults);
  if (since === null) return null;
  const seconds = Math.max(now - since, 0) / 1000;
  const age = Math.floor(seconds);
  const steady = hexFrom(state.seed);
  const moment = hexFrom(state.seed + Math.floor(now / 2000));
  const part = (hex: string) => Number.parseInt(hex, 16) / 16 ** hex.length;
  const [v4 = '', v6 = ''] = (state.connection?.endpoints ?? []).map(host);
  return {
    v4: v4.includes(':') ? '0.0.0.0' : v4,
    v6: v4.includes(':') ? v4 : protocol === 'WireGuard' ? v6 || '::' : '::',
    handshakeAge: protocol === 'WireGuard' ? age % REKEY_SECONDS : age,
    sent: 3_100 + carried(seconds, SENT),
    received: 5_200 + carried(seconds, RECEIVED),
    latency: 9 + Math.floor(part(steady(4)) * 30) + Math.floor(part(moment(4)) * 9),
    loss: Number((part(moment(4)) * 0.0008).toFixed(10)),
    colo: ['MAD', 'FRA', 'AMS', 'DEL', 'HKG', 'SJC', 'GRU', 'NRT'][Math.floor(part(steady(4)) * 8)] ?? 'FRA',
    metal: steady(6),
    curve: 'P256Kyber768Draft00',
    ...state.stats,
  };
}

/** The integral of `rate * (1 + swing * sin(2πt / period))` from 0 to t. */
function carried(seconds: number, { rate, swing, period }: typeof SENT): number {
  const turn = (2 * Math.PI) / period;
  return Math.floor(rate * (seconds + (swing / turn) * (1 - Math.cos(turn * seconds))));
}

const host = (endpoint: string) => endpoint.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
