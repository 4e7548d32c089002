// Provides a form's search field and its long list, which creates only the rows near the visible part.
import Adw from 'gi://Adw?version=1';
import Gdk from 'gi://Gdk?version=4.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { List, ListItem, Search } from '../../../../daemon/view/form.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import { collectWhenQuiet } from '../../../gc.ts';
import type { SearchField } from '../../host.ts';
import { setDescription, setName, turnTo } from '../accessible.ts';
import { createMenu, withoutHyphens } from '../buttons.ts';
import { CLAMP } from '../columns.ts';
import { announce, nameListItem } from '../compat.ts';
import { dropRows, OneStop, rowFactory, stepwise } from '../lists.ts';
import { createStatus } from './status.ts';

export interface SearchBar extends SearchField {
  show(search: Search): void;
  /** Replaces the text, including text that the page does not know yet. */
  put(text: string): void;
}

/**
 * Creates a search field.
 * @param list a list to search after each key, with its menu next to the field; without a list, the search waits for a pause
 */
export function createSearchBar(first: Search, list: { menu: Gtk.Widget } | null): SearchBar {
  let now = first;
  const entry = new Gtk.SearchEntry({ placeholder_text: first.label, hexpand: true });
  setName(entry, first.label);
  /** The text that the page knows. */
  let known = '';
  const tell = () => {
    known = entry.text;
    now.type(known);
  };
  entry.connect(list ? 'changed' : 'search-changed', tell);
  const enter = () => {
    if (!now.enter) return;
    tell();
    now.enter();
  };
  entry.connect('activate', enter);
  const focus = new Gtk.EventControllerFocus();
  focus.connect('enter', () => now.begin?.());
  entry.add_controller(focus);
  // inside the clamp, like the margins of the content below
  const bar = new Gtk.Box({ spacing: 6, css_classes: ['culvert-toolbar'] });
  bar.append(entry);
  if (list) bar.append(list.menu);
  const setText = (text: string) => {
    known = text;
    entry.text = text;
  };
  return {
    widget: bar,
    enter,
    type(text) {
      if (known === '') now.begin?.();
      entry.text = text;
      tell();
    },
    show(search) {
      const { found } = now;
      now = search;
      if (search.found !== undefined && search.found !== found)
        announce(bar.visible ? entry : (bar.parent ?? entry), search.found);
      // keeps text that the page does not know yet
      if (search.text !== known) setText(search.text);
    },
    text: () => entry.text,
    put: setText,
    focus(isTyping = false) {
      if (!isTyping) return void entry.grab_focus();
      (entry.get_delegate() as Gtk.Text).grab_focus_without_selecting();
      entry.set_position(-1);
    },
  };
}

export interface LongList {
  widget: Gtk.Widget;
  /** Menu of the commands for the whole list. */
  menu: Gtk.Widget;
  /** @param query text of the search; a new text scrolls to the beginning of the list */
  show(list: List, query: string): void;
  /** Drops the rows, before the window closes. */
  close(): void;
}

/** Creates a form's list. */
export function createLongList(first: List, host: Host): LongList {
  let now = first;
  let shownQuery = '';
  let listed: List['items'] | null = null;
  let items: ReadonlyMap<string, ListItem> = new Map();
  const remove = (id: string) => {
    const item = items.get(id);
    if (item?.removable && now.sensitive) void host.run(now.removal(item).command);
  };
  const { factory, renew, idOf } = listRows({
    item: id => items.get(id),
    list: () => now,
    remove: ({ id }) => remove(id),
  });
  const shown = new Gtk.StringList();
  const view = new Gtk.ListView({ css_classes: ['culvert-list', 'card'], show_separators: true, factory });
  view.model = new Gtk.SingleSelection({ model: shown });
  removeByKey(view, idOf, remove);
  setName(view, first.title);
  const fill = stepwise(view, shown);
  const none = createStatus(host);
  const widget = new Gtk.Stack({ vexpand: true });
  const clamp = new Adw.ClampScrollable({ ...CLAMP, child: view });
  const scrolled = new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child: clamp });
  widget.add_named(new OneStop(view, scrolled), 'some');
  widget.add_named(new Gtk.ScrolledWindow({ child: none.widget }), 'none');
  const menu = createMenu(command => void host.run(command));
  return {
    widget,
    menu: menu.widget,
    show(list, query) {
      now = list;
      menu.show(list.more.entries, list.more.name);
      if (list.items === listed) return;
      listed = list.items;
      items = new Map(list.items.map(item => [item.id, item]));
      const ids = [...items.keys()];
      if (query !== shownQuery) fill.show(ids);
      else if (fill.update(ids)) renew();
      shownQuery = query;
      collectWhenQuiet();
      if (!ids.length) none.show(list.empty);
      turnTo(widget, ids.length ? 'some' : 'none', list.title);
    },
    close: () => dropRows(view),
  };
}

