// Exports org.culvert.Client1, as its installed description has it.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import XML from '../../data/org.culvert.Client1.xml';
import { tr } from '../i18n.ts';
import type { Callers } from './callers.ts';
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
  callers: Callers;
  /** Asks a daemon that was gone again. */
  retry(): void;
}

export interface ExportedObject {
  /** Publishes the properties that changed, in one signal. */
  changed(values: Partial<Properties>): void;
  notice(code: string, text: string, details: Record<string, string>): void;
}

/**
 * Not by `Gio.DBusExportedObject`, which answers reads of properties itself and so hides their callers: here they come as calls
 * (g_dbus_connection_register_object, get_property).
 */
export function exportObject(bus: Gio.DBusConnection, { properties, methods, callers, retry }: Source): ExportedObject {
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
  exportCalls(bus, { description, answer, callers });
  const emit = (iface: string, signal: string, parameters: GLib.Variant) =>
    bus.emit_signal(null, PATH, iface, signal, parameters);
  return {
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
  /** @throws what becomes an error by its name */
  answer(iface: string, method: string, parameters: GLib.Variant): Promise<GLib.Variant | null>;
  callers: Callers;
}

/** Answers the calls of an object. */
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

function pack(signature: string, value: Properties[keyof Properties]): GLib.Variant {
  if (signature !== 'a{sv}') return new GLib.Variant(signature as 's', value as string);
  const { what, text, until } = (value ?? {}) as Partial<NonNullable<Properties['Pending']>>;
  if (!what) return new GLib.Variant('a{sv}', {});
  const entries = { what: new GLib.Variant('as', what), text: pack('s', text!), until: pack('t', until!) };
  return new GLib.Variant('a{sv}', entries);
}
