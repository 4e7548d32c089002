// Shows the state of org.culvert.Client1 in a tile of GNOME Shell's quick settings and in a panel icon, and calls its methods.
// It uses a private connection, which leaves nothing on the bus after the tile is destroyed, and no timer.
import type Gio from 'gi://Gio';
import type GLib from 'gi://GLib';
import type { Translator } from '../../daemon/view/translator.ts';
import { type Call, type Item, lookOf, type Properties } from './look.ts';

const NAME = 'org.culvert.Client1';
const PATH = '/org/culvert/Client1';
const TITLE = 'WARP';
const DOMAIN = 'culvert';
/** Time limit for a call, which may wait for an administrator's password, in ms. */
const LIMIT_MS = 300_000;
/** Reads stale values again, and starts a missing bridge. */
const REFRESH: Call = { method: 'Refresh', signature: '()', args: [] };

export interface Tile {
  destroy(): void;
}

/** @param directory the extension's directory, which has icons and catalogs */
export function createTile(shell: Shell.Modules, directory: Gio.File): Tile {
  const { Main, PopupMenu, QuickSettings } = shell;
  const { quickSettings, dateMenu } = Main.panel.statusArea;
  const tr = translator(shell, directory);
  const bus = connectToBus(shell, draw);

  const indicator = new QuickSettings.SystemIndicator();
  const panelIcon = indicator._addIndicator();
  const toggle = new QuickSettings.QuickMenuToggle({ toggleMode: false });
  const hasSubtitle: boolean = 'subtitle' in toggle;
  if (hasSubtitle) toggle.title = TITLE;
  indicator.quickSettingsItems.push(toggle);
  toggle.connect('clicked', () => {
    const { toggle: change } = look();
    if (change) call(change);
    else toggle.menu.open();
  });

  const iconOf = loadIcons(shell, directory);
  /** The menu's items as text; null while the quick settings are closed. */
  let drawn: string | null = null;
  let clockHandler = 0;
  const opening = quickSettings.menu.connect('open-state-changed', (_menu: unknown, isOpen: boolean) => {
    if (clockHandler) dateMenu!._clock!.disconnect(clockHandler);
    clockHandler = isOpen ? (dateMenu?._clock?.connect('notify::clock', draw) ?? 0) : 0;
    drawn = isOpen ? '' : null;
    if (isOpen) bus.call(REFRESH);
    draw();
  });

  function look() {
    return lookOf(bus.properties(), Date.now(), tr);
  }

  function draw(): void {
    const { icon, subtitle, short, on, items } = look();
    const gicon = iconOf(icon);
    panelIcon.gicon = gicon;
    toggle.gicon = gicon;
    toggle.checked = on;
    toggle.accessible_name = `${TITLE}: ${subtitle}`;
    if (hasSubtitle) toggle.subtitle = short;
    else toggle.label = short;
    const text = JSON.stringify(items);
    if (drawn === null) return;
    toggle.menu.setHeader(gicon, TITLE, subtitle);
    if (text === drawn) return;
    drawn = text;
    fillMenu(items);
  }

  let shown: Shell.MenuItem[] = [];
  /** Replaces the items; the focus stays at the same position. */
  function fillMenu(items: Item[]): void {
    const focus = shown.findIndex(item => item.has_key_focus());
    toggle.menu.removeAll();
    shown = items.map(menuItem);
    for (const item of shown) toggle.menu.addMenuItem(item);
    shown[focus]?.grab_key_focus();
  }

  function menuItem(item: Item): Shell.MenuItem {
    if (item.kind === 'separator') return new PopupMenu.PopupSeparatorMenuItem(item.label);
    if (item.kind === 'text') return new PopupMenu.PopupMenuItem(item.label, { reactive: false, can_focus: false });
    const { label, on, sensitive } = item;
    const made =
      item.kind === 'switch' ? new PopupMenu.PopupSwitchMenuItem(label, on) : new PopupMenu.PopupMenuItem(label);
    if (item.kind === 'choice') made.setOrnament(on ? PopupMenu.Ornament.CHECK : PopupMenu.Ornament.NONE);
    made.setSensitive(sensitive);
    made.connect('activate', () => call(item.call));
    return made;
  }

  function call(what: Call): void {
    if (what.method === 'Open') Main.panel.closeQuickSettings();
    bus.call(what, problem => {
      if (problem) Main.notifyError('Culvert', problem);
      // creates the items again, since a switch keeps showing the requested position
      drawn &&= '';
      draw();
    });
  }

  draw();
  if (quickSettings.addExternalIndicator) quickSettings.addExternalIndicator(indicator);
  else {
    quickSettings._indicators.insert_child_at_index(indicator, 0);
    quickSettings._addItems(indicator.quickSettingsItems);
  }
  return {
    destroy() {
      bus.close();
      quickSettings.menu.disconnect(opening);
      if (clockHandler) dateMenu!._clock!.disconnect(clockHandler);
      toggle.menu.destroy();
      toggle.destroy();
      indicator.destroy();
    },
  };
}

