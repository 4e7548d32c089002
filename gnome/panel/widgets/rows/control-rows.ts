// Provides rows with one control: a switch, a button, a list of values or a radio button. It shows what the daemon confirmed.
import Adw from 'gi://Adw?version=1';
import Gdk from 'gi://Gdk?version=4.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Host } from '../../../../daemon/view/host.ts';
import { _ } from '../../../i18n.ts';
import { mendTree, setDescription, setName, within } from '../accessible.ts';
import { commandButton } from '../buttons.ts';
import { keepValue } from '../columns.ts';
import { actionRow, describeRow, pageArrow, type RowOf, type RowWidget, showWords, showWordsOf } from './row-widget.ts';

export function switchRow(first: RowOf<'switch'>, host: Host): RowWidget<'switch'> {
  const widget = actionRow();
  const toggle = new Gtk.Switch({ valign: Gtk.Align.CENTER });
  let now = first;
  const confirmed = confirmSwitch(toggle, () => void host.run(now.command));
  widget.add_suffix(toggle);
  if (first.page) {
    widget.add_suffix(pageArrow());
    widget.focusable = true;
    widget.activatable = true;
    widget.connect('activated', () => now.page && host.goTo(now.page));
  } else widget.activatable_widget = toggle;
  return {
    widget,
    show(row) {
      now = row;
      if (row.page || row.name) {
        // the row does not label the switch
        showWords(widget, row);
        setName(toggle, row.name ?? row.title);
        setDescription(toggle, describeRow(row));
      } else showWordsOf(widget, toggle, row);
      if (row.page) {
        setName(widget, `${row.title}: ${_('More')}`);
        setDescription(widget, describeRow(row));
      }
      confirmed.show(row.on, row.sensitive ?? true);
    },
  };
}

export function buttonRow(host: Host): RowWidget<'button'> {
  const widget = actionRow();
  const button = commandButton(command => void host.run(command), [], true);
  const spinner = new Gtk.Spinner({ spinning: true, visible: false });
  setName(spinner, _('In progress'));
  for (const suffix of [spinner, button.widget]) widget.add_suffix(suffix);
  let now: RowOf<'button'> | null = null;
  widget.connect('activated', () => now && void host.run(now.command));
  return {
    widget,
    show(row) {
      now = row;
      const about = describeRow(row);
      const { title, label, name = `${title}: ${label}`, sensitive = true } = row;
      showWords(widget, row);
      setDescription(widget, about);
      button.show(label === undefined ? null : { ...row, label, name, about });
      widget.activatable = widget.focusable = label === undefined && sensitive;
      spinner.visible = row.busy ?? false;
    },
  };
}

export function selectRow(first: RowOf<'select'>, host: Host): RowWidget<'select'> {
  const widget = new Adw.ComboRow();
  widget.use_markup = false;
  const lists = [...within(widget)].filter(child => child instanceof Gtk.ListView);
  for (const list of lists) setName(list, first.title);
  mendTree(widget, first.title);
  let now = first;
  const labelOf = (value: string) => now.options.find(option => option.value === value)?.label ?? value;
  const values = () => now.options.map(({ value }) => value);
  const choice = new Choice(widget, values(), labelOf, value => void host.run(now.command(value)));
  return {
    widget,
    show(row) {
      now = row;
      showWords(widget, row);
      choice.offer(values(), labelOf);
      choice.show(row.value, row.sensitive ?? true);
      if (lists[0]) keepValue(lists[0], labelOf(row.value));
      setDescription(widget, describeRow(row, labelOf(row.value)));
    },
  };
}

interface ConfirmedSwitch {
  show(on: boolean, sensitive: boolean): void;
}

/**
 * Makes a switch show only the confirmed state: flipping it sends a request, and the daemon's event moves it.
 * @param asked called with the requested position.
 */
