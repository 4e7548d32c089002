// Sets names, descriptions, roles and focus that GTK leaves out for assistive technology and the keyboard.
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';

/** Names `widget`. GTK cannot return a name, so this also stores it on the widget, for tests. */
export function setName(widget: Gtk.Widget, name: string): void {
  if (nameOf(widget) === name) return;
  Object.assign(widget, { accessibleName: name });
  // since GTK 4.10, the text inside a button has precedence over the button's name
  widget.reset_relation(Gtk.AccessibleRelation.LABELLED_BY); // glossary: quoted
  widget.update_property([Gtk.AccessibleProperty.LABEL], [name]);
}

/** Stores the name of a widget that libadwaita labels by its row: with a second name, screen readers would read it twice. */
export function noteName(widget: Gtk.Widget, name: string): void {
  Object.assign(widget, { accessibleName: name });
}

/** Describes the value or the effect of `widget`. */
export function setDescription(widget: Gtk.Widget, text: string): void {
  if (descriptionOf(widget) === text) return;
  Object.assign(widget, { accessibleDescription: text });
  // the subtitle describes a libadwaita row; newer releases of GTK prefer that relation, and then read nothing
  widget.reset_relation(Gtk.AccessibleRelation.DESCRIBED_BY);
  widget.update_property([Gtk.AccessibleProperty.DESCRIPTION], [text]);
}

/** Sets a tooltip, which takes the place of the description of `widget` in GTK (seen in 4.8), and keeps the description. */
export function setTooltip(widget: Gtk.Widget, text: string): void {
  if ((widget.tooltip_text ?? '') === text) return;
  widget.tooltip_text = text;
  const description = descriptionOf(widget);
  if (description) widget.update_property([Gtk.AccessibleProperty.DESCRIPTION], [description]);
}

/** Names an accessible object that is not a widget, such as the page of a stack. */
function nameAccessible(accessible: Gtk.Accessible, name: string): void {
  accessible.update_property([Gtk.AccessibleProperty.LABEL], [name]);
}

type Class = { set_accessible_role(role: Gtk.AccessibleRole): void };

/**
 * Fixes widgets that GTK and libadwaita leave without a name in the accessibility tree. A scrolling widget, which takes the
 * focus if nothing inside does, gets the name `title`. Pictures inside widgets become presentational. Before 4.10, GTK names
 * a widget without a role after its class, such as "GtkBuiltinIcon"; later instances of these classes need no fix.
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
    // a scroll bar takes no focus: the keyboard scrolls the content
    else if (old && (role === WIDGET || role === SCROLLBAR)) {
      widget.accessible_role = GROUP;
      (widget.constructor as unknown as Class).set_accessible_role(GROUP);
    }
  }
}

/**
 * Yields a widget and all its descendants, except the rows of list views. The engine would keep such a row until it
 * collects garbage, and GJS 1.82 then calls no handler of the list's factory.
 */
export function* within(widget: Gtk.Widget): Generator<Gtk.Widget> {
  yield widget;
  if (!(widget instanceof Gtk.ListView)) for (const child of childrenOf(widget)) yield* within(child);
}

/** Names a menu button and its menu. */
export function nameMenuButton(button: Gtk.MenuButton, name: string): void {
  setName(button, name);
  const { popover } = button;
  if (!popover) return;
  mendTree(popover, name);
  setName(popover, name);
}

/** True for the label that names a menu item. The label's role allows no name (seen in 4.18), so the item lacks a name. */
function isMenuLabel(widget: Gtk.Widget): widget is Gtk.Label {
  return widget instanceof Gtk.Label && widget.parent?.get_css_name() === 'modelbutton';
}

function* childrenOf(widget: Gtk.Widget): Generator<Gtk.Widget> {
  for (let child = widget.get_first_child(); child; child = child.get_next_sibling()) yield child;
}

/** Returns the name from `setName` or `noteName`. */
export function nameOf(widget: Gtk.Widget): string | undefined {
  return (widget as Gtk.Widget & { accessibleName?: string }).accessibleName;
}

/** Returns the description from `setDescription`. */
export function descriptionOf(widget: Gtk.Widget): string | undefined {
  return (widget as Gtk.Widget & { accessibleDescription?: string }).accessibleDescription;
}

/**
 * Shows a page of a stack and hides all others, which GTK would otherwise lay out and keep in the accessibility tree.
 * @param title name of the page for assistive technology.
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
 * Returns the focus to a control that lost it by becoming insensitive, once the control is usable and no widget has the focus.
 * @returns a function that waits in the same way for another control, such as a new window's first control.
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
  // not during a state change, which GTK is still passing on to the child widgets
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

/** True while the focus is on a list view's row, which code must not touch: see `within`. */
function isOnListRow(window: Gtk.Window): boolean {
  const name = new GObject.Value();
  return parentName.evaluate(window, name) && name.get_string() === 'listview';
}
