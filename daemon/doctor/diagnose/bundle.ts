// Builds a bundle to share: the doctor's results, versions, configuration, log and history, redacted.
import { createWriteStream, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { hostname, release, userInfo } from 'node:os';
import { dirname, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { CheckResult } from '../../api/doctor.ts';
import type { History, HistoryChange, HistoryQuery } from '../../api/history.ts';
import type { Config, ConfigResponse, LogEntry, Snapshot } from '../../api/schema.ts';
import { giveToOwner, readText } from '../../core/files.ts';
import { isRecord } from '../../core/shape.ts';
import { jsonOf, linesOf, propertyOf } from '../../warp/parse/output.ts';
import { shownResult } from '../file-fix.ts';
import type { World } from '../world/world.ts';
import { createRedactor, type Kind, type Known } from './redact.ts';

interface BundleInput {
  world: World;
  results: readonly CheckResult[];
  entries: readonly LogEntry[];
  config: ConfigResponse | null;
  /** Null if no daemon answered. */
  timeline: Timeline | null;
  /** Fixes that were applied, newest first. */
  history: readonly { id: string; label: string; at: string }[];
}

interface Bundle {
  files: { name: string; about: string; text: string }[];
  /** Number of different replaced values, by kind. */
  redacted: Record<string, number>;
}

/** Creates the redacted contents of a bundle. */
export async function createBundle(input: BundleInput): Promise<Bundle> {
  const { world, results, entries, config, timeline, history } = input;
  const [passwd, resolvConf, osRelease] = await Promise.all(
    ['/etc/passwd', '/etc/resolv.conf', '/etc/os-release'].map(path => world.files.readText(path).catch(() => null)),
  );
  const redactor = createRedactor({
    names: namesOf({
      hostname: hostname(),
      username: userInfo().username,
      passwd: passwd ?? '',
      resolvConf: resolvConf ?? '',
      snapshot: world.tunnel,
      entries,
      config: config?.config ?? null,
      changes: timeline?.changes ?? [],
    }),
    public: publicAddresses(world.knowledge.limits),
  });
  const versions = {
    culvert: world.culvert.version,
    daemon: world.culvert.daemon?.version ?? null,
    node: process.versions.node,
    kernel: release(),
    tunnelCli: world.tunnel?.tunnelCli ?? null,
    system: /^PRETTY_NAME="?([^"\n]*)/m.exec(osRelease ?? '')?.[1] ?? null,
  };
  const documents: [name: string, about: string, value: unknown][] = [
    ['doctor.json', 'results of culvert doctor', results.map(result => inEnglish(shownResult(result)))],
    ['versions.json', 'versions of Culvert, Node, the kernel, the system and the tunnel CLI', versions],
    ['snapshot.json', 'state, settings, split tunnel and account as the daemon shows them', world.tunnel],
    ['configuration.json', 'configuration of Culvert', config],
    ['command-log.json', 'commands given to the tunnel CLI, with their output', entries],
    ['timeline.json', 'changes of the state in the last week, with totals of each day', timeline],
    [
      'history.json',
      'memory of the service over time, and fixes that were applied',
      { samples: world.samples, fixes: history },
    ],
  ];
  const files = documents.map(([name, about, value]) => ({
    name,
    about,
    text: `${JSON.stringify(redactor.value(value), null, 2)}\n`,
  }));
  const redacted = redactor.counts();
  files.unshift({ name: 'contents.txt', about: 'this list', text: `${describeBundle({ files, redacted })}\n` });
  return { files, redacted };
}

/** Removes wordings, which only translations need. */
function inEnglish({ wording: _, fix, ...result }: CheckResult) {
  const { wording: __, ...plain } = fix ?? {};
  return { ...result, fix: fix && plain };
}

/** Summarizes the contents and replacements for a review before the file is written. */
export function describeBundle({ files, redacted }: Bundle): string {
  const rows = files.map(
    ({ name, about, text }) => `  ${name.padEnd(20)}${String(text.length).padStart(8)} bytes  ${about}`,
  );
  const counts = Object.entries(redacted).map(([kind, count]) => `${count} × <${kind}-…>`);
  return [
    'Read the files before you share them. What a pattern, a name of this machine or a mark such as “token=” shows is replaced.',
    'Left are: keys and passwords without such a mark, a host’s name alone, names that only people know, an address as one number.',
    'Inside:',
    ...rows,
    `Replaced by placeholders, the same ones in all files: ${counts.join(', ') || 'nothing'}.`,
  ].join('\n');
}

