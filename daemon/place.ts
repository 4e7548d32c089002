// Where the programs of this installation lie: found from the running file, so that a moved tree works.
import { join } from 'node:path';
import { INSTALL_FORMAT } from './about.ts';
import { stable } from './update/places.ts';

/** `<prefix>/share/culvert`; the running bundle lies in a directory of its own there. */
const here = join(import.meta.dirname, '..');
/** The prefix of the running program. */
export const prefix = join(here, '../..');

/** The file of the AppImage that this runs from: its directory is a mount that goes away, so nothing else is to name it. */
const image = INSTALL_FORMAT === 'appimage' ? process.env.APPIMAGE : undefined;

export const programs = {
  /** What entries that outlive this process name. */
  culvert: image ?? join(stable(prefix), 'bin/culvert'),
  emulator: join(here, '../../bin/culvert-emulator'),
  panel: join(here, 'panel.js'),
  tray: join(here, 'tray.js'),
  /** An AppImage brings its own. */
  gjs: INSTALL_FORMAT === 'appimage' ? join(here, '../../lib/culvert/gjs') : 'gjs',
} as const;
