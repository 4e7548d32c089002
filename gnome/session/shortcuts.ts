// Binds global shortcuts through the desktop's portal, which asks the user for the keys and keeps them.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { APP_ID } from '../install-paths.ts';

const PORTAL = 'org.freedesktop.portal.Desktop';
const PATH = '/org/freedesktop/portal/desktop';
const SHORTCUTS = 'org.freedesktop.portal.GlobalShortcuts';
const SESSION = 'org.freedesktop.portal.Session';

interface Shortcut {
  id: string;
  /** Description in the desktop's dialog. */
  label: string;
  activate(): void;
}

/** Rejection of a request after the portal has ended; the next portal gets the request again. */
const GONE = Symbol('gone');

interface Options {
  shortcuts(): Shortcut[];
  /** Called when the user refuses the shortcuts, or the desktop has none. */
  failed(error: unknown): void;
}

/**
 * Contacts the portal only when the shortcuts are turned on. Binds the shortcuts again when the portal restarts.
 * @returns a function that turns the shortcuts on and off
 */
export function createShortcuts(bus: Gio.DBusConnection, { shortcuts, failed }: Options): (on: boolean) => void {
  let watch = 0;
  let session: string | null = null;
  let requests = 0;
  /** Abandons the request that is waiting for an answer. */
  let abandon = () => {};

  const call = (iface: string, method: string, args: GLib.Variant | null, path = PATH) =>
    bus.call(PORTAL, path, iface, method, args, null, Gio.DBusCallFlags.NONE, -1, null);

  /** The path of a request is known before the call, so that its answer can't be missed (org.freedesktop.portal.Request). */
  const request = (method: string, args: (options: { handle_token: GLib.Variant }) => GLib.Variant) => {
    const token = `culvert${++requests}`;
    const sender = bus.get_unique_name()!.slice(1).replaceAll('.', '_');
    return new Promise<Record<string, unknown>>((resolve, reject) => {
      const heard = bus.signal_subscribe(
        PORTAL,
        'org.freedesktop.portal.Request',
        'Response',
        `${PATH}/request/${sender}/${token}`,
        null,
        Gio.DBusSignalFlags.NONE,
        (...[, , , , , parameters]) => {
          bus.signal_unsubscribe(heard);
          const [code, results] = parameters.recursiveUnpack<[number, Record<string, unknown>]>();
          if (code === 0) resolve(results);
          else reject(new Error(`${method}: the answer was ${code}`));
        },
      );
      abandon = () => {
        bus.signal_unsubscribe(heard);
        reject(GONE);
      };
      call(SHORTCUTS, method, args({ handle_token: new GLib.Variant('s', token) })).catch(error => {
        bus.signal_unsubscribe(heard);
        reject(error);
      });
    });
  };

  const bind = async () => {
    // without this, the portal identifies an app outside of a sandbox by its cgroup; older portals have no registry
    const app = new GLib.Variant('(sa{sv})', [APP_ID, {}]);
    await call('org.freedesktop.host.portal.Registry', 'Register', app).catch(() => {});
    const created = await request('CreateSession', options => {
      // a new token each time: Plasma's backend outlives the portal and keeps the old session
      const all = { ...options, session_handle_token: options.handle_token };
      return new GLib.Variant('(a{sv})', [all]);
    });
    session = created.session_handle as string;
    const list = shortcuts().map(({ id, label }) => [id, { description: new GLib.Variant('s', label) }]);
    const opened = session;
    await request(
      'BindShortcuts',
      options => new GLib.Variant('(oa(sa{sv})sa{sv})', [opened, list, '', options] as never),
    );
  };

  let isThere = false;
  const appeared = () => {
    isThere = true;
    bind().catch(error => {
      if (watch && error !== GONE) failed(error);
    });
  };
  const forget = () => {
    session = null;
    abandon();
  };
  const vanished = () => {
    forget();
    if (!isThere) failed(new Error('this desktop has no portal'));
  };
  bus.signal_subscribe(PORTAL, SHORTCUTS, 'Activated', PATH, null, Gio.DBusSignalFlags.NONE, (...args) => {
    const [path, id] = args[5].recursiveUnpack<[string, string]>();
    if (path === session)
      shortcuts()
        .find(shortcut => shortcut.id === id)
        ?.activate();
  });
  return on => {
    if (on === watch > 0) return;
    if (on) {
      const { AUTO_START } = Gio.BusNameWatcherFlags;
      watch = Gio.bus_watch_name_on_connection(bus, PORTAL, AUTO_START, appeared, vanished);
      return;
    }
    Gio.bus_unwatch_name(watch);
    watch = 0;
    if (session) call(SESSION, 'Close', null, session).catch(() => {});
    forget();
  };
}
