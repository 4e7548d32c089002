// Provides rows of a form as libadwaita has them. A row shows what is confirmed; using it asks, and it moves with the event.
import Adw from 'gi://Adw?version=1';
import Gdk from 'gi://Gdk?version=4.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { Command, PageName, Row, RowKind, Tone } from '../../../../daemon/view/forms/form.ts';
import { _ } from '../../../i18n.ts';
import { mendTree, noteName, setDescription, setName, within } from '../a11y/accessible.ts';
import { copyButton } from '../copy.ts';
import { preformatted } from '../dialogs/preformatted.ts';
import { commandBox } from './command-box.ts';
import { Choice } from './confirmed-combo-row.ts';
import { confirmSwitch } from './confirmed-switch.ts';

export interface RowHost {
  run(command: Command): Promise<boolean>;
  goTo(page: PageName): void;
  toast(text: string): void;
}
type Of<K extends RowKind> = Extract<Row, { kind: K }>;
interface Shown<K extends RowKind> {
  widget: Gtk.Widget;
  show(row: Of<K>): void;
}
/** The choices of one group. */
export interface Radios {
  members: Gtk.CheckButton[];
  /** The code, and not the user, moves the marks now. */
  setting: boolean;
}
export type ShownRow = { widget: Gtk.Widget; show(row: Row): void };

const TONES: Tone[] = ['success', 'accent', 'warning', 'error'];

/** A widget for `row`; `show` renews it for a row of the same kind and id. */
export function createRow(row: Row, host: RowHost, radios: Radios): ShownRow {
  const shown = make(row, host, radios) as ShownRow;
  shown.show(row);
  return shown;
}

function make(row: Row, host: RowHost, radios: Radios): unknown {
  switch (row.kind) {
    case 'fact':
      return factRow(row, host);
    case 'switch':
      return switchRow(row, host);
    case 'radio':
      return radioRow(row, host, radios);
    case 'button':
      return buttonRow(row, host);
    case 'link':
      return linkRow(row, host);
    case 'item':
      return itemRow(row, host);
    case 'entry':
      return entryRow(row, host);
    case 'select':
      return selectRow(row, host);
    case 'shell':
      return shellRow(host);
    case 'text':
      return textRow();
    case 'note':
      return noteRow();
  }
}

function actionRow(): Adw.ActionRow {
  const row = new Adw.ActionRow({ title_lines: 0, subtitle_lines: 0, focusable: false });
  row.use_markup = false;
  return row;
}

function showWords(widget: Adw.ActionRow, { title, subtitle, tone }: Row): void {
  widget.title = title;
  widget.subtitle = subtitle ?? '';
  for (const each of TONES) {
    if (each === tone) widget.add_css_class(`culvert-${each}`);
    else widget.remove_css_class(`culvert-${each}`);
  }
}

/** The same for a row with a control, which assistive technology reads by itself. */
function showWordsOf(widget: Adw.ActionRow, control: Gtk.Widget, row: Row): void {
  showWords(widget, row);
  noteName(control, row.title);
  setDescription(control, row.subtitle ?? '');
}

/** Right-aligned text that wraps rather than being cut. */
function valueLabel(): Gtk.Label {
  return new Gtk.Label({
    wrap: true,
    wrap_mode: Pango.WrapMode.WORD_CHAR,
    natural_wrap_mode: Gtk.NaturalWrapMode.NONE,
    xalign: 1,
    justify: Gtk.Justification.RIGHT,
    css_classes: ['dim-label', 'numeric'],
  });
}

function factRow(first: Of<'fact'>, host: RowHost): Shown<'fact'> {
  const widget = actionRow();
  const value = valueLabel();
  widget.add_suffix(value);
  let text = first.value;
  if (first.copy)
    widget.add_suffix(
      copyButton(
        `${_('Copy')} ${first.title}`,
        () => text,
        () => host.toast(_('Copied')),
      ),
    );
  return {
    widget,
    show(row) {
      showWords(widget, row);
      text = row.value;
      value.label = row.value;
      setDescription(widget, [row.value, row.subtitle].filter(Boolean).join('. '));
    },
  };
}

