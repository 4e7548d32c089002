// Builds the rows of the app list: each shows an app, how it takes the proxy, and buttons to start it and create a shortcut.
import Gdk from 'gi://Gdk?version=4.0';
import Gio from 'gi://Gio?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { App } from '../../../daemon/api/schema.ts';
import { underWay } from '../../../daemon/view/forms/availability.ts';
import { type AppEntry, appBadge, appDetails, appMenuName, launchable } from '../../../daemon/view/states/apps.ts';
import { fill } from '../../../daemon/view/translator.ts';
import { _, tr } from '../../i18n.ts';
import { nameMenuButton, setDescription, setName } from '../widgets/accessible.ts';
import { nameListItem } from '../widgets/compat.ts';
import { rowFactory } from '../widgets/lists.ts';

interface ListedApp {
  app: App;
  /** True while a request about the app is running. */
  busy: boolean;
}

interface Row {
  picture: Gtk.Image;
  name: Gtk.Label;
  subtitle: Gtk.Label;
  shortcut: Gtk.Button;
  launch: Gtk.Button;
  more: Gtk.MenuButton;
  box: Gtk.Box;
}

export interface AppRows {
  factory: Gtk.SignalListItemFactory;
  /** Updates an app's row; without an ID, updates all rows. */
  update(id?: string): void;
}

export interface AppAsks {
  find(id: string): ListedApp | undefined;
  launch(id: string): void;
  shortcut(id: string): void;
  entries(id: string): readonly AppEntry[];
  /** Runs an entry of the app's menu. */
  run(id: string, entry: AppEntry): void;
}

/** Creates rows for a `GtkStringList` of app IDs; the list reuses the rows as it scrolls. */
export function appRows(asks: AppAsks): AppRows {
  const create = (listItem: Gtk.ListItem): Row => {
    const row = createRow();
    fillMenu(
      row.more,
      () => asks.entries(idOf(listItem)),
      entry => asks.run(idOf(listItem), entry),
    );
    row.launch.connect('clicked', () => asks.launch(idOf(listItem)));
    row.shortcut.connect('clicked', () => asks.shortcut(idOf(listItem)));
    listItem.child = row.box;
    return row;
  };
  const show = (row: Row, listItem: Gtk.ListItem) => {
    const app = asks.find(idOf(listItem));
    if (app) showApp(row, listItem, app);
  };
  const { factory, rows } = rowFactory(create, show);
  return {
    factory,
    update(id) {
      for (const [listItem, row] of rows)
        if (listItem.item && (id === undefined || idOf(listItem) === id)) show(row, listItem);
    },
  };
}

function createRow(): Row {
  const picture = new Gtk.Image({ pixel_size: 32, accessible_role: Gtk.AccessibleRole.PRESENTATION });
  const name = new Gtk.Label({ xalign: 0, ellipsize: Pango.EllipsizeMode.END });
  const subtitle = new Gtk.Label({
    xalign: 0,
    wrap: true,
    wrap_mode: Pango.WrapMode.WORD_CHAR,
    css_classes: ['caption', 'dim-label'],
  });
  const text = new Gtk.Box({
    orientation: Gtk.Orientation.VERTICAL,
    hexpand: true,
    valign: Gtk.Align.CENTER,
    spacing: 3,
    margin_start: 8,
  });
  text.append(name);
  text.append(subtitle);
  const shortcut = new Gtk.Button({ valign: Gtk.Align.CENTER, css_classes: ['flat'] });
  const launch = new Gtk.Button({ label: _('Start'), valign: Gtk.Align.CENTER });
  // a narrow window has no room for more spacing
  const box = new Gtk.Box({ spacing: 4 });
  const more = new Gtk.MenuButton({
    icon_name: 'view-more-symbolic',
    valign: Gtk.Align.CENTER,
    css_classes: ['flat'],
  });
  for (const child of [picture, text, shortcut, launch, more]) box.append(child);
  return { picture, name, subtitle, shortcut, launch, more, box };
}

function showApp(
  { picture, name, subtitle, shortcut, launch, more }: Row,
  listItem: Gtk.ListItem,
  listed: ListedApp,
): void {
  const { app, busy } = listed;
  const able = launchable(app);
  setPicture(picture, app.icon);
  name.label = app.name;
  name.tooltip_text = app.id;
  subtitle.label = busy ? underWay(tr) : appBadge(app, tr);
  subtitle.tooltip_text = appDetails(app, tr);
  listItem.activatable = able;
  listItem.selectable = false;
  nameListItem(listItem, `${app.name}, ${subtitle.label}`);
  // only these two, so that the reason why the app can't be started stays readable
  picture.sensitive = able;
  name.sensitive = able;
  launch.sensitive = able && !busy;
  const present = app.shortcut !== null;
  shortcut.icon_name = present ? 'culvert-shortcut-present-symbolic' : 'culvert-shortcut-symbolic';
  shortcut.sensitive = !busy && (able || present);
  // Translators: %s is the name of an app
  shortcut.tooltip_text = fill(present ? _('Remove %s from the app menu') : _('Add %s to the app menu'), app.name);
  setName(shortcut, shortcut.tooltip_text);
  // Translators: %s is the name of an app
  setName(launch, fill(_('Start %s'), app.name));
  more.sensitive = !busy;
  more.tooltip_text = appMenuName(app, tr);
  setName(more, more.tooltip_text);
  for (const button of [launch, shortcut, more]) setDescription(button, button.sensitive ? '' : subtitle.label);
}

/** Creates the menu each time it opens, since most menus never open. */
function fillMenu(button: Gtk.MenuButton, entries: () => readonly AppEntry[], run: (entry: AppEntry) => void): void {
  button.set_create_popup_func(() => {
    const actions = new Gio.SimpleActionGroup();
    const menu = new Gio.Menu();
    for (const [i, entry] of entries().entries()) {
      const action = new Gio.SimpleAction({ name: `entry-${i}` });
      action.connect('activate', () => run(entry));
      actions.add_action(action);
      menu.append(entry.label, `app-menu.${action.name}`);
    }
    button.popover = Gtk.PopoverMenu.new_from_model(menu);
    button.insert_action_group('app-menu', actions);
    nameMenuButton(button, button.tooltip_text ?? '');
  });
}

/** @param icon name of an icon in the theme, or path of a file. */
function setPicture(picture: Gtk.Image, icon: string | null): void {
  if (icon?.startsWith('/')) {
    picture.gicon = Gio.FileIcon.new(Gio.File.new_for_path(icon));
    return;
  }
  picture.icon_name = icon && hasIcon(icon) ? icon : 'application-x-executable';
}

/** Cached lookups of icon names: a lookup of a missing name searches all of the theme's directories. */
const icons = new Map<string, boolean>();

function hasIcon(name: string): boolean {
  const exists = icons.get(name) ?? Gtk.IconTheme.get_for_display(Gdk.Display.get_default()!).has_icon(name);
  icons.set(name, exists);
  return exists;
}

function idOf(listItem: Gtk.ListItem): string {
  return (listItem.item as Gtk.StringObject).string;
}
