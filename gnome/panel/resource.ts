// Registers the compiled resources; import it before any class, since registering a class reads its template.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { pkgdatadir } from '../install-paths.ts';

Gio.Resource.load(GLib.build_filenamev([pkgdatadir, 'panel.gresource']))._register();
