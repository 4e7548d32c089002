// Finds the programs of this installation from the running file, so that a moved tree works.
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Version } from '../api/schema.ts';
import { INSTALL_FORMAT } from './installation.ts';

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
