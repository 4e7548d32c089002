// Reads the figures of the running tunnel, as JSON or as text, into plain units.
import type { Tunnel } from '../../api/schema.ts';
import { isObject, type Json, jsonOf, linesOf, stringOf } from './output.ts';

/** The figures of `tunnel stats`: seconds, bytes, milliseconds, and loss as a fraction. */
export type StatsReading = Omit<Tunnel, 'proxyPort' | 'at'>;

/** The answer of `tunnel stats`, or null for anything else. Never throws. */
export function parseStats(text: string): StatsReading | null {
  const value = jsonOf(text);
  if (isObject(value)) return 'bytes_sent' in value || 'v4_endpoint' in value ? parseObject(value) : null;
  return parseText(linesOf(text));
}

function parseObject(value: Json): StatsReading {
  return {
    protocol: stringOf(value.protocol),
    endpoints: specified([value.v4_endpoint, value.v6_endpoint].flatMap(item => stringOf(item) ?? [])),
    handshakeAgeSeconds: count(value.secs_since_last_handshake),
    bytesSent: count(value.bytes_sent),
    bytesReceived: count(value.bytes_received),
    latencyMs: count(value.estimated_latency_ms),
    loss: count(value.estimated_loss),
    colo: isObject(value.edge) ? stringOf(value.edge.colo) : stringOf(value.colo),
  };
}

function parseText(lines: string[]): StatsReading | null {
  const facts = new Map<string, string>();
  // `Sent: 2.8MB; Received: 14.2MB` is one line; older versions end a line with a stray semicolon.
  for (const part of lines.flatMap(line => line.split(';'))) {
    const match = /^([^:]+):\s+(\S.*)$/.exec(part.trim());
    if (match) facts.set(match[1]!.toLowerCase(), match[2]!);
  }
  if (!facts.has('endpoints') && !facts.has('sent')) return null;
  const percent = /^([\d.]+)%$/.exec(facts.get('estimated loss') ?? '');
  const latency = secondsOf(facts.get('estimated latency'));
  return {
    protocol: facts.get('tunnel protocol') ?? null,
    endpoints: specified((facts.get('endpoints') ?? '').split(',').map(item => item.trim())),
    handshakeAgeSeconds: secondsOf(facts.get('time since last handshake')),
    bytesSent: bytesOf(facts.get('sent')),
    bytesReceived: bytesOf(facts.get('received')),
    latencyMs: latency === null ? null : round(latency * 1000),
    loss: percent ? round(Number(percent[1]) / 100) : null,
    colo: /^(\S+)/.exec(facts.get('colo') ?? '')?.[1] ?? null,
  };
}

/** An unspecified address means "none". */
function specified(addresses: string[]): string[] {
  return addresses.filter(address => address !== '' && address !== '::' && address !== '0.0.0.0');
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

const POWERS = new Map<string, number>(Object.entries({ '': 0, k: 1, m: 2, g: 3, t: 4, p: 5 }));

/** `586.3kB` counts thousands, `2.8MiB` powers of 1024. */
function bytesOf(text: string | undefined): number | null {
  const [, figure, prefix = '', binary] = /^(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?)b$/i.exec(text ?? '') ?? [];
  if (figure === undefined) return null;
  return Math.round(Number(figure) * (binary ? 1024 : 1000) ** POWERS.get(prefix.toLowerCase())!);
}

const SECONDS = new Map<string, number>(
  Object.entries({ d: 86_400, h: 3600, m: 60, s: 1, ms: 0.001, us: 1e-6, µs: 1e-6, ns: 1e-9 }),
);

/** `658s`, `11ms`, `2h 3m 4s`. */
function secondsOf(text: string | undefined): number | null {
  // µ, escaped: V8 keeps a program as two bytes a character where one of them is not ASCII
  const parts = [...(text ?? '').matchAll(/(\d{1,15}(?:\.\d{1,15})?)\s*(ms|us|\u00b5s|ns|d|h|m|s)\b\s*/g)];
  if (parts.map(part => part[0]).join('') !== text) return null;
  return round(parts.reduce((sum, [, figure, unit]) => sum + Number(figure) * SECONDS.get(unit!)!, 0));
}

/** Drops the noise of binary fractions: 0.47 % is 0.0047. */
function round(value: number): number {
  return Number(value.toPrecision(12));
}
