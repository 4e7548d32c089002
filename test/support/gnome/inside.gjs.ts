// Drives the panel from within its own process, for tests of behavior: JSON lines on stdin and stdout. A request is
// answered when a painted frame or a daemon's event made it true, so no clock decides how long a test takes.
//
// Requests: {do: 'find' | 'gone' | 'press' | 'switch' | 'place' | 'focused', name}
// {do: 'focus' | 'focusable', name}: puts the keyboard onto a control, and describes what takes it there {do: 'enter', name, text}
// {do: 'turn', name} to a page, {do: 'settle', revision} {do: 'names'} {do: 'texts'} {do: 'rows'} {do: 'stops'} of the Tab key
// {do: 'resize', width, height} {do: 'close'} what is in front {do: 'clear'} everything above the page
// {do: 'collect'} the garbage. Answers: {ok} or {error}.

import Adw from 'gi://Adw?version=1';
import Gdk from 'gi://Gdk?version=4.0';
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { gc } from 'system';
import { descriptionOf, nameOf } from '../../../gnome/panel/widgets/a11y/accessible.ts';

interface Request {
  do: string;
  name?: string;
  text?: string;
  revision?: number;
  width?: number;
  height?: number;
}
/** What the panel's application offers: its model. */
interface Panel {
  model?: { state(): { snapshot: { revision: number } | null }; subscribe(listener: () => void): () => void };
}

/** Neither a frame nor an event for this long: what is waited for will not come. */
const STALLED_MS = 60_000;
/** A clock that ticks in the window paints frames forever. */
const LONGEST_MS = 120_000;
/** AdwDialog, since libadwaita 1.5. */
const { Dialog } = Adw as { Dialog?: new () => Gtk.Widget & { close(): void } };
const PRESSABLE = ['GtkModelButton', 'GtkExpander', 'GtkMenuButton'];

Gtk.init();

/** Rows of a list view were looked at since the last collection. */
let rowsSeen = false;

/** Mapped widgets of all windows, parents first. */
function* widgets(): Generator<Gtk.Widget> {
  function* down(widget: Gtk.Widget): Generator<Gtk.Widget> {
    if (!widget.get_mapped()) return;
    yield widget;
    if (widget instanceof Gtk.ListView) rowsSeen = true;
    for (let child = widget.get_first_child(); child; child = child.get_next_sibling()) yield* down(child);
  }
  // the newest window first: a dialog covers what is below it
  for (const window of Gtk.Window.list_toplevels() as Gtk.Window[]) yield* down(window);
}

function namesOf(widget: Gtk.Widget): string[] {
  const names: (string | null | undefined)[] = [nameOf(widget), widget.tooltip_text];
  if (widget instanceof Gtk.Label) names.push(widget.get_text());
  if (widget instanceof Gtk.Window || widget instanceof Adw.PreferencesRow) names.push(widget.title);
  if (widget instanceof Gtk.Button) names.push(widget.label);
  if (widget instanceof Gtk.Editable) names.push((widget as Gtk.Editable).text);
  return names.filter((name): name is string => Boolean(name));
}

function pressable(widget: Gtk.Widget): boolean {
  // a row whose switch is insensitive is not activatable meanwhile, but still the switch's
  if (widget instanceof Gtk.ListBoxRow) return widget.activatable || toggleIn(widget) !== undefined;
  return (
    [Gtk.Button, Gtk.Switch, Gtk.CheckButton].some(type => widget instanceof type) ||
    PRESSABLE.includes((widget.constructor as unknown as { $gtype: { name: string } }).$gtype.name)
  );
}

function toggleIn(widget: Gtk.Widget): Gtk.Widget | undefined {
  return [...inside(widget)].find(child => child instanceof Gtk.Switch || child instanceof Gtk.CheckButton);
}

/** The control that a name belongs to: the named widget, or what it is the label of. */
function control(name: string): Gtk.Widget | null {
  for (const widget of widgets()) {
    if (!namesOf(widget).includes(name)) continue;
    for (let at: Gtk.Widget | null = widget; at && !(at instanceof Gtk.Window); at = at.get_parent())
      if (pressable(at)) return at;
  }
  return null;
}

/** What the keyboard's focus is on in the control of that name. */
function focusable(name: string): Gtk.Widget | undefined {
  for (const widget of widgets())
    if (widget instanceof Gtk.Editable && namesOf(widget).includes(name))
      return [...inside(widget)].find(child => child instanceof Gtk.Text);
  const found = control(name);
  return found ? (toggleIn(found) ?? found) : undefined;
}

