// Finds the values in the tunnel CLI's answers that this version of Culvert does not know, so that a user can report them.
import type { CommandName, UnknownValue } from '../../api/schema.ts';
import { isRecord } from '../../core/shape.ts';
import { excerpt, type Json, jsonOf, linesOf } from './output.ts';
import { parseDevices, parseLocalNetworkAccess, parseSsids, parseVirtualNetworks } from './reads.ts';
import { KEYS, MODES, PROTOCOLS, parseRoutes, parseSettings, splitModeOf, VALUES } from './settings.ts';
import { isKnownReason, isKnownReasonText, NETWORKS, STATES } from './status.ts';

export type Answer = CommandName | 'devices';

/** Maximum number of values in an answer, and of characters in a value: a report needs no more. */
const LIMIT = 50;
const CHARACTERS = 200;
/** Name of an answer that as a whole is in no known form. */
export const WHOLE = 'answer';

/**
 * Returns the values in an answer that Culvert does not know, as printed; empty for an answer that is known throughout, and
 * for a document that reports an error.
 * @param text output of the command with this answer, in JSON or text
 */
export function unknownIn(answer: Answer, text: string): UnknownValue[] {
  if (text.trim() === '') return [];
  const value = jsonOf(text);
  if (isRecord(value) && ('error' in value || 'update' in value)) return [];
  const found = FINDERS[answer](value, text);
  return found.slice(0, LIMIT).map(({ name, value }) => ({ name: shortened(name), value: shortened(value) }));
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > CHARACTERS ? `${line.slice(0, CHARACTERS - 1)}…` : line;
}

/** Finds the unknown values. @param value the JSON document in the text; undefined without one */
type Finder = (value: unknown, text: string) => UnknownValue[];

const FINDERS: Record<Answer, Finder> = {
  status: (value, text) => (isRecord(value) ? inStatusDocument(value) : inStatusText(text)),
  settings: inSettings,
  settingsText: inSettings,
  registration: (value, text) => {
    if (!isRecord(value) || !('device_id' in value || 'account' in value)) return whole(value, text);
    const account = isRecord(value.account) ? value.account : {};
    const { type } = account;
    return [
      ...(type === undefined || ACCOUNT_TYPES.has(String(type).toLowerCase()) ? [] : [of('account type', type)]),
      ...others(value, REGISTRATION_KEYS),
      ...others(account, ACCOUNT_KEYS),
    ];
  },
  devices: (value, text) => {
    const list = isRecord(value) ? value.devices : value;
    return Array.isArray(list) && parseDevices(text).length === list.length ? [] : whole(value, text);
  },
  tunnelStats: (value, text) => {
    if (!isRecord(value) || !('bytes_sent' in value || 'v4_endpoint' in value)) return whole(value, text);
    const { protocol } = value;
    const isKnown = protocol === undefined || /^(masque|wireguard)\b/i.test(String(protocol));
    return [...(isKnown ? [] : [of('protocol', protocol)]), ...others(value, STATISTICS)];
  },
  splitTunnelIps: inList,
  splitTunnelHosts: inList,
  // Culvert shows it as it is
  splitTunnelDump: () => [],
  trustedSsids: (value, text) => (parseSsids(text) ? [] : whole(value, text)),
  virtualNetworks: (value, text) => (parseVirtualNetworks(text) ? [] : whole(value, text)),
  localNetworkAccess: (value, text) => (parseLocalNetworkAccess(text, 0, null) ? [] : whole(value, text)),
};

const ACCOUNT_TYPES = new Set(['free', 'limited', 'unlimited', 'team']);
const REGISTRATION_KEYS = new Set(['id', 'device_id', 'public_key', 'managed', 'account', 'alternate_networks']);
const ACCOUNT_KEYS = new Set(['id', 'type', 'license', 'organization', 'role', 'quota', 'premium_data']);
const STATISTICS = new Set([
  'v4_endpoint',
  'v6_endpoint',
  'warp_is_on',
  'secs_since_last_handshake',
  'bytes_sent',
  'bytes_received',
  'estimated_latency_ms',
  'estimated_loss',
  'protocol',
  'tls',
  'edge',
  'colo',
]);

