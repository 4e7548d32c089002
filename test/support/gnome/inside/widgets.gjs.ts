// Finds the widgets on the screen by name, and says how they can be used.
import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { gc } from 'system';
import { descriptionOf, nameOf } from '../../../../gnome/panel/widgets/accessible.ts';

/** AdwDialog, since libadwaita 1.5. */
const { Dialog } = Adw as { Dialog?: new () => Gtk.Widget & { close(): void } };
const PRESSABLE = ['GtkModelButton', 'GtkExpander', 'GtkMenuButton'];

/** True if rows of a list view were visited since the last collection. */
let rowsSeen = false;

/** Mapped widgets of all windows, parents first. */
export function* widgets(): Generator<Gtk.Widget> {
  function* down(widget: Gtk.Widget): Generator<Gtk.Widget> {
    if (!widget.get_mapped()) return;
    yield widget;
    if (widget instanceof Gtk.ListView) rowsSeen = true;
    for (let child = widget.get_first_child(); child; child = child.get_next_sibling()) yield* down(child);
  }
  // the newest window first: a dialog covers what is below it
  for (const window of Gtk.Window.list_toplevels() as Gtk.Window[]) yield* down(window);
}

export function namesOf(widget: Gtk.Widget): string[] {
  const names: (string | null | undefined)[] = [nameOf(widget), widget.tooltip_text];
  if (widget instanceof Gtk.Label) names.push(widget.get_text());
  if (widget instanceof Gtk.Window || widget instanceof Adw.PreferencesRow) names.push(widget.title);
  if (widget instanceof Gtk.Button) names.push(widget.label);
  if (widget instanceof Gtk.Editable) names.push((widget as Gtk.Editable).text);
  return names.filter((name): name is string => Boolean(name));
}

function takesPress(widget: Gtk.Widget): boolean {
  // a row is not activatable while its switch is insensitive
  if (widget instanceof Gtk.ListBoxRow) return widget.activatable || toggleIn(widget) !== undefined;
  return (
    [Gtk.Button, Gtk.Switch, Gtk.CheckButton].some(type => widget instanceof type) ||
    PRESSABLE.includes((widget.constructor as unknown as { $gtype: { name: string } }).$gtype.name)
  );
}

export function toggleIn(widget: Gtk.Widget): Gtk.Widget | undefined {
  return [...inside(widget)].find(child => child instanceof Gtk.Switch || child instanceof Gtk.CheckButton);
}

/** The switch of that name in a row that has another name for assistive technology, because it opens a page. */
export function toggleNamed(row: Gtk.Widget, name: string): Gtk.Widget | undefined {
  const toggle = (nameOf(row) ?? name) === name ? undefined : toggleIn(row);
  return toggle && nameOf(toggle) === name ? toggle : undefined;
}

/** The control that a name belongs to: the named widget, or the widget that it labels. */
export function control(name: string): Gtk.Widget | undefined {
  for (const widget of widgets()) {
    if (!namesOf(widget).includes(name)) continue;
    for (
      let parent: Gtk.Widget | null = widget;
      parent && !(parent instanceof Gtk.Window);
      parent = parent.get_parent()
    )
      if (takesPress(parent)) return toggleNamed(parent, name) ?? parent;
  }
  return undefined;
}

/** The widget that takes the keyboard's focus in the control of that name. */
export function focusable(name: string): Gtk.Widget | undefined {
  for (const widget of widgets())
    if (widget instanceof Gtk.Editable && namesOf(widget).includes(name))
      return [...inside(widget)].find(child => child instanceof Gtk.Text);
  const widget = control(name);
  return widget ? (toggleIn(widget) ?? widget) : undefined;
}

/** True if pressing the control has an effect now. */
export function isPressable(widget: Gtk.Widget): boolean {
  return widget.is_sensitive() && (!(widget instanceof Gtk.ListBoxRow) || widget.activatable);
}

export function press(widget: Gtk.Widget): void {
  if (widget instanceof Gtk.Switch || widget instanceof Gtk.ListBoxRow) widget.activate();
  else if (widget instanceof Gtk.ToggleButton || widget instanceof Gtk.CheckButton) widget.active = !widget.active;
  else if (widget instanceof Gtk.Button) widget.emit('clicked');
  else if (widget instanceof Gtk.MenuButton) widget.popup();
  else if (widget instanceof Gtk.Expander) widget.expanded = !widget.expanded;
  else (widget as Gtk.Widget & { emit(signal: string): void }).emit('clicked');
}

export function describe(widget: Gtk.Widget) {
  const state = widget as Gtk.Widget & { active?: boolean; state?: boolean };
  return {
    name: namesOf(widget)[0] ?? '',
    description: descriptionOf(widget) ?? '',
    sensitive: widget.is_sensitive(),
    checked: Boolean(state.active),
    focused: widget.is_focus(),
  };
}

export function allNames(): string[] {
  return [...widgets()].flatMap(namesOf);
}

export function* inside(widget: Gtk.Widget): Generator<Gtk.Widget> {
  yield widget;
  for (let child = widget.get_first_child(); child; child = child.get_next_sibling()) yield* inside(child);
}

/** Closes what is above the panel's page: a menu, a dialog within the window (libadwaita 1.5), or its own window. */
export function closeTop(): void {
  const [top] = above();
  if (top instanceof Gtk.Popover) top.popdown();
  else top?.close();
}

/** Menus, dialogs and windows above the panel's page, the foremost first. */
export function above(): (Gtk.Popover | { close(): void })[] {
  const within = [...widgets()].filter(
    widget => widget instanceof Gtk.Popover || (Dialog !== undefined && widget instanceof Dialog),
  ) as (Gtk.Popover | InstanceType<NonNullable<typeof Dialog>>)[];
  const page = main();
  const windows = (Gtk.Window.list_toplevels() as Gtk.Window[]).filter(each => each !== page && each.get_mapped());
  return [...within, ...windows];
}

/** The panel's window. */
export function main(): Gtk.Window | undefined {
  return (Gio.Application.get_default() as Gtk.Application).get_windows().find(window => 'goTo' in window);
}

/**
 * The engine would keep a visited row until it collects garbage, and then call no handler of the list's factory
 * (see `within` in accessible.ts): it forgets the rows while their list still has them. GTK 4.8 is not affected.
 */
export function releaseRows(): void {
  if (!rowsSeen) return;
  rowsSeen = false;
  if (Gtk.get_minor_version() >= 12) gc();
}
