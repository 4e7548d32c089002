// Shows a form as groups of rows, and updates them in place.
import Adw from 'gi://Adw?version=1';
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Command, Form, Group, Row } from '../../../../daemon/view/form.ts';
import { generalReason, withoutDaemon } from '../../../../daemon/view/forms/availability.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import type { View } from '../../../../daemon/view/view.ts';
import { _, tr } from '../../../i18n.ts';
import { setDescription, setName, within } from '../accessible.ts';
import { type CommandButton, commandButton, createMenu, type MenuOfCommands } from '../buttons.ts';
import { announce } from '../compat.ts';
import { chartRow, figuresRow, stripRow } from './charts.ts';
import { buttonRow, type Radios, radioRow, selectRow, switchRow } from './control-rows.ts';
import { areaRow, entryRow } from './entry-row.ts';
import {
  type AnyRowWidget,
  actionRow,
  describeRow,
  makeMovable,
  type RowOf,
  type RowWidget,
  showWords,
  withExtras,
} from './row-widget.ts';
import { factRow, itemRow, linkRow, noteRow, shellRow, textRow } from './text-rows.ts';

/** ID of the row that unfolds the folded groups. */
const FOLD = 'advanced-groups';
/** Duration of a revealed row's highlight, in ms. */
const REVEALED_MS = 2000;

interface ShownGroup {
  widget: Adw.PreferencesGroup;
  /** List that contains the rows. */
  list: Gtk.ListBox;
  header: Gtk.Box | undefined;
  rows: Map<string, AnyRowWidget>;
  radios: Radios;
  /** Buttons of the heading; null until the group needs them. */
  heading: Heading | null;
  order: Group['order'];
  /** Rows that the user can move while `order` contains them. */
  movable: WeakSet<AnyRowWidget>;
}

