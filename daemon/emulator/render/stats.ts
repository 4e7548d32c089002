// `tunnel stats`: the figures in the layout of each generation.
import type { Context } from '../answer.ts';
import { effectiveMode } from '../client/connection.ts';
import type { Stats } from '../client/state.ts';

export function statsText(stats: Stats, protocol: 'MASQUE' | 'WireGuard', { state, generation }: Context): string {
  const modern = generation.has('protocolInStats');
  const lines = [
    modern && `Tunnel Protocol: ${protocolText(protocol, state.settings.masque, generation.has('coloInStats'))}`,
    `Endpoints: ${stats.v4}, ${stats.v6}`,
    `Time since last handshake: ${stats.handshakeAge}s`,
    `Sent: ${bytes(stats.sent)}; Received: ${bytes(stats.received)}`,
    `Estimated latency: ${stats.latency}ms`,
    `Estimated loss: ${(stats.loss * 100).toFixed(2)}%${modern ? '' : ';'}`,
    ...(modern && protocol === 'MASQUE'
      ? ['TLS Handshake:', `\tVersion: ${TLS.version}`, `\tPost-Quantum enabled: ${TLS.post_quantum_enabled}`]
      : []),
    ...(modern && protocol === 'MASQUE' && !generation.has('coloInStats')
      ? [`\tElliptic curve: ${stats.curve}`, `\tCipher suite: ${TLS.cipher}`]
      : []),
    generation.has('coloInStats') && `Colo: ${stats.colo} (${stats.metal})`,
  ];
  return `${lines.filter(Boolean).join('\n')}\n`;
}

/** Keys in the order of 2026.7.1377. */
export function statsJson(stats: Stats, protocol: 'MASQUE' | 'WireGuard', { state }: Context): Record<string, unknown> {
  return {
    v4_endpoint: stats.v4,
    v6_endpoint: stats.v6,
    warp_is_on: true,
    secs_since_last_handshake: stats.handshakeAge,
    bytes_sent: stats.sent,
    bytes_received: stats.received,
    estimated_latency_ms: stats.latency,
    estimated_loss: stats.loss,
    protocol: protocolText(protocol, state.settings.masque, true),
    tls:
      protocol === 'MASQUE'
        ? { ...TLS, curve: stats.curve, sni: sni(effectiveMode(state), state.policy !== null) }
        : null,
    edge: { colo: stats.colo, metal: stats.metal },
  };
}

const TLS = {
  version: 'TLSv1.3',
  curve: '',
  cipher: 'TLS_AES_256_GCM_SHA384',
  post_quantum_enabled: true,
};

function sni(mode: string, managed: boolean): string {
  if (managed) return 'zero-trust-client.cloudflareclient.com';
  return mode === 'proxy' ? 'consumer-masque-proxy.cloudflareclient.com' : 'consumer-masque.cloudflareclient.com';
}

function protocolText(protocol: 'MASQUE' | 'WireGuard', masque: string | null, newest: boolean): string {
  if (protocol === 'WireGuard') return 'WireGuard';
  if (masque === 'h2-only') return newest ? 'MASQUE (HTTPS via TCP)' : 'MASQUE (HTTP/2)';
  return newest ? 'MASQUE (HTTPS via UDP)' : 'MASQUE (HTTP/3)';
}

/** `586.3kB`, `2.8MB`: decimal units, one digit. */
function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let value = count;
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return unit === 0 ? `${value}B` : `${value.toFixed(1)}${units[unit]}`;
}
