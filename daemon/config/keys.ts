// Lists the keys of the configuration with their defaults, and converts nested objects to dotted keys.
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

/** Values of a layer by dotted key. */
export type Layer = Record<string, unknown>;
/** Every dotted key. */
export const KEYS = new Set(
  Object.entries(DEFAULTS).flatMap(([group, values]) => Object.keys(values).map(key => `${group}.${key}`)),
);

/** Returns true if a key accepts true and false only, and the value is one of them. */
export function isSwitch(key: string, value: unknown): boolean {
  return (
    typeof value === 'boolean' && flatten(DEFAULTS).some(([each, usual]) => each === key && typeof usual === 'boolean')
  );
}

/** Returns the environment variable of a key: `warp.killSwitch` -> `CULVERT_WARP_KILL_SWITCH`. */
export function variableOf(key: string): string {
  return `CULVERT_${key
    .replace(/[A-Z]/g, c => `_${c}`)
    .replace('.', '_')
    .toUpperCase()}`;
}

/** Returns the values of nested groups by dotted key. */
export function flatten(value: object): [string, unknown][] {
  return Object.entries(value).flatMap(([group, leaf]): [string, unknown][] =>
    Object.hasOwn(DEFAULTS, group) && typeof leaf === 'object' && leaf !== null && !Array.isArray(leaf)
      ? Object.entries(leaf).map(([key, value]) => [`${group}.${key}`, value])
      : [[group, leaf]],
  );
}
