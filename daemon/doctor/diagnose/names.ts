// Finds the names that a bundle must not contain, where no pattern could recognize them: hosts, users, networks.
import type { HistoryChange } from '../../api/history.ts';
import type { Config, LogEntry, Snapshot } from '../../api/schema.ts';
import { isObject, jsonOf, linesOf, propertyOf } from '../../warp/parse/output.ts';
import type { Kind, Known } from './redact.ts';

export interface Sources {
  hostname: string;
  username: string;
  /** Text of /etc/passwd, for the full name. */
  passwd: string;
  /** Text of /etc/resolv.conf, for search domains. */
  resolvConf: string;
  snapshot: Snapshot | null;
  entries: readonly LogEntry[];
  config: Config | null;
  /** Changes of the state, with the rules for networks that brought them about. */
  changes: readonly HistoryChange[];
}

/** Words that every machine has; hiding them would only make a bundle hard to read. */
const USUAL = new Set(
  'root user admin home corp domain home.arpa host internal intranet invalid lan local localdomain localhost private test warp doh dot proxy enable disable off malware full masque wireguard show list reset unlock allow stop true false normal'.split(
    ' ',
  ),
);

/** Commands whose last word is given by the user: `trusted ssid add NAME`. The kind of what is given. */
const GIVEN: readonly [command: RegExp, kind: Kind][] = [
  [/^trusted ssid (?:add|remove) |^(?:add|remove)-trusted-ssid /, 'ssid'],
  [/^registration new |^teams-enroll /, 'organization'],
  [/^dns fallback (?:add|remove) |^(?:add|remove)-fallback-domain /, 'name'],
  [/^tunnel host (?:add|remove) |^(?:add|remove)-(?:excluded|included)-host /, 'host'],
  [/^vnet |^set-virtual-network /, 'id'],
  [/^dns gateway-id set |^set-gateway /, 'id'],
];

export function namesOf(sources: Sources): Known['names'] {
  const { hostname, username, passwd, resolvConf, snapshot, entries, config, changes } = sources;
  const names: { kind: Kind; text: string }[] = [];
  const add = (kind: Kind, ...texts: (string | null | undefined)[]) => {
    for (const text of texts) {
      const trimmed = text?.trim() ?? '';
      if (trimmed !== '' && !USUAL.has(trimmed.toLowerCase())) names.push({ kind, text: trimmed });
    }
  };
  add('host', hostname, hostname.split('.')[0]);
  add('user', username);
  const fullName = passwd
    .split('\n')
    .find(line => line.startsWith(`${username}:`))
    ?.split(':')[4]
    ?.split(',')[0];
  add('user', fullName, ...(fullName ?? '').split(' '));
  for (const [, words = ''] of resolvConf.matchAll(/^[ \t]*(?:search|domain)[ \t]+(.*)$/gm))
    add('name', ...words.split(/\s+/));
  if (snapshot) addSnapshot(add, snapshot);
  for (const entry of entries) addEntry(add, entry);
  if (config) addConfig(add, config);
  add('ssid', ...changes.map(({ effect }) => effect?.rule));
  add('host', ...changes.flatMap(({ signIn }) => (signIn?.hosts ?? []).map(({ host }) => host)));
  return names;
}

/** Directories that many machines have. */
const USUAL_DIRECTORIES = new Set(
  'bin sbin lib lib64 libexec usr local opt srv etc var home root tmp run mnt media ssl certs private pki tls share cloudflare-warp letsencrypt live warp-cli warp-svc culvert'.split(
    ' ',
  ),
);

/** The parts of paths, and hosts of addresses, in the configuration. */
function addConfig(add: Add, config: Config): void {
  for (const text of stringsIn(config)) {
    if (text.startsWith('/')) add('value', ...text.split('/').filter(part => !USUAL_DIRECTORIES.has(part)));
    else if (URL.canParse(text)) {
      const { hostname, username, password } = new URL(text);
      if (!hostname.includes('.') && !hostname.includes(':')) add('host', hostname);
      add('key', username, password);
    }
  }
}

type Add = (kind: Kind, ...texts: (string | null | undefined)[]) => void;

function addSnapshot(add: Add, { settings, options, account, splitTunnel, commands, networks }: Snapshot): void {
  add('organization', account.organization, typeof settings.Organization === 'string' ? settings.Organization : null);
  for (const { value, description } of [...splitTunnel.hosts, ...splitTunnel.ips]) {
    add('value', description);
    if (!/^[\d.:/a-f]+$/i.test(value)) add('host', value, value.replace(/^\*\./, ''));
  }
  add('ssid', ...(options.trustedSsids ?? []));
  add('organization', options.organization);
  add('value', options.gatewayId, ...(options.virtualNetworks?.networks ?? []).flatMap(({ id, name }) => [id, name]));
  for (const { domain, note } of options.fallbackDomains) add('name', domain, note);
  for (const [key, value] of Object.entries(settings)) {
    const texts = stringsIn(value);
    if (/ssid|trusted (?:wi-?fi|network)/i.test(key)) add('ssid', ...texts);
    if (/fallback/i.test(key)) add('name', ...texts.flatMap(text => text.split(/[\s()[\],]+|->/)));
    if (/profile|organi[sz]ation|support|user|e-?mail|device|name/i.test(key)) add('value', ...texts);
  }
  if (networks) addNetworks(add, networks);
  for (const output of Object.values(commands)) if (output) addOutput(add, output.argv, output.stdout);
}

/** A rule is mostly named after its network. */
function addNetworks(add: Add, { links, rules, acted }: NonNullable<Snapshot['networks']>): void {
  for (const { name, uuid } of links) {
    add('ssid', name);
    add('id', uuid);
  }
  add('ssid', acted?.rule);
  for (const { name, match } of rules) {
    add('ssid', name, match.ssid);
    add('id', match.uuid);
    add('host', match.beacon?.address.replace(/:\d+$/, ''));
    add('key', match.beacon?.sha256);
  }
}

function addEntry(add: Add, { argv, stdout }: LogEntry): void {
  const words = argv.slice(1).filter(word => !word.startsWith('-'));
  const line = `${words.join(' ')} `;
  for (const [command, kind] of GIVEN) {
    const given = command.exec(line)?.[0];
    if (given) add(kind, line.slice(given.length));
  }
  addOutput(add, argv, stdout);
}

/** Lists and properties of which the line, or what follows the colon, is a person's. */
function addOutput(add: Add, argv: readonly string[], stdout: string): void {
  const line = argv.join(' ');
  const document = jsonOf(stdout);
  addDocument(add, document, /ssid/.test(line) ? 'ssid' : null);
  if (document === undefined && /ssid/.test(line))
    add('ssid', ...stdout.split('\n').map(text => text.replace(/^[\s*-]+/, '')));
  for (const line of linesOf(stdout)) {
    const { key, value } = propertyOf(line) ?? {};
    if (key && PERSONAL.test(key)) add('value', value);
  }
}

const PERSONAL = /^(?:organi[sz]ation|team|name|device[ _]name|host[ _]?name|user|model|ssid)$/i;

/** @param kind of every text in it; null: only what a key says is a person's. */
function addDocument(add: Add, value: unknown, kind: Kind | null): void {
  if (kind) add(kind, ...stringsIn(value));
  else if (Array.isArray(value)) for (const item of value) addDocument(add, item, null);
  else if (isObject(value))
    for (const [key, inner] of Object.entries(value)) addDocument(add, inner, PERSONAL.test(key) ? 'value' : null);
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