function confirmSwitch(widget: Gtk.Switch, asked: (on: boolean) => void): ConfirmedSwitch {
  let confirmed = false;
  let setting = false;
  const set = (on: boolean) => {
    setting = true;
    widget.active = on;
    widget.state = on;
    setting = false;
  };
  // A click moves a GtkSwitch before the request. The switch returns to the confirmed state immediately, and the event moves
  // it later. Not within the signal: GtkSwitch would then still report the clicked position to screen readers.
  widget.connect('state-set', () => {
    if (setting) return false;
    void Promise.resolve().then(() => {
      set(confirmed);
      if (widget.sensitive) asked(!confirmed);
    });
    return true;
  });
  return {
    show(on, sensitive) {
      confirmed = on;
      set(on);
      widget.sensitive = sensitive;
    },
  };
}

/** Makes a combo row show only the confirmed value: a choice sends a request, and the daemon's event moves the row. */
class Choice {
  readonly #row: Adw.ComboRow;
  #values: string[] = [];
  #known = 0;
  #offered = '';
  readonly #labels = Gtk.StringList.new([]);
  #confirmed: string | null = null;
  #setting = false;

  /**
   * @param values available choices.
   * @param label returns the label of a value.
   * @param choose called with the value that the user picked.
   */
  constructor(row: Adw.ComboRow, values: string[], label: (value: string) => string, choose: (value: string) => void) {
    this.#row = row;
    row.model = this.#labels;
    this.offer(values, label);
    row.connect('notify::selected', () => {
      const value = this.#values[row.selected];
      if (this.#setting || value === undefined || value === this.#confirmed) return;
      this.#select();
      choose(value);
    });
  }

  /** Replaces the available choices if they have changed. */
  offer(values: string[], label: (value: string) => string): void {
    const labels = values.map(label);
    const offered = JSON.stringify([values, labels]);
    if (offered === this.#offered) return;
    this.#offered = offered;
    this.#setting = true;
    this.#labels.splice(0, this.#labels.get_n_items(), labels);
    this.#row.selected = Gtk.INVALID_LIST_POSITION;
    this.#setting = false;
    this.#values = [...values];
    this.#known = values.length;
  }

  /** @param value null while the value is unknown; a value outside the choices is added to them. */
  show(value: string | null, sensitive: boolean): void {
    this.#confirmed = value;
    this.#row.sensitive = sensitive;
    if (value !== null && !this.#values.includes(value)) {
      this.#setting = true;
      this.#labels.splice(this.#known, this.#values.length - this.#known, [value]);
      this.#values.splice(this.#known, Infinity, value);
      this.#setting = false;
    }
    this.#select();
  }

  #select(): void {
    const index = this.#confirmed === null ? -1 : this.#values.indexOf(this.#confirmed);
    this.#setting = true;
    this.#row.selected = index < 0 ? Gtk.INVALID_LIST_POSITION : index;
    this.#setting = false;
  }
}

/** The radio buttons of one group. */
export interface Radios {
  members: Gtk.CheckButton[];
  /** True while the code, not the user, changes the buttons. */
  setting: boolean;
}

export function radioRow(first: RowOf<'radio'>, host: Host, radios: Radios): RowWidget<'radio'> {
  const widget = actionRow();
  // GTK 4.8 mistakes a check button of a group for a check box
  const check = new Gtk.CheckButton({ valign: Gtk.Align.CENTER, accessible_role: Gtk.AccessibleRole.RADIO });
  // a group needs an active member, even while no choice is confirmed
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
 * Makes Up and Down move the focus between the choices, since Tab stops only at the active choice. The keys select nothing,
 * because a choice takes effect immediately.
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

/** Restores the confirmed choice. */
function restore(pressed: Gtk.CheckButton, members: Gtk.CheckButton[]): void {
  const confirmed = members.find(radio => (radio as Gtk.CheckButton & { confirmed?: boolean }).confirmed);
  if (confirmed !== pressed) (confirmed ?? members[0]!).active = true;
}
