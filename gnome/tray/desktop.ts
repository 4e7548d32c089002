// What the tray asks of the rest of the desktop: the panel, a notification, the end of the daemon.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { APP_ID, APP_PATH, culvertProgram, gjsProgram, pkgdatadir } from '../place.ts';

/**
 * Raises the running panel, or starts the one beside this tray. Not D-Bus activation: that may start another
 * version, and in an AppImage it starts none.
 * @param token of the host, so that the window may take the focus.
 * @throws GLib.Error when it can't be started.
 */
export async function openPanel(bus: Gio.DBusConnection, token: string | null): Promise<void> {
  const platform: Record<string, GLib.Variant> = token ? { 'activation-token': new GLib.Variant('s', token) } : {};
  const raised = await callPanel(
    bus,
    'org.freedesktop.Application',
    'Activate',
    new GLib.Variant('(a{sv})', [platform]),
  );
  if (raised) return;
  const launcher = new Gio.SubprocessLauncher({ flags: Gio.SubprocessFlags.NONE });
  if (token) launcher.setenv('XDG_ACTIVATION_TOKEN', token, true);
  launcher.spawnv([gjsProgram(), '-m', GLib.build_filenamev([pkgdatadir, 'panel.js'])]);
}

/** Has the panel quit, if it runs. */
export async function quitPanel(bus: Gio.DBusConnection): Promise<void> {
  await callPanel(bus, 'org.gtk.Actions', 'Activate', new GLib.Variant('(sava{sv})', ['quit', [], {}]));
}

/** Asks the daemon to end, through its command line. */
export function stopDaemon(): void {
  const program = culvertProgram();
  if (program) Gio.Subprocess.new([program, 'stop'], Gio.SubprocessFlags.STDOUT_SILENCE);
}

/** Shows a notification, or without anything that shows them writes to stderr. */
export async function notify(bus: Gio.DBusConnection, summary: string, body: string): Promise<void> {
  const hints = { 'desktop-entry': new GLib.Variant('s', APP_ID) };
  const args = new GLib.Variant('(susssasa{sv}i)', ['Culvert', 0, APP_ID, summary, body, [], hints, -1]);
  const name = 'org.freedesktop.Notifications';
  try {
    await bus.call(name, '/org/freedesktop/Notifications', name, 'Notify', args, null, 0, -1, null);
  } catch {
    printerr(`culvert tray: ${summary}: ${body}`);
  }
}

/** Calls the panel without starting it. Resolves with whether it runs. */
async function callPanel(bus: Gio.DBusConnection, iface: string, method: string, args: GLib.Variant): Promise<boolean> {
  try {
    await bus.call(APP_ID, APP_PATH, iface, method, args, null, Gio.DBusCallFlags.NO_AUTO_START, -1, null);
    return true;
  } catch {
    return false;
  }
}
