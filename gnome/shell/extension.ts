// Implements the extension for GNOME Shell 45 and later.
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import ShellGi from 'gi://Shell';
import { Extension } from 'resource:///org/gnome/shell/extensions/extension.js';
import * as Main from 'resource:///org/gnome/shell/ui/main.js';
import * as PopupMenu from 'resource:///org/gnome/shell/ui/popupMenu.js';
import * as QuickSettings from 'resource:///org/gnome/shell/ui/quickSettings.js';
import Gettext from 'gettext';
import { createTile, type Tile } from './tile.ts';

declare const global: Shell.Modules['global'];

export default class CulvertExtension extends Extension {
  private tile: Tile | null = null;

  enable(): void {
    const modules = { Main, PopupMenu, QuickSettings, Gio, GLib, Shell: ShellGi, Gettext, global };
    this.tile = createTile(modules, this.dir);
  }

  disable(): void {
    this.tile?.destroy();
    this.tile = null;
  }
}
