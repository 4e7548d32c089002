// Reads split-tunnel lists: addresses, ranges and host names with the note on where each comes from.
import type { SplitTunnel } from '../../api/schema.ts';
import { isObject, jsonOf, linesOf, stringOf } from './output.ts';

export type Route = SplitTunnel['ips'][number];

export interface ListReading {
  mode: SplitTunnel['mode'];
  routes: Route[];
}

/** The answer of `tunnel ip list` or `tunnel host list`, or null for anything else. */
export function parseRoutes(text: string): ListReading | null {
  const value = jsonOf(text);
  if (value !== undefined) {
    const list = Array.isArray(value) ? value : isObject(value) ? Object.values(value).find(Array.isArray) : undefined;
    return list ? { mode: isObject(value) ? modeOf(value.mode) : null, routes: routesOf(list) } : null;
  }
  const lines = linesOf(text);
  const at = lines.findIndex(line => /^(excluded|included) (routes|hosts|ips):$/i.test(line));
  if (at < 0) return null;
  const entries = lines.slice(at + 1).filter(line => /^\s*[0-9A-Za-z:*]/.test(line) && !/:$/.test(line));
  return { mode: modeOf(/^(exclude|include)/i.exec(lines[at] ?? '')?.[1]), routes: entries.map(routeOf) };
}

/** From the three values that JSON settings have; null if none of them is there. */
export function splitOf(mode: unknown, ips: unknown, hosts: unknown): SplitTunnel | null {
  if (!Array.isArray(ips) && !Array.isArray(hosts)) return null;
  return { mode: modeOf(mode), ips: routesOf(ips), hosts: routesOf(hosts) };
}

/** `10.0.0.0/8 (DHCP Unspecified)`. */
export function routeOf(line: string): Route {
  const [, value = line.trim(), description] = /^\s*(\S+)(?:\s+\((.*)\))?\s*$/.exec(line) ?? [];
  return { value, description: description ?? null };
}

function routesOf(list: unknown): Route[] {
  return (Array.isArray(list) ? list : []).flatMap(item => {
    if (typeof item === 'string') return [routeOf(item)];
    if (!isObject(item)) return [];
    const value = stringOf(item.value ?? item.address ?? item.ip ?? item.host ?? item.domain);
    return value ? [{ value, description: stringOf(item.description) }] : [];
  });
}

function modeOf(value: unknown): SplitTunnel['mode'] {
  const text = String(value ?? '').toLowerCase();
  return text.startsWith('exclude') ? 'exclude' : text.startsWith('include') ? 'include' : null;
}
