// Asks polkit whether the connection that called may do what it asks for.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { Action } from '../permission.ts';

/** A person may look for a password that long. */
const ANSWER_MS = 120_000;
const ALLOW_USER_INTERACTION = 1;

/**
 * Asks polkit. Without it, only root may.
 * @param interactive whether the caller allowed that a person is asked
 */
export async function mayCall(
  bus: Gio.DBusConnection,
  caller: { sender: string; uid: number; interactive: boolean },
  action: Action,
): Promise<boolean> {
  if (caller.uid === 0) return true;
  const subject: [string, Record<string, GLib.Variant>] = [
    'system-bus-name',
    { name: new GLib.Variant('s', caller.sender) },
  ];
  const flags = caller.interactive ? ALLOW_USER_INTERACTION : 0;
  try {
    const reply = await call(bus, {
      name: 'org.freedesktop.PolicyKit1',
      path: '/org/freedesktop/PolicyKit1/Authority',
      method: 'org.freedesktop.PolicyKit1.Authority.CheckAuthorization',
      body: new GLib.Variant('((sa{sv})sa{ss}us)', [subject, action, {}, flags, '']),
      reply: '((bba{ss}))',
      ms: ANSWER_MS,
    });
    return (reply as [[boolean, boolean, unknown]])[0][0] === true;
  } catch {
    return false; // no polkit, no answer in time, or the caller has gone
  }
}

/** The process that opened a caller's connection. @throws GLib.Error when the connection has ended */
export async function processOf(bus: Gio.DBusConnection, sender: string): Promise<number> {
  const reply = await call(bus, {
    name: 'org.freedesktop.DBus',
    path: '/org/freedesktop/DBus',
    method: 'org.freedesktop.DBus.GetConnectionUnixProcessID',
    body: new GLib.Variant('(s)', [sender]),
    reply: '(u)',
    ms: 10_000,
  });
  return (reply as [number])[0];
}

interface Call {
  name: string;
  path: string;
  /** Interface and member. */
  method: string;
  body: GLib.Variant | null;
  /** Type of the reply. */
  reply: string | null;
  ms: number;
  /** False: only where the service runs already. */
  starts?: boolean;
}

/** One call on the bus. @throws GLib.Error */
export function call(
  bus: Gio.DBusConnection,
  { name, path, method, body, reply, ms, starts = true }: Call,
): Promise<unknown> {
  const dot = method.lastIndexOf('.');
  return new Promise((resolve, reject) => {
    bus.call(
      name,
      path,
      method.slice(0, dot),
      method.slice(dot + 1),
      body,
      reply ? new GLib.VariantType(reply) : null,
      starts ? Gio.DBusCallFlags.NONE : Gio.DBusCallFlags.NO_AUTO_START,
      ms,
      null,
      (_, result) => {
        try {
          resolve(bus.call_finish(result).recursiveUnpack());
        } catch (error) {
          reject(error);
        }
      },
    );
  });
}

/** A property of a service that runs, unpacked. @param of its interface @param ms limit of the wait. @throws GLib.Error */
export async function property(
  bus: Gio.DBusConnection,
  { name, path, of, key, ms }: { name: string; path: string; of: string; key: string; ms: number },
): Promise<unknown> {
  const method = 'org.freedesktop.DBus.Properties.Get';
  const body = new GLib.Variant('(ss)', [of, key]);
  const [value] = (await call(bus, { name, path, method, body, reply: '(v)', ms, starts: false })) as [unknown];
  return value;
}