function press(widget: Gtk.Widget): void {
  if (widget instanceof Gtk.Switch || widget instanceof Gtk.ListBoxRow) widget.activate();
  else if (widget instanceof Gtk.ToggleButton || widget instanceof Gtk.CheckButton) widget.active = !widget.active;
  else if (widget instanceof Gtk.Button) widget.emit('clicked');
  else if (widget instanceof Gtk.MenuButton) widget.popup();
  else if (widget instanceof Gtk.Expander) widget.expanded = !widget.expanded;
  else (widget as Gtk.Widget & { emit(signal: string): void }).emit('clicked');
}

function describe(widget: Gtk.Widget) {
  const state = widget as Gtk.Widget & { active?: boolean; state?: boolean };
  return {
    name: namesOf(widget)[0] ?? '',
    description: descriptionOf(widget) ?? '',
    sensitive: widget.is_sensitive(),
    checked: Boolean(state.active),
    focused: widget.is_focus(),
  };
}

function allNames(): string[] {
  return [...widgets()].flatMap(namesOf);
}

// a menu button has another function of that name
const directionOf = Gtk.Widget.prototype.get_direction;

/** All that is read or spoken, with what a label can't show of it. */
function allTexts() {
  return [...widgets()].flatMap(widget => {
    const root = widget.get_root() as Gtk.Widget;
    const [, left] = widget.translate_coordinates(root, 0, 0) as [boolean, number, number];
    const label = widget instanceof Gtk.Label ? widget : null;
    const texts = [...namesOf(widget), descriptionOf(widget)].filter((text): text is string => Boolean(text));
    return [...new Set(texts)].map(text => ({
      text,
      type: (widget.constructor as unknown as { $gtype: { name: string } }).$gtype.name,
      cut: label?.get_layout().is_ellipsized() ?? false,
      outside: label !== null && (left < 0 || left + label.get_width() > root.get_width()),
      rightToLeft: directionOf.call(widget) === Gtk.TextDirection.RTL,
    }));
  });
}

interface Stop {
  name: string;
  /** In the window, or in what both this stop and the one before it scroll in. */
  box: [left: number, top: number, right: number, bottom: number];
  /** Of the stop before it; null for the first one of the window, and of a title bar. */
  before: Stop['box'] | null;
  rightToLeft: boolean;
}

/** What the Tab key comes to, once around, from the first control of the window in front. */
function tabStops(): Stop[] {
  const window =
    (Gtk.Window.list_toplevels() as Gtk.Window[]).find(each => each.get_mapped() && (each.is_active || each.modal)) ??
    main()!;
  window.set_focus(null);
  // containers remember where the keyboard was, and GTK 4.18 goes on from there
  for (const widget of inside(window)) widget.set_focus_child(null);
  // GTK puts the title bar of a window behind its content (gtk_window_focus)
  const bar = window.get_titlebar();
  const isInBar = (widget: Gtk.Widget) => bar !== null && widget.is_ancestor(bar);
  const stops: Stop[] = [];
  const met = new Set<Gtk.Widget>();
  for (let before: Gtk.Widget | null = null; stops.length < 300; ) {
    // the signal that the Tab key sends
    window.emit('move-focus', Gtk.DirectionType.TAB_FORWARD);
    const now = window.get_focus();
    if (!now || met.has(now)) break;
    met.add(now);
    const previous = before && isInBar(now) && !isInBar(before) ? null : before;
    const [from, here] = previous ? level(previous, now) : [null, now];
    stops.push({
      name: namesOf(now)[0] ?? namesOf(now.get_parent()!)[0] ?? '',
      box: boxOf(here),
      before: from && boxOf(from),
      rightToLeft: directionOf.call(now) === Gtk.TextDirection.RTL,
    });
    before = now;
  }
  return stops;
}

/** The widgets, or what they scroll in where only one of them does: its own place says nothing then. */
function level(a: Gtk.Widget, b: Gtk.Widget): [Gtk.Widget, Gtk.Widget] {
  const lift = (widget: Gtk.Widget, other: Gtk.Widget) => {
    let found = widget;
    for (let at = widget.get_parent(); at; at = at.get_parent())
      if (at instanceof Gtk.ScrolledWindow && !other.is_ancestor(at)) found = at;
    return found;
  };
  return [lift(a, b), lift(b, a)];
}

function boxOf(widget: Gtk.Widget): Stop['box'] {
  const root = widget.get_root() as unknown as Gtk.Widget;
  const [, left, top] = widget.translate_coordinates(root, 0, 0) as [boolean, number, number];
  return [left, top, left + widget.get_width(), top + widget.get_height()];
}

