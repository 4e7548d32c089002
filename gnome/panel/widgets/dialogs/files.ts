// Dialogs that save and open a file.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { _ } from '../../../i18n.ts';

/** A list that a person made is not larger. */
const LONGEST = 4_000_000;

/** @returns whether the user chose a place and the text is there. @throws GLib.Error when it can't be written. */
export function saveText(parent: Gtk.Window, name: string, text: string): Promise<boolean> {
  return saveBytes(parent, name, new TextEncoder().encode(text));
}

/** As `saveText`, for any bytes. */
export async function saveBytes(parent: Gtk.Window, name: string, bytes: Uint8Array): Promise<boolean> {
  const file = await choose(parent, Gtk.FileChooserAction.SAVE, name);
  if (!file) return false;
  file.replace_contents(bytes, null, false, Gio.FileCreateFlags.PRIVATE, null);
  return true;
}

/** The text of a file that the user chooses, or null. @throws Error if the file is not text, GLib.Error */
export async function openText(parent: Gtk.Window): Promise<string | null> {
  const file = await choose(parent, Gtk.FileChooserAction.OPEN, null);
  if (!file) return null;
  const [, bytes] = file.load_contents(null);
  if (bytes.length > LONGEST) throw new Error(_('This file is too large.'));
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

function choose(parent: Gtk.Window, action: Gtk.FileChooserAction, name: string | null): Promise<Gio.File | null> {
  // GtkFileDialog came with 4.10
  const dialog = new Gtk.FileChooserNative({ transient_for: parent, modal: true, action });
  if (name) dialog.set_current_name(name);
  const documents = GLib.get_user_special_dir(GLib.UserDirectory.DIRECTORY_DOCUMENTS);
  if (name && documents) dialog.set_current_folder(Gio.File.new_for_path(documents));
  return new Promise(resolve => {
    dialog.connect('response', (_dialog, response) => {
      resolve(response === Gtk.ResponseType.ACCEPT ? dialog.get_file() : null);
      dialog.destroy();
    });
    dialog.show();
  });
}
