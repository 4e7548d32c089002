// Finds the directory of this user's desktop entries, and names the prefix of ours.
import { isAbsolute, join } from 'node:path';
import type { ShortcutWay } from '../api/schema.ts';
import { APP_ID } from '../system/installation.ts';

/** Filename prefixes of generated shortcuts, in `$XDG_DATA_HOME/applications`. */
export const SHORTCUT_PREFIXES: Readonly<Record<ShortcutWay, string>> = {
  proxy: `${APP_ID}.proxy.`,
  'tunnel-only': `${APP_ID}.tunnel-only.`,
  outside: `${APP_ID}.outside.`,
};

/** The way of a shortcut, by the name of its file; null for a file that is not ours. */
export function wayOfShortcut(name: string): ShortcutWay | null {
  const ways = Object.keys(SHORTCUT_PREFIXES) as ShortcutWay[];
  return ways.find(way => name.startsWith(SHORTCUT_PREFIXES[way])) ?? null;
}

/** `$XDG_DATA_HOME`, or null if there is no home. */
export function userData(env: NodeJS.ProcessEnv): string | null {
  if (env.XDG_DATA_HOME && isAbsolute(env.XDG_DATA_HOME)) return env.XDG_DATA_HOME;
  return env.HOME && isAbsolute(env.HOME) ? join(env.HOME, '.local/share') : null;
}
