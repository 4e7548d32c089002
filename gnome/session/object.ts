// Exports org.culvert.Client1 according to its installed description, and tracks the programs that use it.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import XML from '../../data/org.culvert.Client1.xml';
import { tr } from '../i18n.ts';
import { failureOf } from './failures.ts';
import type { Properties } from './properties.ts';

const INTERFACE = 'org.culvert.Client1';
const PATH = '/org/culvert/Client1';
const PROPERTIES = 'org.freedesktop.DBus.Properties';

/** GLib before 2.84 hands over a reference to each call, which GJS does not release (daemon/killswitch/service/bus.ts). */
const OWNS_INVOCATIONS = GLib.check_version(2, 84, 0) !== null;

interface Source {
  properties(): Properties;
  methods: Record<string, (args: unknown[]) => Promise<void>>;
  /** Tries to reach a missing daemon again. */
  retry(): void;
  /** Called when no program has used the object for a while. */
  unused(): void;
}

export interface ExportedObject extends Pick<Callers, 'calls' | 'answered'> {
  /** Publishes the properties that changed, in one signal. */
  changed(values: Partial<Properties>): void;
  notice(code: string, text: string, details: Record<string, string>): void;
}

/**
 * Exports the object without `Gio.DBusExportedObject`, which answers property reads itself and so hides their callers. Here,
 * property reads arrive as calls (g_dbus_connection_register_object, get_property).
 */
export function exportObject(bus: Gio.DBusConnection, { properties, methods, retry, unused }: Source): ExportedObject {
  const description = Gio.DBusNodeInfo.new_for_xml(XML).lookup_interface(INTERFACE)!;
  const packed = (values: Partial<Properties>) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, pack(description.lookup_property(name)!.signature!, value)]),
    );

  const answer = async (iface: string, method: string, parameters: GLib.Variant): Promise<GLib.Variant | null> => {
    const args = parameters.recursiveUnpack<unknown[]>();
    if (iface !== PROPERTIES) {
      retry();
      await methods[method]!(args);
      return null;
    }
    const values = packed(properties());
    return method === 'GetAll'
      ? new GLib.Variant('(a{sv})', [values])
      : new GLib.Variant('(v)', [values[args[1] as string]!]);
  };
  const callers = watchCallers(bus, unused);
  exportCalls(bus, { description, answer, callers });
  const emit = (iface: string, signal: string, parameters: GLib.Variant) =>
    bus.emit_signal(null, PATH, iface, signal, parameters);
  return {
    calls: callers.calls,
    answered: callers.answered,
    changed(values) {
      const parameters = new GLib.Variant('(sa{sv}as)', [INTERFACE, packed(values), []]);
      emit(PROPERTIES, 'PropertiesChanged', parameters);
    },
    notice(code, text, details) {
      const packed = Object.fromEntries(Object.entries(details).map(([name, value]) => [name, pack('s', value)]));
      emit(INTERFACE, 'Notice', new GLib.Variant('(ssa{sv})', [code, text, packed]));
    },
  };
}

interface Calls {
  description: Gio.DBusInterfaceInfo;
  /** Answers a call; failures become D-Bus errors (failures.ts). */
  answer(iface: string, method: string, parameters: GLib.Variant): Promise<GLib.Variant | null>;
  callers: Callers;
}

/** Registers the object, and answers calls to it. */
function exportCalls(bus: Gio.DBusConnection, { description, answer, callers }: Calls): void {
  const called = async (sender: string, invocation: Gio.DBusMethodInvocation, result: Promise<GLib.Variant | null>) => {
    const ended = callers.began(sender);
    try {
      invocation.return_value(await result);
    } catch (error) {
      const { name, text } = failureOf(error, tr);
      invocation.return_dbus_error(`org.culvert.Error.${name}`, text);
    } finally {
      if (OWNS_INVOCATIONS) invocation.unref();
      ended();
    }
  };
  const register = OWNS_INVOCATIONS ? bus.register_object : bus.register_object_with_closures2;
  register.call(
    bus,
    PATH,
    description,
    (...[, sender, , iface, method, parameters, invocation]) =>
      void called(sender, invocation, answer(iface, method, parameters)),
    null,
    null,
  );
}

/** Time without callers, in ms, after which the bridge ends. */
const GRACE_MS = 5_000;

/** Programs that have called and are still on the bus. */
interface Callers {
  /** Records the begin of a connection's call. @returns a function to call at its end */
  began(sender: string): () => void;
  /** Returns the number of calls so far. */
  calls(): number;
  /** Resolves when no call is running. */
  answered(): Promise<void>;
}

function watchCallers(bus: Gio.DBusConnection, unused: () => void): Callers {
  const watches = new Map<string, number>();
  let underWay = 0;
  let calls = 0;
  let allAnswered = () => {};
  let timer: ReturnType<typeof setTimeout> | null = null;

  const decide = () => {
    const used = underWay > 0 || watches.size > 0;
    if (timer) clearTimeout(timer);
    timer = used ? null : setTimeout(unused, GRACE_MS);
  };
  const left = (sender: string) => {
    const watch = watches.get(sender);
    if (watch === undefined) return;
    Gio.bus_unwatch_name(watch);
    watches.delete(sender);
    decide();
  };
  decide();
  return {
    calls: () => calls,
    async answered() {
      if (underWay > 0)
        await new Promise<void>(resolve => {
          allAnswered = resolve;
        });
    },
    began(sender) {
      calls++;
      underWay++;
      if (!watches.has(sender)) {
        const { NONE } = Gio.BusNameWatcherFlags;
        const watch = Gio.bus_watch_name_on_connection(bus, sender, NONE, null, () => left(sender));
        watches.set(sender, watch);
      }
      decide();
      return () => {
        underWay--;
        if (underWay === 0) allAnswered();
        decide();
      };
    },
  };
}

function pack(signature: string, value: Properties[keyof Properties]): GLib.Variant {
  if (signature !== 'a{sv}') return new GLib.Variant(signature as 's', value as string);
  const { what, text, until } = (value ?? {}) as Partial<NonNullable<Properties['Pending']>>;
  if (!what) return new GLib.Variant('a{sv}', {});
  const entries = { what: new GLib.Variant('as', what), text: pack('s', text!), until: pack('t', until!) };
  return new GLib.Variant('a{sv}', entries);
}
