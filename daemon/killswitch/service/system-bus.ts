// Calls other services on the system bus: polkit for permissions, systemd for units and timers, and the bus itself.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { Action } from '../permission.ts';
import { message, WordedError } from '../wording.ts';

/** Time limit for a person to find and enter a password. */
const ANSWER_MS = 120_000;
const ALLOW_USER_INTERACTION = 1;

/**
 * Asks polkit for permission. Without polkit, only root may make the call.
 * @param caller `interactive` is true if polkit may ask a person
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
    return false; // no polkit, no answer in time, or the caller disconnected
  }
}

/** Returns the process that opened a caller's connection. @throws GLib.Error when the connection has ended */
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
  /** False to call only a service that already runs. */
  starts?: boolean;
}

/** Makes one call on the bus. @throws GLib.Error */
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

/**
 * Returns an unpacked property of a running service.
 * @param of interface of the property
 * @param ms time limit
 * @throws GLib.Error
 */
export async function property(
  bus: Gio.DBusConnection,
  { name, path, of, key, ms }: { name: string; path: string; of: string; key: string; ms: number },
): Promise<unknown> {
  const method = 'org.freedesktop.DBus.Properties.Get';
  const body = new GLib.Variant('(ss)', [of, key]);
  const [value] = (await call(bus, { name, path, method, body, reply: '(v)', ms, starts: false })) as [unknown];
  return value;
}

export type UnitProperty = [name: string, value: GLib.Variant];

/** Makes systemd start a unit that exists only while it runs. @throws GLib.Error */
export function startUnit(
  bus: Gio.DBusConnection,
  name: string,
  properties: readonly UnitProperty[],
): Promise<unknown> {
  const body = new GLib.Variant('(ssa(sv)a(sa(sv)))', [name, 'fail', [...properties], []]);
  return systemd(bus, 'StartTransientUnit', body);
}

/** Calls a method of systemd's manager that makes a job. @throws GLib.Error */
export function systemd(bus: Gio.DBusConnection, method: string, body: GLib.Variant): Promise<unknown> {
  return call(bus, {
    name: 'org.freedesktop.systemd1',
    path: '/org/freedesktop/systemd1',
    method: `org.freedesktop.systemd1.Manager.${method}`,
    body,
    reply: '(o)',
    ms: 10_000,
  });
}

/** Prefix of the timers. A timer starts the service with its own name, here an instance of the installed template. */
const TEMPLATE = 'culvert-killswitch-resume@';

export function createTimer(bus: Gio.DBusConnection) {
  let armed: string | null = null;

  async function disarm(): Promise<void> {
    const name = armed;
    armed = null;
    if (name) await systemd(bus, 'StopUnit', new GLib.Variant('(ss)', [name, 'replace']));
  }

  return {
    disarm,
    /** @throws Error if systemd does not accept the timer */
    async arm(seconds: number): Promise<void> {
      const before = armed;
      // a stopped unit's name becomes free only after some time
      const name = `${TEMPLATE}${GLib.get_monotonic_time()}.timer`;
      const properties: [string, GLib.Variant][] = [
        ['Description', new GLib.Variant('s', 'End of the pause of the kill switch of Culvert')],
        ['TimersMonotonic', new GLib.Variant('a(st)', [['OnActiveSec', seconds * 1_000_000]])],
        ['AccuracyUSec', new GLib.Variant('t', 100_000)],
        ['RemainAfterElapse', new GLib.Variant('b', false)],
      ];
      try {
        const body = new GLib.Variant('(ssa(sv)a(sa(sv)))', [name, 'replace', properties, []]);
        await systemd(bus, 'StartTransientUnit', body);
      } catch (error) {
        throw new WordedError(
          message('systemd did not accept the timer that ends the pause: %s', (error as Error).message),
        );
      }
      if (before) {
        armed = before;
        await disarm().catch(() => {});
      }
      armed = name;
    },
  };
}
