// Defines the widget of a row, and the parts that several kinds of rows share: words, mark, level and menu.
import Adw from 'gi://Adw?version=1';
import Gdk from 'gi://Gdk?version=4.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { markName, placeText } from '../../../../daemon/view/client/labels.ts';
import { type Command, type Group, markOf, type Row, type RowKind, type Tone } from '../../../../daemon/view/form.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import { _, tr } from '../../../i18n.ts';
import { noteName, setDescription, setName, within } from '../accessible.ts';
import { createMenu, withoutHyphens } from '../buttons.ts';
import { announce } from '../compat.ts';

export type RowOf<K extends RowKind> = Extract<Row, { kind: K }>;
export interface RowWidget<K extends RowKind> {
  widget: Gtk.Widget;
  show(row: RowOf<K>): void;
}
export type AnyRowWidget = { widget: Gtk.Widget; show(row: Row): void };

const TONES: Tone[] = ['success', 'accent', 'warning', 'error', 'neutral'];

/** Shows a tone by a CSS class, and removes the class of another tone. */
export function showTone(widget: Gtk.Widget, tone: Tone = 'neutral'): void {
  if (widget.has_css_class(`tone-${tone}`)) return;
  for (const each of TONES) widget.remove_css_class(`tone-${each}`);
  widget.add_css_class(`tone-${tone}`);
}

/** Minimum width of a row's words, in pixels. Next to them, the label of a button wraps. */
const WORDS_WIDTH = 110;

export function actionRow(): Adw.ActionRow {
  const row = new Adw.ActionRow({ title_lines: 0, subtitle_lines: 0, focusable: false });
  row.use_markup = false;
  // a hyphen at the end of a line would look like a part of a name or an address
  for (const label of within(row)) if (label instanceof Gtk.Label) label.attributes = withoutHyphens();
  wordsOf(row)?.set_size_request(WORDS_WIDTH, -1);
  return row;
}

export function showWords(widget: Adw.ActionRow, { title, subtitle, tone }: Row): void {
  widget.title = title;
  widget.subtitle = subtitle ?? '';
  showTone(widget, tone);
}

/** Shows the words of a row, and describes its control, which assistive technology reads separately. */
export function showWordsOf(widget: Adw.ActionRow, control: Gtk.Widget, row: Row): void {
  showWords(widget, row);
  noteName(control, row.title);
  setDescription(control, describeRow(row));
}

/** Returns the description of a row for assistive technology: the word of its mark, then the given texts or the subtitle. */
export function describeRow({ mark, subtitle }: Row, ...texts: (string | null | undefined)[]): string {
  return [mark && markName(mark, tr), ...texts, subtitle].filter(Boolean).join('. ');
}

/** Creates the arrow of a row that opens a page. */
export function pageArrow(): Gtk.Image {
  return new Gtk.Image({ icon_name: 'go-next-symbolic', accessible_role: Gtk.AccessibleRole.PRESENTATION });
}

/** Adds the mark, the level and the menu that the rows of every kind can have. */
export function withExtras(made: AnyRowWidget, run: (command: Command) => void): AnyRowWidget {
  const { widget } = made;
  if (!(widget instanceof Adw.ActionRow)) return made;
  const sign = onDemand(() => {
    const image = createSign();
    widget.add_prefix(image);
    return image;
  });
  const bar = onDemand(() => {
    const created = createBar();
    appendBelow(widget, created);
    return created;
  });
  const menu = onDemand(() => {
    const created = createMenu(run);
    widget.add_suffix(created.widget);
    return created;
  });
  return {
    widget,
    show(row) {
      made.show(row);
      const { title, level = null, menu: entries, menuLabel, sensitive = true } = row;
      const mark = markOf(row);
      const image = sign(mark !== null);
      if (image) image.visible = mark !== null;
      // the empty box would indent the words
      if (image?.parent) image.parent.visible = mark !== null || image.get_next_sibling() !== null;
      if (image && mark) image.icon_name = `culvert-mark-${mark}-symbolic`;
      const meter = bar(level !== null);
      if (meter) showLevel(meter, title, level);
      const more = menu(Boolean(entries?.length));
      more?.show(entries, `${title}: ${menuLabel ?? _('More')}`, menuLabel);
      if (more) more.widget.sensitive = sensitive;
    },
  };
}