interface Bus {
  /** Null while no bridge is on the bus. */
  properties(): Properties | null;
  /** @param done called with the text of a failure, or null */
  call(what: Call, done?: (problem: string | null) => void): void;
  close(): void;
}

/** @param changed called when properties change */
function connectToBus({ Gio, GLib, Shell, global }: Shell.Modules, changed: () => void): Bus {
  const cancellable = new Gio.Cancellable();
  let connection: Gio.DBusConnection | null = null;
  let proxy: Gio.DBusProxy | null = null;

  const follow = (opened: Gio.DBusConnection) => {
    connection = opened;
    const { DO_NOT_CONNECT_SIGNALS, DO_NOT_AUTO_START_AT_CONSTRUCTION } = Gio.DBusProxyFlags;
    const made = new Gio.DBusProxy({
      g_connection: opened,
      g_name: NAME,
      g_object_path: PATH,
      g_interface_name: NAME,
      g_flags: DO_NOT_CONNECT_SIGNALS | DO_NOT_AUTO_START_AT_CONSTRUCTION,
    });
    made.init_async(GLib.PRIORITY_DEFAULT, cancellable, (_made, result) => {
      try {
        made.init_finish(result);
      } catch (error) {
        if (!cancellable.is_cancelled()) console.warn(`Culvert: ${(error as Error).message}`);
        return;
      }
      proxy = made;
      made.connect('g-properties-changed', () => cancellable.is_cancelled() || changed());
      made.connect('notify::g-name-owner', () => cancellable.is_cancelled() || changed());
      changed();
      // starts the bridge, which may take longer than the creation of a proxy waits
      call(REFRESH);
    });
  };
  const { AUTHENTICATION_CLIENT, MESSAGE_BUS_CONNECTION } = Gio.DBusConnectionFlags;
  const address = Gio.dbus_address_get_for_bus_sync(Gio.BusType.SESSION, null);
  const flags = AUTHENTICATION_CLIENT | MESSAGE_BUS_CONNECTION;
  Gio.DBusConnection.new_for_address(address, flags, null, cancellable, (_source, result) => {
    try {
      const opened = Gio.DBusConnection.new_for_address_finish(result);
      if (cancellable.is_cancelled()) opened.close(null, null);
      else follow(opened);
    } catch (error) {
      if (!cancellable.is_cancelled()) console.warn(`Culvert: ${(error as Error).message}`);
    }
  });

  /** Returns the activation token that lets an opened window take the focus. */
  const platformData = (): Record<string, GLib.Variant> => {
    const app = Shell.AppSystem.get_default().lookup_app('org.culvert.Culvert.desktop');
    const token = app && global.create_app_launch_context(0, -1).get_startup_notify_id(app.app_info, []);
    return token ? { 'activation-token': new GLib.Variant('s', token) } : {};
  };
  const packed = ({ method, signature, args }: Call) => {
    const opens = method === 'Open' || method === 'Remedy';
    const values = args.map(arg => {
      if (typeof arg !== 'object') return arg;
      if (opens) return platformData();
      return Object.fromEntries(Object.entries(arg!).map(([name, value]) => [name, new GLib.Variant('u', value)]));
    });
    return new GLib.Variant(signature as '(s)', values as [string]);
  };
  function call(what: Call, done: (problem: string | null) => void = () => {}): void {
    if (!connection) return;
    const { NONE } = Gio.DBusCallFlags;
    connection.call(
      NAME,
      PATH,
      NAME,
      what.method,
      packed(what),
      null,
      NONE,
      LIMIT_MS,
      cancellable,
      (_source, result) => {
        if (cancellable.is_cancelled()) return;
        try {
          connection!.call_finish(result);
          done(null);
        } catch (error) {
          Gio.DBusError.strip_remote_error(error as GLib.Error);
          done((error as Error).message);
        }
      },
    );
  }

  return {
    properties() {
      if (!proxy?.g_name_owner) return null;
      const names = proxy.get_cached_property_names() ?? [];
      const values = names.map(name => [name, proxy!.get_cached_property(name)!.recursiveUnpack()]);
      const shown = Object.fromEntries(values) as Properties;
      return shown.State === undefined ? null : shown;
    },
    call,
    close() {
      cancellable.cancel();
      connection?.close(null, null);
    },
  };
}

/** Returns a cached lookup of icons by name. The extension has its own icons: no theme has those of an AppImage. */
function loadIcons({ Gio }: Shell.Modules, directory: Gio.File): (name: string) => Gio.Icon {
  const icons = new Map<string, Gio.Icon>();
  return name => {
    const file = directory.resolve_relative_path(`icons/${name}.svg`);
    const icon =
      icons.get(name) ?? (file.query_exists(null) ? new Gio.FileIcon({ file }) : new Gio.ThemedIcon({ name }));
    icons.set(name, icon);
    return icon;
  };
}

/** Creates a translator from the project's catalogs; texts from the bus are already translated. */
function translator({ Gettext }: Shell.Modules, directory: Gio.File): Translator {
  Gettext.bindtextdomain(DOMAIN, directory.get_child('locale').get_path()!);
  const { gettext, ngettext } = Gettext.domain(DOMAIN);
  return { _: gettext, ngettext };
}
