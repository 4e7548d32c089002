// Lists the keys of the configuration: their names and defaults, and how a nested object is held as a layer.
import project from '../../data/project.json' with { type: 'json' };
import type { Config } from '../api/schema.ts';
import { PORT } from '../system/installation.ts';

export const DEFAULTS: Config = {
  server: { port: PORT, bind: '127.0.0.1' },
  webui: { enabled: false, allowRemote: false, address: '' },
  warp: {
    cli: 'warp-cli',
    killSwitch: false,
    allowLan: false,
    endpoints: '',
    recordBlocked: false,
    traceUrl: 'https://www.cloudflare.com/cdn-cgi/trace',
  },
  ui: { openBrowser: true, theme: 'system', locale: 'en', firstSteps: true },
  updates: { channel: 'stable', checkOnStartup: true, source: project.releases.source },
  tray: { autostart: false, startHidden: true, shortcuts: false },
  notifications: { level: 'everything' },
  reminders: { offMinutes: 120 },
  history: { enabled: true },
  metrics: { enabled: false, hashAccounts: false },
};

/** Dotted key -> value: how a layer is held. */
export type Layer = Record<string, unknown>;
/** Every dotted key. */
export const KEYS = new Set(
  Object.entries(DEFAULTS).flatMap(([group, values]) => Object.keys(values).map(key => `${group}.${key}`)),
);

/** The environment variable of a key: `warp.killSwitch` -> `CULVERT_WARP_KILL_SWITCH`. */
export function variableOf(key: string): string {
  return `CULVERT_${key
    .replace(/[A-Z]/g, c => `_${c}`)
    .replace('.', '_')
    .toUpperCase()}`;
}

/** Nested groups as dotted keys. */
export function flatten(value: object): [string, unknown][] {
  return Object.entries(value).flatMap(([group, leaf]): [string, unknown][] =>
    Object.hasOwn(DEFAULTS, group) && typeof leaf === 'object' && leaf !== null && !Array.isArray(leaf)
      ? Object.entries(leaf).map(([key, value]) => [`${group}.${key}`, value])
      : [[group, leaf]],
  );
}