function switchRow(first: Of<'switch'>, host: RowHost): Shown<'switch'> {
  const widget = actionRow();
  const toggle = new Gtk.Switch({ valign: Gtk.Align.CENTER });
  let now = first;
  const confirmed = confirmSwitch(toggle, () => void host.run(now.command));
  widget.add_suffix(toggle);
  widget.activatable_widget = toggle;
  return {
    widget,
    show(row) {
      now = row;
      showWordsOf(widget, toggle, row);
      confirmed.show(row.on, row.sensitive ?? true);
    },
  };
}

function radioRow(first: Of<'radio'>, host: RowHost, radios: Radios): Shown<'radio'> {
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
 * Up and Down move between the choices, since Tab stops only at the one that is set. They choose nothing: what is chosen
 * takes effect at once.
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

function buttonRow(first: Of<'button'>, host: RowHost): Shown<'button'> {
  const widget = actionRow();
  const button = new Gtk.Button({ valign: Gtk.Align.CENTER });
  const spinner = new Gtk.Spinner({ spinning: true, visible: false });
  let now = first;
  button.connect('clicked', () => void host.run(now.command));
  widget.add_suffix(spinner);
  widget.add_suffix(button);
  return {
    widget,
    show(row) {
      now = row;
      showWords(widget, row);
      setDescription(widget, row.subtitle ?? '');
      // else GTK names the button by it again, in place of the name below
      if (button.label !== row.label) button.label = row.label;
      button.css_classes = row.style ? [`${row.style}-action`] : [];
      setName(button, `${row.title}: ${row.label}`);
      setDescription(button, row.subtitle ?? '');
      button.sensitive = (row.sensitive ?? true) && !row.busy;
      spinner.visible = row.busy ?? false;
      setName(spinner, _('In progress'));
    },
  };
}

/** Minimum width of a row's value next to a long subtitle, in pixels. */
const VALUE_WIDTH = 150;

function linkRow(first: Of<'link'>, host: RowHost): Shown<'link'> {
  const widget = actionRow();
  widget.focusable = true;
  widget.activatable = true;
  // the subtitle would take all width from a value that can be cut, so it keeps room for most of it
  const value = new Gtk.Label({ ellipsize: Pango.EllipsizeMode.END, css_classes: ['dim-label'] });
  const arrow = new Gtk.Image({
    icon_name: 'go-next-symbolic',
    accessible_role: Gtk.AccessibleRole.PRESENTATION,
  });
  widget.add_suffix(value);
  widget.add_suffix(arrow);
  widget.connect('activated', () => host.goTo(first.page));
  return {
    widget,
    show(row) {
      showWords(widget, row);
      value.label = row.value ?? '';
      // in pixels: characters of some scripts are twice as wide as others
      const [natural] = value.create_pango_layout(value.label).get_pixel_size() as [number, number];
      value.width_request = Math.min(natural, VALUE_WIDTH);
      value.visible = Boolean(row.value);
      setName(widget, row.title);
      setDescription(widget, [row.value, row.subtitle].filter(Boolean).join('. '));
    },
  };
}

function itemRow(first: Of<'item'>, host: RowHost): Shown<'item'> {
  const widget = actionRow();
  const badge = new Gtk.Label({ css_classes: ['caption', 'dim-label'], valign: Gtk.Align.CENTER });
  const button = new Gtk.Button({
    icon_name: 'list-remove-symbolic',
    valign: Gtk.Align.CENTER,
    css_classes: ['flat'],
  });
  let now = first;
  button.connect('clicked', () => now.remove && void host.run(now.remove));
  widget.add_suffix(badge);
  widget.add_suffix(button);
  return {
    widget,
    show(row) {
      now = row;
      showWords(widget, row);
      setDescription(widget, [row.badge, row.subtitle].filter(Boolean).join('. '));
      badge.label = row.badge ?? '';
      badge.visible = Boolean(row.badge);
      button.tooltip_text = row.removeLabel;
      setName(button, row.removeLabel);
      button.sensitive = (row.sensitive ?? true) && row.remove !== null;
    },
  };
}

function entryRow(first: Of<'entry'>, host: RowHost): Shown<'entry'> {
  const title = new Gtk.Label({ xalign: 0, css_classes: ['caption', 'dim-label'] });
  const entry = first.secret ? new Gtk.PasswordEntry({ show_peek_icon: true }) : new Gtk.Entry();
  entry.hexpand = true;
  // it gives way to its button in large letters, where GTK keeps 150 pixels
  entry.width_chars = 6;
  const button = new Gtk.Button({ sensitive: false });
  const wrong = new Gtk.Label({ xalign: 0, wrap: true, visible: false, css_classes: ['caption', 'error'] });
  const line = new Gtk.Box({ spacing: 6 });
  line.append(entry);
  line.append(button);
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6, css_classes: ['culvert-entry'] });
  for (const child of [title, line, wrong]) box.append(child);
  const widget = new Adw.PreferencesRow({ child: box, activatable: false, focusable: false });
  widget.use_markup = false;
  let now = first;
  const text = () => entry.text.trim();
  const check = () => {
    const problem = now.check(text());
    wrong.label = problem ?? '';
    wrong.visible = problem !== null;
    setDescription(entry, problem ?? '');
    button.sensitive = (now.sensitive ?? true) && text() !== '' && problem === null;
  };
  const submit = async () => {
    const given = text();
    if (!button.sensitive || !(await host.run(now.command(given)))) return;
    // what was typed meanwhile stays
    if (text() === given) entry.text = '';
  };
  entry.connect('changed', check);
  entry.connect('activate', () => void submit());
  button.connect('clicked', () => void submit());
  return {
    widget,
    show(row) {
      now = row;
      title.label = row.title;
      widget.title = row.title;
      setName(widget, row.title);
      // else GTK names the button by it again, in place of the name below
      if (button.label !== row.label) button.label = row.label;
      if (entry instanceof Gtk.Entry) entry.placeholder_text = row.placeholder ?? '';
      setName(entry, row.title);
      setName(button, `${row.title}: ${row.label}`);
      entry.sensitive = row.sensitive ?? true;
      check();
    },
  };
}

