// Implements the extension for GNOME Shell 43 and 44, which do not use ES modules. It is installed as extension/__init__.js:
// when these versions import "extension", a directory of that name comes before extension.js.
import type Gio from 'gi://Gio';
import { createTile, type Tile } from './tile.ts';

declare const imports: {
  gi: Pick<Shell.Modules, 'Gio' | 'GLib' | 'Shell'>;
  gettext: Shell.Modules['Gettext'];
  ui: {
    main: Shell.Modules['Main'];
    popupMenu: Shell.Modules['PopupMenu'];
    quickSettings: Shell.Modules['QuickSettings'];
  };
};
declare const global: Shell.Modules['global'];

/** @returns the extension's state object, which these versions require */
export function init({ dir }: { dir: Gio.File }): { enable(): void; disable(): void } {
  const { gi, gettext, ui } = imports;
  const { Gio, GLib, Shell } = gi;
  const modules = {
    Main: ui.main,
    PopupMenu: ui.popupMenu,
    QuickSettings: ui.quickSettings,
    Gio,
    GLib,
    Shell,
    Gettext: gettext,
  };
  let tile: Tile | null = null;
  return {
    enable() {
      tile = createTile({ ...modules, global }, dir);
    },
    disable() {
      tile?.destroy();
      tile = null;
    },
  };
}
