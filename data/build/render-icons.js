// Renders the state icons for the tray at build time, so that the tray needs no image library: gjs -m render-icons.js OUT.json
import GdkPixbuf from 'gi://GdkPixbuf?version=2.0';
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import { exit } from 'system';

/** Panels of 16 to 48 pixels, at one and two times. */
const SIZES = [16, 22, 24, 32, 48];

const here = GLib.path_get_dirname(GLib.filename_from_uri(import.meta.url)[0]);
const directory = GLib.build_filenamev([here, '..', 'icons', 'hicolor', 'scalable', 'status']);

/** Base64 of the alpha channel; the color is the tray's. */
function alpha(file, size) {
  const picture = GdkPixbuf.Pixbuf.new_from_file_at_size(file, size, size).add_alpha(false, 0, 0, 0);
  const pixels = picture.get_pixels();
  const stride = picture.get_rowstride();
  const out = new Uint8Array(size * size);
  for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) out[y * size + x] = pixels[y * stride + x * 4 + 3];
  return GLib.base64_encode(out);
}

const [out] = ARGV;
if (!out) {
  printerr('usage: gjs -m render-icons.js OUT.json');
  exit(2);
}
const rendered = {};
try {
  for (const info of Gio.File.new_for_path(directory).enumerate_children('standard::name', 0, null)) {
    const look = /^org\.culvert\.Culvert-([\w-]+)-symbolic\.svg$/.exec(info.get_name())?.[1];
    if (!look) continue;
    const file = GLib.build_filenamev([directory, info.get_name()]);
    rendered[look] = Object.fromEntries(SIZES.map(size => [size, alpha(file, size)]));
  }
} catch (error) {
  // without librsvg's loader GdkPixbuf says "unrecognized image file format"
  printerr(`can't render ${directory}: ${error.message} (is librsvg2-common installed?)`);
  exit(1);
}
const sorted = Object.fromEntries(Object.entries(rendered).sort(([a], [b]) => (a < b ? -1 : 1)));
GLib.file_set_contents(out, `${JSON.stringify(sorted)}\n`);
