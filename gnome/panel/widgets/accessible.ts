// Sets names, descriptions, roles and focus where GTK leaves assistive technology and the keyboard without them.
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';

/** Names `widget`. GTK does not give a name back, so it is kept on the widget as well, for tests. */
export function setName(widget: Gtk.Widget, name: string): void {
  if (nameOf(widget) === name) return;
  Object.assign(widget, { accessibleName: name });
  // a button is labeled by the text in it, which comes before a name since GTK 4.10
  widget.reset_relation(Gtk.AccessibleRelation.LABELLED_BY); // glossary: quoted
  widget.update_property([Gtk.AccessibleProperty.LABEL], [name]);
}

/** Notes the name of a widget that libadwaita labels by its row: a name of our own would be read twice. */
export function noteName(widget: Gtk.Widget, name: string): void {
  Object.assign(widget, { accessibleName: name });
}

/** Describes `widget`: its value, or what it does. */
export function setDescription(widget: Gtk.Widget, text: string): void {
  if (descriptionOf(widget) === text) return;
  Object.assign(widget, { accessibleDescription: text });
  // libadwaita's rows are described by their subtitle, which newer releases of GTK prefer, and then read nothing
  widget.reset_relation(Gtk.AccessibleRelation.DESCRIBED_BY);
  widget.update_property([Gtk.AccessibleProperty.DESCRIPTION], [text]);
}

/** Names what is not a widget, such as the page of a stack. */
function nameAccessible(accessible: Gtk.Accessible, name: string): void {
  accessible.update_property([Gtk.AccessibleProperty.LABEL], [name]);
}

type Class = { set_accessible_role(role: Gtk.AccessibleRole): void };

/**
 * Fixes widgets that GTK and libadwaita leave in the tree of assistive technology without a name: what scrolls takes the
 * focus where nothing in it does, and is called `title`; pictures inside of their widgets say nothing; and before 4.10,
 * GTK calls a widget without a role by its class, such as "GtkBuiltinIcon". Later instances of these classes need no fix.
 */
export function mendTree(root: Gtk.Widget, title: string): void {
  const { WIDGET, SCROLLBAR, GROUP, IMG, PRESENTATION, LABEL } = Gtk.AccessibleRole;
  const old = Gtk.get_minor_version() < 10;
  for (const widget of within(root)) {
    const role = widget.accessible_role;
    if (widget instanceof Gtk.ScrolledWindow && !nameOf(widget)) setName(widget, title);
    else if (widget instanceof Gtk.Stack)
      for (const child of childrenOf(widget)) nameAccessible(widget.get_page(child), title);
    else if (role === IMG && !nameOf(widget)) widget.accessible_role = PRESENTATION;
    else if (role === PRESENTATION && isMenuLabel(widget)) {
      widget.accessible_role = LABEL;
      nameAccessible(widget, widget.get_text());
    }
    // a scroll bar takes no focus: its content follows the keyboard
    else if (old && (role === WIDGET || role === SCROLLBAR)) {
      widget.accessible_role = GROUP;
      (widget.constructor as unknown as Class).set_accessible_role(GROUP);
    }
  }
}

/**
 * A widget and all below it, except the rows of list views. The engine would keep such a row until it collects garbage,
 * and GJS 1.82 calls no handler of the list's factory then.
 */
export function* within(widget: Gtk.Widget): Generator<Gtk.Widget> {
  yield widget;
  if (!(widget instanceof Gtk.ListView)) for (const child of childrenOf(widget)) yield* within(child);
}

/** Names the button of a menu, and its menu. */
export function nameMenuButton(button: Gtk.MenuButton, name: string): void {
  setName(button, name);
  const { popover } = button;
  if (!popover) return;
  mendTree(popover, name);
  setName(popover, name);
}

/** True for the content of a menu item, which names the item. Its role allows no name, as seen in 4.18, so that the item stays without one. */
function isMenuLabel(widget: Gtk.Widget): widget is Gtk.Label {
  return widget instanceof Gtk.Label && widget.parent?.get_css_name() === 'modelbutton';
}

function* childrenOf(widget: Gtk.Widget): Generator<Gtk.Widget> {
  for (let child = widget.get_first_child(); child; child = child.get_next_sibling()) yield child;
}

/** The name that `setName` gave. */
export function nameOf(widget: Gtk.Widget): string | undefined {
  return (widget as Gtk.Widget & { accessibleName?: string }).accessibleName;
}

/** The description that `setDescription` gave. */
export function descriptionOf(widget: Gtk.Widget): string | undefined {
  return (widget as Gtk.Widget & { accessibleDescription?: string }).accessibleDescription;
}

/**
 * A page that is not shown is hidden, or GTK keeps it in the tree of a screen reader, and lays it out.
 * @param title what assistive technology calls the page.
 */
export function turnTo(stack: Gtk.Stack, name: string, title: string): void {
  const wanted = stack.get_child_by_name(name);
  if (!wanted) throw new Error(`no page ${name}`);
  nameAccessible(stack.get_page(wanted), title);
  wanted.visible = true;
  stack.visible_child = wanted;
  for (let child = stack.get_first_child(); child; child = child.get_next_sibling())
    if (child !== wanted) child.visible = false;
}

/**
 * Gives the focus back to a control that lost it by becoming insensitive, once the control can take it and no other has it.
 * @returns a function that waits in the same way for another control, such as the first of a window that has no state yet.
 */
export function keepFocus(window: Gtk.Window): (widget: Gtk.Widget) => void {
  let focused: Gtk.Widget | null = null;
  let awaited: { widget: Gtk.Widget; handlers: number[] } | null = null;
  const forget = () => {
    for (const id of awaited?.handlers ?? []) awaited!.widget.disconnect(id);
    awaited = null;
  };
  const settle = () => {
    if (!awaited?.widget.get_mapped() || !awaited.widget.is_sensitive()) return;
    const { widget } = awaited;
    forget();
    if (!window.get_focus()) widget.grab_focus();
  };
  // not within the change of a state, which GTK still passes on to the widgets below
  const later = () => void Promise.resolve().then(settle);
  const wait = (widget: Gtk.Widget) => {
    forget();
    awaited = { widget, handlers: [widget.connect('state-flags-changed', later), widget.connect('map', later)] };
  };
  window.connect('notify::focus-widget', () => {
    const before = focused;
    const onRow = isOnListRow(window);
    focused = onRow ? null : window.get_focus();
    if (focused || onRow) forget();
    else if (before && !before.is_sensitive()) wait(before);
  });
  return wait;
}

const parent = Gtk.PropertyExpression.new(
  Gtk.Widget.$gtype,
  Gtk.PropertyExpression.new(Gtk.Window.$gtype, null, 'focus-widget'),
  'parent',
);
const parentName = Gtk.PropertyExpression.new(Gtk.Widget.$gtype, parent, 'css-name');

/** True while the focus is on the row of a list view, which must not be touched: see `within`. */
function isOnListRow(window: Gtk.Window): boolean {
  const name = new GObject.Value();
  return parentName.evaluate(window, name) && name.get_string() === 'listview';
}
