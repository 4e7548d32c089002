// Finds the directory of this user's desktop entries, and names the prefix of ours.
import { isAbsolute, join } from 'node:path';
import { APP_ID } from '../system/build-info.ts';

/** Filename prefix of generated shortcuts, in `$XDG_DATA_HOME/applications`. */
export const SHORTCUT_PREFIX = `${APP_ID}.proxy.`;

/** `$XDG_DATA_HOME`, or null where there is no home. */
export function userData(env: NodeJS.ProcessEnv): string | null {
  if (env.XDG_DATA_HOME && isAbsolute(env.XDG_DATA_HOME)) return env.XDG_DATA_HOME;
  return env.HOME && isAbsolute(env.HOME) ? join(env.HOME, '.local/share') : null;
}