function of(name: string, value: unknown): UnknownValue {
  return { name, value: typeof value === 'string' ? value : (JSON.stringify(value) ?? '') };
}

/** Names an answer that as a whole is not understood. */
function whole(value: unknown, text = ''): UnknownValue[] {
  return [of(WHOLE, value === undefined ? (text.trim().split('\n')[0] ?? '') : value)];
}

function others(value: Json, known: ReadonlySet<string>): UnknownValue[] {
  return Object.entries(value).flatMap(([key, inner]) => (known.has(key) ? [] : [of(key, inner)]));
}

function inStatusDocument(value: Json): UnknownValue[] {
  const { status, reason } = value;
  const known = typeof status === 'string' && (STATES.has(status.toLowerCase()) || status === 'Success');
  return [...(known ? [] : [of('status', status)]), ...inReason(reason), ...others(value, STATUS_KEYS)];
}

const STATUS_KEYS = new Set(['status', 'reason']);

function inReason(reason: unknown): UnknownValue[] {
  if (reason === undefined || reason === null || reason === '') return [];
  const names = isRecord(reason) ? Object.keys(reason) : [reason];
  const [name] = names;
  return names.length === 1 && typeof name === 'string' && isKnownReason(name) ? [] : [of('reason', reason)];
}

/** Lines of text that come before or after a status, and say nothing about it. */
const BESIDE = /^(?:Success\b|Warning:)/;

function inStatusText(text: string): UnknownValue[] {
  const lines = linesOf(excerpt(text, 65_536)).filter(line => line !== '' && !BESIDE.test(line));
  const at = lines.findLastIndex(line => /^Status update:/i.test(line));
  if (at < 0) return lines.length > 0 ? whole(undefined, lines[0]) : [];
  const [, word = '', sameLine] = /^Status update:\s*(.*?)(?:\.\s*Reason:\s*(.*))?$/i.exec(lines[at] ?? '') ?? [];
  const state = word.trim().replace(/\.$/, '');
  return [
    ...(STATES.has(state.toLowerCase()) ? [] : [of('status', state)]),
    ...(sameLine === undefined ? [] : inField('Reason', sameLine)),
    ...lines.slice(at + 1).flatMap(line => {
      const [, name = '', value = ''] = /^([A-Z][\w -]{0,40}):\s*(.*)$/.exec(line) ?? [];
      return name ? inField(name, value) : [of('status', line)];
    }),
  ];
}

function inField(name: string, value: string): UnknownValue[] {
  switch (name) {
    case 'Reason':
      return isKnownReasonText(value.replace(/\.$/, '')) ? [] : [of('reason', value)];
    case 'Network':
      return NETWORKS.has(/^\w+/.exec(value.toLowerCase())?.[0] ?? '') ? [] : [of('network', value)];
    default:
      return [of(name, value)];
  }
}

