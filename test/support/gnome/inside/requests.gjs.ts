// Answers the requests of tests about the window: one function each, which returns undefined while the answer must wait.
import Adw from 'gi://Adw?version=1';
import Gdk from 'gi://Gdk?version=4.0';
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import { gc } from 'system';
import { descriptionOf } from '../../../../gnome/panel/widgets/accessible.ts';
import { showForm, takeRan } from './forms.gjs.ts';
import { directionOf, tabStops } from './tab-stops.gjs.ts';
import {
  above,
  allNames,
  closeTop,
  control,
  describe,
  focusable,
  inside,
  isPressable,
  main,
  namesOf,
  press,
  releaseRows,
  toggleIn,
  toggleNamed,
  widgets,
} from './widgets.gjs.ts';

/** A line of a test: the name of a request, and what it needs. */
export interface Request {
  do: string;
  /** Accessible name, title, label or text of a widget. */
  name?: string;
  text?: string;
  revision?: number;
  width?: number;
  height?: number;
}

interface Drawing {
  draw(canvas: object, width: number, height: number): void;
}

/** `settle` is not here: it needs the frames that driver.gjs.ts counts. */
export const REQUESTS: Record<string, (request: Required<Request>) => unknown> = {
  /** Waits until the name is on the screen, and describes its control. */
  find({ name }) {
    const widget = named(name).next().value;
    return widget && describe(control(name) ?? widget);
  },
  /** Waits until the name is gone. */
  gone: ({ name }) => (allNames().includes(name) ? undefined : true),
  /** Waits for the control of that name, and describes the switch or the check button in it. */
  switch({ name }) {
    const widget = control(name);
    return widget && describe(toggleIn(widget) ?? widget);
  },
  /** Waits until the control can be pressed, and presses it. */
  press({ name }) {
    const widget = control(name);
    if (!widget || !isPressable(widget)) return undefined;
    // first, since pressing may remove rows
    releaseRows();
    press(widget);
    return true;
  },
  /** Waits for the field of that name, and replaces its text. */
  enter({ name, text }) {
    for (const widget of named(name)) {
      if (widget instanceof Gtk.TextView) {
        widget.buffer.text = text;
        return true;
      }
      const entry = [...inside(widget)].find(child => child instanceof Gtk.Text) as Gtk.Text | undefined;
      if (!entry) continue;
      entry.text = text;
      return true;
    }
    return undefined;
  },
  /** Waits until a control can have the keyboard, and gives it the focus. */
  focus({ name }) {
    const widget = focusable(name);
    return widget?.is_sensitive() && widget.grab_focus() ? true : undefined;
  },
  /** Waits for a control, and describes the widget in it that takes the focus. */
  focusable({ name }) {
    const widget = focusable(name);
    return widget && describe(widget);
  },
  /** Name of the control that has the focus; empty without one. */
  focused() {
    for (const window of Gtk.Window.list_toplevels() as Gtk.Window[]) {
      const focus = window.is_active && window.get_mapped() ? window.get_focus() : null;
      if (focus) return namesOf(focus)[0] ?? namesOf(focus.get_parent()!)[0] ?? '';
    }
    return '';
  },
  /** Shows a form in a window with that title. */
  form: ({ text, name }) => showForm(text, name),
  /** The commands that its rows ran since the last request. */
  ran: takeRan,
  /** Draws the picture of that name on nothing, and returns the dots that it has. */
  dots({ name }) {
    const widget = named(name).next().value as unknown as Partial<Drawing> | undefined;
    if (!widget?.draw) return undefined;
    const dots: number[][] = [];
    const canvas = new Proxy(
      { arc: (...at: number[]) => dots.push(at.slice(0, 3)) },
      { get: (known, key) => (key === 'arc' ? known.arc : () => {}) },
    );
    widget.draw(canvas, 200, 100);
    return dots;
  },
  /** Classes of the text with this content. */
  classes({ name }) {
    const label = [...widgets()].find(each => each instanceof Gtk.Label && each.get_text() === name);
    return label?.css_classes;
  },
  /** Left, top, width and height in the surface of the window, in pixels; null if the name is not on the screen. */
  place({ name }) {
    const widget = named(name).next().value;
    return widget ? placeOf(toggleNamed(widget, name) ?? widget) : null;
  },
  names: allNames,
  texts: allTexts,
  /** Places of cards and boxed lists. */
  cards: () =>
    [...widgets()].filter(each => ['card', 'boxed-list'].some(name => each.has_css_class(name))).map(placeOf),
  /** Place of the disc of a status. */
  disc: () => placeOf([...widgets()].find(each => each.has_css_class('culvert-disc'))!),
  /** Large buttons, from top to bottom. */
  pills: () =>
    [...widgets()]
      .filter(each => each.has_css_class('pill'))
      .map(each => ({
        name: namesOf(each)[0] ?? '',
        suggested: each.has_css_class('suggested-action'),
        place: placeOf(each),
      })),
  /** Title and subtitle of each row. */
  rows: () =>
    [...widgets()].flatMap(widget =>
      widget instanceof Adw.ActionRow ? [{ title: widget.title, subtitle: widget.subtitle ?? '' }] : [],
    ),
  /** Types of the widgets on the screen. */
  types: () => [...widgets()].map(typeOf),
  stops: tabStops,
  /** The controls of the page that can't be used, each with the texts in sight that say why. */
  inert() {
    const [page] = [...widgets()].filter(widget => widget instanceof Adw.ToastOverlay);
    const labels = [...widgets()].flatMap(widget => (widget instanceof Gtk.Label ? [widget] : []));
    const texts = labels.map(label => label.get_text()).filter(text => text.length > 4);
    return [...inside(page!)]
      .filter(widget => widget.get_mapped() && !widget.is_sensitive() && isControl(widget))
      .map(widget => {
        const [row] = ancestors(widget).filter(each => each instanceof Adw.PreferencesRow);
        const own = descriptionOf(widget) || (row && descriptionOf(row)) || '';
        return {
          name: namesOf(widget)[0] ?? (row && namesOf(row)[0]) ?? typeOf(widget),
          reasons: texts.filter(text => own.includes(text)),
        };
      });
  },
  /** Minor version of GTK. */
  gtk: () => Gtk.get_minor_version(),
  /** Name of the page that is turned to. */
  page: () => (main() as (Gtk.Window & { page: string }) | undefined)?.page ?? '',
  /** Names of the rows that are marked as selected. */
  selected: () =>
    [...widgets()].flatMap(widget =>
      widget instanceof Gtk.ListBoxRow && widget.get_state_flags() & Gtk.StateFlags.SELECTED ? namesOf(widget) : [],
    ),
  /** Turns to a page. */
  turn({ name }) {
    main()?.activate_action('page', GLib.Variant.new_string(name));
    return true;
  },
  resize({ width, height }) {
    main()?.set_default_size(width, height);
    return true;
  },
  /** Returns the size that the window asks for, and that it saves. */
  size() {
    const window = main();
    return window ? [window.default_width, window.default_height] : undefined;
  },
  /** Scales all letters. */
  scale({ text }) {
    Gtk.Settings.get_default()!.gtk_xft_dpi = Math.round(96 * 1024 * Number(text));
    return true;
  },
  /** Closes the foremost menu, dialog, or window. */
  close() {
    closeTop();
    return true;
  },
  /** Closes everything above the page. */
  clear() {
    if (above().length === 0) return true;
    closeTop();
    return undefined;
  },
  /** Collects garbage. */
  collect() {
    gc();
    return true;
  },
};

