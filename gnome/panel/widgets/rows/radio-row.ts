// Provides the row of one choice among several, whose mark moves only when the daemon confirms it.
import Gdk from 'gi://Gdk?version=4.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Host } from '../../../../daemon/view/host.ts';
import { actionRow, type RowOf, type RowWidget, showWordsOf } from './row-widget.ts';

/** The choices of one group. */
export interface Radios {
  members: Gtk.CheckButton[];
  /** The code, and not the user, moves the marks now. */
  setting: boolean;
}

export function radioRow(first: RowOf<'radio'>, host: Host, radios: Radios): RowWidget<'radio'> {
  const widget = actionRow();
  // GTK 4.8 mistakes a check button of a group for a check box
  const check = new Gtk.CheckButton({ valign: Gtk.Align.CENTER, accessible_role: Gtk.AccessibleRole.RADIO });
  // a group whose choices are all off needs a member that is on: none of them may be confirmed yet
  const { members } = radios;
  if (!members.length) members.push(new Gtk.CheckButton({ active: true }));
  check.group = members[0]!;
  let now = first;
  check.connect('toggled', () => {
    if (radios.setting || !check.active) return;
    void Promise.resolve().then(() => {
      radios.setting = true;
      restore(check, members);
      radios.setting = false;
      void host.run(now.command);
    });
  });
  members.push(check);
  check.add_controller(moveAmong(check, members));
  widget.add_prefix(check);
  widget.activatable_widget = check;
  return {
    widget,
    show(row) {
      now = row;
      showWordsOf(widget, check, row);
      Object.assign(check, { confirmed: row.checked });
      radios.setting = true;
      if (row.checked) check.active = true;
      else if (check.active) members[0]!.active = true;
      radios.setting = false;
      widget.sensitive = row.sensitive ?? true;
    },
  };
}

/**
 * Up and Down move between the choices, since Tab stops only at the one that is set. They choose nothing: a choice
 * takes effect immediately.
 */
function moveAmong(check: Gtk.CheckButton, members: Gtk.CheckButton[]): Gtk.EventController {
  const keys = new Gtk.EventControllerKey();
  keys.connect('key-pressed', (_keys, key) => {
    if (key !== Gdk.KEY_Up && key !== Gdk.KEY_Down) return false;
    const usable = members.filter(member => member.get_mapped() && member.is_sensitive());
    return usable[usable.indexOf(check) + (key === Gdk.KEY_Down ? 1 : -1)]?.grab_focus() ?? false;
  });
  return keys;
}

/** Back to what is confirmed. */
function restore(pressed: Gtk.CheckButton, members: Gtk.CheckButton[]): void {
  const confirmed = members.find(radio => (radio as Gtk.CheckButton & { confirmed?: boolean }).confirmed);
  if (confirmed !== pressed) (confirmed ?? members[0]!).active = true;
}
