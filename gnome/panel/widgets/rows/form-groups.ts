// Shows a form as groups of rows, and updates them in place.
import Adw from 'gi://Adw?version=1';
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Form, Group, Row } from '../../../../daemon/view/form.ts';
import { generalReason, withoutDaemon } from '../../../../daemon/view/forms/availability.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import type { View } from '../../../../daemon/view/view.ts';
import { _, tr } from '../../../i18n.ts';
import { setName, within } from '../accessible.ts';
import { announce } from '../compat.ts';
import { buttonRow, type Radios, radioRow, selectRow, switchRow } from './control-rows.ts';
import { areaRow, entryRow } from './entry-row.ts';
import type { AnyRowWidget } from './row-widget.ts';
import { factRow, itemRow, linkRow, noteRow, shellRow, textRow } from './text-rows.ts';

/** Duration of a revealed row's highlight, in ms. */
const REVEALED_MS = 2000;

interface ShownGroup {
  widget: Adw.PreferencesGroup;
  /** List that contains the rows. */
  list: Gtk.ListBox;
  rows: Map<string, AnyRowWidget>;
  radios: Radios;
}

/**
 * Form inside any container of groups. An update keeps the widgets of remaining groups and rows, since they hold the focus
 * and typed text.
 */
export class FormGroups {
  readonly #host: Host;
  /** Accessible name of a group without a title: the page's title. */
  name = '';
  /** True while a row can't be used. */
  inert = false;
  readonly #add: (group: Adw.PreferencesGroup) => void;
  readonly #remove: (group: Adw.PreferencesGroup) => void;
  #shown = new Map<string, ShownGroup>();
  #fold: Fold | null = null;
  #form: Form = { groups: [] };

