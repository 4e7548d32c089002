// Defines apps and their shortcuts in the contract.
import * as z from 'zod/mini';
import { MODES, PROTOCOLS } from './actions.ts';
import { type EndpointTable, killSwitchProblems } from './endpoint.ts';
import { Message, type ProblemCode } from './values.ts';

/** Way of sending an app through the proxy; `none`: no known way, so it would bypass the proxy. */
export const ProxyMethod = z.enum(['arguments', 'profile', 'environment', 'proxychains', 'none']);
export type ProxyMethod = z.infer<typeof ProxyMethod>;
export const App = z.object({
  /** The desktop file's id: `firefox-esr.desktop`. */
  id: z.string(),
  /** In the language of the daemon's session. */
  name: z.string(),
  /** An icon name of the theme or an absolute path. */
  icon: z.nullable(z.string()),
  categories: z.array(z.string()),
  kind: z.enum(['chromium', 'firefox', 'electron', 'generic']),
  packaging: z.enum(['native', 'flatpak', 'snap']),
  method: ProxyMethod,
  /** Sentence on what is uncertain about `method`, or what to install; null if there is nothing to say. */
  note: z.nullable(z.string()),
  /** `note` as a template with values, for translation. Absent if `note` itself is a text of the catalogs. */
  wording: z.optional(Message),
  /** Path of the desktop entry that starts it through the proxy, or null. */
  shortcut: z.nullable(z.string()),
  /** Path of the desktop entry that starts it only through the tunnel, or null. */
  tunnelShortcut: z.nullable(z.string()),
  /** Path of the desktop entry that starts it outside the tunnel, or null. */
  outsideShortcut: z.nullable(z.string()),
});
export type App = z.infer<typeof App>;

export const Apps = z.object({ ok: z.literal(true), apps: z.array(App) });
export type Apps = z.infer<typeof Apps>;

/** Settings from before a launch turned the local proxy on. */
export const BeforeProxy = z.strictObject({
  mode: z.enum(MODES),
  /** null for the tunnel client's own default. */
  protocol: z.nullable(z.enum(PROTOCOLS)),
  connected: z.boolean(),
});
export type BeforeProxy = z.infer<typeof BeforeProxy>;

export const LaunchRequest = z.strictObject({
  appId: z.string().check(z.minLength(1), z.maxLength(255)),
  /** Also make a shortcut. */
  shortcut: z.optional(z.boolean()),
  /** Refuse unless a request through the proxy is seen to leave through the tunnel. */
  verify: z.optional(z.boolean()),
  /** Settings to restore if the app does not start, or ends with an error within two minutes. */
  restore: z.optional(BeforeProxy),
});
export type LaunchRequest = z.infer<typeof LaunchRequest>;

export const LaunchResponse = z.object({
  ok: z.literal(true),
  appId: z.string(),
  /** null if the user's systemd session started the app and did not report its pid. */
  pid: z.nullable(z.int()),
  proxy: z.object({ host: z.string(), port: z.int() }),
  shortcut: z.nullable(z.string()),
});
export type LaunchResponse = z.infer<typeof LaunchResponse>;

/** An app to start only through the tunnel, or outside it. */
export const PlaceRequest = z.strictObject({ appId: z.string().check(z.minLength(1), z.maxLength(255)) });
export type PlaceRequest = z.infer<typeof PlaceRequest>;

export const PlaceResponse = z.object({
  ok: z.literal(true),
  appId: z.string(),
  /** null if the user's systemd session started the app and did not report its pid. */
  pid: z.nullable(z.int()),
  /** Sentences on what does not work for the app there, or which of its parts run elsewhere. */
  limits: z.array(Message),
});
export type PlaceResponse = z.infer<typeof PlaceResponse>;

/** Way in which a shortcut starts its app. */
export const ShortcutWay = z.enum(['proxy', 'tunnel-only', 'outside']);
export type ShortcutWay = z.infer<typeof ShortcutWay>;
/** Ways that need the root service instead of the proxy. */
export type PlacedWay = Exclude<ShortcutWay, 'proxy'>;

export const ShortcutRequest = z.strictObject({
  appId: z.string().check(z.minLength(1), z.maxLength(255)),
  /** true makes or renews it, false removes it. */
  present: z.boolean(),
  /** Default: `proxy`. */
  way: z.optional(ShortcutWay),
});
export type ShortcutRequest = z.infer<typeof ShortcutRequest>;

export const ShortcutResponse = z.object({
  ok: z.literal(true),
  appId: z.string(),
  shortcut: z.nullable(z.string()),
});
export type ShortcutResponse = z.infer<typeof ShortcutResponse>;

const placeProblems = [
  'app-not-found',
  'app-launch-failed',
  ...killSwitchProblems,
] as const satisfies readonly ProblemCode[];

export const appsEndpoints = {
  'GET /api/apps': { summary: 'Apps of this desktop, and how each takes the local proxy', response: Apps },
  'POST /api/apps/proxy-launcher': {
    summary: 'Launch an app through the local proxy',
    body: LaunchRequest,
    response: LaunchResponse,
    problems: [
      'app-not-found',
      'app-not-launchable',
      'app-launch-failed',
      'proxy-not-enabled',
      'proxy-not-answering',
      'proxy-not-verified',
      'config-not-writable',
    ],
  },
  'POST /api/apps/tunnel-launcher': {
    summary: 'Launch an app that uses the tunnel only; its answer comes once the root service keeps it there',
    body: PlaceRequest,
    response: PlaceResponse,
    problems: placeProblems,
  },
  'POST /api/apps/outside-launcher': {
    summary: 'Launch an app outside the tunnel; its answer comes once the app has a network of its own',
    body: PlaceRequest,
    response: PlaceResponse,
    problems: placeProblems,
  },
  'POST /api/apps/shortcut': {
    summary:
      'Make or remove the desktop entry that starts an app through the local proxy, only through the tunnel, or outside it',
    body: ShortcutRequest,
    response: ShortcutResponse,
    problems: ['app-not-found', 'app-not-launchable', 'config-not-writable'],
  },
} as const satisfies EndpointTable;
