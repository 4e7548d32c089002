// Saves the window's size for the next start.
import GLib from 'gi://GLib?version=2.0';
import type Gtk from 'gi://Gtk?version=4.0';
import { statePath } from '../../install-paths.ts';

const DEFAULT = [440, 760] as const;
const GROUP = 'window';

const path = () => statePath('window.ini');

/** Returns the saved size of the window, or the default. */
export function savedSize(): readonly [width: number, height: number] {
  const file = new GLib.KeyFile();
  try {
    file.load_from_file(path(), GLib.KeyFileFlags.NONE);
    const [width, height] = ['width', 'height'].map(key => file.get_integer(GROUP, key)) as [number, number];
    return width >= 340 && height >= 360 ? [width, height] : DEFAULT;
  } catch {
    // nothing is saved yet
    return DEFAULT;
  }
}

/** Saves the window's size; for a maximized window, the previously saved size stays. */
export function saveSize(window: Gtk.Window): void {
  if (window.maximized || window.fullscreened) return;
  const file = new GLib.KeyFile();
  // not the drawn size, which lacks the shadow where there is no compositor
  file.set_integer(GROUP, 'width', window.default_width);
  file.set_integer(GROUP, 'height', window.default_height);
  try {
    GLib.mkdir_with_parents(GLib.path_get_dirname(path()), 0o700);
    file.save_to_file(path());
  } catch {
    // the next start uses the earlier size again
  }
}
