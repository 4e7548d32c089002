// Provides a form's search field and its long list, which creates only the rows near the visible part.
import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { List, ListItem, Search } from '../../../daemon/view/form.ts';
import type { Host } from '../../../daemon/view/host.ts';
import { collectWhenQuiet } from '../../gc.ts';
import { _ } from '../../i18n.ts';
import { nameMenuButton, setDescription, setName, turnTo } from './accessible.ts';
import { withoutHyphens } from './buttons.ts';
import { announce, nameListItem } from './compat.ts';
import { dropRows, rowFactory, stepwise } from './lists.ts';

/** Width of a page with a list, in pixels. */
export const LIST_WIDTH = 720;

export interface SearchBar {
  widget: Gtk.Widget;
  show(search: Search): void;
  /** Clears the field, including text that the page does not know yet. */
  clear(): void;
  focus(): void;
}

/**
 * Creates a search field.
 * @param width width of the page below the field, in pixels
 * @param list a list to search after each key, with its menu next to the field; without a list, the search waits for a pause
 */
export function createSearchBar(first: Search, width: number, list: { menu: Gtk.Widget } | null): SearchBar {
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
  entry.connect('activate', () => {
    if (!now.enter) return;
    tell();
    now.enter();
  });
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
    widget: new Adw.Clamp({ maximum_size: width, child: bar }),
    show(search) {
      const { found } = now;
      now = search;
      if (search.found !== undefined && search.found !== found) announce(entry, search.found);
      // keeps text that the page does not know yet
      if (search.text !== known) setText(search.text);
    },
    clear: () => setText(''),
    focus: () => void entry.grab_focus(),
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
  const { factory, renew } = listRows({
    item: id => items.get(id),
    list: () => now,
    remove: item => void host.run(now.removal(item).command),
  });
  const shown = new Gtk.StringList();
  const view = new Gtk.ListView({ css_classes: ['culvert-list', 'card'], show_separators: true, factory });
  view.model = new Gtk.NoSelection({ model: shown });
  setName(view, first.title);
  const fill = stepwise(view, shown);
  const none = new Adw.StatusPage({ icon_name: first.empty.icon });
  const widget = new Gtk.Stack({ vexpand: true });
  const clamp = new Adw.ClampScrollable({ maximum_size: LIST_WIDTH, child: view });
  widget.add_named(new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child: clamp }), 'some');
  widget.add_named(none, 'none');
  return {
    widget,
    menu: createMenu(() => now.more, host),
    show(list, query) {
      now = list;
      if (list.items === listed) return;
      listed = list.items;
      items = new Map(list.items.map(item => [item.id, item]));
      const ids = [...items.keys()];
      if (query !== shownQuery) fill.show(ids);
      else if (fill.update(ids)) renew();
      shownQuery = query;
      collectWhenQuiet();
      none.title = list.empty.title;
      turnTo(widget, ids.length ? 'some' : 'none', list.title);
    },
    close: () => dropRows(view),
  };
}

/** Creates the menu of commands for the whole list. */
function createMenu(more: () => List['more'], host: Host): Gtk.MenuButton {
  const actions = new Gio.SimpleActionGroup();
  const menu = new Gio.Menu();
  for (const [at, { label }] of more().entries.entries()) {
    const action = new Gio.SimpleAction({ name: `entry-${at}` });
    action.connect('activate', () => void host.run(more().entries[at]!.command));
    actions.add_action(action);
    menu.append(label, `list.${action.name}`);
  }
  const button = new Gtk.MenuButton({ icon_name: 'view-more-symbolic', menu_model: menu, tooltip_text: _('More') });
  button.insert_action_group('list', actions);
  nameMenuButton(button, more().name);
  return button;
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

/** Creates rows for a `GtkStringList` of IDs; `renew` updates the existing rows. */
function listRows({ item: find, list, remove }: RowSource): { factory: Gtk.SignalListItemFactory; renew(): void } {
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
    if ('focusable' in listItem) listItem.focusable = false;
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
    remove: new Gtk.Button({ icon_name: 'list-remove-symbolic', css_classes: ['flat'] }),
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
