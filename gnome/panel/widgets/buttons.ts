// Creates buttons for commands, menus of commands, buttons that copy text, and boxes with terminal commands.
import Gdk from 'gi://Gdk?version=4.0';
import Gio from 'gi://Gio?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { Command, MenuButton } from '../../../daemon/view/form.ts';
import { fill } from '../../../daemon/view/translator.ts';
import { _ } from '../../i18n.ts';
import { nameMenuButton, setDescription, setName, setTooltip, within } from './accessible.ts';

type Run = (command: Command) => void;

/** Creates a check button with a label that wraps. */
export function checkButton(label: string): Gtk.CheckButton {
  const button = new Gtk.CheckButton({ label });
  for (const child of within(button)) if (child instanceof Gtk.Label) child.wrap = true;
  return button;
}

export function labelButton(button: Gtk.Button, label: string): void {
  // if the same label were set again, GTK would replace the button's name with the label
  if (button.label === label) return;
  button.label = label;
  if (button.child instanceof Gtk.Label) wrapLabel(button.child);
  setName(button, label);
}

function wrapLabel(label: Gtk.Label): void {
  label.wrap = true;
  // otherwise GTK uses two lines even if one line is enough
  label.natural_wrap_mode = Gtk.NaturalWrapMode.NONE;
  label.justify = Gtk.Justification.CENTER;
}

/** A command with what its button shows. */
interface ShownButton extends MenuButton {
  /** Icon in place of the label, which is then the tooltip. */
  icon?: string;
  /** True while the command is under way. A spinner replaces the icon. */
  busy?: boolean;
  /** Description for assistive technology. */
  about?: string;
}

export interface CommandButton {
  widget: Gtk.Button;
  /** Shows a command, or hides the button. */
  show(button: ShownButton | null): void;
}

/**
 * Creates a button for a command.
 * @param classes CSS classes besides the style of the command
 * @param wraps true if the label may wrap
 */
export function commandButton(run: Run, classes: string[] = [], wraps = false): CommandButton {
  const widget = new Gtk.Button({ visible: false, valign: Gtk.Align.CENTER });
  let now: MenuButton | null = null;
  let shown = '';
  let styled = '';
  widget.connect('clicked', () => now && run(now.command));
  return {
    widget,
    show(button) {
      now = button;
      widget.visible = button !== null;
      if (!button) return;
      const { label, icon, name = label, style, busy = false, sensitive = true, about = '' } = button;
      widget.sensitive = sensitive && !busy;
      setDescription(widget, about);
      // if the same label were set again, GTK would replace the button's name with the label
      const look = JSON.stringify([label, icon, name, style, busy]);
      if (look === shown) return;
      shown = look;
      if (icon && busy) widget.child = new Gtk.Spinner({ spinning: true });
      else if (icon && widget.icon_name !== icon) widget.icon_name = icon;
      else if (!icon && widget.label !== label) widget.label = label;
      if (wraps && widget.child instanceof Gtk.Label) wrapLabel(widget.child);
      setTooltip(widget, icon ? label : '');
      // GTK adds a class when the kind of child changes
      const kind = JSON.stringify([icon !== undefined, style, busy]);
      if (kind !== styled) widget.css_classes = [...classes, ...(style ? [`${style}-action`] : [])];
      styled = kind;
      setName(widget, icon && busy ? `${name}: ${_('In progress')}` : name);
    },
  };
}

export interface MenuOfCommands {
  widget: Gtk.MenuButton;
  /**
   * Shows the entries; without an entry, the button is hidden.
   * @param name name of the button for assistive technology
   * @param label label of the button in place of its icon
   */
  show(entries: readonly MenuButton[] | undefined, name: string, label?: string): void;
}

/** Creates a menu button for commands. */
export function createMenu(run: Run): MenuOfCommands {
  const actions = new Gio.SimpleActionGroup();
  const model = new Gio.Menu();
  const widget = new Gtk.MenuButton({ menu_model: model, valign: Gtk.Align.CENTER, visible: false });
  widget.insert_action_group('menu', actions);
  let now: readonly MenuButton[] = [];
  let shown = '';
  const actionAt = (at: number): Gio.SimpleAction => {
    const known = actions.lookup_action(`entry-${at}`) as Gio.SimpleAction | null;
    if (known) return known;
    const action = new Gio.SimpleAction({ name: `entry-${at}` });
    action.connect('activate', () => now[at] && run(now[at].command));
    actions.add_action(action);
    return action;
  };
  return {
    widget,
    show(entries = [], name, label) {
      now = entries;
      widget.visible = entries.length > 0;
      for (const [at, { sensitive = true }] of entries.entries()) actionAt(at).enabled = sensitive;
      const content = JSON.stringify([name, label, entries.map(entry => entry.label)]);
      if (content === shown) return;
      shown = content;
      model.remove_all();
      // an underscore would mark a mnemonic
      for (const [at, entry] of entries.entries()) model.append(entry.label.replaceAll('_', '__'), `menu.entry-${at}`);
      if (label) widget.label = label;
      else widget.icon_name = 'view-more-symbolic';
      widget.css_classes = label ? [] : ['flat'];
      setTooltip(widget, label ? '' : _('More'));
      nameMenuButton(widget, name);
    },
  };
}

/** Returns attributes that prevent hyphenation, for text with names and addresses. */
export function withoutHyphens(): Pango.AttrList {
  return Pango.AttrList.from_string('0 -1 insert-hyphens false')!;
}

/** @param widget any widget on the clipboard's display. */
export function copyText(widget: Gtk.Widget, text: string): void {
  const value = new GObject.Value();
  value.init(GObject.TYPE_STRING);
  value.set_string(text);
  widget.get_clipboard().set_content(Gdk.ContentProvider.new_for_value(value));
}

/**
 * Creates a button that copies text.
 * @param name name of the button, for screen readers.
 * @param text returns the text to copy.
 * @param copied called after a copy.
 */
export function copyButton(name: string, text: () => string, copied: () => void): Gtk.Button {
  const button = new Gtk.Button({
    icon_name: 'edit-copy-symbolic',
    tooltip_text: _('Copy'),
    valign: Gtk.Align.CENTER,
    css_classes: ['flat'],
  });
  setName(button, name);
  button.connect('clicked', () => {
    copyText(button, text());
    copied();
  });
  return button;
}

/**
 * Shows a terminal command with a button that copies the command.
 * @param purpose text above the command.
 * @param copied called after a copy.
 */
export function commandBox(purpose: string, command: string, copied: () => void): Gtk.Widget {
  const label = new Gtk.Label({
    label: command,
    selectable: true,
    wrap: true,
    xalign: 0,
    hexpand: true,
    css_classes: ['monospace'],
  });
  const line = new Gtk.Box({ spacing: 6, css_classes: ['card', 'culvert-command'] });
  line.append(label);
  line.append(copyButton(fill(_('Copy “%s”'), command), () => command, copied));
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6 });
  box.append(new Gtk.Label({ label: purpose, xalign: 0, wrap: true, css_classes: ['dim-label'] }));
  box.append(line);
  return box;
}
