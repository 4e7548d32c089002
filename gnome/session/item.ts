// Exports a StatusNotifierItem and its com.canonical.dbusmenu over D-Bus, since no library does both without GTK 3.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { isRightToLeft } from '../../daemon/view/format.ts';
import { tr } from '../i18n.ts';
import type { Pixmaps } from './icons.ts';
import type { Entry } from './menu.ts';

const WATCHER = 'org.kde.StatusNotifierWatcher';
const ITEM_PATH = '/StatusNotifierItem';
const MENU_PATH = '/MenuBar';
const HOST_GRACE_MS = 5000;

export interface Appearance {
  icon: Pixmaps;
  tooltip: { title: string; text: string };
  entries: Entry[];
}

export interface Handlers {
  /** Left click. `token` lets the opened window take the focus; null if the host gave no token. */
  activate(token: string | null): void;
  /** Middle click. */
  secondary(): void;
  chosen(entry: Entry): void;
  /** The menu is about to be shown. */
  opened(): void;
  /** Called once if no host shows the item. */
  hostless(): void;
}

/**
 * Exports the item on the session bus and registers it with every watcher that appears, so that it survives the host.
 * Protocols: freedesktop.org StatusNotifierItem (draft) and libdbusmenu's com.canonical.dbusmenu, version 3.
 */
