// Defines Culvert's own configuration in the contract.
import * as z from 'zod/mini';
import type { EndpointTable } from './endpoint.ts';
import { Message } from './values.ts';

const Port = z.int().check(z.gte(1), z.lte(65535));
/** https, or http on this machine only; without credentials, query and fragment. */
const HttpAddress = z
  .string()
  .check(
    z.maxLength(1024),
    z.regex(/^(https:\/\/[A-Za-z0-9.-]+|http:\/\/(127\.0\.0\.1|localhost|\[::1\]))(:\d{1,5})?(\/[A-Za-z0-9._~%/-]*)?$/),
  );
/** Address of releases: empty, or an `HttpAddress` that may contain `{name}` and `{channel}`. */
const SourceAddress = z
  .string()
  .check(
    z.maxLength(1024),
    z.regex(
      /^$|^(https:\/\/[A-Za-z0-9.-]+|http:\/\/(127\.0\.0\.1|localhost|\[::1\]))(:\d{1,5})?(\/([A-Za-z0-9._~%/-]|\{name\}|\{channel\})*)?$/,
    ),
  );
/** The daemon's configuration, every key present. */
export const Config = z.object({
  server: z.object({ port: Port, bind: z.union([z.ipv4(), z.ipv6()]) }),
  webui: z.object({
    enabled: z.boolean(),
    allowRemote: z.boolean(),
    /** The page's address for other machines, such as a reverse proxy; '' for this machine's own addresses. */
    address: z.string().check(z.maxLength(256), z.regex(/^(https?:\/\/[A-Za-z0-9.-]+(:\d{1,5})?)?$/)),
  }),
  warp: z.object({
    cli: z.string().check(z.minLength(1)),
    killSwitch: z.boolean(),
    /** Leave the local network reachable while the kill switch is on. */
    allowLan: z.boolean(),
    /** Endpoints that the kill switch allows beyond the shipped ones: comma-separated `CIDR` or `CIDR udp|tcp PORT`. */
    endpoints: z.string().check(z.maxLength(4096), z.regex(/^[\dA-Fa-f.:/,\sudtcp]*$/)),
    /** Record blocked connections of the last ten minutes even while no client asks for them. */
    recordBlocked: z.boolean(),
    /** Address for checking that traffic of the local proxy leaves through the tunnel. */
    traceUrl: HttpAddress,
  }),
  ui: z.object({
    openBrowser: z.boolean(),
    theme: z.enum(['system', 'light', 'dark']),
    locale: z.string().check(z.regex(/^[A-Za-z]{2,3}([_-][A-Za-z0-9]{2,8})*$/)),
    /** Show the first steps at the next start. */
    firstSteps: z.boolean(),
  }),
  updates: z.object({
    channel: z.enum(['stable', 'beta']),
    checkOnStartup: z.boolean(),
    /** Empty for no source. Base address, with the files of a channel in `<source>/<channel>/`, or a pattern with `{name}` and `{channel}`. */
    source: SourceAddress,
  }),
  tray: z.object({
    autostart: z.boolean(),
    /** At login, without the window. */
    startHidden: z.boolean(),
    /** Global shortcuts, whose keys the desktop asks for. */
    shortcuts: z.boolean(),
  }),
  notifications: z.object({
    /** Amount of notifications. Answers to a click of the user are always shown. */
    level: z.enum(['everything', 'needs-me', 'nothing']),
  }),
  reminders: z.object({
    /** Minutes after which a tunnel that was up and is off is worth a reminder, at most a week; 0 for never. */
    offMinutes: z.int().check(z.gte(0), z.lte(10_080)),
  }),
  /** Changes of the state and figures of the tunnel, kept for 90 days. */
  history: z.object({ enabled: z.boolean() }),
  /** `GET /api/metrics`. */
  metrics: z.object({
    enabled: z.boolean(),
    /** The label `account` has a keyed hash in place of the name. */
    hashAccounts: z.boolean(),
  }),
});
export type Config = z.infer<typeof Config>;

/** Any part of the configuration; null removes an override. */
export const ConfigPatch = z.strictObject(
  Object.fromEntries(
    Object.entries(Config.shape).map(([group, { shape }]) => [
      group,
      z.optional(z.partial(z.strictObject(mapValues(shape, key => z.nullable(key))))),
    ]),
  ),
);
export type ConfigPatch = { [G in keyof Config]?: { [K in keyof Config[G]]?: Config[G][K] | null } };

export const ConfigLayer = z.enum(['default', 'system', 'user', 'environment', 'session']);
export type ConfigLayer = z.infer<typeof ConfigLayer>;
/** An error in a configuration file; the rest of the file, or the other layers, still count. */
export const ConfigProblem = z.object({
  file: z.string(),
  line: z.nullable(z.int()),
  key: z.nullable(z.string()),
  message: z.string(),
  /** `message` to be translated; absent in older versions. */
  wording: z.optional(Message),
});
export type ConfigProblem = z.infer<typeof ConfigProblem>;
export const ConfigResponse = z.object({
  ok: z.literal(true),
  config: Config,
  /** Keys are dotted (`server.port`), one for every key. */
  sources: z.record(z.string(), ConfigLayer),
  /** Dotted keys whose stored value differs from the one this daemon started with. */
  restartRequired: z.array(z.string()),
  problems: z.array(ConfigProblem),
});
export type ConfigResponse = z.infer<typeof ConfigResponse>;

function mapValues<T extends object, R>(o: T, f: (v: T[keyof T]) => R): { [K in keyof T]: R } {
  return Object.fromEntries(Object.entries(o).map(([k, v]) => [k, f(v)])) as { [K in keyof T]: R };
}

export const configEndpoints = {
  'GET /api/config': {
    summary: 'The merged configuration and the layer that set each key',
    response: ConfigResponse,
    etag: true,
  },
  'POST /api/config/session': {
    summary: 'Override keys until the daemon restarts; null removes an override',
    body: ConfigPatch,
    response: ConfigResponse,
    etag: true,
    problems: ['key-not-settable', 'precondition-failed'],
  },
  'POST /api/config/user': {
    summary: "Change the user's configuration file; null removes a key",
    body: ConfigPatch,
    response: ConfigResponse,
    etag: true,
    problems: ['key-not-settable', 'precondition-failed', 'config-broken', 'config-not-writable'],
  },
} as const satisfies EndpointTable;