/** Settings by their names in text, with the values that are known; null where any value is possible. */
const SETTINGS = new Map<string, ((value: unknown) => boolean) | null>(
  Object.entries({
    // the last is for organizations only (documented), and `warp-cli mode` can't set it
    Mode: value => typeof value === 'string' && [...MODES.values(), 'PostureOnly'].includes(value),
    'WARP tunnel protocol': value => [...PROTOCOLS.values()].includes(String(value)),
    'Cloudflare for Families': oneOf('off', 'malware', 'full'),
    'Compliance Environment': oneOf('normal', 'fedramp-high', 'fedramphigh', 'fedramp'),
    'MASQUE Protocol Settings': value => isMasque(isRecord(value) ? value['HTTP Version'] : value),
    'Post-quantum support for MASQUE': value => [...VALUES.values()].includes(String(value)) || isSwitch(value),
    'Always On': isSwitch,
    'Switch Locked': isSwitch,
    'Disabled for Wifi': isSwitch,
    'Disabled for Ethernet': isSwitch,
    Onboarding: isSwitch,
    'Daemon Teams Auth': isSwitch,
    'Disable Auto Fallback': isSwitch,
    'Allow Updates': isSwitch,
    'Allow Mode Switch': isSwitch,
    'Allowed to Leave Org': isSwitch,
    'Register Tunnel Interface IP': isSwitch,
    'Merged configuration': null,
    'Exclude mode, with hosts/ips': null,
    'Include mode, with hosts/ips': null,
    'Fallback domains': null,
    'Resolve via': null,
    'qlog log until': null,
    'qlog logging': null,
    'PKIX config': null,
    'Registration Scope': null,
    'Firewall Scope': null,
    'Captive Portal': null,
    'Support URL': null,
    Organization: null,
    'Profile ID': null,
    'LAN Access Settings': null,
    'Known apple connectivity check IPs': null,
    'Custom Endpoint': null,
    'Override WARP endpoint': null,
    'Gateway ID': null,
    // keys of JSON without a name in text
    lan_subnet_size: null,
    enable_pmtud: isSwitch,
    auto_connect_after_min: null,
    auto_connect: null,
    proxy_port: null,
    gateway_id: null,
    override_warp_endpoint: null,
    families: oneOf('off', 'malware', 'full'),
  }),
);

function oneOf(...words: string[]) {
  return (value: unknown) => words.includes(String(value).toLowerCase());
}

function isSwitch(value: unknown): boolean {
  return value === null || typeof value === 'boolean' || /^(?:en|dis)abled$|^not set$/i.test(String(value));
}

function isMasque(value: unknown): boolean {
  return value === '' || /^(?:MASQUE )?\(?HTTP\/[23](?: with HTTP\/2 fallback)?\)?$/.test(String(value));
}

/** Lower-case names, because the spelling differs between versions. */
const SETTING_NAMES = new Map([...SETTINGS].map(([name, isKnown]) => [name.toLowerCase(), isKnown]));

function inSettings(value: unknown, text: string): UnknownValue[] {
  const reading = parseSettings(text);
  if (!reading) return whole(value, text);
  const source = isRecord(value) ? (isRecord(value.settings) ? value.settings : value) : {};
  const mode = source.split_tunnel_mode;
  const isModeKnown = mode === undefined || mode === null || splitModeOf(mode) !== null;
  return [
    ...(isModeKnown ? [] : [of('split_tunnel_mode', mode)]),
    ...unlistedRoutes(source.split_tunnel_ips),
    ...unlistedRoutes(source.split_tunnel_hosts),
    ...Object.entries(reading.settings).flatMap(([name, setting]) => inSetting(name, setting)),
  ];
}

function inSetting(name: string, value: unknown): UnknownValue[] {
  if (name === 'split_tunnel_mode') return [];
  const key = name.toLowerCase();
  const isKnown = SETTING_NAMES.get(key);
  if (isKnown === undefined) return KEYS.has(name) ? [] : [of(name, value)];
  return isKnown === null || isKnown(value) ? [] : [of(name, value)];
}

/** Names the entries of a list in JSON that no list of Culvert can show. */
function unlistedRoutes(list: unknown): UnknownValue[] {
  if (!Array.isArray(list)) return [];
  const shown = (item: unknown) =>
    typeof item === 'string' || (parseRoutes(JSON.stringify([item]))?.routes.length ?? 0) > 0;
  return list.filter(item => !shown(item)).map(item => of('route', item));
}

function inList(value: unknown, text: string): UnknownValue[] {
  if (!parseRoutes(text)) return whole(value, text);
  if (value !== undefined) {
    const list = Array.isArray(value) ? value : Object.values(value as Json).find(Array.isArray);
    return unlistedRoutes(list);
  }
  const lines = linesOf(text).filter(line => line.trim() !== '' && !BESIDE.test(line));
  return lines.flatMap(line => (/:$/.test(line) || /^\s*[0-9A-Za-z:*]/.test(line) ? [] : [of('route', line.trim())]));
}