/** Returns a function that creates a part when the part is first wanted; null until then. */
function onDemand<T>(create: () => T): (isWanted: boolean) => T | null {
  let part: T | null = null;
  return isWanted => {
    if (isWanted) part ??= create();
    return part;
  };
}

/** Creates the picture of a mark. The description of its row says the mark's word. */
function createSign(): Gtk.Image {
  const { PRESENTATION: accessible_role } = Gtk.AccessibleRole;
  return new Gtk.Image({ accessible_role, css_classes: ['culvert-sign'] });
}

function createBar(): Gtk.LevelBar {
  const bar = new Gtk.LevelBar({ margin_top: 6, css_classes: ['culvert-level'] });
  // these change the color by the value; the row's tone has the color
  for (const name of ['low', 'high', 'full']) bar.remove_offset_value(name);
  return bar;
}

function showLevel(bar: Gtk.LevelBar, title: string, level: number | null): void {
  bar.visible = level !== null;
  bar.value = Math.min(1, Math.max(0, level ?? 0));
  setName(bar, title);
}

/** Adds a widget below the words of a row. */
function appendBelow(row: Adw.ActionRow, widget: Gtk.Widget): void {
  const words = wordsOf(row);
  if (words) words.append(widget);
  else row.add_suffix(widget);
}

/** Returns the box with the title and the subtitle of a row. */
function wordsOf(row: Adw.ActionRow): Gtk.Box | null {
  const words = [...within(row)].find(child => child instanceof Gtk.Label && child.has_css_class('subtitle'))?.parent;
  return words instanceof Gtk.Box ? words : null;
}

/** IDs of the movable rows, which a drag carries as widgets, so that no other program takes them. */
const ids = new WeakMap<Gtk.Widget, string>();

/**
 * Makes a row movable while the group's order contains it.
 * @param order returns the present order of the group
 */
export function makeMovable(row: Adw.PreferencesRow, id: string, order: () => Group['order'], host: Host): void {
  ids.set(row, id);
  const placeOf = (widget: Gtk.Widget) => order()?.ids.indexOf(ids.get(widget) ?? '') ?? -1;
  const move = async (moved: Adw.PreferencesRow, to: number) => {
    const { ids: all = [], move: command } = order() ?? {};
    if (!command || placeOf(moved) < 0 || !all[to] || to === placeOf(moved)) return;
    const { title } = moved;
    if (await host.run(command(ids.get(moved)!, to))) announce(row, placeText(title, to + 1, all.length, tr));
  };
  const keys = new Gtk.EventControllerKey({ propagation_phase: Gtk.PropagationPhase.CAPTURE });
  keys.connect('key-pressed', (_keys, key, _code, state) => {
    const step = key === Gdk.KEY_Up ? -1 : key === Gdk.KEY_Down ? 1 : 0;
    if (!step || !(state & Gdk.ModifierType.ALT_MASK) || placeOf(row) < 0) return false;
    void move(row, placeOf(row) + step);
    return true;
  });
  const source = new Gtk.DragSource({ actions: Gdk.DragAction.MOVE });
  source.connect('prepare', (_source, x, y) => {
    if (placeOf(row) < 0) return null as never;
    source.set_icon(new Gtk.WidgetPaintable({ widget: row }), Math.round(x), Math.round(y));
    const value = new GObject.Value();
    value.init(Adw.PreferencesRow.$gtype);
    value.set_object(row);
    return Gdk.ContentProvider.new_for_value(value);
  });
  const target = Gtk.DropTarget.new(Adw.PreferencesRow.$gtype, Gdk.DragAction.MOVE);
  target.connect('drop', (_target, value: unknown) => {
    if (!(value instanceof Adw.PreferencesRow) || placeOf(value) < 0 || placeOf(row) < 0) return false;
    void move(value, placeOf(row));
    return true;
  });
  for (const controller of [keys, source, target]) row.add_controller(controller);
}
