// Where the programs of this installation lie: found from the running file, so that a moved tree works.
import { join } from 'node:path';

/** `<prefix>/share/culvert`; the running bundle lies in a directory of its own there. */
const here = join(import.meta.dirname, '..');

export const programs = {
  culvert: join(here, '../../bin/culvert'),
  emulator: join(here, '../../bin/culvert-emulator'),
  panel: join(here, 'panel.js'),
  tray: join(here, 'tray.js'),
} as const;