export function createItem(bus: Gio.DBusConnection, first: Appearance, handlers: Handlers) {
  let shown = first;
  let token: string | null = null;
  let reported = false;

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
    AttentionAccessibleDesc: '',
    AttentionMovieName: '',
    OverlayIconPixmap: [],
    AttentionIconPixmap: [],
    ItemIsMenu: false,
    Menu: MENU_PATH,
    get IconPixmap() {
      return shown.icon;
    },
    get IconAccessibleDesc() {
      return `Culvert: ${shown.tooltip.title}`;
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

  let revision = 1;
  const menu = menuObject({ entries: () => shown.entries, revision: () => revision, handlers });
  menu.export(bus, MENU_PATH);

  /** Timer that reports a lasting absence of the host; a restarting host returns within seconds. */
  let absent: ReturnType<typeof setTimeout> | null = null;
  const appeared = () => {
    if (absent) clearTimeout(absent);
    absent = null;
  };
  const vanished = () => {
    if (reported || absent) return;
    absent = setTimeout(() => {
      reported = true;
      handlers.hostless();
    }, HOST_GRACE_MS);
  };
  Gio.bus_watch_name_on_connection(
    bus,
    WATCHER,
    Gio.BusNameWatcherFlags.NONE,
    () => {
      appeared();
      void register(bus, vanished);
    },
    vanished,
  );

  return {
    /** Shows a new appearance; notifies the host only of the differences. */
    show(next: Appearance) {
      const before = shown;
      shown = next;
      if (next.icon !== before.icon) item.emit_signal('NewIcon', null as never);
      if (JSON.stringify(next.tooltip) !== JSON.stringify(before.tooltip) || next.icon !== before.icon)
        item.emit_signal('NewToolTip', null as never);
      const [now, then] = [flat(next.entries), flat(before.entries)];
      if (now.map(entry => entry.id).join() !== then.map(entry => entry.id).join()) {
        menu.emit_signal('LayoutUpdated', new GLib.Variant('(ui)', [++revision, 0]));
        return;
      }
      const looks = ({ label, enabled, checked }: Entry) => JSON.stringify([label, enabled, checked]);
      const changed = now.filter((entry, i) => looks(entry) !== looks(then[i]!));
      if (!changed.length) return;
      revision++;
      const updates = changed.map(entry => [entry.id, properties(entry)]);
      menu.emit_signal('ItemsPropertiesUpdated', variant('(a(ia{sv})a(ias))', [updates, []]));
    },
  };
}

interface MenuSource {
  entries(): Entry[];
  /** Revision of the layout. */
  revision(): number;
  handlers: Pick<Handlers, 'chosen' | 'opened'>;
}

/** Creates the com.canonical.dbusmenu object, from which hosts read the menu. */
function menuObject({ entries, revision, handlers }: MenuSource) {
  const find = (id: number) => flat(entries()).find(entry => entry.id === id);
  const chosen = (id: number, event: string) => {
    const entry = find(id);
    if (event === 'clicked' && entry?.enabled) handlers.chosen(entry);
  };
  const isEntry = (id: number) => id === 0 || find(id) !== undefined;
  const propertiesOf = (id: number) => (id === 0 ? { 'children-display': text('submenu') } : properties(find(id)!));
  return Gio.DBusExportedObject.wrapJSObject(MENU_XML, {
    Version: 3,
    get TextDirection() {
      return isRightToLeft(tr) ? 'rtl' : 'ltr';
    },
    Status: 'normal',
    IconThemePath: [],
    GetLayout(parent: number, depth: number) {
      const inside = parent === 0 ? entries() : (find(parent)?.children ?? []);
      return [revision(), [parent, isEntry(parent) ? propertiesOf(parent) : {}, layouts(inside, depth)]];
    },
    GetGroupProperties(ids: number[]) {
      const asked = ids.length ? ids.filter(isEntry) : [0, ...flat(entries()).map(entry => entry.id)];
      return asked.map(id => [id, propertiesOf(id)]);
    },
    GetProperty: (id: number, name: string) => (isEntry(id) ? propertiesOf(id)[name] : undefined) ?? text(''),
    Event: (id: number, event: string) => chosen(id, event),
    EventGroup(events: [number, string, unknown, number][]) {
      for (const [id, event] of events) chosen(id, event);
      return events.map(([id]) => id).filter(id => !isEntry(id));
    },
    AboutToShow(id: number) {
      if (id === 0) handlers.opened();
      return false;
    },
    AboutToShowGroup: (ids: number[]) => [[], ids.filter(id => !isEntry(id))],
  });
}

/** Registers the connection's unique name, which every host in use accepts. */
async function register(bus: Gio.DBusConnection, hostless: () => void): Promise<void> {
  const call = (iface: string, method: string, args: GLib.Variant) =>
    bus.call(WATCHER, '/StatusNotifierWatcher', iface, method, args, null, Gio.DBusCallFlags.NONE, -1, null);
  try {
    await call(WATCHER, 'RegisterStatusNotifierItem', new GLib.Variant('(s)', [bus.get_unique_name()!]));
    const property = new GLib.Variant('(ss)', [WATCHER, 'IsStatusNotifierHostRegistered']);
    const answer = await call('org.freedesktop.DBus.Properties', 'Get', property);
    if (answer.recursiveUnpack<[boolean]>()[0] === false) hostless();
  } catch (error) {
    // the watcher is gone; the next watcher gets the item again
    printerr(`culvert tray: the desktop's tray refused the icon: ${(error as Error).message}`);
  }
}

/** Returns all properties of an entry, since a host keeps the old value of a missing property. */
function properties(entry: Entry): Record<string, GLib.Variant> {
  if (entry.label === null) return { type: text('separator') };
  return {
    // an underscore would mark a mnemonic
    label: text(entry.label.replaceAll('_', '__')),
    enabled: new GLib.Variant('b', entry.enabled),
    ...(entry.checked === undefined
      ? {}
      : {
          'toggle-type': text(entry.radio ? 'radio' : 'checkmark'),
          'toggle-state': new GLib.Variant('i', Number(entry.checked)),
        }),
    ...(entry.children ? { 'children-display': text('submenu') } : {}),
  };
}

/** @param depth number of requested levels; -1 for all levels. */
function layouts(entries: Entry[], depth: number): GLib.Variant[] {
  if (depth === 0) return [];
  return entries.map(entry =>
    variant('(ia{sv}av)', [entry.id, properties(entry), layouts(entry.children ?? [], depth - 1)]),
  );
}

/** Returns the entries, including the entries of submenus. */
function flat(entries: Entry[]): Entry[] {
  return entries.flatMap(entry => [entry, ...(entry.children ?? [])]);
}

function text(value: string): GLib.Variant {
  return new GLib.Variant('s', value);
}

/** TypeScript can't derive the type of nested dictionaries of variants from the signature. */
function variant(signature: string, value: unknown): GLib.Variant {
  return new GLib.Variant(signature as 's', value as string);
}

/** https://www.freedesktop.org/wiki/Specifications/StatusNotifierItem/, with KDE's activation token. */
const ITEM_XML = `<node><interface name="org.kde.StatusNotifierItem">
<property name="Category" type="s" access="read"/>
<property name="Id" type="s" access="read"/>
<property name="Title" type="s" access="read"/>
<property name="Status" type="s" access="read"/>
<property name="WindowId" type="i" access="read"/>
<property name="IconName" type="s" access="read"/>
<property name="IconThemePath" type="s" access="read"/>
<property name="IconPixmap" type="a(iiay)" access="read"/>
<property name="OverlayIconName" type="s" access="read"/>
<property name="OverlayIconPixmap" type="a(iiay)" access="read"/>
<property name="IconAccessibleDesc" type="s" access="read"/>
<property name="AttentionAccessibleDesc" type="s" access="read"/>
<property name="AttentionIconName" type="s" access="read"/>
<property name="AttentionIconPixmap" type="a(iiay)" access="read"/>
<property name="AttentionMovieName" type="s" access="read"/>
<property name="ToolTip" type="(sa(iiay)ss)" access="read"/>
<property name="ItemIsMenu" type="b" access="read"/>
<property name="Menu" type="o" access="read"/>
<method name="ContextMenu"><arg type="i" direction="in"/><arg type="i" direction="in"/></method>
<method name="Activate"><arg type="i" direction="in"/><arg type="i" direction="in"/></method>
<method name="SecondaryActivate"><arg type="i" direction="in"/><arg type="i" direction="in"/></method>
<method name="Scroll"><arg type="i" direction="in"/><arg type="s" direction="in"/></method>
<method name="ProvideXdgActivationToken"><arg type="s" direction="in"/></method>
<signal name="NewTitle"/>
<signal name="NewIcon"/>
<signal name="NewToolTip"/>
<signal name="NewStatus"><arg type="s"/></signal>
</interface></node>`;

/** libdbusmenu/dbus-menu.xml */
const MENU_XML = `<node><interface name="com.canonical.dbusmenu">
<property name="Version" type="u" access="read"/>
<property name="TextDirection" type="s" access="read"/>
<property name="Status" type="s" access="read"/>
<property name="IconThemePath" type="as" access="read"/>
<method name="GetLayout">
 <arg type="i" direction="in"/><arg type="i" direction="in"/><arg type="as" direction="in"/>
 <arg type="u" direction="out"/><arg type="(ia{sv}av)" direction="out"/>
</method>
<method name="GetGroupProperties">
 <arg type="ai" direction="in"/><arg type="as" direction="in"/><arg type="a(ia{sv})" direction="out"/>
</method>
<method name="GetProperty">
 <arg type="i" direction="in"/><arg type="s" direction="in"/><arg type="v" direction="out"/>
</method>
<method name="Event">
 <arg type="i" direction="in"/><arg type="s" direction="in"/><arg type="v" direction="in"/><arg type="u" direction="in"/>
</method>
<method name="EventGroup"><arg type="a(isvu)" direction="in"/><arg type="ai" direction="out"/></method>
<method name="AboutToShow"><arg type="i" direction="in"/><arg type="b" direction="out"/></method>
<method name="AboutToShowGroup">
 <arg type="ai" direction="in"/><arg type="ai" direction="out"/><arg type="ai" direction="out"/>
</method>
<signal name="ItemsPropertiesUpdated"><arg type="a(ia{sv})"/><arg type="a(ias)"/></signal>
<signal name="LayoutUpdated"><arg type="u"/><arg type="i"/></signal>
<signal name="ItemActivationRequested"><arg type="i"/><arg type="u"/></signal>
</interface></node>`;
