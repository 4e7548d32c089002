// Writes settings as TOML, and reads files of settings, even from another machine or version. Pure.
import { parse, stringify, TomlError } from 'smol-toml';
import * as z from 'zod/mini';
import { ARGUMENTS, MODES, PROTOCOLS } from '../api/actions.ts';
import { Config, type ConfigPatch, type ConfigResponse, type SplitTunnel } from '../api/schema.ts';
import type { SettingsDiff } from '../api/settings-file.ts';
import type { Message } from '../api/values.ts';
import { currentValue, type Known, type Value } from '../changes/values.ts';
import { reason } from '../core/errors.ts';
import { formatDocument, parseLine } from '../routes/document.ts';
import { quoted, wordMessage } from '../view/message.ts';
import { english } from '../view/translator.ts';

/** The tunnel's settings in a file, by table and key, in the order of their application. */
const TUNNEL = {
  'tunnel.mode': 'mode',
  'tunnel.masque': 'masque', // reported only while the protocol is MASQUE
  'tunnel.protocol': 'protocol',
  'tunnel.endpoint': 'endpoint',
  'dns.families': 'families',
  'dns.gateway_id': 'gatewayId',
  'dns.fallback': 'fallback',
} as const;
type TunnelKey = keyof typeof TUNNEL;
type TunnelValue = Exclude<Value, { subject: 'routes' | 'connection' }>;

/** Schemas of the tunnel's settings. An empty string stands for the tunnel client's default. */
const KINDS: { [K in TunnelKey]: z.ZodMiniType } = {
  'tunnel.mode': z.enum(MODES),
  'tunnel.protocol': z.enum([...PROTOCOLS, '']),
  'tunnel.endpoint': z.string().check(z.maxLength(256)),
  'tunnel.masque': z.enum(ARGUMENTS.masqueOptions.values),
  'dns.families': z.enum(['off', 'malware', 'full']),
  'dns.gateway_id': z.string().check(z.maxLength(64)),
  'dns.fallback': z.array(z.string().check(z.maxLength(253))).check(z.maxLength(1000)),
};

interface SettingsFile {
  tunnel: { key: TunnelKey; wanted: TunnelValue }[];
  /** Document of routes; null if the file contains no routes. */
  routes: string | null;
  culvert: { key: string; value: string | number | boolean }[];
  /** True if a demo exported the file. */
  demo: boolean;
  /** Keys that this version does not know. */
  unknown: string[];
  invalid: SettingsDiff['invalid'];
}

/**
 * Writes the current settings, except settings that the tunnel CLI did not report and Culvert's defaults.
 * @param also dotted keys of Culvert's configuration to write even if they have defaults
 */
export function writeSettings(
  snapshot: Known,
  { config, sources }: ConfigResponse,
  also: ReadonlySet<string> = new Set(),
): string {
  const tables: Record<string, Record<string, unknown>> = {};
  const put = (path: string, value: unknown) => {
    const [table, key] = path.split('.') as [string, string];
    tables[table] ??= {};
    tables[table][key] = value;
  };
  for (const [key, subject] of Object.entries(TUNNEL)) {
    const current = currentValue(subject, snapshot);
    if (current) put(key, current.value ?? '');
  }
  const routes = currentValue('routes', snapshot);
  if (routes) {
    if (snapshot.splitTunnel.mode) put('split_tunnel.mode', snapshot.splitTunnel.mode);
    put('split_tunnel.entries', routes.value);
  }
  const culvert: Record<string, Record<string, unknown>> = {};
  for (const [key, source] of Object.entries(sources)) {
    // the environment and the command line belong to one start of the daemon
    if ((source === 'default' || source === 'environment') && !also.has(key)) continue;
    const [group, leaf] = key.split('.') as [keyof Config, string];
    culvert[group] ??= {};
    culvert[group][leaf] = (config[group] as Record<string, unknown>)[leaf];
  }
  const text = stringify({ ...tables, ...(Object.keys(culvert).length ? { culvert } : {}) });
  const use = 'Compare: culvert settings diff FILE. Use: culvert settings apply FILE';
  const old = { settings: 'tunnel, dns', splitTunnel: 'split_tunnel' };
  const left = Object.entries(old).flatMap(([part, names]) =>
    snapshot.stale.some(each => each.part === part) ? names : [],
  );
  const note = left.length ? `# Left out, because WARP did not report them: ${left.join(', ')}\n` : '';
  return snapshot.tunnelCli.emulated
    ? `# Settings of a demo of Culvert, not of a machine. ${use}\n${note}\ndemo = true\n\n${text}`
    : `# Settings of Culvert. ${use}\n${note}\n${text}`;
}