/** Makes Delete remove the item with the focus; with Ctrl and an arrow key, that is not the selected item. */
function removeByKey(
  view: Gtk.ListView,
  idOf: (row: Gtk.Widget | null) => string | null,
  remove: (id: string) => void,
): void {
  const keys = new Gtk.EventControllerKey();
  keys.connect('key-pressed', (_keys, key) => {
    if (key !== Gdk.KEY_Delete && key !== Gdk.KEY_KP_Delete) return false;
    const id = idOf(view.get_focus_child()?.get_first_child() ?? null);
    if (id !== null) remove(id);
    return id !== null;
  });
  view.add_controller(keys);
  view.update_property([Gtk.AccessibleProperty.KEY_SHORTCUTS], ['Delete']);
}

interface Row {
  title: Gtk.Label;
  note: Gtk.Label;
  badge: Gtk.Label;
  remove: Gtk.Button;
}

interface RowSource {
  item(id: string): ListItem | undefined;
  list(): List;
  remove(item: ListItem): void;
}

/** Creates rows for a `GtkStringList` of IDs; `renew` updates the existing rows, and `idOf` returns the ID of a row. */
function listRows({ item: find, list, remove }: RowSource) {
  // a row that the list keeps for reuse has no item
  const itemOf = ({ item }: Gtk.ListItem) => (item ? find((item as Gtk.StringObject).string) : undefined);
  const create = (listItem: Gtk.ListItem): Row => {
    const row = createRow();
    row.remove.connect('clicked', () => {
      const item = itemOf(listItem);
      if (item) remove(item);
    });
    const text = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, hexpand: true, valign: Gtk.Align.CENTER });
    text.append(row.title);
    text.append(row.note);
    const line = new Gtk.Box({ spacing: 6 });
    for (const child of [text, row.badge, row.remove]) line.append(child);
    listItem.child = line;
    listItem.activatable = false;
    return row;
  };
  const show = (row: Row, listItem: Gtk.ListItem) => {
    const item = itemOf(listItem);
    if (!item) return;
    const { sensitive, reason, removal } = list();
    showWrapped(row.title, item.title);
    showWrapped(row.note, item.note ?? '');
    row.note.visible = item.note !== null;
    row.badge.label = item.badge;
    const { label } = removal(item);
    row.remove.tooltip_text = label;
    setName(row.remove, label);
    setDescription(row.remove, reason ?? '');
    row.remove.sensitive = sensitive && item.removable;
    nameListItem(listItem, `${item.title}, ${item.badge}`);
  };
  const { factory, rows } = rowFactory(create, show);
  return {
    factory,
    renew() {
      for (const [listItem, row] of rows) show(row, listItem);
    },
    idOf(row: Gtk.Widget | null): string | null {
      const found = [...rows.keys()].find(({ child, item }) => item && child === row);
      return found ? (found.item as Gtk.StringObject).string : null;
    },
  };
}

function createRow(): Row {
  return {
    title: new Gtk.Label({ xalign: 0, wrap: true, attributes: withoutHyphens() }),
    note: new Gtk.Label({ xalign: 0, wrap: true, css_classes: ['caption', 'dim-label'] }),
    badge: new Gtk.Label({
      wrap: true,
      natural_wrap_mode: Gtk.NaturalWrapMode.NONE,
      xalign: 1,
      justify: Gtk.Justification.RIGHT,
      css_classes: ['caption', 'dim-label'],
    }),
    // the keyboard removes an item by Delete
    remove: new Gtk.Button({ icon_name: 'list-remove-symbolic', css_classes: ['flat'], focusable: false }),
  };
}

/** Length that fits a narrow window even in large letters, in characters; no IPv4 range is longer. */
const SHORT = 18;

/** Allows breaks within words only in long text: GTK takes much longer to measure them, in each of 200 rows. */
function showWrapped(label: Gtk.Label, text: string): void {
  const { WORD, WORD_CHAR } = Pango.WrapMode;
  label.wrap_mode = text.length > SHORT ? WORD_CHAR : WORD;
  label.label = text;
}