/** Returns the bytes of the archive. */
export function packBundle({ files }: Bundle): NodeJS.ReadableStream {
  const zip = new ZipFile();
  for (const { name, text } of files) zip.addBuffer(Buffer.from(text), name, { mode: 0o100600 });
  zip.end();
  return zip.outputStream;
}

/**
 * Writes the archive, readable only by this user, or as root by the directory's owner.
 * @throws NodeJS.ErrnoException EEXIST for an existing file, or an error of the disk, which leaves no file
 */
export async function writeBundle(path: string, bundle: Bundle): Promise<void> {
  const fd = openSync(path, 'wx', 0o600);
  try {
    giveToOwner(fd, dirname(resolve(path)));
    await pipeline(packBundle(bundle), createWriteStream(path, { fd }));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** Number of newest changes to keep. */
const KEPT = 2_000;

export interface Timeline extends Pick<History, 'since' | 'until' | 'totals'> {
  changes: HistoryChange[];
}

/** Reads the tunnel's changes and totals of the last week. @param read a page of the history */
export async function readTimeline(read: (query: HistoryQuery) => Promise<History>): Promise<Timeline> {
  const query = { since: '7d', resolution: 'hour' } as const;
  let page = await read(query);
  const { since, until, totals } = page;
  let { changes } = page;
  while (page.next !== null) {
    page = await read({ since, until, resolution: 'hour', cursor: page.next });
    changes = [...changes, ...page.changes].slice(-KEPT);
  }
  return { since, until, totals, changes: changes.slice(-KEPT) };
}

/** Creates the redactor for texts outside a bundle, such as a line of the journal that a check quotes. */
export function machineRedactor(snapshot: Snapshot | null, { limits }: Pick<World['knowledge'], 'limits'>) {
  return createRedactor({
    names: namesOf({
      hostname: hostname(),
      username: userInfo().username,
      passwd: readText('/etc/passwd') ?? '',
      resolvConf: readText('/etc/resolv.conf') ?? '',
      snapshot,
      entries: [],
      config: null,
      changes: [],
    }),
    public: publicAddresses(limits),
  });
}

const publicAddresses = (limits: World['knowledge']['limits']): string[] => [
  ...limits.flatMap(({ values }) => values),
  '1.1.1.1',
  '1.0.0.1',
];

interface Sources {
  hostname: string;
  username: string;
  /** Text of /etc/passwd, for the full name. */
  passwd: string;
  /** Text of /etc/resolv.conf, for search domains. */
  resolvConf: string;
  snapshot: Snapshot | null;
  entries: readonly LogEntry[];
  config: Config | null;
  /** Changes of the state, with the rules for networks that caused them. */
  changes: readonly HistoryChange[];
}

/** Words that every machine has; a bundle without them would be hard to read. */
const USUAL = new Set(
  'root user admin home corp domain home.arpa host internal intranet invalid lan local localdomain localhost private test warp doh dot proxy enable disable off malware full masque wireguard show list reset unlock allow stop true false normal'.split(
    ' ',
  ),
);

/** Commands that end with words of the user, as `trusted ssid add NAME`, and the kind of these words. */
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
  return names;
}

/** Directories that many machines have. */
const USUAL_DIRECTORIES = new Set(
  'bin sbin lib lib64 libexec usr local opt srv etc var home root tmp run mnt media ssl certs private pki tls share cloudflare-warp letsencrypt live warp-cli warp-svc culvert'.split(
    ' ',
  ),
);

/** Adds parts of paths, hosts and keys in the configuration. */
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
    if (/profile|organi[sz]ation|support(?! for\b)|user|e-?mail|device|name/i.test(key)) add('value', ...texts);
  }
  if (networks) addNetworks(add, networks);
  for (const output of Object.values(commands)) if (output) addOutput(add, output.argv, output.stdout);
}

/** Adds names of rules as SSIDs: most rules have their network's name. */
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

/** Adds the personal lines of lists, and the personal values of properties. */
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

/** @param kind kind of every text; null to add only texts under personal keys */
function addDocument(add: Add, value: unknown, kind: Kind | null): void {
  if (kind) add(kind, ...stringsIn(value));
  else if (Array.isArray(value)) for (const item of value) addDocument(add, item, null);
  else if (isRecord(value))
    for (const [key, inner] of Object.entries(value)) addDocument(add, inner, PERSONAL.test(key) ? 'value' : null);
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