/** True for a control that a person uses: a part of another control is not one. */
function isControl(widget: Gtk.Widget): boolean {
  const types = [
    Gtk.Button,
    Gtk.Switch,
    Gtk.CheckButton,
    Gtk.Entry,
    Gtk.PasswordEntry,
    Gtk.SearchEntry,
    Gtk.DropDown,
    Adw.ComboRow,
  ];
  const is = (each: Gtk.Widget) => types.some(type => each instanceof type);
  return is(widget) && !ancestors(widget).some(is);
}

function ancestors(widget: Gtk.Widget): Gtk.Widget[] {
  const parent = widget.get_parent();
  return parent ? [parent, ...ancestors(parent)] : [];
}

function* named(name: string): Generator<Gtk.Widget, undefined> {
  for (const widget of widgets()) if (namesOf(widget).includes(name)) yield widget;
}

/** All that is read or spoken, with what a label can't show of it. */
function allTexts() {
  return [...widgets()].flatMap(widget => {
    const root = widget.get_root() as Gtk.Widget;
    const [, left] = widget.translate_coordinates(root, 0, 0) as [boolean, number, number];
    const label = widget instanceof Gtk.Label ? widget : null;
    const texts = [...namesOf(widget), descriptionOf(widget)].filter((text): text is string => Boolean(text));
    return [...new Set(texts)].map(text => ({
      text,
      type: typeOf(widget),
      // an id that is cut in the middle has its ends, and all of it in a tooltip
      cut: (label?.get_layout().is_ellipsized() ?? false) && label?.ellipsize !== Pango.EllipsizeMode.MIDDLE,
      overflows: label !== null && overflows(label),
      narrow: label !== null && !label.wrap && label.get_layout().get_pixel_size()[0]! > label.get_width(),
      hyphens:
        label !== null && breaksWords(label) && !label.get_layout().get_attributes()?.to_string().includes(HYPHENS),
      outside: label !== null && (left < 0 || left + label.get_width() > root.get_width()),
      rightToLeft: directionOf.call(widget) === Gtk.TextDirection.RTL,
    }));
  });
}

