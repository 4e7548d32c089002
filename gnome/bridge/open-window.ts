// Opens Culvert's window over the bus, which starts it where it does not run.
import type Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { APP_ID, APP_PATH } from '../install-paths.ts';
import { failure } from './failures.ts';
import type { OpenWindow } from './methods.ts';

const APPLICATION = 'org.freedesktop.Application';

/**
 * By activation, unlike the tray: a program that the bridge starts would end with the bridge's unit.
 * @returns what opens it; throws Failure when the bus can't start it
 */
export function windowOpener(bus: Gio.DBusConnection): OpenWindow {
  return async (page, platformData) => {
    const texts = Object.entries(platformData).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, new GLib.Variant('s', value)] as const] : [],
    );
    const platform = Object.fromEntries(texts);
    const [method, args] =
      page === null
        ? ['Activate', new GLib.Variant('(a{sv})', [platform])]
        : ['ActivateAction', new GLib.Variant('(sava{sv})', [page, [], platform])];
    try {
      await bus.call(APP_ID, APP_PATH, APPLICATION, method, args, null, 0, -1, null);
    } catch (error) {
      const reason = (error as GLib.Error).message.replace(/^GDBus\.Error:[\w.]+: /, '');
      throw failure('Failed', `The window can’t be opened: ${reason}.`, error);
    }
  };
}
