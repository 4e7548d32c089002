// Where the programs of this installation lie: found from the running file, so that a moved tree works.
import { join } from 'node:path';

/** `<prefix>/share/culvert`; the bundler puts the running bundle's directory here. */
const here = import.meta.dirname;

export const programs = {
  culvert: join(here, '../../bin/culvert'),
  emulator: join(here, '../../bin/culvert-emulator'),
  panel: join(here, 'panel.js'),
  tray: join(here, 'tray.js'),
} as const;
