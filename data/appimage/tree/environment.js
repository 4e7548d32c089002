// Gives a program of the image the user's own environment back, so that what it starts gets nothing of the image's.
// Each library reads its variable once, so it is first made to read it. What lib/culvert/gjs has changed is restored.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';

GLib.get_system_data_dirs();
Gio.content_type_set_mime_dirs(null); // to those; without this each look asks the variable again
Gio.SettingsSchemaSource.get_default();
Gio.Vfs.get_default(); // loads GIO's modules

for (const name of [
  'XDG_DATA_DIRS',
  'GI_TYPELIB_PATH',
  'GIO_MODULE_DIR',
  'GIO_EXTRA_MODULES',
  'GDK_PIXBUF_MODULE_FILE',
  'GSETTINGS_SCHEMA_DIR',
  'FONTCONFIG_FILE',
]) {
  const outside = GLib.getenv(`CULVERT_OUTSIDE_${name}`);
  if (outside === null) GLib.unsetenv(name);
  else GLib.setenv(name, outside, true);
  GLib.unsetenv(`CULVERT_OUTSIDE_${name}`);
}
