// Finds the user's data directory, and defines the name prefixes of our shortcuts.
import { isAbsolute, join } from 'node:path';
import type { ShortcutWay } from '../api/schema.ts';
import { APP_ID } from '../system/installation.ts';

/** File name prefixes of our shortcuts in `$XDG_DATA_HOME/applications`. */
export const SHORTCUT_PREFIXES: Readonly<Record<ShortcutWay, string>> = {
  proxy: `${APP_ID}.proxy.`,
  'tunnel-only': `${APP_ID}.tunnel-only.`,
  outside: `${APP_ID}.outside.`,
};

/** Returns the way of a shortcut by its file name; null for a file that is not ours. */
export function wayOfShortcut(name: string): ShortcutWay | null {
  const ways = Object.keys(SHORTCUT_PREFIXES) as ShortcutWay[];
  return ways.find(way => name.startsWith(SHORTCUT_PREFIXES[way])) ?? null;
}

/** Returns `$XDG_DATA_HOME` or its default; null without a home. */
export function userData(env: NodeJS.ProcessEnv): string | null {
  if (env.XDG_DATA_HOME && isAbsolute(env.XDG_DATA_HOME)) return env.XDG_DATA_HOME;
  return env.HOME && isAbsolute(env.HOME) ? join(env.HOME, '.local/share') : null;
}
