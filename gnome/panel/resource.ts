// Registers the compiled resources, which contain the style and the icons.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { pkgdatadir } from '../install-paths.ts';

Gio.Resource.load(GLib.build_filenamev([pkgdatadir, 'panel.gresource']))._register();