/** Returns the fault of a key, or the reason for skipping it. */
export function reasonFor(key: string, wording: Message): SettingsDiff['invalid'][number] {
  return { key, reason: wordMessage(wording, english), wording };
}

/** Reads a file, and lists its invalid entries in `invalid`. */
export function readSettings(toml: string): SettingsFile {
  const file: SettingsFile = { tunnel: [], routes: null, culvert: [], demo: false, unknown: [], invalid: [] };
  let root: Record<string, unknown>;
  try {
    root = parse(toml);
  } catch (error) {
    const where = error instanceof TomlError ? `line ${error.line}` : 'the file';
    file.invalid.push(reasonFor(where, quoted(reason(error).split('\n')[0]!)));
    return file;
  }
  for (const [table, content] of Object.entries(root)) {
    if (table === 'demo' && content === true) file.demo = true;
    else if (!isTable(content)) file.unknown.push(table);
    else if (table === 'split_tunnel') readRoutes(content, file);
    else if (table === 'culvert') readCulvert(content, file);
    else for (const [key, value] of Object.entries(content)) readTunnel(`${table}.${key}`, value, file);
  }
  const order = Object.keys(TUNNEL);
  file.tunnel.sort((a, b) => order.indexOf(a.key) - order.indexOf(b.key));
  return file;
}

function readTunnel(key: string, value: unknown, file: SettingsFile): void {
  if (!Object.hasOwn(TUNNEL, key)) {
    file.unknown.push(key);
    return;
  }
  const tunnelKey = key as TunnelKey;
  const parsed = z.safeParse(KINDS[tunnelKey], value);
  if (!parsed.success) {
    file.invalid.push(reasonFor(key, quoted(parsed.error.issues[0]?.message ?? '')));
    return;
  }
  const target = { subject: TUNNEL[tunnelKey], value: parsed.data === '' ? null : parsed.data } as TunnelValue;
  file.tunnel.push({ key: tunnelKey, wanted: target });
}

function readRoutes(table: Record<string, unknown>, file: SettingsFile): void {
  const parsed = z.safeParse(SplitTable, table);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    file.invalid.push(reasonFor(['split_tunnel', ...(issue?.path ?? [])].join('.'), quoted(issue?.message ?? '')));
    return;
  }
  const { mode, entries } = parsed.data;
  for (const text of entries) {
    const { reason: why } = parseLine(text);
    if (why !== null) file.invalid.push(reasonFor('split_tunnel.entries', why));
  }
  const split: SplitTunnel = {
    mode: mode ?? null,
    ips: entries.map(text => ({ value: text, description: null })),
    hosts: [],
  };
  const document = formatDocument(split, () => null);
  // a document without a mode applies to the current mode
  file.routes = mode === undefined ? document.replace(/^mode .*\n/, '') : document;
}
const SplitTable = z.strictObject({
  mode: z.optional(z.enum(['exclude', 'include'])),
  entries: z.array(z.string().check(z.maxLength(300))).check(z.maxLength(20_000)),
});

function readCulvert(table: Record<string, unknown>, file: SettingsFile): void {
  for (const [group, keys] of Object.entries(table)) {
    const shape = Object.hasOwn(Config.shape, group) ? Config.shape[group as keyof Config].shape : null;
    if (!shape || !isTable(keys)) {
      file.unknown.push(`culvert.${group}`);
      continue;
    }
    for (const [key, value] of Object.entries(keys)) {
      const kind = Object.hasOwn(shape, key) ? (shape as Record<string, z.ZodMiniType>)[key]! : null;
      const parsed = kind && z.safeParse(kind, value);
      if (!parsed) file.unknown.push(`culvert.${group}.${key}`);
      else if (parsed.success) file.culvert.push({ key: `${group}.${key}`, value: parsed.data as string });
      else file.invalid.push(reasonFor(`culvert.${group}.${key}`, quoted(parsed.error.issues[0]?.message ?? '')));
    }
  }
}

/** Converts the keys of a file to a change of the user's configuration. */
export function patchOf(keys: readonly { key: string; value: unknown }[]): ConfigPatch {
  const patch: Record<string, Record<string, unknown>> = {};
  for (const { key, value } of keys) {
    const [group, leaf] = key.split('.') as [string, string];
    patch[group] ??= {};
    patch[group][leaf] = value;
  }
  return patch as ConfigPatch;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
