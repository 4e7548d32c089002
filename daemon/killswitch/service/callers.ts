// Finds out which user a caller on the system bus is, and holds its messages until then.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { Header } from '../bus-frames.ts';

/** Most callers whose user is remembered; the bus never reuses a unique name. */
const MAX_CALLERS = 1024;
/** Most callers whose user the bus has yet to report. */
const MAX_UNKNOWN = 256;
/** Most messages held of such a caller. */
const MAX_HELD = 4;
const REPLY_MS = 5_000;

/** A message of a caller. */
export interface Message {
  bytes: Uint8Array;
  header: Header;
}

export interface Callers {
  /** null while the bus has not reported it. */
  userOf(sender: string): number | null;
  /** Passes the message on once its user is known. @returns false if too many wait */
  hold(message: Message): boolean;
}

/**
 * @param bus the connection to ask on; it is only needed once messages come
 * @param deliver called with each held message when its user is known
 */
export function createCallers(
  bus: () => Gio.DBusConnection,
  deliver: (uid: number, message: Message) => void,
): Callers {
  const callers = new Map<string, number>();
  const unknown = new Map<string, Message[]>();

  function identified(sender: string, uid: number | null): void {
    const messages = unknown.get(sender) ?? [];
    unknown.delete(sender);
    if (uid === null) return; // it has disconnected
    if (callers.size >= MAX_CALLERS) callers.delete(callers.keys().next().value!);
    callers.set(sender, uid);
    for (const message of messages) deliver(uid, message);
  }

  return {
    userOf: sender => callers.get(sender) ?? null,
    hold({ bytes, header }) {
      const held = unknown.get(header.sender);
      if (unknown.size >= MAX_UNKNOWN || (held && held.length >= MAX_HELD)) return false;
      const message = { bytes: bytes.slice(), header };
      if (held) held.push(message);
      else {
        unknown.set(header.sender, [message]);
        askUser(bus(), header.sender, uid => identified(header.sender, uid));
      }
      return true;
    },
  };
}

/** Asks the bus for the user of a caller. @param done gets null if the caller has disconnected */
function askUser(bus: Gio.DBusConnection, sender: string, done: (uid: number | null) => void): void {
  bus.call(
    'org.freedesktop.DBus',
    '/org/freedesktop/DBus',
    'org.freedesktop.DBus',
    'GetConnectionUnixUser',
    new GLib.Variant('(s)', [sender]),
    new GLib.VariantType('(u)'),
    Gio.DBusCallFlags.NONE,
    REPLY_MS,
    null,
    (_, result) => {
      try {
        const [uid] = bus.call_finish(result).recursiveUnpack() as [number];
        done(uid);
      } catch {
        done(null);
      }
    },
  );
}
