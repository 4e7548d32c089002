// Builds the row that opens and folds away the groups after it.
import Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';
import { setName, within } from '../a11y/accessible.ts';

export interface Fold {
  widget: Adw.PreferencesGroup;
  opened(): boolean;
  open(): void;
}

/** @param changed called after the row was opened or folded */
export function createFold(title: string, changed: () => void): Fold {
  let opened = false;
  const arrow = new Gtk.Image({ accessible_role: Gtk.AccessibleRole.PRESENTATION });
  const row = new Adw.ActionRow({ title, activatable: true });
  row.add_suffix(arrow);
  setName(row, title);
  const widget = new Adw.PreferencesGroup();
  widget.add(row);
  const list = [...within(widget)].find(child => child instanceof Gtk.ListBox);
  if (list) setName(list, title);
  const show = () => {
    arrow.icon_name = opened ? 'pan-up-symbolic' : 'pan-down-symbolic';
    row.update_state([Gtk.AccessibleState.EXPANDED], [Number(opened)]);
  };
  const turn = () => {
    opened = !opened;
    show();
    changed();
  };
  row.connect('activated', turn);
  show();
  return {
    widget,
    opened: () => opened,
    open() {
      if (!opened) turn();
    },
  };
}
