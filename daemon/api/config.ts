// Defines the schema of Culvert's own configuration in the contract.
import * as z from 'zod/mini';
import type { EndpointTable } from './endpoint.ts';
import { Message } from './values.ts';

const Port = z.int().check(z.gte(1), z.lte(65535));
/** An https address, or http on this machine; without credentials, query or fragment. */
const HttpAddress = z
  .string()
  .check(
    z.maxLength(1024),
    z.regex(/^(https:\/\/[A-Za-z0-9.-]+|http:\/\/(127\.0\.0\.1|localhost|\[::1\]))(:\d{1,5})?(\/[A-Za-z0-9._~%/-]*)?$/),
  );
/** Address of the releases: empty, or an `HttpAddress` that may contain `{name}` and `{channel}`. */
const SourceAddress = z
  .string()
  .check(
    z.maxLength(1024),
    z.regex(
      /^$|^(https:\/\/[A-Za-z0-9.-]+|http:\/\/(127\.0\.0\.1|localhost|\[::1\]))(:\d{1,5})?(\/([A-Za-z0-9._~%/-]|\{name\}|\{channel\})*)?$/,
    ),
  );
/** The daemon's complete configuration. */
export const Config = z.object({
  server: z.object({ port: Port, bind: z.union([z.ipv4(), z.ipv6()]) }),
  webui: z.object({
    enabled: z.boolean(),
    allowRemote: z.boolean(),
    /** The page's address for other machines, such as a reverse proxy's; '' for this machine's own addresses. */
    address: z.string().check(z.maxLength(256), z.regex(/^(https?:\/\/[A-Za-z0-9.-]+(:\d{1,5})?)?$/)),
  }),
  warp: z.object({
    cli: z.string().check(z.minLength(1)),
    killSwitch: z.boolean(),
    /** Keeps the local network reachable while the kill switch is on. */
    allowLan: z.boolean(),
    /** Additional endpoints that the kill switch allows: comma-separated `CIDR` or `CIDR udp|tcp PORT`. */
    endpoints: z.string().check(z.maxLength(4096), z.regex(/^[\dA-Fa-f.:/,\sudtcp]*$/)),
    /** Records blocked connections of the last ten minutes even while no client asks for them. */
    recordBlocked: z.boolean(),
    /** Address for checking that traffic of the local proxy leaves through the tunnel. */
    traceUrl: HttpAddress,
  }),
  ui: z.object({
    openBrowser: z.boolean(),
    theme: z.enum(['system', 'light', 'dark']),
    locale: z.string().check(z.regex(/^[A-Za-z]{2,3}([_-][A-Za-z0-9]{2,8})*$/)),
    /** Shows the first steps at the next start. */
    firstSteps: z.boolean(),
  }),
  updates: z.object({
    channel: z.enum(['stable', 'beta']),
    checkOnStartup: z.boolean(),
    /** Base address (a channel's files are in `<source>/<channel>/`) or pattern with `{name}`, `{channel}`; empty for none. */
    source: SourceAddress,
  }),
  tray: z.object({
    autostart: z.boolean(),
    /** Starts without the window at login. */
    startHidden: z.boolean(),
    /** Enables global shortcuts; the desktop asks for their keys. */
    shortcuts: z.boolean(),
  }),
  notifications: z.object({
    /** Notifications to show. Answers to a user's click are always shown. */
    level: z.enum(['everything', 'needs-me', 'nothing']),
  }),
  reminders: z.object({
    /** Minutes until a reminder that the tunnel went off, at most a week; 0 for no reminder. */
    offMinutes: z.int().check(z.gte(0), z.lte(10_080)),
  }),
  /** Record of the tunnel's state changes and figures, kept for 90 days. */
  history: z.object({ enabled: z.boolean() }),
  /** Settings of `GET /api/metrics`. */
  metrics: z.object({
    enabled: z.boolean(),
    /** Puts a keyed hash instead of the name into the `account` label. */
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
/** An error in a configuration file; the rest of the file, or the other layers, still apply. */
export const ConfigProblem = z.object({
  file: z.string(),
  line: z.nullable(z.int()),
  key: z.nullable(z.string()),
  message: z.string(),
  /** `message` in translatable form; absent in older versions. */
  wording: z.optional(Message),
});
export type ConfigProblem = z.infer<typeof ConfigProblem>;
export const ConfigResponse = z.object({
  ok: z.literal(true),
  config: Config,
  /** The layer that set each key, by dotted key (`server.port`). */
  sources: z.record(z.string(), ConfigLayer),
  /** Dotted keys whose stored value differs from the value at this daemon's start. */
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
