// Parses the tunnel CLI's answers about the account, the statistics and the networks.
import type { Account, Device, LocalNetworkAccess, Tunnel, VirtualNetworks } from '../../api/schema.ts';
import { isRecord } from '../../core/shape.ts';
import { capitalized } from '../../core/terminal.ts';
import { maskLicense } from '../../state/redact.ts';
import { type Json, jsonOf, linesOf, stringOf } from './output.ts';

export type RegistrationReading = Omit<Account, 'ok' | 'devices'>;

/** Account of an unregistered device. */
export const UNREGISTERED: RegistrationReading = {
  registered: false,
  type: null,
  organization: null,
  deviceId: null,
  accountId: null,
  license: null,
  managed: null,
};

/** Parses the JSON answer of `registration show`, and masks the license; null for any other text. */
export function parseRegistration(text: string): RegistrationReading | null {
  const value = jsonOf(text);
  if (!isRecord(value) || !('device_id' in value || 'account' in value)) return null;
  const account = isRecord(value.account) ? value.account : {};
  const license = stringOf(account.license);
  const type = stringOf(account.type);
  return {
    registered: true,
    type: type && capitalized(type),
    organization: stringOf(account.organization) ?? stringOf(value.organization),
    deviceId: stringOf(value.device_id) ?? stringOf(value.id),
    accountId: stringOf(account.id),
    license: license ? maskLicense(license) : null,
    managed: typeof value.managed === 'boolean' ? value.managed : null,
  };
}

/** Parses the JSON answer of `registration devices`; empty for any other text. */
export function parseDevices(text: string): Device[] {
  const value = jsonOf(text);
  const list = isRecord(value) ? value.devices : value;
  return (Array.isArray(list) ? list : []).flatMap(item => (isRecord(item) ? deviceOf(item) : []));
}

function deviceOf(item: Json): Device | [] {
  const deviceId = stringOf(item.device_id) ?? stringOf(item.id);
  if (!deviceId) return [];
  return {
    deviceId,
    name: stringOf(item.name),
    model: stringOf(item.model),
    os: stringOf(item.os) ?? stringOf(item.type),
    active: typeof item.active === 'boolean' ? item.active : null,
  };
}

/** Statistics of `tunnel stats`, in seconds, bytes and milliseconds, with loss as a fraction. */
type StatsReading = Omit<Tunnel, 'proxyPort' | 'at'>;

/** Parses the JSON answer of `tunnel stats`; null for any other text. Never throws. */
export function parseStats(text: string): StatsReading | null {
  const value = jsonOf(text);
  if (!isRecord(value) || !('bytes_sent' in value || 'v4_endpoint' in value)) return null;
  return {
    protocol: stringOf(value.protocol),
    endpoints: specified([value.v4_endpoint, value.v6_endpoint].flatMap(item => stringOf(item) ?? [])),
    handshakeAgeSeconds: count(value.secs_since_last_handshake),
    bytesSent: count(value.bytes_sent),
    bytesReceived: count(value.bytes_received),
    latencyMs: count(value.estimated_latency_ms),
    loss: count(value.estimated_loss),
    colo: isRecord(value.edge) ? stringOf(value.edge.colo) : stringOf(value.colo),
  };
}

/** Removes unspecified addresses, which mean "none". */
function specified(addresses: string[]): string[] {
  return addresses.filter(address => address !== '' && address !== '::' && address !== '0.0.0.0');
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/**
 * Parses the names of `trusted ssid list`: a JSON list, or a heading with a colon and then an indented name per line. No
 * output of the real CLI is known.
 * @returns null for any other text
 */
export function parseSsids(text: string): string[] | null {
  const value = jsonOf(text);
  const list = isRecord(value) ? Object.values(value).find(Array.isArray) : value;
  if (Array.isArray(list)) return list.every(name => typeof name === 'string') ? list : null;
  const [heading, ...names] = linesOf(text);
  if (heading === undefined || !/ssid|wi-?fi/i.test(heading)) return null;
  return heading.endsWith(':') ? names.map(name => name.trim()).filter(Boolean) : [];
}

/** Parses the answer of `vnet`: JSON, or `Currently selected: <ID>` and a block of `ID`, `Name` and `Default` per network. */
export function parseVirtualNetworks(text: string): VirtualNetworks | null {
  const value = jsonOf(text);
  if (isRecord(value) && Array.isArray(value.virtual_networks))
    return {
      active: stringOf(value.active_vnet_id) || null,
      networks: value.virtual_networks.filter(isRecord).map(each => ({
        id: stringOf(each.id) ?? '',
        name: stringOf(each.name) ?? '',
        default: each.default === true,
      })),
    };
  const selected = /^Currently selected:\s*(.*)$/m.exec(text)?.[1]?.trim();
  if (selected === undefined) return null;
  const networks: VirtualNetworks['networks'] = [];
  for (const line of linesOf(text)) {
    const [, key, value = ''] = /^\s+(ID|Name|Default):\s*(.*)$/.exec(line) ?? [];
    if (key === 'ID') networks.push({ id: value, name: '', default: false });
    const last = networks.at(-1);
    if (last && key === 'Name') last.name = value;
    if (last && key === 'Default') last.default = value === 'true';
  }
  return { active: selected === '' || selected === 'None' ? null : selected, networks };
}

/** Difference within which two ends count as the same, in ms: the CLI rounds the remaining seconds. */
const SAME_END_MS = 3000;

/**
 * Parses the answer of `override local-network show`: `{"allowed":true,"ends_in_secs":900}`; 0 seconds mean no set time.
 * The text form is undocumented.
 * @param at time of the answer, in ms
 * @param before the previous reading, which is returned if its end is the same
 * @returns null for any other text
 */
export function parseLocalNetworkAccess(
  text: string,
  at: number,
  before: LocalNetworkAccess | null,
): LocalNetworkAccess | null {
  const value = jsonOf(text);
  if (!isRecord(value) || typeof value.allowed !== 'boolean') return null;
  const { allowed, ends_in_secs: seconds } = value;
  if (!allowed || typeof seconds !== 'number' || seconds <= 0) return { allowed, endsAt: null };
  const end = at + seconds * 1000;
  if (before?.endsAt && Math.abs(Date.parse(before.endsAt) - end) < SAME_END_MS) return before;
  return { allowed, endsAt: new Date(end).toISOString() };
}