  /** @param add puts a group at the end of its box. */
  constructor(host: Host, add: (group: Adw.PreferencesGroup) => void, remove: (group: Adw.PreferencesGroup) => void) {
    [this.#host, this.#add, this.#remove] = [host, add, remove];
  }

  /** Shows a form. Without a daemon, rows that need the daemon can't be used. */
  show(form: Form): void {
    const view = this.#host.view();
    const { client } = view;
    const { groups } = client.offline ? withoutDaemon(form, client) : withReasons(form, view);
    this.#form = form;
    const folded = groups.filter(group => group.folded && group.rows.length > 0);
    if (folded.length && !this.#fold) this.#fold = createFold(_('Advanced'), () => this.show(this.#form));
    const filled = groups.filter(group => group.rows.length > 0 && (!group.folded || this.#fold!.opened()));
    if ([...this.#shown.keys()].join('\n') !== filled.map(({ id }) => id).join('\n')) this.#arrange(filled);
    for (const group of filled) this.#showGroup(group);
    this.inert = filled.some(({ rows }) => rows.some(({ sensitive }) => sensitive === false));
    this.#placeFold(filled.filter(group => !group.folded).at(-1) ?? null, folded.length > 0);
  }

  /** Puts the row for the folded groups after the last unfolded group. */
  #placeFold(before: Group | null, isNeeded: boolean): void {
    const fold = this.#fold?.widget;
    if (!fold) return;
    fold.visible = isNeeded;
    if (!fold.parent) this.#add(fold);
    const previous = before && this.#shown.get(before.id)!.widget;
    if (fold.get_prev_sibling() !== previous) (fold.parent as Gtk.Box).reorder_child_after(fold, previous);
  }

  /** Focuses a row, scrolls to it, and highlights it briefly. */
  reveal(id: string): void {
    if (this.#form.groups.some(({ folded, rows }) => folded && rows.some(row => row.id === id))) this.#fold?.open();
    const widget = this.find(id);
    if (!widget) return;
    if (!widget.child_focus(Gtk.DirectionType.TAB_FORWARD)) {
      widget.focusable = true; // the row shows a fact, without a control
      widget.grab_focus();
    }
    widget.add_css_class('culvert-revealed');
    // a new page has its sizes after the next layout; a row that can't be used takes no focus, so GTK would not scroll to it
    GLib.idle_add(GLib.PRIORITY_DEFAULT_IDLE, () => {
      scrollTo(widget);
      return GLib.SOURCE_REMOVE;
    });
    GLib.timeout_add(GLib.PRIORITY_DEFAULT, REVEALED_MS, () => {
      widget.remove_css_class('culvert-revealed');
      return GLib.SOURCE_REMOVE;
    });
  }

  /** Returns a row's widget if the form shows the row. */
  find(id: string): Gtk.Widget | undefined {
    const rows = [...this.#shown.values()].flatMap(group => [...group.rows]);
    return rows.find(([key]) => key.slice(key.indexOf(' ') + 1) === id)?.[1].widget;
  }

  #arrange(groups: Group[]): void {
    const before = this.#shown;
    this.#shown = new Map(groups.map(({ id }) => [id, before.get(id) ?? createGroup()]));
    for (const [id, { widget }] of before) if (!this.#shown.has(id)) this.#remove(widget);
    const [, first] = [...before].find(([id]) => this.#shown.has(id)) ?? [];
    // other widgets may come before the groups
    let previous = first?.widget.get_prev_sibling();
    for (const { widget } of this.#shown.values()) {
      if (!widget.parent) this.#add(widget);
      if (previous !== undefined && widget.get_prev_sibling() !== previous)
        (widget.parent as Gtk.Box).reorder_child_after(widget, previous);
      previous = widget;
    }
  }

  #showGroup({ id, title, description, live, rows }: Group): void {
    const { widget, list, rows: shown, radios } = this.#shown.get(id)!;
    // both are Pango markup
    widget.title = title ? GLib.markup_escape_text(title, -1) : '';
    setName(list, title || this.name);
    widget.description = description ? GLib.markup_escape_text(description, -1) : '';
    const keyed = byKey(rows);
    for (const [key, gone] of shown) {
      if (keyed.has(key)) continue;
      shown.delete(key);
      widget.remove(gone.widget);
    }
    const news = [...keyed].filter(([key]) => live && !shown.has(key)).map(([, row]) => row);
    let place = 0;
    for (const [key, row] of keyed) {
      const made = shown.get(key) ?? createRow(row, this.#host, radios);
      if (shown.has(key)) made.show(row);
      shown.set(key, made);
      if (list.get_row_at_index(place) !== made.widget) {
        if (made.widget.parent) widget.remove(made.widget);
        list.insert(made.widget, place);
      }
      place++;
    }
    if (news.length) announce(widget, news.map(row => [row.title, row.subtitle].filter(Boolean).join('. ')).join('\n'));
  }
}

/** Scrolls a row to the middle of its scrolled window. */
function scrollTo(widget: Gtk.Widget): void {
  const scrolled = widget.get_ancestor(Gtk.ScrolledWindow.$gtype) as Gtk.ScrolledWindow | null;
  if (!scrolled) return;
  const [placed, bounds] = widget.compute_bounds(scrolled);
  const { vadjustment } = scrolled;
  if (placed) vadjustment.value += bounds.get_y() + bounds.get_height() / 2 - vadjustment.page_size / 2;
}

/** Adds the reason to each row that can't be used, unless a general reason applies to all rows. */
function withReasons(form: Form, view: View): Form {
  if (generalReason(view, tr)) return form;
  const explained = (row: Row): Row =>
    row.sensitive === false && row.reason
      ? { ...row, subtitle: [row.subtitle, row.reason].filter(Boolean).join('\n') }
      : row;
  return { ...form, groups: form.groups.map(group => ({ ...group, rows: group.rows.map(explained) })) };
}

/** Maps rows by unique keys, so that two entries with the same text have two rows. */
function byKey(rows: Row[]): Map<string, Row> {
  const keyed = new Map<string, Row>();
  for (const row of rows) {
    let key = `${row.kind} ${row.id}`;
    while (keyed.has(key)) key += ' again';
    keyed.set(key, row);
  }
  return keyed;
}

function createGroup(): ShownGroup {
  const widget = new Adw.PreferencesGroup();
  const list = [...within(widget)].find((child): child is Gtk.ListBox => child instanceof Gtk.ListBox)!;
  // In a horizontal box, GTK 4.8 keeps an Arabic description on one line, 431 pixels of 326; in a vertical box, it wraps.
  const header = [...within(widget)].find(
    (child): child is Gtk.Box => child instanceof Gtk.Box && child.has_css_class('header'),
  );
  if (header) header.orientation = Gtk.Orientation.VERTICAL;
  return { widget, list, rows: new Map(), radios: { members: [], setting: false } };
}

interface Fold {
  widget: Adw.PreferencesGroup;
  opened(): boolean;
  open(): void;
}

/** Creates the row that unfolds and folds the groups after it. @param changed called after each change */
function createFold(title: string, changed: () => void): Fold {
  let opened = false;
  const arrow = new Gtk.Image({ accessible_role: Gtk.AccessibleRole.PRESENTATION });
  const row = new Adw.ActionRow({ title, activatable: true });
  row.add_suffix(arrow);
  setName(row, title);
  const widget = new Adw.PreferencesGroup();
  widget.add(row);
  const list = [...within(widget)].find(child => child instanceof Gtk.ListBox);
  if (list) setName(list, title);
  const show = () => {
    arrow.icon_name = opened ? 'pan-up-symbolic' : 'pan-down-symbolic';
    row.update_state([Gtk.AccessibleState.EXPANDED], [Number(opened)]);
  };
  const turn = () => {
    opened = !opened;
    show();
    changed();
  };
  row.connect('activated', turn);
  show();
  return {
    widget,
    opened: () => opened,
    open() {
      if (!opened) turn();
    },
  };
}

/** Creates a widget for `row`; `show` updates it for a row of the same kind and ID. */
function createRow(row: Row, host: Host, radios: Radios): AnyRowWidget {
  const widget = createWidget(row, host, radios) as AnyRowWidget;
  widget.show(row);
  return widget;
}

function createWidget(row: Row, host: Host, radios: Radios): unknown {
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
    case 'area':
      return areaRow(row);
    case 'select':
      return selectRow(row, host);
    case 'shell':
      return shellRow(host);
    case 'text':
      return textRow(row);
    case 'note':
      return noteRow();
  }
}
