// A StatusNotifierItem with its com.canonical.dbusmenu over D-Bus; no library does both without GTK 3.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { Pixmaps } from './icons.ts';
import { ITEM_XML, MENU_XML } from './interfaces.ts';
import type { Entry } from './menu.ts';

const WATCHER = 'org.kde.StatusNotifierWatcher';
const ITEM_PATH = '/StatusNotifierItem';
const MENU_PATH = '/MenuBar';

export interface Appearance {
  icon: Pixmaps;
  tooltip: { title: string; text: string };
  entries: Entry[];
}

export interface Handlers {
  /** Left click; `token` hands the focus on to the window that opens, where the host gave one. */
  activate(token: string | null): void;
  /** Middle click. */
  secondary(): void;
  chosen(entry: Entry): void;
  /** There is nothing that would show the item; called once. */
  hostless(): void;
}

/**
 * Exports the item on the session bus and registers it with every watcher that appears, so it survives the host.
 * Protocols: freedesktop.org StatusNotifierItem (draft) and libdbusmenu's com.canonical.dbusmenu, version 3.
 */
export function createItem(bus: Gio.DBusConnection, first: Appearance, handlers: Handlers) {
  let shown = first;
  let revision = 1;
  let token: string | null = null;
  let toldHostless = false;

  const item = Gio.DBusExportedObject.wrapJSObject(ITEM_XML, {
    Category: 'SystemServices',
    Id: 'org.culvert.Culvert',
    Title: 'Culvert',
    Status: 'Active',
    WindowId: 0,
    IconName: '',
    IconThemePath: '',
    OverlayIconName: '',
    AttentionIconName: '',
    AttentionMovieName: '',
    OverlayIconPixmap: [],
    AttentionIconPixmap: [],
    ItemIsMenu: false,
    Menu: MENU_PATH,
    get IconPixmap() {
      return shown.icon;
    },
    get ToolTip() {
      return ['', shown.icon, shown.tooltip.title, GLib.markup_escape_text(shown.tooltip.text, -1)];
    },
    ContextMenu() {},
    Scroll() {},
    ProvideXdgActivationToken(given: string) {
      token = given;
    },
    Activate() {
      handlers.activate(token);
      token = null;
    },
    SecondaryActivate: () => handlers.secondary(),
  });
  item.export(bus, ITEM_PATH);

  const chosen = (id: number, event: string) => {
    const entry = shown.entries.find(candidate => candidate.id === id);
    if (event === 'clicked' && entry?.enabled) handlers.chosen(entry);
  };
  const known = (id: number) => id === 0 || shown.entries.some(entry => entry.id === id);
  const propertiesOf = (id: number) =>
    id === 0 ? { 'children-display': text('submenu') } : properties(shown.entries.find(entry => entry.id === id)!);
  const menu = Gio.DBusExportedObject.wrapJSObject(MENU_XML, {
    Version: 3,
    TextDirection: 'ltr',
    Status: 'normal',
    IconThemePath: [],
    GetLayout(parent: number, depth: number) {
      const nested = parent === 0 && depth !== 0;
      const children = nested ? shown.entries.map(entry => layout(entry.id, properties(entry))) : [];
      return [revision, [parent, known(parent) ? propertiesOf(parent) : {}, children]];
    },
    GetGroupProperties(ids: number[]) {
      const asked = ids.length ? ids.filter(known) : [0, ...shown.entries.map(entry => entry.id)];
      return asked.map(id => [id, propertiesOf(id)]);
    },
    GetProperty: (id: number, name: string) => (known(id) ? propertiesOf(id)[name] : undefined) ?? text(''),
    Event: (id: number, event: string) => chosen(id, event),
    EventGroup(events: [number, string, unknown, number][]) {
      for (const [id, event] of events) chosen(id, event);
      return events.map(([id]) => id).filter(id => !known(id));
    },
    AboutToShow: () => false,
    AboutToShowGroup: (ids: number[]) => [[], ids.filter(id => !known(id))],
  });
  menu.export(bus, MENU_PATH);

  const tellHostless = () => {
    if (!toldHostless) handlers.hostless();
    toldHostless = true;
  };
  Gio.bus_watch_name_on_connection(
    bus,
    WATCHER,
    Gio.BusNameWatcherFlags.NONE,
    () => void register(bus, tellHostless),
    tellHostless,
  );

  return {
    /** Shows something else; the host is told only what differs. */
    show(next: Appearance) {
      const before = shown;
      shown = next;
      if (next.icon !== before.icon) item.emit_signal('NewIcon', null as never);
      if (JSON.stringify(next.tooltip) !== JSON.stringify(before.tooltip) || next.icon !== before.icon)
        item.emit_signal('NewToolTip', null as never);
      const ids = (entries: Entry[]) => entries.map(entry => entry.id).join();
      if (ids(next.entries) !== ids(before.entries)) {
        menu.emit_signal('LayoutUpdated', new GLib.Variant('(ui)', [++revision, 0]));
        return;
      }
      const changed = next.entries.filter((entry, i) => JSON.stringify(entry) !== JSON.stringify(before.entries[i]));
      if (!changed.length) return;
      revision++;
      const updates = changed.map(entry => [entry.id, properties(entry)]);
      menu.emit_signal('ItemsPropertiesUpdated', variant('(a(ia{sv})a(ias))', [updates, []]));
    },
  };
}

/** By unique name, which every host in use accepts and which needs no name of the item's own. */
async function register(bus: Gio.DBusConnection, hostless: () => void): Promise<void> {
  const call = (iface: string, method: string, args: GLib.Variant) =>
    bus.call(WATCHER, '/StatusNotifierWatcher', iface, method, args, null, Gio.DBusCallFlags.NONE, -1, null);
  try {
    await call(WATCHER, 'RegisterStatusNotifierItem', new GLib.Variant('(s)', [bus.get_unique_name()!]));
    const property = new GLib.Variant('(ss)', [WATCHER, 'IsStatusNotifierHostRegistered']);
    const answer = await call('org.freedesktop.DBus.Properties', 'Get', property);
    if (answer.recursiveUnpack<[boolean]>()[0] === false) hostless();
  } catch (error) {
    // a watcher that went away again is followed by the next one
    printerr(`culvert tray: the desktop's tray refused the icon: ${(error as Error).message}`);
  }
}

/** Every property each time, since a host keeps what it was told before. */
function properties(entry: Entry): Record<string, GLib.Variant> {
  if (entry.label === null) return { type: text('separator') };
  // an underscore would mark a mnemonic
  return { label: text(entry.label.replaceAll('_', '__')), enabled: new GLib.Variant('b', entry.enabled) };
}

function layout(id: number, own: Record<string, GLib.Variant>): GLib.Variant {
  return variant('(ia{sv}av)', [id, own, []]);
}

function text(value: string): GLib.Variant {
  return new GLib.Variant('s', value);
}

/** The signature's type is lost on nested dictionaries of variants. */
function variant(signature: string, value: unknown): GLib.Variant {
  return new GLib.Variant(signature as 's', value as string);
}
