// Where the programs of this installation lie: found from the running file, so that a moved tree works.
import { dirname } from 'node:path';
import { INSTALL_FORMAT } from './about.ts';
import { stable } from './update/places.ts';

/** `<prefix>/share/culvert`; the running bundle lies in a directory of its own there. */
const here = dirname(import.meta.dirname);
/** The prefix of the running program. */
export const prefix = dirname(dirname(here));

/** The file of the AppImage that this runs from: its directory is a mount that goes away, so nothing else is to name it. */
const image = INSTALL_FORMAT === 'appimage' ? process.env.APPIMAGE : undefined;

export const programs = {
  /** What entries that outlive this process name. */
  culvert: image ?? `${stable(prefix)}/bin/culvert`,
  emulator: `${prefix}/bin/culvert-emulator`,
  panel: `${here}/panel.js`,
  tray: `${here}/tray.js`,
  /** An AppImage brings its own. */
  gjs: INSTALL_FORMAT === 'appimage' ? `${prefix}/lib/culvert/gjs` : 'gjs',
} as const;
