// One app in the list: what it is, how it takes the proxy, and the buttons that start it and make its shortcut.
import Gdk from 'gi://Gdk?version=4.0';
import Gio from 'gi://Gio?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { App } from '../../daemon/api/schema.ts';
import { appSubtitle, launchable } from '../apps-view.ts';
import { _, words } from '../i18n.ts';
import { fill } from '../words.ts';
import { nameListItem } from './compat.ts';

/** An app as the list shows it. */
export interface ListedApp {
  app: App;
  /** A request about it is under way. */
  busy: boolean;
}

interface Row {
  picture: Gtk.Image;
  name: Gtk.Label;
  subtitle: Gtk.Label;
  shortcut: Gtk.Button;
  launch: Gtk.Button;
  box: Gtk.Box;
}

export interface AppRows {
  factory: Gtk.SignalListItemFactory;
  /** Shows an item as it is now, if it is on screen. */
  update(id: string): void;
}

export interface AppAsks {
  find(id: string): ListedApp | undefined;
  launch(id: string): void;
  shortcut(id: string): void;
}

/** Rows for a `GtkStringList` of app ids, which are recycled as it scrolls. */
export function appRows(asks: AppAsks): AppRows {
  // not a WeakMap: the engine drops its side of a widget that nothing else here points to, and would forget the row
  const rows = new Map<Gtk.ListItem, Row>();
  const factory = new Gtk.SignalListItemFactory();
  factory.connect('setup', (_factory, listItem: Gtk.ListItem) => {
    const row = createRow();
    rows.set(listItem, row);
    row.launch.connect('clicked', () => asks.launch(idOf(listItem)));
    row.shortcut.connect('clicked', () => asks.shortcut(idOf(listItem)));
    listItem.child = row.box;
  });
  const show = (listItem: Gtk.ListItem) => {
    const found = asks.find(idOf(listItem));
    if (found) showApp(rows.get(listItem)!, listItem, found);
  };
  factory.connect('bind', (_factory, listItem: Gtk.ListItem) => show(listItem));
  return {
    factory,
    update(id) {
      for (const listItem of rows.keys()) if (listItem.item && idOf(listItem) === id) show(listItem);
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
    lines: 3,
    ellipsize: Pango.EllipsizeMode.END,
    css_classes: ['caption', 'dim-label'],
  });
  const text = new Gtk.Box({
    orientation: Gtk.Orientation.VERTICAL,
    hexpand: true,
    valign: Gtk.Align.CENTER,
    spacing: 3,
  });
  text.append(name);
  text.append(subtitle);
  const shortcut = new Gtk.Button({ valign: Gtk.Align.CENTER, css_classes: ['flat'] });
  const launch = new Gtk.Button({ label: _('Start'), valign: Gtk.Align.CENTER });
  const box = new Gtk.Box({ spacing: 12 });
  for (const child of [picture, text, shortcut, launch]) box.append(child);
  return { picture, name, subtitle, shortcut, launch, box };
}

function showApp({ picture, name, subtitle, shortcut, launch }: Row, listItem: Gtk.ListItem, listed: ListedApp): void {
  const { app, busy } = listed;
  const able = launchable(app);
  setPicture(picture, app.icon);
  name.label = app.name;
  name.tooltip_text = app.id;
  subtitle.label = appSubtitle(app, words);
  subtitle.tooltip_text = subtitle.label;
  listItem.activatable = able;
  listItem.selectable = false;
  nameListItem(listItem, `${app.name}, ${subtitle.label}`);
  // the words on why it can't be started stay readable
  picture.sensitive = able;
  name.sensitive = able;
  launch.sensitive = able && !busy;
  const present = app.shortcut !== null;
  shortcut.icon_name = present ? 'culvert-shortcut-present-symbolic' : 'culvert-shortcut-symbolic';
  shortcut.sensitive = !busy && (able || present);
  // Translators: %s is the name of an app
  shortcut.tooltip_text = fill(present ? _('Remove the shortcut of %s') : _('Make a shortcut for %s'), app.name);
  shortcut.update_property([Gtk.AccessibleProperty.LABEL], [shortcut.tooltip_text]);
  // Translators: %s is the name of an app
  launch.update_property([Gtk.AccessibleProperty.LABEL], [fill(_('Start %s'), app.name)]);
}

/** @param icon a name of the theme, or the path of a file. */
function setPicture(picture: Gtk.Image, icon: string | null): void {
  if (icon?.startsWith('/')) {
    picture.gicon = Gio.FileIcon.new(Gio.File.new_for_path(icon));
    return;
  }
  const theme = Gtk.IconTheme.get_for_display(Gdk.Display.get_default()!);
  picture.icon_name = icon && theme.has_icon(icon) ? icon : 'application-x-executable';
}

function idOf(listItem: Gtk.ListItem): string {
  return (listItem.item as Gtk.StringObject).string;
}
