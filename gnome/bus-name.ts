// Takes and gives up names on the session bus.
import type Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';

/** Flag and answer of RequestName (D-Bus Specification). */
const DO_NOT_QUEUE = 4;
const PRIMARY_OWNER = 1;

async function askBus(bus: Gio.DBusConnection, method: string, args: GLib.Variant): Promise<number> {
  const name = 'org.freedesktop.DBus';
  const reply = await bus.call(name, '/org/freedesktop/DBus', name, method, args, null, 0, -1, null);
  return reply.recursiveUnpack<[number]>()[0];
}

/** Takes a name unless another process has it. @returns whether it is ours */
export async function ownName(bus: Gio.DBusConnection, name: string): Promise<boolean> {
  return (await askBus(bus, 'RequestName', new GLib.Variant('(su)', [name, DO_NOT_QUEUE]))) === PRIMARY_OWNER;
}

export async function disownName(bus: Gio.DBusConnection, name: string): Promise<void> {
  await askBus(bus, 'ReleaseName', new GLib.Variant('(s)', [name]));
}