/** Functions that rows and headings call. */
interface Does {
  run(command: Command): void;
  /** Unfolds or folds the rows of an expander. */
  turn(id: string): void;
  isOpen(id: string): boolean;
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
  #form: Form = { groups: [] };
  /** IDs of the expanders that show their rows. */
  readonly #open = new Set<string>();
  readonly #does: Does = {
    run: command => void this.#host.run(command),
    turn: id => {
      if (!this.#open.delete(id)) this.#open.add(id);
      this.show(this.#form);
    },
    isOpen: id => this.#open.has(id),
  };

  /** @param add puts a group at the end of its box. */
  constructor(host: Host, add: (group: Adw.PreferencesGroup) => void, remove: (group: Adw.PreferencesGroup) => void) {
    [this.#host, this.#add, this.#remove] = [host, add, remove];
  }

  /** Shows a form. Without a daemon, rows that need the daemon can't be used. */
  show(form: Form): void {
    const view = this.#host.view();
    const { client } = view;
    this.#form = withoutTables(form);
    const { groups } = client.offline ? withoutDaemon(this.#form, client) : withReasons(this.#form, view);
    const filled = groups.filter(({ rows, actions }) => rows.length > 0 || actions?.length);
    const folded = filled.filter(group => group.folded);
    const shown = filled.filter(group => !group.folded);
    if (folded.length) shown.push(foldGroup(), ...(this.#open.has(FOLD) ? folded : []));
    if ([...this.#shown.keys()].join('\n') !== shown.map(({ id }) => id).join('\n')) this.#arrange(shown);
    for (const group of shown) this.#showGroup(group);
    this.inert = shown.some(({ rows }) => this.#unfolded(rows).some(({ sensitive }) => sensitive === false));
  }

  /**
   * Focuses a row, or the button of a command in a heading, scrolls to it, and highlights it briefly.
   * @returns false if there is no such row
   */
  reveal(id: string): boolean {
    for (const { folded, rows } of this.#form.groups) {
      const path = pathTo(id, rows);
      if (!path) continue;
      for (const expander of folded ? [FOLD, ...path] : path) if (!this.#open.has(expander)) this.#does.turn(expander);
    }
    const widget = this.find(id) ?? this.#headingButton(id);
    if (!widget) return false;
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
    return true;
  }

  /** Returns a row's widget if the form shows the row. */
  find(id: string): Gtk.Widget | undefined {
    const rows = [...this.#shown.values()].flatMap(group => [...group.rows]);
    return rows.find(([key]) => key.slice(key.indexOf(' ') + 1) === id)?.[1].widget;
  }

  /** Returns the button of a command in a group's heading: its own, or that of the menu. */
  #headingButton(label: string): Gtk.Widget | undefined {
    for (const { id, actions = [], menu = [] } of this.#form.groups) {
      const { buttons = [], menu: more } = this.#shown.get(id)?.heading ?? {};
      const at = actions.findIndex(each => each.label === label);
      if (at >= 0) return buttons[at]?.widget;
      if (menu.some(each => each.label === label)) return more?.widget;
    }
    return undefined;
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

  #showGroup(group: Group): void {
    const { id, title, description, live, rows, order } = group;
    const whole = this.#shown.get(id)!;
    const { widget, list, rows: shown } = whole;
    whole.order = order;
    showHeading(whole, group, this.#does.run);
    // both are Pango markup
    widget.title = title ? GLib.markup_escape_text(title, -1) : '';
    setName(list, title || this.name);
    widget.description = description ? GLib.markup_escape_text(description, -1) : '';
    const outer = new Set(rows);
    const keyed = byKey(this.#unfolded(rows));
    for (const [key, gone] of shown) {
      if (keyed.has(key)) continue;
      shown.delete(key);
      widget.remove(gone.widget);
    }
    const news = [...keyed].filter(([key, row]) => live && outer.has(row) && !shown.has(key)).map(([, row]) => row);
    let place = 0;
    for (const [key, row] of keyed) {
      const made = shown.get(key) ?? this.#createRow(row, whole);
      made.show(row);
      shown.set(key, made);
      if (order?.ids.includes(row.id) && !whole.movable.has(made) && made.widget instanceof Adw.PreferencesRow) {
        whole.movable.add(made);
        makeMovable(made.widget, row.id, () => whole.order, this.#host);
      }
      if (outer.has(row)) made.widget.remove_css_class('culvert-inner');
      else made.widget.add_css_class('culvert-inner');
      if (list.get_row_at_index(place) !== made.widget) moveTo(made.widget, list, place);
      place++;
    }
    if (news.length) announce(widget, news.map(row => [row.title, row.subtitle].filter(Boolean).join('. ')).join('\n'));
  }

  /** Returns the rows with those of open expanders. */
  #unfolded(rows: readonly Row[]): Row[] {
    return rows.flatMap(row =>
      row.kind === 'expander' && this.#open.has(row.id) ? [row, ...this.#unfolded(row.rows)] : [row],
    );
  }

  #createRow(row: Row, group: ShownGroup): AnyRowWidget {
    return withExtras(createWidget(row, this.#host, group.radios, this.#does) as AnyRowWidget, this.#does.run);
  }
}

/** Puts a row at a place of its list; a control in the row keeps the focus. */
function moveTo(row: Gtk.Widget, list: Gtk.ListBox, place: number): void {
  const focus = row.parent && (list.root as Gtk.Window | null)?.get_focus();
  const hadFocus = focus && (focus === row || focus.is_ancestor(row));
  if (row.parent) list.remove(row);
  list.insert(row, place);
  if (hadFocus) focus.grab_focus();
}

/** Returns the IDs of the expanders around a row, or null if the rows do not contain the row. */
function pathTo(id: string, rows: readonly Row[]): string[] | null {
  for (const row of rows) {
    if (row.id === id) return [];
    const inner = row.kind === 'expander' ? pathTo(id, row.rows) : null;
    if (inner) return [row.id, ...inner];
  }
  return null;
}

interface Heading {
  box: Gtk.Box;
  buttons: CommandButton[];
  menu: MenuOfCommands;
}

/** Shows the buttons and the menu at the end of a group's title. */
function showHeading(shown: ShownGroup, { title = '', actions = [], menu }: Group, run: Does['run']): void {
  if (!shown.heading) {
    if (!actions.length && !menu?.length) return;
    const box = new Gtk.Box({ spacing: 6, valign: Gtk.Align.CENTER });
    shown.heading = { box, buttons: [], menu: createMenu(run) };
    box.append(shown.heading.menu.widget);
    shown.widget.header_suffix = box;
    if (shown.header) shown.header.orientation = Gtk.Orientation.HORIZONTAL;
  }
  const { box, buttons, menu: more } = shown.heading;
  while (buttons.length < actions.length) {
    const button = commandButton(run, ['flat']);
    button.widget.insert_before(box, more.widget);
    buttons.push(button);
  }
  for (const [at, button] of buttons.entries()) {
    const action = actions[at];
    button.show(action ? { ...action, icon: ICONS[action.icon] } : null);
  }
  more.show(menu, [title, _('More')].filter(Boolean).join(': '));
}

const ICONS = { refresh: 'view-refresh-symbolic', add: 'list-add-symbolic' };

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
  const explained = (row: Row): Row => {
    const shown = row.kind === 'expander' ? { ...row, rows: row.rows.map(explained) } : row;
    if (row.sensitive !== false || !row.reason) return shown;
    return { ...shown, subtitle: [row.subtitle, row.reason].filter(Boolean).join('\n') };
  };
  return { ...form, groups: form.groups.map(group => ({ ...group, rows: group.rows.map(explained) })) };
}

/** Makes each table an expander of rows, which show their cells with the titles of their columns. */
function withoutTables(form: Form): Form {
  const unfolded = (row: Row): Row => {
    if (row.kind !== 'table') return row;
    const { id, title, table, notes = [] } = row;
    const facts = table.rows.map(([name = '', ...cells], at): Row => {
      const fact = { kind: 'fact', id: `${id}-${at}`, title: name } as const;
      if (cells.length === 1) return { ...fact, value: cells[0]! };
      return { ...fact, subtitle: cells.map((cell, i) => `${table.titles[i + 1]} ${cell}`).join(' · '), value: '' };
    });
    const remarks = notes.map((note, i): Row => ({ kind: 'note', id: `${id}-note-${i}`, title: note }));
    return { kind: 'expander', id, title, rows: [...facts, ...remarks] };
  };
  return { ...form, groups: form.groups.map(group => ({ ...group, rows: group.rows.map(unfolded) })) };
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
  // a sentence as a title would be cut
  const title = [...within(widget)].find(child => child.has_css_class('heading'));
  Object.assign(title ?? {}, { ellipsize: 0, wrap: true });
  const radios: Radios = { members: [], setting: false };
  return { widget, list, header, rows: new Map(), radios, heading: null, order: undefined, movable: new WeakSet() };
}

/** Returns the group with the row that unfolds the folded groups. */
function foldGroup(): Group {
  const title = _('Advanced');
  return { id: FOLD, rows: [{ kind: 'expander', id: FOLD, title, rows: [] }] };
}

/** Creates the row that unfolds and folds the rows after it. */
function expanderRow(first: RowOf<'expander'>, { run, turn, isOpen }: Does): RowWidget<'expander'> {
  const widget = actionRow();
  const button = commandButton(run);
  const arrow = new Gtk.Image({ accessible_role: Gtk.AccessibleRole.PRESENTATION });
  widget.focusable = true;
  widget.activatable = true;
  for (const suffix of [button.widget, arrow]) widget.add_suffix(suffix);
  widget.connect('activated', () => turn(first.id));
  return {
    widget,
    show(row) {
      showWords(widget, row);
      setName(widget, row.title);
      setDescription(widget, describeRow(row));
      button.show(row.button ?? null);
      arrow.icon_name = isOpen(row.id) ? 'pan-up-symbolic' : 'pan-down-symbolic';
      widget.update_state([Gtk.AccessibleState.EXPANDED], [Number(isOpen(row.id))]);
    },
  };
}

/** Creates a widget for `row`; `show` updates it for a row of the same kind and ID. */
function createWidget(row: Row, host: Host, radios: Radios, does: Does): unknown {
  switch (row.kind) {
    case 'fact':
      return factRow(row, host);
    case 'switch':
      return switchRow(row, host);
    case 'radio':
      return radioRow(row, host, radios);
    case 'button':
      return buttonRow(host);
    case 'link':
      return linkRow(row, host);
    case 'item':
      return itemRow(host);
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
    case 'expander':
      return expanderRow(row, does);
    case 'figures':
      return figuresRow(row, host);
    case 'chart':
      return chartRow(row);
    case 'strip':
      return stripRow();
    case 'table':
      return null; // `withoutTables` has replaced it
  }
}