/** Where a window, or a menu that floats above it, is drawn in the window's surface. */
function surfaceOf(native: Gtk.Native): [left: number, top: number] {
  const surface = native.get_surface();
  const [x, y] = native.get_surface_transform();
  return surface instanceof Gdk.Popup ? [x + surface.get_position_x(), y + surface.get_position_y()] : [x, y];
}

/** Closes what is above the panel's page: a menu, a dialog within the window (libadwaita 1.5), or its own window. */
function closeTop(): void {
  const [top] = above();
  if (top instanceof Gtk.Popover) top.popdown();
  else top?.close();
}

/** Menus, dialogs and windows above the panel's page, the foremost first. */
function above(): (Gtk.Popover | { close(): void })[] {
  const within = [...widgets()].filter(
    widget => widget instanceof Gtk.Popover || (Dialog !== undefined && widget instanceof Dialog),
  ) as (Gtk.Popover | InstanceType<NonNullable<typeof Dialog>>)[];
  const page = main();
  const windows = (Gtk.Window.list_toplevels() as Gtk.Window[]).filter(each => each !== page && each.get_mapped());
  return [...within, ...windows];
}

/** The panel's window. */
function main(): Gtk.Window | undefined {
  return (Gio.Application.get_default() as Gtk.Application).get_windows().find(window => 'goTo' in window);
}

