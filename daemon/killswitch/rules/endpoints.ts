// Parses the shipped endpoints of the tunnel service. Strict, since each entry is an exception to the block.
import data from '../../../data/killswitch/endpoints.json' with { type: 'json' };
import { parseCidr } from './cidr.ts';
import { type Endpoint, isEndpointPort } from './rules.ts';

/** Cloudflare's endpoints, from data/killswitch/endpoints.json. */
export function shippedEndpoints(): Endpoint[] {
  return parseEndpoints(data);
}

/**
 * Endpoints from the form of data/killswitch/endpoints.json: each group's ranges with its ports.
 * @throws TypeError for anything but that form, and for a range or port that may be no exception.
 */
export function parseEndpoints(json: unknown): Endpoint[] {
  const { version, groups } = record(json, 'the data', ['version', 'date', 'groups']);
  if (!Number.isInteger(version)) throw new TypeError('version: expected a whole number');
  return list(groups, 'groups').flatMap((group, i) => {
    const place = `groups[${i}]`;
    const { name, cidrs, udp = [], tcp = [] } = record(group, place, ['name', 'source', 'cidrs', 'udp', 'tcp']);
    if (typeof name !== 'string' || name === '') throw new TypeError(`${place}.name: expected a text`);
    const ports = { udp: list(udp, `${place}.udp`), tcp: list(tcp, `${place}.tcp`) };
    for (const port of [...ports.udp, ...ports.tcp])
      if (!isEndpointPort(port as number))
        throw new TypeError(`${place}: ${String(port)} is not a port of an endpoint`);
    return list(cidrs, `${place}.cidrs`).flatMap(word => {
      const cidr = parseCidr(String(word));
      if (typeof cidr === 'string') throw new TypeError(`${place}: ${cidr}`);
      return (['udp', 'tcp'] as const)
        .filter(protocol => ports[protocol].length > 0)
        .map(protocol => ({ cidr: cidr.text, protocol, ports: ports[protocol] as number[] }));
    });
  });
}

function record(value: unknown, place: string, keys: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError(`${place}: expected an object`);
  const unknown = Object.keys(value).find(key => !keys.includes(key));
  if (unknown !== undefined) throw new TypeError(`${place}: unknown key ${unknown}`);
  return value as Record<string, unknown>;
}

function list(value: unknown, place: string): unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`${place}: expected a list`);
  return value;
}
