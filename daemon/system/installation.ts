// Describes this build, and finds the installed programs relative to the running file, so a moved tree works.
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Version } from '../api/schema.ts';

declare const __VERSION__: string | undefined;
declare const __COMMIT__: string | undefined;
declare const __FORMAT__: string | undefined;
declare const __NAME__: string | undefined;
declare const __APP_ID__: string | undefined;
declare const __PORT__: number | undefined;

/** Version in package.json, or `0.0.0-source` without a build. */
export const VERSION = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0-source';
/** Abbreviated git commit of the build, or null outside a repository. */
export const COMMIT = typeof __COMMIT__ === 'string' && __COMMIT__ ? __COMMIT__ : null;

/** Version of the API. It rises when older clients can't read a changed answer. */
export const API_VERSION = 2;

/** Kind of installation; a build option. */
export const INSTALL_FORMAT = typeof __FORMAT__ === 'string' ? (__FORMAT__ as Version['installFormat']) : 'source';

/**
 * Name of this build's directories. A development build has other names and another application id
 * (data/build/profiles.mjs) to run next to an installed Culvert.
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
 * Returns the kind of installation. Packages contain a system-wide build, and a file that names their format.
 * @param data the directory of that file
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

/** The running AppImage's file. Its mounted directory is temporary, so lasting entries must name the file. */
const image = INSTALL_FORMAT === 'appimage' ? process.env.APPIMAGE : undefined;

export const programs = {
  /** Command for lasting entries that outlive this process. */
  culvert: image ?? `${stablePrefix(prefix)}/bin/culvert`,
  emulator: `${prefix}/bin/culvert-emulator`,
  wrapper: `${prefix}/bin/culvert-wrap`,
  panel: `${dataDirectory}/panel.js`,
  tray: `${dataDirectory}/tray.js`,
  /** Directory of the browser page. */
  webui: `${dataDirectory}/webui`,
  /** An AppImage contains gjs. */
  gjs: INSTALL_FORMAT === 'appimage' ? `${prefix}/lib/culvert/gjs` : 'gjs',
} as const;

/**
 * Returns a path that is the same for every version: `…/current` for `…/versions/1.2.3`, and any other prefix unchanged.
 * Pure, and part of the daemon's start.
 */
export function stablePrefix(prefix: string): string {
  const versions = dirname(prefix);
  return basename(versions) === 'versions' && basename(dirname(versions)) === 'culvert'
    ? join(dirname(versions), 'current')
    : prefix;
}