/** The answer, or undefined while it is not true yet. */
function attempt({ do: what, name = '', text = '', revision = 0, width = 0, height = 0 }: Request): unknown {
  switch (what) {
    case 'names':
      return allNames();
    case 'resize':
      main()?.set_default_size(width, height);
      return true;
    case 'texts':
      return allTexts();
    case 'gone':
      return allNames().includes(name) ? undefined : true;
    case 'find': {
      for (const widget of widgets()) if (namesOf(widget).includes(name)) return describe(control(name) ?? widget);
      return undefined;
    }
    case 'switch': {
      const found = control(name);
      if (!found) return undefined;
      return describe(toggleIn(found) ?? found);
    }
    case 'press': {
      const found = control(name);
      if (!found?.is_sensitive() || (found instanceof Gtk.ListBoxRow && !found.activatable)) return undefined;
      // first, since what is pressed may take rows away
      if (rowsSeen) letRowsGo();
      press(found);
      return true;
    }
    case 'enter': {
      for (const widget of widgets()) {
        if (!namesOf(widget).includes(name)) continue;
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
    }
    case 'focus': {
      const found = focusable(name);
      return found?.is_sensitive() && found.grab_focus() ? true : undefined;
    }
    case 'focusable': {
      const found = focusable(name);
      return found && describe(found);
    }
    case 'focused': {
      for (const window of Gtk.Window.list_toplevels() as Gtk.Window[]) {
        const focus = window.is_active && window.get_mapped() ? window.get_focus() : null;
        if (focus) return namesOf(focus)[0] ?? namesOf(focus.get_parent()!)[0] ?? '';
      }
      return '';
    }
    case 'gtk':
      return Gtk.get_minor_version();
    case 'stops':
      return tabStops();
    case 'rows':
      return [...widgets()].flatMap(widget =>
        widget instanceof Adw.ActionRow ? [{ title: widget.title, subtitle: widget.subtitle ?? '' }] : [],
      );
    case 'place': {
      for (const widget of widgets()) {
        if (!namesOf(widget).includes(name)) continue;
        // of a row with an entry, what takes the text; a closed list of choices has one to search in since libadwaita 1.4
        const parts = widget instanceof Gtk.ListBoxRow ? [...inside(widget)] : [];
        const target = parts.find(child => child instanceof Gtk.Text && child.get_mapped()) ?? widget;
        const native = target.get_native()!;
        const [, x, y] = target.translate_coordinates(native as unknown as Gtk.Widget, 0, 0) as [
          boolean,
          number,
          number,
        ];
        const [left, top] = surfaceOf(native);
        return [left + x, top + y, target.get_width(), target.get_height()].map(Math.round);
      }
      return null;
    }
    case 'turn':
      main()?.activate_action('page', GLib.Variant.new_string(name));
      return true;
    case 'close':
      closeTop();
      return true;
    case 'clear':
      if (above().length === 0) return true;
      closeTop();
      return undefined;
    case 'scale':
      Gtk.Settings.get_default()!.gtk_xft_dpi = Math.round(96 * 1024 * Number(text));
      return true;
    case 'collect':
      gc();
      return true;
    case 'settle':
      if ((panel()?.model?.state().snapshot?.revision ?? 0) < revision) return undefined;
      if (frames === null) {
        // the window may have nothing to draw: have one frame more
        frames = 0;
        for (const window of Gtk.Window.list_toplevels() as Gtk.Window[]) window.queue_draw();
      }
      return frames > 0 ? true : undefined;
    default:
      throw new Error(`no request ${what}`);
  }
}

function* inside(widget: Gtk.Widget): Generator<Gtk.Widget> {
  yield widget;
  for (let child = widget.get_first_child(); child; child = child.get_next_sibling()) yield* inside(child);
}

// ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Painted since `settle` saw its revision; null while it did not. */
let frames: number | null = null;
let progress = Date.now();
let waiting: { request: Request; since: number } | null = null;
const queue: Request[] = [];

function panel(): Panel | null {
  return Gio.Application.get_default() as Panel | null;
}

function answer(value: object): void {
  waiting = null;
  print(JSON.stringify(value));
  GLib.idle_add(GLib.PRIORITY_LOW, () => {
    proceed();
    return GLib.SOURCE_REMOVE;
  });
}

function proceed(): void {
  if (!waiting) {
    const request = queue.shift();
    if (!request) return;
    waiting = { request, since: Date.now() };
    frames = null;
    progress = Date.now();
  }
  const { request } = waiting;
  try {
    const value = attempt(request);
    if (value !== undefined) answer({ ok: value });
  } catch (error) {
    answer({ error: String(error) });
  }
  if (rowsSeen) letRowsGo();
}

/**
 * The engine would keep a row that was looked at until it collects garbage, and then call no handler of the list's factory
 * (see `within` in accessible.ts): it forgets the rows while their list still has them. GTK 4.8 is not affected.
 */
function letRowsGo(): void {
  rowsSeen = false;
  if (Gtk.get_minor_version() >= 12) gc();
}

/** Something happened that may have made it true. */
function wake(): void {
  progress = Date.now();
  if (waiting) proceed();
}

const watched = new WeakSet<Gtk.Window>();
function watch(): void {
  for (const window of Gtk.Window.list_toplevels() as Gtk.Window[]) {
    if (watched.has(window)) continue;
    watched.add(window);
    const follow = () => {
      const clock = window.get_frame_clock();
      clock?.connect('after-paint', () => {
        if (frames !== null) frames++;
        wake();
      });
    };
    if (window.get_frame_clock()) follow();
    else window.connect('realize', follow);
    window.connect('unmap', () => GLib.idle_add(GLib.PRIORITY_LOW, once(wake)));
  }
}

function once(work: () => void): () => boolean {
  return () => {
    work();
    return GLib.SOURCE_REMOVE;
  };
}

setInterval(() => {
  if (!waiting) return;
  const now = Date.now();
  if (now - progress < STALLED_MS && now - waiting.since < LONGEST_MS) return;
  const { request } = waiting;
  answer({ error: `${JSON.stringify(request)} did not come true; on screen: ${[...new Set(allNames())].join(' | ')}` });
}, 500);

// ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────

Gtk.Window.get_toplevels().connect('items-changed', () => {
  watch();
  GLib.idle_add(GLib.PRIORITY_LOW, once(wake));
});

/** Moved to its own namespace in GLib 2.80; Debian 12 has 2.74. */
type InputStream = new (properties: { fd: number; close_fd: boolean }) => Gio.InputStream;
const { gi } = (globalThis as unknown as { imports: { gi: Record<string, Record<string, InputStream>> } }).imports;
function unixInputStream(): InputStream {
  try {
    return gi.GioUnix!.InputStream!;
  } catch {
    return gi.Gio!.UnixInputStream!;
  }
}
const input = new Gio.DataInputStream({ base_stream: new (unixInputStream())({ fd: 0, close_fd: false }) });
function read(): void {
  input.read_line_async(GLib.PRIORITY_DEFAULT, null, (_source: unknown, result: Gio.AsyncResult) => {
    const [line] = input.read_line_finish_utf8(result);
    if (line === null) return;
    queue.push(JSON.parse(line) as Request);
    subscribe();
    proceed();
    read();
  });
}

let subscribed = false;
function subscribe(): void {
  const model = panel()?.model;
  if (subscribed || !model) return;
  subscribed = true;
  model.subscribe(() => GLib.idle_add(GLib.PRIORITY_LOW, once(wake)));
}
read();
