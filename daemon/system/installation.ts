// Describes this build and finds the programs of its installation from the running file, so that a moved tree works.
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Version } from '../api/schema.ts';

declare const __VERSION__: string | undefined;
declare const __COMMIT__: string | undefined;
declare const __FORMAT__: string | undefined;
declare const __NAME__: string | undefined;
declare const __APP_ID__: string | undefined;
declare const __PORT__: number | undefined;

/** As in package.json; `0.0.0-source` when run without a build. */
export const VERSION = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0-source';
/** Abbreviated git commit of the build; null when built outside a repository. */
export const COMMIT = typeof __COMMIT__ === 'string' && __COMMIT__ ? __COMMIT__ : null;

/** Raised when an answer changes so that an older client can't read it. */
export const API_VERSION = 2;

/** Kind of installation; a build option. */
export const INSTALL_FORMAT = typeof __FORMAT__ === 'string' ? (__FORMAT__ as Version['installFormat']) : 'source';

/**
 * Name of this build's directories, and the id of its desktop application. A development build has other names
 * (data/build/profiles.mjs), so that it can run next to an installed Culvert.
 */
export const NAME = typeof __NAME__ === 'string' ? __NAME__ : 'culvert';
export const APP_ID = typeof __APP_ID__ === 'string' ? __APP_ID__ : 'org.culvert.Culvert';
/** The default of `server.port`. */
export const PORT = typeof __PORT__ === 'number' ? __PORT__ : 4173;

/** `<prefix>/share/culvert`: installed data, and a directory for each bundle. */
export const dataDirectory = dirname(import.meta.dirname);
/** The prefix of the running program. */
export const prefix = dirname(dirname(dataDirectory));

const PACKAGES: readonly string[] = ['deb', 'rpm', 'arch'] satisfies Version['installFormat'][];

/**
 * Kind of installation. Packages have the programs of a system-wide build, and say in a file what they are.
 * @param data where that file is
 */
export function installFormat(build = INSTALL_FORMAT, data = dataDirectory): Version['installFormat'] {
  if (build !== 'system') return build;
  try {
    const name = readFileSync(join(data, 'install-format'), 'utf8').trim();
    return PACKAGES.includes(name) ? (name as Version['installFormat']) : build;
  } catch {
    return build;
  }
}

/** The file of the AppImage that this runs from: its directory is a mount that goes away, so nothing else is to name it. */
const image = INSTALL_FORMAT === 'appimage' ? process.env.APPIMAGE : undefined;

export const programs = {
  /** Command for entries that outlive this process. */
  culvert: image ?? `${stablePrefix(prefix)}/bin/culvert`,
  emulator: `${prefix}/bin/culvert-emulator`,
  wrapper: `${prefix}/bin/culvert-wrap`,
  panel: `${dataDirectory}/panel.js`,
  tray: `${dataDirectory}/tray.js`,
  /** Directory of the browser page. */
  webui: `${dataDirectory}/webui`,
  /** An AppImage brings its own. */
  gjs: INSTALL_FORMAT === 'appimage' ? `${prefix}/lib/culvert/gjs` : 'gjs',
} as const;

/**
 * The path that stays the same from version to version: of a prefix `…/versions/1.2.3`, `…/current`. Any other prefix
 * is returned as it is. Pure, and on the daemon's way to its start.
 */
export function stablePrefix(prefix: string): string {
  const versions = dirname(prefix);
  return basename(versions) === 'versions' && basename(dirname(versions)) === 'culvert'
    ? join(dirname(versions), 'current')
    : prefix;
}
