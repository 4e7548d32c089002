// Provides a form's long list, which creates only the rows near the visible part.
import Adw from 'gi://Adw?version=1';
import Gdk from 'gi://Gdk?version=4.0';
import Gio from 'gi://Gio?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { Command, ItemControls, List, ListItem, MenuButton } from '../../../../daemon/view/form.ts';
import { underWay } from '../../../../daemon/view/forms/availability.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import { collectWhenQuiet } from '../../../gc.ts';
import { _, tr } from '../../../i18n.ts';
import { nameMenuButton, setDescription, setName, setTooltip, turnTo } from '../accessible.ts';
import { type CommandButton, commandButton, createMenu, withoutHyphens } from '../buttons.ts';
import { CLAMP, vertical } from '../columns.ts';
import { nameListItem } from '../compat.ts';
import { dropRows, OneStop, rowFactory, stepwise } from '../lists.ts';
import { createStatus } from './status.ts';

export interface LongList {
  widget: Gtk.Widget;
  view: Gtk.ListView;
  /** Buttons of the commands for the whole list. */
  beside: Gtk.Widget[];
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
    if (item?.removable && now.sensitive) void host.run(now.removal!(item).command);
  };
  const run = (command: Command) => void host.run(command);
  const { factory, renew, idOf } = listRows({
    item: id => items.get(id),
    list: () => now,
    remove: ({ id }) => remove(id),
    run,
  });
  const shown = new Gtk.StringList();
  const view = new Gtk.ListView({ css_classes: ['culvert-list', 'card'], show_separators: true, factory });
  view.model = first.removal ? new Gtk.SingleSelection({ model: shown }) : new Gtk.NoSelection({ model: shown });
  if (first.removal) removeByKey(view, idOf, remove);
  view.connect('activate', (_view, at) => {
    const { start = null } = controlsOf(items.get(shown.get_string(at)!)!, now) ?? {};
    if (start?.sensitive) run(start.command);
  });
  setName(view, first.title);
  const fill = stepwise(view, shown);
  const none = createStatus(host);
  const widget = new Gtk.Stack({ vexpand: true });
  const clamp = new Adw.ClampScrollable({ ...CLAMP, child: view });
  const scrolled = new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child: clamp });
  widget.add_named(new OneStop(view, scrolled), 'some');
  widget.add_named(new Gtk.ScrolledWindow({ child: none.widget }), 'none');
  const menu = createMenu(run);
  const refresh = commandButton(run, ['flat']);
  return {
    widget,
    view,
    beside: [refresh.widget, menu.widget],
    show(list, query) {
      now = list;
      menu.show(list.more?.entries, list.more?.name ?? '');
      refresh.show(list.refresh ? { ...list.refresh, icon: 'view-refresh-symbolic', sensitive: list.sensitive } : null);
      if (!list.items.length) none.show(list.empty);
      if (list.items === listed) return;
      listed = list.items;
      items = new Map(list.items.map(item => [item.id, item]));
      const ids = [...items.keys()];
      if (query !== shownQuery) fill.show(ids);
      else if (fill.update(ids)) renew();
      shownQuery = query;
      collectWhenQuiet();
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

/** Returns the controls of an item as they can be used now. */
function controlsOf(item: ListItem, { controls, sensitive }: List): ItemControls | undefined {
  const made = controls?.(item);
  const usable = <B extends MenuButton>(button: B): B => ({
    ...button,
    sensitive: sensitive && !item.busy && button.sensitive !== false,
  });
  return made && { ...made, start: usable(made.start), toggle: usable(made.toggle) };
}

interface Row {
  title: Gtk.Label;
  note: Gtk.Label;
  badge: Gtk.Label;
  /** Missing in a list without removal. */
  remove: Gtk.Button | undefined;
  /** Missing in a list without controls. */
  controls: RowControls | undefined;
}

interface RowControls {
  picture: Gtk.Image;
  toggle: CommandButton;
  start: CommandButton;
  menu: Gtk.MenuButton;
}

interface RowSource {
  item(id: string): ListItem | undefined;
  list(): List;
  remove(item: ListItem): void;
  run(command: Command): void;
}

/** Creates rows for a `GtkStringList` of IDs; `renew` updates the existing rows, and `idOf` returns the ID of a row. */
function listRows({ item: find, list, remove, run }: RowSource) {
  // a row that the list keeps for reuse has no item
  const itemOf = ({ item }: Gtk.ListItem) => (item ? find((item as Gtk.StringObject).string) : undefined);
  const create = (listItem: Gtk.ListItem): Row => {
    const row = createRow(list(), run);
    const { remove: button, controls } = row;
    button?.connect('clicked', () => {
      const item = itemOf(listItem);
      if (item) remove(item);
    });
    if (controls)
      fillMenu(controls.menu, run, () => {
        const item = itemOf(listItem);
        return (item && list().controls?.(item).menu()) ?? [];
      });
    const text = vertical(controls ? 3 : 0);
    text.hexpand = true;
    text.valign = Gtk.Align.CENTER;
    text.append(row.title);
    text.append(row.note);
    // a narrow window has no room for more spacing
    const line = new Gtk.Box({ spacing: controls ? 4 : 6 });
    const after = [row.badge, controls?.toggle.widget, controls?.start.widget, controls?.menu, button];
    for (const child of [controls?.picture, text, ...after]) if (child) line.append(child);
    listItem.child = line;
    return row;
  };
  const show = (row: Row, listItem: Gtk.ListItem) => {
    const item = itemOf(listItem);
    if (!item) return;
    const { sensitive, reason, removal } = list();
    const { id, title, badge, details = '' } = item;
    const note = item.busy ? underWay(tr) : (item.note ?? '');
    const short = row.controls ? SHORT_BESIDE_CONTROLS : SHORT;
    showWrapped(row.title, title, short);
    setTooltip(row.title, id === title ? '' : id);
    showWrapped(row.note, note, short);
    row.note.visible = note !== '';
    setTooltip(row.note, details);
    showWrapped(row.badge, badge, short);
    row.badge.visible = badge !== '';
    nameListItem(listItem, `${title}, ${badge || note}`);
    if (removal && row.remove) {
      const { label } = removal(item);
      setTooltip(row.remove, label);
      setName(row.remove, label);
      setDescription(row.remove, reason ?? '');
      row.remove.sensitive = sensitive && Boolean(item.removable);
    }
    const controls = controlsOf(item, list());
    listItem.activatable = Boolean(controls?.start.sensitive);
    if (controls && row.controls) showControls(row.controls, row.title, { item, note, controls }, list());
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

interface Controlled {
  item: ListItem;
  /** The shown note, which may be the reason why a control can't be used. */
  note: string;
  controls: ItemControls;
}

function showControls(
  { picture, toggle, start, menu }: RowControls,
  title: Gtk.Label,
  { item, note, controls }: Controlled,
  { sensitive, reason }: List,
): void {
  const about = (isUsable = false) => (isUsable ? '' : (reason ?? note));
  showPicture(picture, item.picture ?? null);
  // the note stays readable
  for (const part of [picture, title]) part.sensitive = !item.faded;
  start.show({ ...controls.start, about: about(controls.start.sensitive) });
  const { on, name } = controls.toggle;
  const icon = on ? 'culvert-shortcut-present-symbolic' : 'culvert-shortcut-symbolic';
  toggle.show({ ...controls.toggle, label: name, icon, about: about(controls.toggle.sensitive) });
  menu.sensitive = sensitive && !item.busy;
  const menuName = `${item.title}: ${_('More')}`;
  setTooltip(menu, menuName);
  setName(menu, menuName);
  setDescription(menu, about(menu.sensitive));
}

/** Creates only the widgets that the list needs, since there are 200 rows of them. */
function createRow({ removal, controls }: List, run: (command: Command) => void): Row {
  const wrap_mode = Pango.WrapMode.WORD_CHAR;
  const width_chars = controls ? LEAST_BESIDE_CONTROLS : LEAST;
  return {
    title: new Gtk.Label({ xalign: 0, wrap_mode, width_chars, attributes: withoutHyphens() }),
    note: new Gtk.Label({ xalign: 0, wrap_mode, width_chars, css_classes: ['caption', 'dim-label'] }),
    badge: new Gtk.Label({
      natural_wrap_mode: Gtk.NaturalWrapMode.NONE,
      xalign: 1,
      justify: Gtk.Justification.RIGHT,
      css_classes: ['caption', 'dim-label'],
    }),
    // the keyboard removes an item by Delete
    remove: removal && new Gtk.Button({ icon_name: 'list-remove-symbolic', css_classes: ['flat'], focusable: false }),
    controls: controls && {
      picture: new Gtk.Image({ pixel_size: 32, margin_end: 4, accessible_role: Gtk.AccessibleRole.PRESENTATION }),
      toggle: commandButton(run, ['flat']),
      start: commandButton(run),
      menu: new Gtk.MenuButton({ icon_name: 'view-more-symbolic', valign: Gtk.Align.CENTER, css_classes: ['flat'] }),
    },
  };
}

/** Creates the menu each time it opens, since most menus never open. */
function fillMenu(button: Gtk.MenuButton, run: (command: Command) => void, entries: () => readonly MenuButton[]): void {
  button.set_create_popup_func(() => {
    const actions = new Gio.SimpleActionGroup();
    const menu = new Gio.Menu();
    for (const [i, { label, command }] of entries().entries()) {
      const action = new Gio.SimpleAction({ name: `entry-${i}` });
      action.connect('activate', () => run(command));
      actions.add_action(action);
      menu.append(label, `item.${action.name}`);
    }
    button.popover = Gtk.PopoverMenu.new_from_model(menu);
    button.insert_action_group('item', actions);
    nameMenuButton(button, button.tooltip_text ?? '');
  });
}

/** @param picture name of an icon in the theme, or path of a file */
function showPicture(image: Gtk.Image, picture: string | null): void {
  if (picture?.startsWith('/')) image.gicon = Gio.FileIcon.new(Gio.File.new_for_path(picture));
  else image.icon_name = picture && hasIcon(picture) ? picture : 'application-x-executable';
}

/** Cached lookups of icon names: a lookup of a missing name searches all of the theme's directories. */
const icons = new Map<string, boolean>();

function hasIcon(name: string): boolean {
  const exists = icons.get(name) ?? Gtk.IconTheme.get_for_display(Gdk.Display.get_default()!).has_icon(name);
  icons.set(name, exists);
  return exists;
}

/** Lengths that fit a narrow window even in large letters, in characters; no IPv4 range is longer. */
const [SHORT, SHORT_BESIDE_CONTROLS] = [18, 9];

/** Minimum widths of text, in characters: without one, GTK also measures each text with one letter per line. */
const [LEAST, LEAST_BESIDE_CONTROLS] = [12, 5];

/** Wraps only long text, since GTK measures a label that wraps several times, in each of 200 rows. */
function showWrapped(label: Gtk.Label, text: string, short: number): void {
  label.wrap = text.length > short;
  label.label = text;
}