function selectRow(first: Of<'select'>, host: RowHost): Shown<'select'> {
  const widget = new Adw.ComboRow();
  widget.use_markup = false;
  for (const list of within(widget)) if (list instanceof Gtk.ListView) setName(list, first.title);
  mendTree(widget, first.title);
  let now = first;
  const labelOf = (value: string) => now.options.find(option => option.value === value)?.label ?? value;
  const choice = new Choice(
    widget,
    first.options.map(({ value }) => value),
    labelOf,
    value => void host.run(now.command(value)),
  );
  return {
    widget,
    show(row) {
      now = row;
      showWords(widget, row);
      choice.show(row.value, row.sensitive ?? true);
      setDescription(widget, labelOf(row.value));
    },
  };
}

function shellRow(host: RowHost): Shown<'shell'> {
  const widget = new Adw.PreferencesRow({ activatable: false, focusable: false });
  let shown = '';
  return {
    widget,
    show({ title, shell }) {
      if (shown === shell) return;
      shown = shell;
      widget.title = title;
      setName(widget, title);
      const box = commandBox(title, shell, () => host.toast(_('Copied')));
      box.add_css_class('culvert-entry');
      widget.child = box;
    },
  };
}

function textRow(): Shown<'text'> {
  const title = new Gtk.Label({ xalign: 0, wrap: true, css_classes: ['caption', 'dim-label'] });
  const text = preformatted();
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6, css_classes: ['culvert-entry'] });
  box.append(title);
  box.append(text);
  const widget = new Adw.PreferencesRow({ child: box, activatable: false, focusable: false });
  widget.use_markup = false;
  return {
    widget,
    show(row) {
      widget.title = row.title;
      setName(widget, row.title);
      title.label = row.title;
      text.label = row.text;
    },
  };
}

function noteRow(): Shown<'note'> {
  const widget = actionRow();
  return {
    widget,
    show(row) {
      showWords(widget, row);
      setDescription(widget, row.subtitle ?? '');
    },
  };
}