/** Text that wraps takes more room than the label has, or the label more than what it is in. */
function overflows(label: Gtk.Label): boolean {
  if (!label.wrap) return false;
  const [width, height] = label.get_layout().get_pixel_size() as [number, number];
  const parent = label.get_parent()!;
  const [, left] = label.translate_coordinates(parent, 0, 0) as [boolean, number, number];
  const inside = left >= 0 && left + label.get_width() <= parent.get_width();
  return width > label.get_width() || height > label.get_height() || !inside;
}

/** The attribute that keeps Pango from ending a part of a word with a hyphen. */
const HYPHENS = 'insert-hyphens false';

function breaksWords({ wrap, wrap_mode }: Gtk.Label): boolean {
  return wrap && wrap_mode !== Pango.WrapMode.WORD;
}

function typeOf(widget: Gtk.Widget): string {
  return (widget.constructor as unknown as { $gtype: { name: string } }).$gtype.name;
}

function placeOf(widget: Gtk.Widget): number[] {
  // in a row with an entry, the text field; a closed list of choices has one to search in since libadwaita 1.4
  const parts = widget instanceof Gtk.ListBoxRow ? [...inside(widget)] : [];
  const target = parts.find(child => child instanceof Gtk.Text && child.get_mapped()) ?? widget;
  const native = target.get_native()!;
  const [, x, y] = target.translate_coordinates(native as unknown as Gtk.Widget, 0, 0) as [boolean, number, number];
  const [left, top] = surfaceOf(native);
  return [left + x, top + y, target.get_width(), target.get_height()].map(Math.round);
}

/** Position of a window, or of a menu that floats above it, in the window's surface. */
function surfaceOf(native: Gtk.Native): [left: number, top: number] {
  const surface = native.get_surface();
  const [x, y] = native.get_surface_transform();
  return surface instanceof Gdk.Popup ? [x + surface.get_position_x(), y + surface.get_position_y()] : [x, y];
}
