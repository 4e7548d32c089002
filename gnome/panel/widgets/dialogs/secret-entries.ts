// Entries of a dialog for values that are not shown.
import Gtk from 'gi://Gtk?version=4.0';
import { setName } from '../a11y/accessible.ts';

export interface SecretEntries {
  widget: Gtk.Widget;
  /** Allows the response once each entry has something. */
  gate(allow: (allowed: boolean) => void): void;
  values(): string[];
}

/** One entry for each name. */
export function secretEntries(names: readonly string[]): SecretEntries {
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6 });
  const entries = names.map(name => {
    const entry = new Gtk.PasswordEntry({ show_peek_icon: true, activates_default: true, hexpand: true });
    setName(entry, name);
    box.append(new Gtk.Label({ label: name, xalign: 0, wrap: true, css_classes: ['caption', 'dim-label'] }));
    box.append(entry);
    return entry;
  });
  const values = () => entries.map(entry => entry.text.trim());
  return {
    widget: box,
    values,
    gate(allow) {
      const check = () => allow(values().every(value => value !== ''));
      for (const entry of entries) entry.connect('changed', check);
      check();
    },
  };
}
